"""Which provider is played: one that honours keys or not, with a journal or a count of it."""

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .conftest import Start, World


async def told(world: "World", path: str) -> Any:
    answer = await world.call("GET", f"/_sim/{path}")
    assert answer.status == 200, answer.data
    return answer.data


async def test_who_ignores_keys_charges_twice_for_one(start: "Start") -> None:
    world = await start(keys="ignored")

    first, second = await world.charge(), await world.charge()

    assert (first.status, second.status) == (201, 201)
    assert world.charged == ["ord-1", "ord-1"]
    assert await told(world, "profile") == {
        "dialect": "generic",
        "keys": "ignored",
        "known_keys": 0,
    }


async def test_a_profile_can_be_changed_at_any_time_and_outlives_a_reset(world: "World") -> None:
    await world.charge()
    changed = await world.call("POST", "/_sim/profile", {"keys": "ignored"})
    await world.charge()
    assert world.charged == ["ord-1", "ord-1"]

    await world.call("POST", "/_sim/reset")
    await world.charge()
    await world.charge()
    assert world.charged == ["ord-1", "ord-1"]

    await world.call("POST", "/_sim/profile", {"keys": "honoured"})
    await world.charge("ord-2")
    await world.charge("ord-2")
    assert changed.data == {"dialect": "generic", "keys": "ignored", "known_keys": 1}
    assert world.charged == ["ord-1", "ord-1", "ord-2"]


@pytest.mark.parametrize(
    "body, field",
    [
        ({}, "keys"),
        ({"keys": "forgotten"}, "keys"),
        ({"keys": True}, "keys"),
        ({"keys": "ignored", "key": 1}, "key"),
    ],
)
async def test_a_profile_that_nobody_knows_changes_nothing(
    world: "World", body: dict[str, object], field: str
) -> None:
    answer = await world.call("POST", "/_sim/profile", body)

    assert (answer.status, answer.data["field"]) == (422, field)
    assert world.simulator.keys == "honoured"


async def test_a_counted_journal_keeps_the_ledger_exact_and_no_bodies(start: "Start") -> None:
    world = await start(sink=None, journal="counted")
    for number in range(3):
        await world.charge(f"ord-{number}")
    await world.charge("ord-0")

    journal, ledger = await told(world, "journal"), await told(world, "ledger")

    assert [posting["amount_minor"] for posting in ledger["postings"]] == [500] * 3
    assert ledger["discrepancies"] == []
    assert journal["entries"] == []
    assert journal["next"] == sum(journal["counts"].values())
    assert journal["counts"] == {
        "call": 4,
        "reply": 4,
        "charge.captured": 3,
        "event.created": 3,
    }


async def test_a_reset_counts_anew(start: "Start") -> None:
    world = await start(sink=None, journal="counted")
    await world.charge()

    await world.call("POST", "/_sim/reset")

    assert await told(world, "journal") == {"entries": [], "next": 0, "counts": {}}
