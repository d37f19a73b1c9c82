"""Attached mode: the provider listens where the file says, and a service that runs is used."""

import socket
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from onecharge.service_file import ServiceFile, read_service_file
from onecharge.world.orders import orders_of
from onecharge.world.ports import free_port
from onecharge.world.service import NotReady
from onecharge.world.world import standing

TOKEN = "a-token-of-sixteen-letters-or-more"


@pytest.fixture
async def running() -> AsyncIterator[str]:
    """Where a service runs that answers anything, and knows nothing of us."""

    async def ok(_: web.BaseRequest) -> web.Response:
        return web.Response()

    runner = web.ServerRunner(web.Server(ok))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    yield f"http://{host}:{port}"
    await runner.cleanup()


def service_file(
    folder: Path, url: str, listen: str, more: str = "", *, ready_within_s: float = 60
) -> ServiceFile:
    path = folder / "onecharge.toml"
    path.write_text(
        f'[service]\nname = "shop"\nurls = ["{url}"]\nready_within_s = {ready_within_s}\n'
        f'[provider]\ndialect = "generic"\nlisten = "{listen}"\n{more}\n'
        '[charge]\npath = "/charges"\n[webhook]\npath = "/hooks"\n'
        "[capabilities]\nread_back = false\neffects = false\n"
    )
    return read_service_file(path)


async def control(url: str, headers: dict[str, str] | None = None) -> int:
    async with (
        aiohttp.ClientSession(headers=headers) as session,
        session.get(f"{url}/_sim/ledger") as answer,
    ):
        return answer.status


async def test_the_provider_listens_where_the_file_says_and_nothing_is_started(
    running: str, tmp_path: Path
) -> None:
    port = free_port()
    file = service_file(tmp_path, f"{running}/", f"127.0.0.1:{port}")

    async with standing(file, tmp_path / "run", seed=1) as world:
        assert world.simulator.urls == {"service": f"http://127.0.0.1:{port}"}
        assert world.values["provider_url"] == f"http://127.0.0.1:{port}"
        assert world.services.urls == [running] == [world.values["service_url"]]
        assert await control(world.values["provider_url"]) == 200
        assert world.services.next_url() == running
        world.begin_history("control")
        await world.services.restart("service")
        with pytest.raises(AssertionError, match="never killed"):
            world.services.kill("service")
        assert world.recorder.records == []
    assert list((tmp_path / "run" / "logs").iterdir()) == []


async def test_a_token_opens_the_controls_of_a_provider_that_others_can_reach(
    running: str, tmp_path: Path
) -> None:
    listen = f"0.0.0.0:{free_port()}"
    file = service_file(tmp_path, running, listen, f'token = "{TOKEN}"')

    async with standing(file, tmp_path / "run", seed=1) as world:
        url = world.values["provider_url"]
        assert await control(url) == 401
        assert await control(url, {"Authorization": f"Bearer {TOKEN}"}) == 200


async def test_what_a_run_makes_up_no_run_before_it_has_made_up(
    running: str, tmp_path: Path
) -> None:
    file = service_file(tmp_path, running, f"127.0.0.1:{free_port()}")
    made = []
    for run in ("run-1", "run-2"):
        async with standing(file, tmp_path / run, seed=1) as world:
            [order] = orders_of(file, "control", 1, 1, mark=world.mark)
            url = f"{world.values['provider_url']}/v1/charges"
            headers = {"Authorization": "Bearer shop", "Idempotency-Key": "k"}
            async with world.session.post(
                url, json={"amount_minor": 5, "currency": "EUR"}, headers=headers
            ) as answer:
                made.append((order.reference, order.key, (await answer.json())["id"]))

    assert all(one != two for one, two in zip(*made, strict=True))


async def test_every_address_has_its_turn(running: str, tmp_path: Path) -> None:
    file = service_file(tmp_path, running, f"127.0.0.1:{free_port()}")
    file = file.model_copy(
        update={"service": file.service.model_copy(update={"urls": (running, f"{running}/b")})}
    )

    async with standing(file, tmp_path / "run", seed=1) as world:
        assert [world.services.next_url() for _ in range(3)] == [running, f"{running}/b", running]


async def test_an_address_that_is_taken_is_the_files_mistake(running: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        listen = f"127.0.0.1:{other.getsockname()[1]}"
        with pytest.raises(NotReady, match=rf"provider.listen: .* at {listen}: .*in use"):
            async with standing(service_file(tmp_path, running, listen), tmp_path / "r", seed=1):
                pytest.fail("it stands")


async def test_a_service_that_does_not_run_is_said_to_be_missing(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    listen = f"127.0.0.1:{free_port()}"
    file = service_file(tmp_path, url, listen, ready_within_s=0.2)

    with pytest.raises(NotReady, match=r"service.urls: the service was not ready .* does it run\?"):
        async with standing(file, tmp_path / "run", seed=1):
            pytest.fail("it stands")
