"""The gate before a real Redis, as a client that most services use sees it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, Final, Literal

import pytest
import redis.exceptions
from redis.asyncio import Redis

from onecharge.engine.gates import redis_commands
from onecharge.engine.gates.gate import Held
from onecharge.engine.gates.redis_gate import RedisGate
from onecharge.loops import run_to_end
from onecharge.world.ports import free_port
from onecharge.world.redis import redis_program
from onecharge.world.supervisor import Supervisor
from tests.engine.conftest import arrival

BIG: Final = 3_000_000
Client = Callable[[str], Redis]


pytestmark = pytest.mark.skipif(redis_program() is None, reason="there is no redis-server")


@pytest.fixture(scope="module")
async def server_url(
    supervisor: Supervisor, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[str]:
    folder, port = tmp_path_factory.mktemp("redis"), free_port()
    argv = (redis_program() or "", "--port", str(port), "--bind", "127.0.0.1", "--save", "")
    await supervisor.spawn("redis", argv, env={}, cwd=folder, log=folder / "redis.log")
    url = f"redis://127.0.0.1:{port}/3"
    async with Redis.from_url(url) as client:
        while not await answers(client):
            await asyncio.sleep(0.01)
    yield url
    await supervisor.stop("redis")


async def answers(client: Redis) -> bool:
    try:
        return bool(await client.ping())
    except redis.exceptions.ConnectionError:
        return False


@pytest.fixture
async def gate(server_url: str) -> AsyncIterator[RedisGate]:
    gate = RedisGate(server_url)
    await gate.open()
    yield gate
    await gate.close()
    assert gate.complaints == []


@pytest.fixture
async def direct(server_url: str) -> AsyncIterator[Redis]:
    async with Redis.from_url(server_url, decode_responses=True) as client:
        await client.flushdb()
        yield client


@pytest.fixture(params=[2, 3], ids=["RESP2", "RESP3"])
async def client(gate: RedisGate, request: pytest.FixtureRequest) -> AsyncIterator[Redis]:
    async with Redis(**options(gate.port, request.param)) as client:
        yield client


def options(port: int, protocol: Literal[2, 3]) -> dict[str, Any]:
    no_retry = redis.asyncio.retry.Retry(redis.backoff.NoBackoff(), 0)
    return {
        "host": "127.0.0.1",
        "port": port,
        "db": 3,
        "protocol": protocol,
        "retry": no_retry,
        "decode_responses": True,
        "single_connection_client": True,
    }


async def held(gate: RedisGate, what: str) -> Held:
    event = await arrival(gate.parking, what)
    assert isinstance(event, Held)
    return event


async def test_a_command_waits_for_its_release(
    gate: RedisGate, client: Redis, direct: Redis
) -> None:
    await client.ping()
    gate.parking.arm()
    setting = asyncio.ensure_future(client.set("idem:k-1", "claimed", nx=True))

    command = await held(gate, "SET idem")
    before = await direct.get("idem:k-1")
    command.release()

    assert await setting
    assert (before, await direct.get("idem:k-1")) == (None, "claimed")
    assert str(command.place) == "background:1 SET idem #1"


async def test_a_connection_cut_before_a_command_leaves_nothing(
    gate: RedisGate, client: Redis, direct: Redis
) -> None:
    await client.ping()
    gate.on_command(1, Held.cut_before)

    with pytest.raises(redis.exceptions.ConnectionError):
        await client.set("idem:k-1", "claimed")

    assert await direct.get("idem:k-1") is None


async def test_a_connection_cut_after_a_command_leaves_all_but_the_answer(
    gate: RedisGate, client: Redis, direct: Redis
) -> None:
    await client.ping()
    gate.on_command(1, Held.cut_after)

    with pytest.raises(redis.exceptions.ConnectionError):
        await client.set("idem:k-1", "claimed")

    assert await direct.get("idem:k-1") == "claimed"


async def test_a_refused_command_is_answered_in_its_turn(
    gate: RedisGate, client: Redis, direct: Redis
) -> None:
    await client.ping()
    gate.on_command(2, lambda command: command.refuse("OOM"))

    async with client.pipeline(transaction=False) as pipeline:
        for number in range(3):
            pipeline.set(f"k{number}", "x")
        first, second, third = await pipeline.execute(raise_on_error=False)

    assert (first, third) == (True, True)
    assert isinstance(second, redis.exceptions.OutOfMemoryError)
    assert await direct.mget("k0", "k1", "k2") == ["x", None, "x"]


async def test_of_a_transaction_only_exec_is_held_and_a_refused_one_is_forgotten(
    gate: RedisGate, client: Redis, direct: Redis
) -> None:
    await client.ping()
    gate.parking.arm()

    async def transfer() -> Any:
        async with client.pipeline(transaction=True) as pipeline:
            pipeline.set("a", 1)
            pipeline.set("b", 2)
            return await pipeline.execute()

    first = asyncio.ensure_future(transfer())
    (await held(gate, "EXEC")).refuse("OOM")
    with pytest.raises(redis.exceptions.ResponseError, match="used memory"):
        await first
    assert await direct.mget("a", "b") == [None, None]

    second = asyncio.ensure_future(transfer())
    (await held(gate, "EXEC")).release()
    assert await second == [True, True]
    assert await direct.mget("a", "b") == ["1", "2"]


async def test_keys_are_evicted_by_their_pattern(gate: RedisGate, direct: Redis) -> None:
    await direct.mset({"idem:1": "x", "idem:2": "x", "other:1": "x"})

    assert await gate.evict("idem:*") == 2
    assert await direct.keys("*") == ["other:1"]


async def test_while_it_is_unreachable_nobody_comes_in_and_who_is_in_is_cut(
    gate: RedisGate, client: Redis
) -> None:
    await client.ping()
    async with gate.unreachable():
        with pytest.raises(redis.exceptions.ConnectionError):
            await client.get("a")
        with pytest.raises(redis.exceptions.ConnectionError):
            await client.get("a")
    assert await client.get("none") is None


async def test_a_delay_holds_the_kind_of_command_that_it_is_for(
    gate: RedisGate, client: Redis, direct: Redis
) -> None:
    assert await client.get("a") is None
    gate.delay("SET", 30)

    assert await client.get("a") is None
    came = asyncio.Event()
    gate.on_command(1, lambda _: came.set())
    setting = asyncio.ensure_future(client.set("a", 1))
    await came.wait()
    assert await direct.get("a") is None
    setting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await setting


async def test_a_slow_command_happens_at_once_and_is_answered_later(
    gate: RedisGate, client: Redis, direct: Redis
) -> None:
    assert await client.get("a") is None
    gate.on_command(1, lambda held: held.answer_late(0))
    gate.on_command(2, lambda held: held.answer_late(30))
    assert await client.get("a") is None
    setting = asyncio.ensure_future(client.set("a", 1))
    while await direct.get("a") is None:
        await asyncio.sleep(0)

    assert not setting.done()
    setting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await setting


@pytest.mark.parametrize("said, writes", [(b"GET", False), (b"SET", True), (b"OWN", True)])
def test_what_is_not_known_to_read_is_taken_to_write(said: bytes, *, writes: bool) -> None:
    assert redis_commands.reads([said, b"a"]) is not writes


async def test_a_code_that_redis_does_not_refuse_with_is_named(
    gate: RedisGate, client: Redis
) -> None:
    await client.ping()
    asked: list[Held] = []

    def refuse(command: Held) -> None:
        with pytest.raises(ValueError, match="expected one of BUSY"):
            command.refuse("40001")
        asked.append(command)

    gate.on_command(1, refuse)
    await client.get("a")

    assert len(asked) == 1


async def traffic(port: int, protocol: Literal[2, 3]) -> list[Any]:
    """What a service does with Redis, at length; what it was told, and what it heard."""
    async with (
        Redis(**options(port, protocol)) as client,
        Redis(**options(port, protocol)) as other,
    ):
        await client.flushdb()
        got: list[Any] = []
        async with client.pipeline(transaction=False) as pipeline:
            for number in range(2_000):
                pipeline.set(f"k:{number}", "v" * (number % 300))
                pipeline.get(f"k:{number // 2}")
            got.extend(await pipeline.execute())
        await client.set("big", "ü" * BIG)
        got.append(await client.get("big") == "ü" * BIG)
        script = "return {ARGV[1], 7, redis.call('INCRBY', KEYS[1], 5), {1, 2}}"
        got.append(await client.eval(script, 1, "counter", "a"))
        got.append(await client.register_script(script)(keys=["counter"], args=["b"]))
        await client.hset("h", mapping={"a": "1", "b": "2"})
        await client.zadd("z", {"a": 1.5})
        got.extend([await client.hgetall("h"), await client.zrange("z", 0, -1, withscores=True)])
        async with client.pipeline(transaction=True) as pipeline:
            await pipeline.watch("counter")
            await other.incr("counter")
            pipeline.multi()  # type: ignore[no-untyped-call]  # theirs
            pipeline.incr("counter")
            try:
                await pipeline.execute()
            except redis.exceptions.WatchError:
                got.append("watched")
        try:
            await client.lpush("counter", 1)
        except redis.exceptions.ResponseError as error:
            got.append(str(error))
        got.append(await client.lpush("list", 1))
        got.append(await client.blpop(["list"], timeout=5))
        async with client.pubsub() as listening:
            await listening.subscribe("paid")
            for number in range(3):
                await other.publish("paid", number)
            got.extend([await listening.get_message(timeout=20) for _ in range(4)])
        return got


@pytest.mark.parametrize("armed", [False, True], ids=["open", "armed"])
@pytest.mark.parametrize("protocol", [2, 3])
async def test_what_comes_through_the_gate_is_what_comes_without(
    gate: RedisGate, server_url: str, protocol: Literal[2, 3], *, armed: bool
) -> None:
    expected = await traffic(gate.server.port, protocol)
    assert len(expected) > 4_000

    async def release() -> None:
        seen = -1
        while True:
            seen = await gate.parking.changed(seen)
            gate.parking.release_all()

    if armed:
        gate.parking.arm()
    releasing = asyncio.create_task(release())
    try:
        assert await traffic(gate.port, protocol) == expected
    finally:
        releasing.cancel()
    assert gate.url(server_url) == f"redis://127.0.0.1:{gate.port}/3"


async def test_who_speaks_before_the_server_is_reached_is_heard(server_url: str) -> None:
    async def says_and_hears(port: int) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"PING\r\n")
        heard = await reader.readline()
        writer.close()
        return heard

    async def many_at_once() -> set[bytes]:
        gate = RedisGate(server_url)
        await gate.open()
        try:
            async with asyncio.timeout(20):
                return set(await asyncio.gather(*(says_and_hears(gate.port) for _ in range(50))))
        finally:
            await gate.close()

    # The loop of worlds delivers what came with a connection, though it was asked to wait.
    assert await asyncio.to_thread(run_to_end, many_at_once()) == {b"+PONG\r\n"}


async def test_what_people_type_is_answered(gate: RedisGate) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", gate.port)
    gate.on_command(1, lambda command: command.refuse("LOADING"))
    writer.write(b"PING\r\nGET a\r\n\r\nECHO hi\r\nQUIT\r\n")

    said = await reader.read()
    writer.close()

    assert said.splitlines() == [
        b"+PONG",
        b"-LOADING Redis is loading the dataset in memory",
        b"$2",
        b"hi",
        b"+OK",
    ]


def test_a_url_that_no_gate_can_stand_before_is_named() -> None:
    with pytest.raises(ValueError, match="redis:// or rediss://"):
        RedisGate("memcached://a")
