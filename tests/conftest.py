"""What all tests share: one supervisor, one PostgreSQL, and a fresh database for who asks.

Hypothesis has three profiles: ``dev``; ``ci``, where the same examples are drawn every time; and
``deep``, to go hunting. ``ONECHARGE_HYPOTHESIS`` names one; otherwise it is ``ci`` where ``CI`` is
set, and ``dev``. None of them looks at a clock: a busy machine is no mistake of ours.
"""

import gc
import importlib.util
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from onecharge.world.postgres import INSTALLATION, WHEEL, Postgres
from onecharge.world.supervisor import Supervisor

patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("dev", patient)
settings.register_profile("ci", patient, derandomize=True, print_blob=True)
settings.register_profile("deep", patient, max_examples=1_000)
settings.load_profile(
    os.environ.get("ONECHARGE_HYPOTHESIS") or ("ci" if os.environ.get("CI") else "dev")
)

# No test speaks TLS to a stranger, and each of hundreds of processes that import aiohttp would load
# every certificate of the machine.
os.environ["SSL_CERT_FILE"] = ""

# Nor does any of them compile what another one has compiled, as containers often have it.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

_serial = count(1)


def pytest_configure() -> None:
    gc.disable()


def pytest_collection_finish() -> None:
    """Look for garbage from now on, and never again at what was imported and collected."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_report_header(config: pytest.Config) -> str:
    """Say what a red run needs to be seen again."""
    profile = settings.get_current_profile_name()
    seed = "derandomised" if settings().derandomize else config.getoption("hypothesis_seed")
    return f"onecharge: seed {seed}, Hypothesis profile {profile}, {_postgres_version()}"


def _postgres_version() -> str:
    found = importlib.util.find_spec(WHEEL)
    for place in (found and found.submodule_search_locations) or ():
        program = Path(place, INSTALLATION, "bin", "postgres")
        if program.is_file():
            asked = [str(program), "--version"]
            return subprocess.check_output(asked, text=True).strip()  # noqa: S603 - our own wheel's
    return "no PostgreSQL"


@pytest.fixture(scope="session")
async def supervisor() -> AsyncIterator[Supervisor]:
    async with await Supervisor.start() as supervisor:
        yield supervisor


@pytest.fixture(scope="session")
async def postgres(supervisor: Supervisor, tmp_path_factory: pytest.TempPathFactory) -> Postgres:
    return await Postgres.start(supervisor, tmp_path_factory.mktemp("postgresql"))


@pytest.fixture
async def database_url(postgres: Postgres) -> AsyncIterator[str]:
    name = f"test_{next(_serial)}"
    yield await postgres.create_database(name)
    await postgres.drop_database(name)
