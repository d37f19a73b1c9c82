"""What a service says of its own accord, known by its words."""

import asyncio
import contextlib

from onecharge.engine.boundaries import stop
from onecharge.engine.gates.habits import Habits
from onecharge.engine.gates.redis_gate import RedisGate
from onecharge.engine.gates.statements import ends, words
from onecharge.engine.listening import learn_habits
from onecharge.engine.parking import Parking


def test_what_is_heard_while_listening_is_known_afterwards() -> None:
    habits = Habits()

    habits.listen()
    taken = habits.takes("SELECT FROM outbox")
    habits.learn()

    assert taken
    assert not habits.listening
    assert habits.takes("SELECT FROM outbox")
    assert not habits.takes("INSERT INTO charges")
    assert repr(habits) == "<Habits: SELECT FROM outbox>"


def test_who_begins_to_listen_anew_forgets_what_was_heard_before() -> None:
    habits = Habits()

    habits.listen()
    habits.takes("INSERT INTO charges")
    habits.listen()
    habits.learn()

    assert habits.known == set()


def test_words_are_the_same_whatever_the_values() -> None:
    assert words("UPDATE t1 SET a = 'it''s' WHERE  id = 12.5") == "UPDATE t1 SET a = ? WHERE id = ?"
    assert words("/* traced */ SELECT $1") == words("SELECT 7") == "SELECT ?"


def test_words_are_the_same_however_many_values_there_are() -> None:
    one = words("UPDATE keys SET a = 1 FROM (VALUES ($1::TEXT, $2::INT)) AS ours WHERE b IN (1)")
    many = words(
        "UPDATE keys SET a = 1 FROM (VALUES ($1::TEXT, $2::INT), ($3::TEXT, $4::INT)) AS ours "
        "WHERE b IN (1, 2, 3)"
    )

    assert one == many


def test_the_end_of_a_transaction_is_known() -> None:
    assert all(map(ends, ("COMMIT", "rollback;", "END TRANSACTION")))
    assert not any(map(ends, ("COMMIT AND CHAIN", "ROLLBACK TO a", "SELECT 1")))


async def test_what_is_said_while_a_request_is_held_is_a_habit_and_what_it_says_itself_is_not() -> (
    None
):
    parking = Parking()
    gate = RedisGate("redis://127.0.0.1:1", parking)
    told: list[bool] = []

    async def renew() -> None:
        told.append(gate.habits.takes("SET lease"))

    async def press() -> None:
        told.append(gate.habits.takes("SET key"))
        renewing = asyncio.get_running_loop().call_later(0.01, asyncio.ensure_future, renew())
        await stop(parking, "client:1", "charge.create", standing="under way")
        renewing.cancel()
        told.append(gate.habits.takes("GET key"))

    await learn_habits(parking, [gate], press, listen_s=0.05, patience_s=10)

    assert gate.habits.known == {"SET lease"}
    assert told == [True, True, False]
    assert not parking.armed


async def test_nothing_is_learnt_of_a_request_that_went_on_while_it_was_listened_to() -> None:
    parking = Parking()
    gate = RedisGate("redis://127.0.0.1:1", parking)

    async def press() -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.01):
                await stop(parking, "client:1", "charge.create", standing="under way")
        gate.habits.takes("DEL key")

    await learn_habits(parking, [gate], press, listen_s=0.05, patience_s=10)

    assert gate.habits.known == set()
