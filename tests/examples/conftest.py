"""Examples as their readers run them: copied to a folder of their own, by the command."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
DEADLINE_S = 300.0

AT_EVERY_BOUNDARY = (
    "declined_cards",
    "duplicate_events_at_once",
    "errors_after_commit",
    "errors_before_commit",
    "event_before_reply",
    "killed_between_commit_and_record",
    "lost_replies",
    "parallel_same_key",
    "same_key_other_body",
)
"""What a right example must withstand here; CI has no hour to play the whole library to each."""


@pytest.fixture
def at_every_boundary() -> list[str]:
    """Words that choose the scenarios in which each boundary repeats itself."""
    return [word for name in AT_EVERY_BOUNDARY for word in ("--scenario", name)]


@pytest.fixture
def example(tmp_path: Path) -> Callable[[str], Path]:
    """Copy an example, so that what it writes stays in the test's folder."""

    def example(name: str) -> Path:
        shutil.copytree(
            EXAMPLES / name, tmp_path / name, ignore=shutil.ignore_patterns("*.db", ".onecharge")
        )
        return tmp_path / name / "onecharge.toml"

    return example


@pytest.fixture
def verify(tmp_path: Path) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Run ``onecharge verify`` on a service file, with a mistake put into the service or none."""

    def verify(service: Path, *words: str, mistake: str = "") -> "subprocess.CompletedProcess[str]":
        return subprocess.run(  # noqa: S603 - our own command
            [sys.executable, "-m", "onecharge", "verify", "--service", service, *words],
            cwd=tmp_path,
            env={**os.environ, "MISTAKE": mistake},
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )

    return verify
