"""What the gate does to statements, seen by real drivers and in a real PostgreSQL."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import LiteralString

import asyncpg
import psycopg
import pytest
from psycopg import AsyncConnection

from onecharge.engine.gates.gate import Held
from onecharge.engine.gates.postgres_gate import PostgresGate
from onecharge.engine.locks import Locks
from onecharge.engine.parking import Parked
from tests.engine.conftest import arrival

INSERT = "INSERT INTO charges VALUES (1, 500)"

Insert = Callable[[str], Awaitable[None]]


async def by_psycopg(url: str) -> None:
    async with await AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute("INSERT INTO charges VALUES (%s, %s)", (1, 500))


async def by_psycopg_simply(url: str) -> None:
    async with await AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute(INSERT)


async def by_asyncpg(url: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("INSERT INTO charges VALUES ($1, $2)", 1, 500)
    finally:
        connection.terminate()


drivers = pytest.mark.parametrize("insert", [by_psycopg, by_psycopg_simply, by_asyncpg])


async def held(gate: PostgresGate, what: str) -> Held:
    event = await arrival(gate.parking, what)
    assert isinstance(event, Held)
    return event


async def charges(direct: AsyncConnection) -> int:
    row = await (await direct.execute("SELECT count(*) FROM charges")).fetchone()
    assert row is not None
    return int(row[0])


@drivers
async def test_a_statement_waits_for_its_release(
    gate: PostgresGate, url: str, direct: AsyncConnection, insert: Insert
) -> None:
    gate.parking.arm()
    inserting = asyncio.ensure_future(insert(url))

    statement = await held(gate, "INSERT INTO charges")
    before = await charges(direct)
    statement.release()
    await inserting

    assert str(statement.place) == "background:1 INSERT INTO charges #1"
    assert (before, await charges(direct)) == (0, 1)
    assert gate.parking.parked() == ()


@drivers
async def test_a_connection_cut_before_a_statement_leaves_nothing(
    gate: PostgresGate, url: str, direct: AsyncConnection, insert: Insert
) -> None:
    gate.on_command(1, Held.cut_before)

    with pytest.raises((psycopg.OperationalError, asyncpg.PostgresError, ConnectionError)):
        await insert(url)

    assert await charges(direct) == 0


@drivers
async def test_a_connection_cut_after_a_statement_leaves_all_but_the_answer(
    gate: PostgresGate, url: str, direct: AsyncConnection, insert: Insert
) -> None:
    gate.on_command(1, Held.cut_after)

    with pytest.raises((psycopg.OperationalError, asyncpg.PostgresError, ConnectionError)):
        await insert(url)

    assert await charges(direct) == 1


@pytest.mark.parametrize("code", ["40001", "40P01"])
@drivers
async def test_a_refused_statement_changes_nothing(
    gate: PostgresGate, url: str, direct: AsyncConnection, insert: Insert, code: str
) -> None:
    gate.on_command(1, lambda statement: statement.refuse(code))

    with pytest.raises((psycopg.OperationalError, asyncpg.PostgresError)) as caught:
        await insert(url)

    assert caught.value.sqlstate == code
    assert await charges(direct) == 0


async def insert_at_length(url: str) -> None:
    """Insert by a statement that is too large to be kept as a whole."""
    async with await AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute("INSERT INTO charges VALUES (1, length(%s))", ("x" * 1_000_000,))


async def insert_at_length_simply(url: str) -> None:
    async with await AsyncConnection.connect(url, autocommit=True) as connection:
        text = "INSERT INTO charges VALUES (1, length('{}'))"
        await connection.execute(text.format("x" * 1_000_000).encode())


large = pytest.mark.parametrize("insert", [insert_at_length, insert_at_length_simply])


@large
async def test_a_large_statement_waits_as_well(
    gate: PostgresGate, url: str, direct: AsyncConnection, insert: Insert
) -> None:
    gate.parking.arm()
    inserting = asyncio.ensure_future(insert(url))

    (await held(gate, "INSERT INTO charges")).release()
    await inserting

    assert await (await direct.execute("SELECT * FROM charges")).fetchall() == [(1, 1_000_000)]


@large
async def test_a_large_statement_is_refused_as_well(
    gate: PostgresGate, url: str, direct: AsyncConnection, insert: Insert
) -> None:
    gate.on_command(1, lambda statement: statement.refuse("40001"))

    with pytest.raises(psycopg.errors.SerializationFailure):
        await insert(url)
    await insert(url)

    assert await charges(direct) == 1


@large
async def test_the_answer_to_a_large_statement_is_lost_as_well(
    gate: PostgresGate, url: str, direct: AsyncConnection, insert: Insert
) -> None:
    gate.on_command(1, Held.cut_after)

    with pytest.raises(psycopg.OperationalError):
        await insert(url)

    assert await charges(direct) == 1


async def test_a_lost_acknowledgement_of_commit(
    gate: PostgresGate, url: str, direct: AsyncConnection
) -> None:
    connection = await AsyncConnection.connect(url)
    await connection.execute(INSERT)
    gate.on_command(1, Held.cut_after)

    with pytest.raises(psycopg.OperationalError, match="closed the connection"):
        await connection.commit()

    assert await charges(direct) == 1


async def test_a_commit_that_never_arrived(
    gate: PostgresGate, url: str, direct: AsyncConnection
) -> None:
    connection = await AsyncConnection.connect(url)
    await connection.execute(INSERT)
    gate.on_command(1, Held.cut_before)

    with pytest.raises(psycopg.OperationalError, match="closed the connection"):
        await connection.commit()

    assert await charges(direct) == 0


async def test_a_statement_refused_within_a_transaction_fails_all_of_it(
    gate: PostgresGate, url: str
) -> None:
    async with await AsyncConnection.connect(url) as connection:
        await connection.execute("CREATE TEMPORARY TABLE mine (id int)")
        gate.on_command(1, lambda statement: statement.refuse("40P01"))

        with pytest.raises(psycopg.errors.DeadlockDetected, match=r"^deadlock detected$"):
            await connection.execute("INSERT INTO mine VALUES (%s)", (1,))
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            await connection.execute("SELECT count(*) FROM mine")
        await connection.rollback()

        assert connection.info.transaction_status is psycopg.pq.TransactionStatus.IDLE
        await connection.execute("SELECT %s::int", (1,))


async def test_a_savepoint_survives_a_refusal(gate: PostgresGate, url: str) -> None:
    async with await AsyncConnection.connect(url) as connection:
        await connection.execute("CREATE TEMPORARY TABLE mine (id int)")
        gate.on_command(2, lambda statement: statement.refuse("40001"))  # behind the savepoint
        with pytest.raises(psycopg.errors.SerializationFailure):
            await within_a_savepoint(connection, "INSERT INTO mine VALUES (1)")

        rows = await connection.execute("SELECT count(*) FROM mine")

        assert await rows.fetchone() == (0,)


async def within_a_savepoint(connection: AsyncConnection, statement: LiteralString) -> None:
    async with connection.transaction():
        await connection.execute(statement)


async def test_a_refused_commit_ends_the_transaction(
    gate: PostgresGate, url: str, direct: AsyncConnection
) -> None:
    async with await AsyncConnection.connect(url) as connection:
        await connection.execute(INSERT)
        gate.on_command(1, lambda statement: statement.refuse("40001"))

        with pytest.raises(psycopg.errors.SerializationFailure, match="could not serialize"):
            await connection.commit()

        assert connection.info.transaction_status is psycopg.pq.TransactionStatus.IDLE
        assert await charges(direct) == 0
        await connection.execute(INSERT)
        await connection.commit()
    assert await charges(direct) == 1


async def test_in_a_pipeline_each_statement_waits_alone_and_a_refusal_skips_the_rest(
    gate: PostgresGate, url: str, direct: AsyncConnection
) -> None:
    async with await AsyncConnection.connect(url, autocommit=True) as connection:
        gate.parking.arm()

        async def insert_three() -> None:
            async with connection.pipeline():
                for number in (1, 2, 3):
                    await connection.execute("INSERT INTO charges VALUES (%s, 500)", (number,))

        inserting = asyncio.create_task(insert_three())
        (await held(gate, "INSERT INTO charges")).release()
        second = await held(gate, "INSERT INTO charges")
        assert second.place.nth == 2
        second.refuse("40001")

        with pytest.raises(psycopg.errors.SerializationFailure):
            await inserting
        gate.parking.disarm()
        row = await (await connection.execute("SELECT 'still here'")).fetchone()
    assert row == ("still here",)
    assert await charges(direct) == 0  # one pipeline is one transaction


@pytest.mark.usefixtures("direct")
async def test_a_named_statement_is_remembered_by_its_text(gate: PostgresGate, url: str) -> None:
    connection = await asyncpg.connect(url)
    find = await connection.prepare("SELECT amount_minor FROM charges WHERE id = $1")
    await find.fetch(1)
    gate.parking.arm()

    finding = asyncio.ensure_future(find.fetch(1))
    (await held(gate, "SELECT FROM charges")).release()

    assert await finding == []
    gate.parking.disarm()
    await connection.close()


@pytest.mark.usefixtures("direct")
async def test_a_named_statement_survives_that_its_first_use_is_refused(
    gate: PostgresGate, url: str
) -> None:
    async with await AsyncConnection.connect(url, autocommit=True) as connection:
        connection.prepare_threshold = 0
        gate.on_command(1, lambda statement: statement.refuse("40001"))
        ask = "SELECT count(*) FROM charges WHERE id = %s"
        with pytest.raises(psycopg.errors.SerializationFailure):
            await connection.execute(ask, (1,))

        for _ in range(2):
            assert await (await connection.execute(ask, (1,))).fetchone() == (0,)


@pytest.mark.usefixtures("direct")
async def test_a_connection_stays_with_the_chain_that_opened_its_transaction(
    gate: PostgresGate, url: str
) -> None:
    async with (
        await AsyncConnection.connect(url) as pooled,
        await AsyncConnection.connect(url, autocommit=True) as other,
    ):
        gate.parking.arm()
        gate.parking.chains.moves("client:1")
        deleting = asyncio.create_task(pooled.execute("DELETE FROM charges"))
        first = await held(gate, "DELETE FROM charges")
        gate.parking.release(first)
        await deleting
        gate.parking.chains.moves("client:2")
        committing = asyncio.create_task(pooled.commit())
        updating = asyncio.create_task(other.execute("UPDATE charges SET id = 2"))
        second, third = await held(gate, "COMMIT"), await held(gate, "UPDATE charges")
        gate.parking.release(second)
        await committing
        gate.parking.chains.moves("client:2")
        again = asyncio.create_task(pooled.execute("DELETE FROM charges"))
        fourth = await held(gate, "DELETE FROM charges")
        gate.parking.disarm()
        await asyncio.gather(updating, again)

    assert [str(each.place) for each in (first, second, third, fourth)] == [
        "client:1 DELETE FROM charges #1",
        "client:1 COMMIT #1",
        "client:2 UPDATE charges #1",
        "client:2 DELETE FROM charges #1",
    ]


async def test_who_was_blocked_hears_of_it_when_its_turn_has_come(
    gate: PostgresGate, url: str, direct: AsyncConnection
) -> None:
    async with (
        await AsyncConnection.connect(url) as first,
        await AsyncConnection.connect(url) as second,
    ):
        await first.execute(INSERT)
        gate.parking.arm()
        gate.parking.chains.moves("client:2")
        waiting = asyncio.create_task(second.execute(INSERT + " ON CONFLICT DO NOTHING"))
        gate.parking.release(await held(gate, "INSERT INTO charges"))
        while not (blocked := await pids_that_wait(direct)):
            await asyncio.sleep(0)
        whose = gate.chains_of(blocked)
        gate.parking.rest()
        gate.parking.chains.moves("client:1")
        committing = asyncio.create_task(first.commit())
        gate.parking.release(await held(gate, "COMMIT"))
        await committing

        woken = await arrival(gate.parking, "INSERT INTO charges")
        told_before_its_turn = waiting.done()
        gate.parking.release(woken)
        inserted = (await waiting).rowcount
        moving = gate.parking.chains.moving
        gate.parking.disarm()

    assert whose == ["client:2"]
    assert (woken.standing, str(woken.place)) == ("woken", "client:2 INSERT INTO charges #1")
    assert not told_before_its_turn
    assert (inserted, moving) == (0, "client:2")
    assert await charges(direct) == 1


async def test_who_was_blocked_is_told_at_once_where_nothing_is_held_any_more(
    gate: PostgresGate, url: str, direct: AsyncConnection
) -> None:
    async with (
        await AsyncConnection.connect(url) as first,
        await AsyncConnection.connect(url) as second,
    ):
        await first.execute(INSERT)
        gate.parking.arm()
        waiting = asyncio.create_task(second.execute(INSERT + " ON CONFLICT DO NOTHING"))
        gate.parking.release(await held(gate, "INSERT INTO charges"))
        while not await pids_that_wait(direct):
            await asyncio.sleep(0)
        gate.parking.rest()
        gate.parking.disarm()
        await first.commit()
        inserted = (await waiting).rowcount

    assert inserted == 0


async def test_who_is_cut_off_while_blocked_leaves_nothing_parked(
    gate: PostgresGate, url: str, direct: AsyncConnection
) -> None:
    async with await AsyncConnection.connect(url) as first:
        second = await AsyncConnection.connect(url)
        await first.execute(INSERT)
        gate.parking.arm()
        waiting = asyncio.create_task(second.execute(INSERT))
        gate.parking.release(await held(gate, "INSERT INTO charges"))
        while not await pids_that_wait(direct):
            await asyncio.sleep(0)
        gate.parking.rest()
        committing = asyncio.create_task(first.commit())
        gate.parking.release(await held(gate, "COMMIT"))
        await committing
        await arrival(gate.parking, "INSERT INTO charges")
        await gate.cut_off()
        with pytest.raises(psycopg.OperationalError):
            await waiting
        await second.close()

    assert gate.parking.parked() == ()


LOOK = "SELECT id FROM charges WHERE amount_minor < %s"


async def test_what_is_said_unasked_is_learnt_and_passes_and_what_follows_from_it_is_held(
    gate: PostgresGate, url: str, direct: AsyncConnection
) -> None:
    async with await AsyncConnection.connect(url) as reconciler:
        gate.habits.listen()
        await reconciler.execute(LOOK, [1])
        await reconciler.commit()
        gate.habits.learn()
        gate.parking.arm()
        gate.parking.chains.moves("client:1")

        await reconciler.execute(LOOK, [2])
        await reconciler.commit()
        await reconciler.execute(LOOK, [3])
        inserting = asyncio.create_task(reconciler.execute(INSERT))
        found = await held(gate, "INSERT INTO charges")
        gate.parking.disarm()
        await inserting
        await reconciler.commit()

    assert gate.habits.known == {"SELECT id FROM charges WHERE amount_minor < ?"}
    assert str(found.place) == "background:1 INSERT INTO charges #1"
    assert await charges(direct) == 1


async def test_who_waits_for_what_is_said_unasked_is_not_blocked(
    gate: PostgresGate, url: str, direct: AsyncConnection
) -> None:
    gate.habits.known.add("UPDATE charges SET amount_minor = ?")
    locks = Locks(gate, direct)
    await direct.execute(INSERT)
    async with (
        await AsyncConnection.connect(url) as renewing,
        await AsyncConnection.connect(url) as paying,
    ):
        its_pid = renewing.info.backend_pid
        gate.parking.arm()
        gate.parking.chains.moves("client:1")
        await renewing.execute("UPDATE charges SET amount_minor = 1")
        passing = gate.passing_pids()
        deleting = asyncio.create_task(paying.execute("DELETE FROM charges"))
        gate.parking.release(await held(gate, "DELETE FROM charges"))
        while not await pids_that_wait(direct):
            await asyncio.sleep(0)
        blocked = await locks.blocked()
        await renewing.commit()
        await deleting
        passed = gate.passing_pids()
        gate.parking.disarm()

    assert passing == {its_pid}
    assert blocked == []
    assert passed == set()


@pytest.mark.usefixtures("direct")
async def test_a_habit_in_the_midst_of_a_request_is_held_as_all_of_it(
    gate: PostgresGate, url: str
) -> None:
    async with await AsyncConnection.connect(url) as pooled:
        gate.habits.known.add("SELECT id FROM charges WHERE amount_minor < ?")
        gate.parking.arm()
        gate.parking.chains.moves("client:1")
        deleting = asyncio.create_task(pooled.execute("DELETE FROM charges"))
        gate.parking.release(await held(gate, "DELETE FROM charges"))
        await deleting
        looking = asyncio.create_task(pooled.execute(LOOK, [1]))
        looked = await held(gate, "SELECT FROM charges")
        gate.parking.disarm()
        await looking

    assert str(looked.place) == "client:1 SELECT FROM charges #1"


async def test_who_waits_for_a_lock_is_told_from_who_has_done(
    gate: PostgresGate, url: str, direct: AsyncConnection
) -> None:
    async with (
        await AsyncConnection.connect(url) as first,
        await AsyncConnection.connect(url) as second,
    ):
        await first.execute(INSERT)
        done = gate.working_pids()
        waiting = asyncio.create_task(second.execute(INSERT))
        while not (blocked := await pids_that_wait(direct)):
            await asyncio.sleep(0)

        assert (done, gate.working_pids()) == ((), blocked)
        await first.rollback()
        await waiting


async def pids_that_wait(direct: AsyncConnection) -> tuple[int, ...]:
    rows = await direct.execute(
        "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        " AND datname = current_database()"
    )
    return tuple(pid for (pid,) in await rows.fetchall())


async def test_what_is_cancelled_while_it_is_held_never_happens(
    gate: PostgresGate, url: str, direct: AsyncConnection
) -> None:
    async with await AsyncConnection.connect(url, autocommit=True) as connection:
        gate.parking.arm()
        inserting = asyncio.create_task(connection.execute(INSERT))
        await arrival(gate.parking, "INSERT INTO charges")
        await connection.cancel_safe()

        with pytest.raises(psycopg.errors.QueryCanceled):
            await inserting
        gate.parking.disarm()
    assert await charges(direct) == 0


async def test_a_cancellation_reaches_the_right_statement(url: str) -> None:
    async with (
        await AsyncConnection.connect(url) as slow,
        await AsyncConnection.connect(url) as other,
    ):
        sleeping = asyncio.create_task(slow.execute("SELECT pg_sleep(100)"))
        while not (await (await other.execute(_ASLEEP)).fetchall()):
            await other.rollback()
        await slow.cancel_safe()

        with pytest.raises(psycopg.errors.QueryCanceled):
            await sleeping
        await slow.rollback()
        await slow.execute("SELECT 1")


_ASLEEP = (
    "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()"
)


async def test_who_is_gone_takes_back_what_was_held(
    gate: PostgresGate, url: str, direct: AsyncConnection
) -> None:
    connection = await asyncpg.connect(url)
    gate.parking.arm()
    inserting = asyncio.ensure_future(connection.execute(INSERT))
    statement = await held(gate, "INSERT INTO charges")

    connection.terminate()
    with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError, ConnectionError)):
        await inserting
    while gate.connections:
        await gate.parking.changed(gate.parking.changes)

    assert gate.parking.parked() == ()
    statement.release()
    assert await charges(direct) == 0


async def test_while_it_is_unreachable_nobody_comes_in_and_who_is_in_is_cut(
    gate: PostgresGate, url: str
) -> None:
    async with await AsyncConnection.connect(url) as connection, gate.unreachable():
        with pytest.raises(psycopg.OperationalError):
            await connection.execute("SELECT 1")
        with pytest.raises(psycopg.OperationalError, match="refused"):
            await AsyncConnection.connect(url)
    async with await AsyncConnection.connect(url) as connection:
        await connection.execute("SELECT 1")


async def test_a_server_that_is_full_says_so(gate: PostgresGate, url: str) -> None:
    gate.full = True

    with pytest.raises(asyncpg.TooManyConnectionsError, match="too many clients"):
        await asyncpg.connect(url)
    gate.full = False
    await (await asyncpg.connect(url)).close()


@pytest.mark.usefixtures("direct")
async def test_the_hook_is_called_with_the_kth_statement_and_no_other(
    gate: PostgresGate, url: str
) -> None:
    seen: list[str] = []
    gate.on_command(3, lambda statement: seen.append(statement.text))

    async with await AsyncConnection.connect(url, autocommit=True) as connection:
        for number in range(1, 6):
            await connection.execute(f"DELETE FROM charges WHERE id = {number}")  # noqa: S608

    assert seen == ["DELETE FROM charges WHERE id = 3"]
    assert not gate.attentive


async def test_a_delay_holds_the_kind_of_statement_that_it_is_for(
    gate: PostgresGate, url: str, direct: AsyncConnection
) -> None:
    gate.delay("INSERT", 30)
    async with await AsyncConnection.connect(url, autocommit=True) as connection:
        inserting = asyncio.create_task(connection.execute(INSERT))
        async with await AsyncConnection.connect(url, autocommit=True) as other:
            await other.execute("SELECT count(*) FROM charges")
        assert not inserting.done()
        assert await charges(direct) == 0
        inserting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await inserting


async def test_a_slow_statement_happens_at_once_and_is_answered_later(
    gate: PostgresGate, url: str, direct: AsyncConnection
) -> None:
    async with await AsyncConnection.connect(url, autocommit=True) as connection:
        gate.on_command(1, lambda held: held.answer_late(0))
        gate.on_command(2, lambda held: held.answer_late(30))
        await connection.execute("SELECT count(*) FROM charges")
        inserting = asyncio.create_task(connection.execute(INSERT))
        while not await charges(direct):
            await asyncio.sleep(0)

        assert not inserting.done()
        inserting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await inserting


@pytest.mark.usefixtures("direct")
async def test_a_code_that_a_server_does_not_refuse_with_is_named(
    gate: PostgresGate, url: str
) -> None:
    problems: list[str] = []

    def refuse(statement: Parked) -> None:
        assert isinstance(statement, Held)
        with pytest.raises(ValueError, match="expected one of 40001") as caught:
            statement.refuse("99999")
        problems.append(str(caught.value))

    gate.on_command(1, refuse)
    await by_psycopg(url)

    assert len(problems) == 1
