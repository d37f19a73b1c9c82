"""Locust drives the volume; the provider's ledger decides how its run ends."""

import os
import subprocess
import sys
from pathlib import Path

import psutil

from onecharge.history.reading import read_history
from onecharge.world.postgres import Postgres

LOCUSTFILE = Path(__file__).parents[2] / "locustfile.py"
DEADLINE_S = 200.0


def locust(folder: Path, *words: str, **env: str) -> "subprocess.CompletedProcess[str]":
    """Run a short load in a folder of its own; ``env`` is beside what is always set."""
    return subprocess.run(  # noqa: S603
        [sys.executable, "-m", "locust", "-f", LOCUSTFILE, "--headless", *words],
        cwd=folder,
        env={n: text for n, text in os.environ.items() if n != "DATABASE_URL"} | env,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )


def test_the_reference_holds_under_load_and_nothing_is_left_running(tmp_path: Path) -> None:
    done = locust(tmp_path, "-u", "10", "-r", "20", "-t", "2s")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "onecharge: holds: " in done.stdout
    [run] = (tmp_path / ".onecharge" / "runs").iterdir()
    orders = {record.order for record in read_history(run / "segments" / "locust.jsonl")}
    assert len(orders) >= 10, "every customer has ordered"
    assert not [p for p in psutil.process_iter() if _works_in(p, run)]


def test_a_double_charge_under_load_ends_the_run_with_1(postgres: Postgres, tmp_path: Path) -> None:
    done = locust(
        tmp_path,
        *("-u", "10", "-r", "20", "-t", "2s", "--mutant", "no_client_key_guard"),
        DATABASE_URL=postgres.url("postgres"),
    )

    assert done.returncode == 1, done.stdout + done.stderr
    assert "one_charge_per_key: " in done.stdout
    assert "--mutant no_client_key_guard" in done.stdout.partition("repeat: ")[2]


def test_a_mistake_is_one_sentence_before_any_load(tmp_path: Path) -> None:
    done = locust(tmp_path, "-u", "1", "-t", "1s", "--mutant", "no_such_guard")

    assert done.returncode == 2, done.stdout + done.stderr
    assert "onecharge: --mutant: no mutant is called 'no_such_guard'" in done.stderr
    assert "Traceback" not in done.stderr


def test_several_locust_processes_are_refused_in_words(tmp_path: Path) -> None:
    done = locust(tmp_path, "-u", "1", "-t", "1s", "--master", "--master-bind-port", "0")

    assert done.returncode == 2, done.stdout + done.stderr
    assert "one process only, for now" in done.stderr


def _works_in(process: psutil.Process, folder: Path) -> bool:
    try:
        files = [file.path for file in process.open_files()]
    except psutil.Error:
        return False
    return any(file.startswith(str(folder)) for file in files)
