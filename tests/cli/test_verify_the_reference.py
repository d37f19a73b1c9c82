"""``verify`` without a service file judges the reference, on a PostgreSQL of its own."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from onecharge.history.reading import read_history

if TYPE_CHECKING:
    from .conftest import OneCharge

ROOT = Path(__file__).parents[2]
NOBODY = 65534
DEADLINE_S = 200.0
SHORT = "badly_signed_events"


def test_the_reference_holds_and_the_verdict_is_kept(
    onecharge: "OneCharge", tmp_path: Path
) -> None:
    ended = onecharge(
        *("verify", "--scenario", "lost_replies", "--scenario", "parallel_same_key"),
        *("--json", "verdict.json"),
    )

    assert (ended.exit_code, ended.err) == (0, ""), ended.says
    verdict = json.loads((tmp_path / "verdict.json").read_text())
    assert (verdict["verdict"], verdict["seed"]) == ("holds", 1)
    assert verdict["duration_s"] > 0
    played = [(each["name"], each["verdict"]) for each in verdict["scenarios"]]
    assert played == [("lost_replies", "holds"), ("parallel_same_key", "holds")]
    judged = {
        each["name"]: (each["verdict"], each["violations"])
        for each in verdict["invariants"]
        if each["exercised"]
    }
    assert judged.keys() >= {
        "one_charge_per_key",
        "answers_tell_the_truth",
        "one_effect_per_event",
        "books_agree",
        "every_order_settles",
    }
    assert judged == dict.fromkeys(judged, ("holds", []))
    assert judged.keys().isdisjoint(verdict["not_exercised"])
    nothing = {"advice", "exposure", "not_reached", "not_applicable"}
    assert {name: verdict[name] for name in nothing} == {name: [] for name in nothing}

    (folder,) = (tmp_path / ".onecharge" / "runs").iterdir()
    assert f"report: {folder.relative_to(tmp_path) / 'report.html'}\n" in ended.out
    assert {path.name for path in folder.iterdir()} == {
        *("control.jsonl", "lost_replies.jsonl", "parallel_same_key.jsonl"),
        *("run.json", "verdict.json", "report.html", "logs"),
    }
    assert json.loads((folder / "verdict.json").read_text()) == verdict
    assert json.loads((folder / "run.json").read_text())["whole"] is False
    assert json.loads((folder / "run.json").read_text())["scenarios"] == [
        "lost_replies",
        "parallel_same_key",
    ]
    assert {path.name for path in (folder / "logs").iterdir()} == {
        *("postgresql.log", "service-1.log", "service-2.log"),
    }
    for history in folder.glob("*.jsonl"):
        assert read_history(history)


def test_an_ordinary_user_comes_after_root_on_the_same_machine(folder: Path) -> None:
    own = folder / "own"
    own.mkdir()
    becoming = nobody() if os.geteuid() == 0 else []
    if becoming:
        os.chown(own, NOBODY, NOBODY)

    done = subprocess.run(  # noqa: S603
        [*becoming, sys.executable, "-P", "-m", "onecharge", "verify", "--scenario", SHORT],
        cwd=own,
        env={"PATH": os.defpath, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert "holds" in done.stdout


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that everybody can reach, unlike those that pytest makes."""
    with tempfile.TemporaryDirectory(prefix="onecharge-tests-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def nobody() -> list[str]:
    """What makes root an ordinary user, who can at least read this Python."""
    ordinary = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    reading = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    itself = "import subprocess, sys; subprocess.run([sys.executable, '-c', ''], check=True)"
    for prefix in (ordinary, ordinary + reading):
        argv = [*prefix, sys.executable, "-c", itself]
        if not subprocess.run(argv, check=False, capture_output=True).returncode:  # noqa: S603
            return prefix
    pytest.skip("this Python lies in a folder that only root can enter")
