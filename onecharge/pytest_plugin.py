"""The pytest plug-in: a provider that goes wrong, and your service beside it, as fixtures.

    @pytest.mark.onecharge_fault("lose_reply", operation="charge.create")
    def test_a_lost_reply_charges_once(onecharge_provider):
        shop = Shop(provider_url=onecharge_provider.url)
        shop.pay(order="ord-1", key="k-1")
        shop.pay(order="ord-1", key="k-1")  # the customer tries again
        onecharge_provider.charged("ord-1").once()

Rule 1: a marked fault that never fired fails its test: it has shown nothing.
Rule 2: nothing of the harness is imported before a test asks for a fixture.
"""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onecharge.testing import RunningProvider, RunningService

FAULT = "onecharge_fault"
PROVIDER = "onecharge_provider"
FILE = "onecharge_service_file"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a project say where its service file is."""
    parser.addini(FILE, "the service file of the service to test", default="onecharge.toml")


def pytest_configure(config: pytest.Config) -> None:
    """Make the markers known."""
    config.addinivalue_line(
        "markers",
        f"{FAULT}(name, **parameters): let this go wrong at the provider during the test; "
        "names and parameters are those of `onecharge list faults`",
    )
    config.addinivalue_line(
        "markers",
        f"{PROVIDER}(dialect='generic', seed=0): which provider the fixture plays",
    )


@pytest.fixture
def onecharge_provider(request: pytest.FixtureRequest) -> "Iterator[RunningProvider]":
    """A fake payment provider of this test's own, on loopback; see ``RunningProvider``.

    In a test that asks for ``onecharge_service`` as well, it is the provider of that service.
    """
    from onecharge.testing import running_provider

    if "onecharge_service" in request.fixturenames:
        service: RunningService = request.getfixturevalue("onecharge_service")
        yield service.provider
        return
    marker = request.node.get_closest_marker(PROVIDER)
    with running_provider(**(marker.kwargs if marker else {})) as provider:
        _go_wrong_as_marked(request, provider)
        yield provider
        provider.must_have_fired()


@pytest.fixture
def onecharge_service(
    request: pytest.FixtureRequest, _onecharge_world: "RunningService"
) -> "Iterator[RunningService]":
    """Your service as its service file describes it, up and ready; see ``RunningService``.

    It is started once for all tests. The ini option ``onecharge_service_file`` names the file.
    """
    _onecharge_world.begin(_file_name(request.node.nodeid))
    _go_wrong_as_marked(request, _onecharge_world.provider)
    yield _onecharge_world
    _onecharge_world.provider.must_have_fired()


@pytest.fixture(scope="session")
def _onecharge_world(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> "Iterator[RunningService]":
    from onecharge.mistakes import USERS_MISTAKES
    from onecharge.testing import running_service

    file = Path(request.config.rootpath, request.config.getini(FILE))
    with ExitStack() as stack:
        try:
            running = running_service(file, tmp_path_factory.mktemp("onecharge"))
            service = stack.enter_context(running)
        except USERS_MISTAKES as mistake:
            pytest.fail(f"onecharge_service: {mistake}", pytrace=False)
        yield service


def _go_wrong_as_marked(request: pytest.FixtureRequest, provider: "RunningProvider") -> None:
    """Arm the faults that the test's markers name, in the order in which they are read."""
    from simulator.catalogue import PlanError

    rules = [
        {"fault": marker.args[0] if marker.args else None, **marker.kwargs}
        for marker in reversed(list(request.node.iter_markers(FAULT)))
    ]
    try:
        provider.plan(*rules)
    except PlanError as mistake:
        pytest.fail(f"@pytest.mark.{FAULT}: {mistake}", pytrace=False)


def _file_name(node_id: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in node_id).strip("-")[-120:]
