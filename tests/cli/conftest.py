"""The command as a user runs it: in a folder of its own, with nothing set.

``onecharge`` is another process. ``here`` is this one, which has imported all that the command
needs: what it says and its exit code are the same, and a start is a second of a processor.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from onecharge.cli import main

HERE = Path(__file__).parent
DEADLINE_S = 200.0
COMMAND = (sys.executable, "-m", "onecharge")
NEVER_SET = ("DATABASE_URL", "GITHUB_STEP_SUMMARY")
NOTHING_SET = {name: text for name, text in os.environ.items() if name not in NEVER_SET}


@dataclass(frozen=True)
class Ended:
    """How the command ended, and what it said."""

    exit_code: object
    out: str
    err: str

    @property
    def says(self) -> str:
        """Everything, for a reader of a failed test."""
        return f"exit code {self.exit_code}\n{self.out}{self.err}"


OneCharge = Callable[..., Ended]
UnderWay = Callable[..., AbstractContextManager["subprocess.Popen[str]"]]
Shop = Callable[..., str]


@pytest.fixture
def onecharge(tmp_path: Path) -> OneCharge:
    """Run the command to its end; ``env`` is beside what is always set."""

    def onecharge(*words: str | Path, **env: str) -> Ended:
        done = subprocess.run(  # noqa: S603
            [*COMMAND, *words],
            cwd=tmp_path,
            env={**NOTHING_SET, **env},
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    return onecharge


@pytest.fixture
def here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> OneCharge:
    """Run the command to its end, in this process."""
    monkeypatch.chdir(tmp_path)
    for name in NEVER_SET:
        monkeypatch.delenv(name, raising=False)

    def here(*words: str | Path) -> Ended:
        monkeypatch.setattr(sys, "argv", ["onecharge", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        return Ended(ended.value.code, *capsys.readouterr())

    return here


@pytest.fixture
def under_way(tmp_path: Path) -> UnderWay:
    """Start the command, and kill it at the end of the block if it still runs."""

    @contextmanager
    def under_way(*words: str) -> "Iterator[subprocess.Popen[str]]":
        with subprocess.Popen(  # noqa: S603
            [*COMMAND, *words],
            cwd=tmp_path,
            env=NOTHING_SET,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as command:
            try:
                yield command
            finally:
                command.kill()

    return under_way


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """Open the corner shop in the test's folder, making a mistake of its own if asked to."""

    def shop(mistake: str = "") -> str:
        text = (HERE / "onecharge.toml").read_text()
        (tmp_path / "onecharge.toml").write_text(
            text.replace('MISTAKE = ""', f'MISTAKE = "{mistake}"')
        )
        shutil.copy(HERE / "shop.py", tmp_path)
        return "onecharge.toml"

    return shop
