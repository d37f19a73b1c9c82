"""Every import contract is kept, and each is seen to fail when it is broken on purpose.

A contract that nobody has seen fail may be one that cannot.
"""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = ROOT / "pyproject.toml"

OFFENCES = {
    "The provider core is a pure machine: no I/O, no clock, no ids of its own": (
        "simulator/core/charges.py",
        "import time",
    ),
    "Faults and dialects are pure as well, and see only the core": (
        "simulator/faults/lose_reply.py",
        "import aiohttp",
    ),
    "Faults and dialects do not know each other": (
        "simulator/dialects/generic/__init__.py",
        "from simulator.faults import hold",
    ),
    "The simulator knows neither the judge nor the reference": (
        "simulator/server.py",
        "from onecharge.history import records",
    ),
    "The reference is an ordinary service: HTTP and SQL only": (
        "reference_impl/app.py",
        "from simulator import clock",
    ),
    "The harness reaches any service only through a service file": (
        "onecharge/targets.py",
        "import reference_impl",
    ),
    "Invariants see the history and nothing else": (
        "onecharge/invariants/one_charge_per_key.py",
        "from onecharge.world import ports",
    ),
    "What is spoken on the wire is told without a wire: bytes in, pieces out": (
        "onecharge/engine/gates/wire/redis.py",
        "import socket",
    ),
    "What is chosen in a run is chosen without a run: no I/O, no clock, no gate": (
        "onecharge/engine/tapes/chooser.py",
        "import asyncio",
    ),
    "A gate knows where commands are parked, and nobody who lets them go on": (
        "onecharge/engine/gates/gate.py",
        "from onecharge.engine import moves",
    ),
    "The engine makes runs and knows nobody who asks for them": (
        "onecharge/engine/stage.py",
        "from onecharge.exploring import batches",
    ),
    "A verdict comes from histories: it knows nobody who plays, explores or reports": (
        "onecharge/verdict.py",
        "from onecharge.exploring import batches",
    ),
}


def test_every_contract_is_broken_here_on_purpose() -> None:
    linter = tomllib.loads(PROJECT.read_text())["tool"]["importlinter"]

    assert {contract["name"] for contract in linter["contracts"]} == OFFENCES.keys()


def test_every_contract_is_kept(memory: Path) -> None:
    assert verdicts_of_the_linter(ROOT, memory) == dict.fromkeys(OFFENCES, "KEPT")


@pytest.mark.parametrize("half", [0, 1], ids=["one half", "the other half"])
def test_those_contracts_fail_that_are_broken(half: int, memory: Path, tmp_path: Path) -> None:
    broken = list(OFFENCES)[half::2]
    copy_the_packages(tmp_path)
    for contract in broken:
        file, offence = OFFENCES[contract]
        with (tmp_path / file).open("a") as source:
            source.write(f"\n{offence}\n")

    verdicts = verdicts_of_the_linter(tmp_path, memory)

    assert verdicts == dict.fromkeys(OFFENCES, "KEPT") | dict.fromkeys(broken, "BROKEN")


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the linter remembers what each file imports, by its time of change."""
    return tmp_path_factory.mktemp("memory")


def copy_the_packages(folder: Path) -> None:
    """Copy what the linter reads, times of change included: only the offender is read anew."""
    shutil.copy(PROJECT, folder)
    linter = tomllib.loads(PROJECT.read_text())["tool"]["importlinter"]
    for package in linter["root_packages"]:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, folder / package, ignore=ignored)


def verdicts_of_the_linter(folder: Path, memory: Path) -> dict[str, str]:
    """Lint the packages that lie in ``folder``: it is the first place where they are looked for."""
    done = subprocess.run(  # noqa: S603
        [Path(sys.executable).with_name("lint-imports"), "--cache-dir", memory],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    verdicts = dict(re.findall(r"^(.+) (KEPT|BROKEN)$", done.stdout, flags=re.MULTILINE))
    assert done.returncode == ("BROKEN" in verdicts.values()), done.stdout + done.stderr
    return verdicts
