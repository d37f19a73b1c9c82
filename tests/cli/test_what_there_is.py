"""``list`` shows every file of a folder, also where there is no terminal; ``serve`` serves."""

import json
import signal
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import urlopen

import pytest

if TYPE_CHECKING:
    from .conftest import OneCharge, UnderWay

ROOT = Path(__file__).parents[2]
FOLDERS = {
    "scenarios": "scenarios/*.toml",
    "faults": "simulator/faults/*.py",
    "dialects": "simulator/dialects/*.py",
    "invariants": "onecharge/invariants/*.py",
    "mutants": "reference_impl/mutants/*.py",
}


@pytest.mark.parametrize("what", FOLDERS)
def test_a_list_names_every_file_whole(what: str, onecharge: "OneCharge") -> None:
    names = {path.stem for path in ROOT.glob(FOLDERS[what]) if path.stem != "__init__"}

    ended = onecharge("list", what)

    assert (ended.exit_code, ended.err) == (0, "")
    assert names <= set(ended.out.split())


def test_serve_says_in_one_line_that_it_is_ready_and_ends_cleanly(under_way: "UnderWay") -> None:
    with under_way("serve", "--seed", "7") as server:
        assert server.stdout is not None
        ready = json.loads(server.stdout.readline())
        with urlopen(f"{ready['url']}/_sim/ready") as answer:  # noqa: S310 - our own
            assert json.load(answer)["seed"] == 7

        server.send_signal(signal.SIGTERM)

        out, err = server.communicate(timeout=30)
    assert (server.returncode, out, err) == (0, "", "")


def test_the_help_names_every_command(onecharge: "OneCharge") -> None:
    ended = onecharge("--help")

    assert ended.exit_code == 0
    assert {"verify", "run", "list", "serve"} <= set(ended.out.split())
