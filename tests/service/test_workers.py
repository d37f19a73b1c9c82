"""``WORKERS=n``: a parent that forks the processes which serve."""

import asyncio
import json
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

import psutil
import pytest

if TYPE_CHECKING:
    from tests.service.conftest import Shop

PATIENCE_S = 60


def _said(shop: "Shop", name: str) -> list[dict[str, Any]]:
    lines = (shop.folder / f"{name}.log").read_text().splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


async def _until_said(shop: "Shop", name: str, says: str, times: int) -> list[dict[str, Any]]:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            said = [line for line in _said(shop, name) if line["says"] == says]
            if len(said) >= times:
                return said
            await asyncio.sleep(0.02)


def _workers(shop: "Shop", name: str) -> list[psutil.Process]:
    return psutil.Process(shop.supervisor._children[name].pid).children()


@pytest.fixture
async def name(shop: "Shop") -> str:
    """A service of two workers that both serve."""
    name = await shop.spawn(WORKERS="2")
    await _until_said(shop, name, "listening", 2)
    return name


async def test_a_worker_that_is_killed_is_replaced(shop: "Shop", name: str) -> None:
    [first, other] = _workers(shop, name)
    os.kill(first.pid, signal.SIGKILL)

    [ended] = await _until_said(shop, name, "worker ended", 1)
    await _until_said(shop, name, "listening", 3)

    assert (ended["pid"], ended["code"]) == (first.pid, -signal.SIGKILL)
    after = _workers(shop, name)
    assert len(after) == 2
    assert other in after
    assert first not in after
    assert (await shop.pay()).status == 201


async def test_they_end_together_when_asked_to(shop: "Shop", name: str) -> None:
    workers = _workers(shop, name)

    assert await shop.supervisor.stop(name) == 0
    assert not any(worker.is_running() for worker in workers)


async def test_they_end_with_their_parent_however_it_went(shop: "Shop", name: str) -> None:
    workers = _workers(shop, name)

    os.kill(shop.supervisor._children[name].pid, signal.SIGKILL)

    async with asyncio.timeout(PATIENCE_S):
        while any(worker.is_running() for worker in workers):
            await asyncio.sleep(0.02)


async def test_their_counts_meet(shop: "Shop", name: str) -> None:
    assert name
    for number in range(8):  # over as many connections, so that both have their share
        headers = {"Connection": "close", "Authorization": "Bearer shop"}
        body = {"order": f"ord-{number}", "amount_minor": 1, "currency": "EUR", "customer": "c"}
        await shop.send(
            "POST",
            "/charges",
            headers | {"Idempotency-Key": f"key-{number}"},
            json.dumps(body).encode(),
        )

    page = await shop.send("GET", "/metrics", {})

    assert 'reference_attempts_total{operation="charge"} 8.0' in page.body.decode()


async def test_one_that_can_never_serve_ends_them_all(shop: "Shop") -> None:
    ended = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "reference_impl"),
        env={
            **os.environ,
            **shop.environment(WORKERS="3"),
            "DATABASE_URL": shop.database_url + "_that_is_not_there",
        },
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await ended.communicate()

    assert ended.returncode == 1
    assert b"DATABASE_URL: the database does not answer" in said
