"""The museum's visitors run the command line itself, against the tests' own PostgreSQL."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from onecharge.world.postgres import Postgres

DEADLINE_S = 100.0


@dataclass(frozen=True)
class Seen:
    """How one run of the command ended."""

    exit_code: int
    said: str
    verdict: dict[str, Any]

    @property
    def violations(self) -> dict[str, list[dict[str, Any]]]:
        """What was found, by the name of the invariant."""
        return {
            invariant["name"]: invariant["violations"]
            for invariant in self.verdict["invariants"]
            if invariant["violations"]
        }


OneCharge = Callable[[Sequence[str]], Seen]


@pytest.fixture
async def onecharge(postgres: Postgres, tmp_path: Path) -> OneCharge:
    def onecharge(words: Sequence[str]) -> Seen:
        file = tmp_path / "verdict.json"
        file.unlink(missing_ok=True)
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "onecharge", *words, "--json", file],
            cwd=tmp_path,
            env={**os.environ, "DATABASE_URL": postgres.url("postgres")},
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )
        said = done.stdout + done.stderr
        assert file.exists(), said
        return Seen(done.returncode, said, json.loads(file.read_text()))

    return onecharge
