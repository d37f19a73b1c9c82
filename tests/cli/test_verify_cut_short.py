"""However a run is cut short, no process outlives it and what it saw can be read."""

import json
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from onecharge.explored import parts_in
from onecharge.history.reading import read_history
from onecharge.stored_run import VERDICT, stored_run
from onecharge.world.supervising import MARK

if TYPE_CHECKING:
    import subprocess

    from .conftest import Shop, UnderWay

DEADLINE_S = 200.0
FIRST, SECOND = "killed_between_commit_and_record", "rush_hour"  # each plays alone
TWO = ("verify", "--scenario", FIRST, "--scenario", SECOND)


def eventually(is_true: Callable[[], bool]) -> bool:
    deadline_s = time.monotonic() + DEADLINE_S
    while not is_true():
        if time.monotonic() > deadline_s:
            return False
        time.sleep(0.02)
    return True


def wait_for(file: str, folder: Path, command: "subprocess.Popen[str]") -> None:
    """Wait until a run has come so far as to have written a file."""
    runs = folder / ".onecharge" / "runs"
    assert eventually(lambda: any(runs.glob(file)) or command.poll() is not None)
    assert command.poll() is None, command.communicate()


def family_of(command: "subprocess.Popen[str]") -> list[psutil.Process]:
    """Every process that a run started, wherever in the tree it now is."""
    descendants = psutil.Process(command.pid).children(recursive=True)
    owners = tuple(f"{process.pid}." for process in descendants)
    marked = [process for process in psutil.process_iter() if mark_of(process).startswith(owners)]
    return list({process.pid: process for process in (*descendants, *marked)}.values())


def mark_of(process: psutil.Process) -> str:
    try:
        return process.environ().get(MARK, "")
    except psutil.Error:
        return ""


def lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def histories_in(folder: Path) -> dict[str, int]:
    """How many records can be read of each history."""
    paths = folder.glob(".onecharge/runs/*/*.jsonl")
    return {path.stem: len(read_history(path)) for path in paths}


def test_an_interrupted_run_stops_everything_and_says_what_it_has(
    under_way: "UnderWay", tmp_path: Path
) -> None:
    with under_way(*TWO) as command:
        wait_for(f"*/{SECOND}.jsonl", tmp_path, command)
        family = family_of(command)
        assert len(family) >= 4, "a supervisor, a PostgreSQL and two services"

        command.send_signal(signal.SIGINT)

        out, err = command.communicate(timeout=DEADLINE_S)
    assert (command.returncode, err) == (3, ""), out + err
    assert [process for process in family if lives(process)] == []
    assert "unknown: interrupted by SIGINT after 2 scenario(s)" in out
    assert f"✓ {FIRST}" in out
    histories = histories_in(tmp_path)
    assert histories.keys() == {"control", FIRST, SECOND}
    assert min(histories.values()) > 0


def test_an_interrupted_exploration_stops_everything_and_says_what_it_has(
    under_way: "UnderWay", shop: "Shop", tmp_path: Path
) -> None:
    explore = ("explore", "--service", shop(), "--scope", "two-requests", "--budget", "600")
    with under_way(*explore) as command:
        wait_for("*/explore-two-requests-2.jsonl", tmp_path, command)  # so one batch is judged
        family = family_of(command)
        assert len(family) >= 2, "a supervisor and a service"

        command.send_signal(signal.SIGINT)

        out, err = command.communicate(timeout=DEADLINE_S)
    assert (command.returncode, err) == (3, ""), out + err
    assert [process for process in family if lives(process)] == []
    assert "unknown: interrupted by SIGINT" in out
    histories = histories_in(tmp_path)
    assert {"control", "explore-two-requests-1", "explore-two-requests-2"} <= histories.keys()
    assert min(histories.values()) > 0
    [folder] = tmp_path.glob(".onecharge/runs/*")
    told = json.loads((folder / VERDICT).read_text())
    assert (told["verdict"], told["interrupted"]) == ("unknown", "interrupted by SIGINT")
    [part] = told["explored"]
    assert part["doubt"] == "interrupted"
    assert part["runs"] > 0
    again = stored_run(str(folder)).judged()
    assert (again.verdict, again.parts) == ("unknown", parts_in(folder))


def test_a_run_interrupted_while_it_starts_stops_everything(
    under_way: "UnderWay", tmp_path: Path
) -> None:
    with under_way("verify") as command:
        wait_for("*/logs/postgresql.log", tmp_path, command)
        family = family_of(command)

        command.send_signal(signal.SIGTERM)

        out, err = command.communicate(timeout=DEADLINE_S)
    assert (command.returncode, err) == (3, ""), out + err
    assert [process for process in family if lives(process)] == []
    assert "unknown: interrupted by SIGTERM after 0 scenario(s)" in out


def test_a_run_killed_outright_leaves_no_process_and_a_history_that_can_be_read(
    under_way: "UnderWay", tmp_path: Path
) -> None:
    with under_way(*TWO) as command:
        wait_for(f"*/{SECOND}.jsonl", tmp_path, command)
        family = family_of(command)
        assert len(family) >= 4, "a supervisor, a PostgreSQL and two services"

        command.kill()

        command.wait(DEADLINE_S)
    assert eventually(lambda: not any(map(lives, family))), family
    histories = histories_in(tmp_path)
    assert histories.keys() == {"control", FIRST, SECOND}
    assert histories[FIRST] > 0
