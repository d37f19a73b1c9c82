"""A Redis for the service: of our own or given, and a gate before it that shares the parking."""

from pathlib import Path

import pytest
import redis.exceptions
from redis.asyncio import Redis

from onecharge.control import clean_control
from onecharge.world.redis import redis_for, redis_program
from onecharge.world.service import NotReady
from onecharge.world.supervisor import Supervisor
from onecharge.world.world import standing
from tests.engine.races import RACES

pytestmark = pytest.mark.skipif(redis_program() is None, reason="there is no redis-server")


async def test_one_of_our_own_is_empty_and_asks_for_a_password(tmp_path: Path) -> None:
    async with await Supervisor.start() as supervisor, redis_for(None, supervisor, tmp_path) as url:
        async with Redis.from_url(url) as ours:
            assert await ours.dbsize() == 0
        without, _, rest = url.partition("//")
        stranger = Redis.from_url(f"{without}//{rest.partition('@')[2]}", protocol=2)
        with pytest.raises(redis.exceptions.AuthenticationError):
            await stranger.ping()
        await stranger.aclose()

        # A database of a server that runs: taken when it is empty, and left so.
        given = url.removesuffix("/0") + "/7"
        async with Redis.from_url(given) as ours:
            async with redis_for(given, supervisor, tmp_path):
                await ours.set("idem:1", "of this run")
            assert await ours.dbsize() == 0
            await ours.set("idem:2", "of another run")
            with pytest.raises(NotReady, match=r"redis.url: expected an empty .* found 1 key"):
                async with redis_for(given, supervisor, tmp_path):
                    pass
            assert await ours.get("idem:2") == b"of another run"


async def test_who_does_not_answer_is_named(tmp_path: Path) -> None:
    async with await Supervisor.start() as supervisor:
        with pytest.raises(NotReady, match=r"^redis.url: Redis at 127.0.0.1:1: "):
            async with redis_for("redis://127.0.0.1:1", supervisor, tmp_path):
                pass


async def test_a_service_goes_through_the_gate_and_we_do_not(tmp_path: Path) -> None:
    async with standing(RACES["redis_guard"].file(), tmp_path, seed=1, gated=True) as world:
        gate = world.redis_gate
        assert gate is not None
        seen: list[str] = []
        gate.on_command(1, lambda command: seen.append(command.place.what))
        await clean_control(world, 1)

        assert seen == ["GET result"]
        assert world.gates == (gate,)
        assert gate.parking is world.parking
        assert f":{gate.port}/" not in world.redis_url
        async with Redis.from_url(world.redis_url) as ours:
            assert await ours.dbsize() == 1
