"""``list`` shows every file of a folder, also where there is no terminal; ``serve`` serves."""

import json
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any
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
    "mutants": "reference_impl/mutants/[!_]*.py",
}


@pytest.mark.parametrize("what", FOLDERS)
def test_a_list_names_every_file_whole(what: str, here: "OneCharge") -> None:
    names = {path.stem for path in ROOT.glob(FOLDERS[what]) if path.stem[0] != "_"}

    ended = here("list", what)

    assert (ended.exit_code, ended.err) == (0, "")
    assert names <= set(ended.out.split())


def test_serve_says_in_one_line_that_it_is_ready_and_ends_cleanly(under_way: "UnderWay") -> None:
    with under_way("serve", "--seed", "7") as server:
        assert server.stdout is not None
        ready = json.loads(server.stdout.readline())
        with urlopen(f"{ready['url']}/_sim/ready") as answer:  # noqa: S310 - our own
            assert json.load(answer)["seed"] == 7

        server.send_signal(signal.SIGTERM)

        out, err = server.communicate(timeout=60)
    assert (server.returncode, out, err) == (0, "", "")


def test_serve_plays_a_provider_that_ignores_keys_and_keeps_no_journal(
    under_way: "UnderWay",
) -> None:
    words = ("--keys", "ignored", "--journal", "counted", "--time-scale", "60")
    with under_way("serve", *words) as server:
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"]

        def told(path: str) -> dict[str, Any]:
            with urlopen(f"{url}/_sim/{path}") as answer:  # noqa: S310 - our own
                said: dict[str, Any] = json.load(answer)
            return said

        assert told("profile") == {"dialect": "generic", "keys": "ignored", "known_keys": 0}
        assert told("journal") == {"entries": [], "next": 0, "counts": {}}
        assert told("clock")["time_scale"] == 60

        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=60) == 0


@pytest.mark.parametrize("option", ["--keys", "--journal", "--time-scale"])
def test_serve_refuses_a_word_that_it_does_not_know(here: "OneCharge", option: str) -> None:
    ended = here("serve", option, "perhaps")

    assert ended.exit_code == 2
    assert option in ended.err
    assert "Traceback" not in ended.err


def test_the_help_names_every_command(here: "OneCharge") -> None:
    ended = here("--help")

    assert ended.exit_code == 0
    commands = {"init", "check", "schema", "verify", "explore", "run", "list", "serve"}
    assert commands <= set(ended.out.split())
