"""News that goes wrong over real sockets: cut, unsigned, late, forged, many."""

import asyncio
from typing import TYPE_CHECKING

import pytest

from .conftest import SECRET

if TYPE_CHECKING:
    from .conftest import World


async def test_a_cut_delivery_breaks_off_and_the_whole_one_follows(world: "World") -> None:
    world.listen()
    world.arm({"fault": "cut_delivery", "operation": "delivery"})
    await world.charge("ord-1")

    [cut] = await world.journal.seen("unknown", what="attempt")
    world.simulator.hasten_deliveries()
    await world.journal.seen("ok", what="attempt")

    assert cut.value["error"] == "cut off in the middle of the request"
    assert (world.shop.events, world.shop.genuine) == (["evt_1"], [True])


async def test_a_lost_acknowledgement_is_not_heard_although_the_work_was_done(
    world: "World",
) -> None:
    world.listen()
    world.arm({"fault": "lose_acknowledgement", "operation": "delivery", "after_ms": 5_000})
    await world.charge("ord-1")

    [lost] = await world.journal.seen("unknown", what="attempt")
    assert (world.shop.events, world.shop.genuine) == (["evt_1"], [True])
    world.simulator.hasten_deliveries()
    await world.journal.seen("ok", what="attempt")

    assert lost.value["error"] == "hung up after 5000 ms without an answer"
    assert world.shop.events == ["evt_1", "evt_1"]


async def test_a_handler_that_takes_too_long_is_not_waited_for(world: "World") -> None:
    world.listen()
    at_last = asyncio.Event()
    world.shop.before_answer = at_last.wait
    world.arm({"fault": "lose_acknowledgement", "operation": "delivery", "after_ms": 20})
    await world.charge("ord-1")

    [lost] = await world.journal.seen("unknown", what="attempt")
    at_last.set()
    world.simulator.hasten_deliveries()

    await world.journal.seen("ok", what="attempt")
    assert lost.value["error"] == "hung up after 20 ms without an answer"
    # A busy shop may not even have come to read the first when it was given up.
    assert world.shop.events in (["evt_1"], ["evt_1", "evt_1"])


@pytest.mark.parametrize("fault", ["missing_signature", "old_signature", "foreign_signature"])
async def test_ill_signed_news_is_seen_as_such_and_the_right_one_follows(
    world: "World", fault: str
) -> None:
    world.listen()
    world.shop.statuses = [401]
    world.arm({"fault": fault, "operation": "delivery"})
    await world.charge("ord-1")
    await world.journal.seen("fail", what="attempt", status=401)

    world.simulator.hasten_deliveries()

    await world.journal.seen("ok", what="attempt")
    assert world.shop.genuine == [False, True]


async def test_a_foreign_signature_is_that_of_another_account(world: "World") -> None:
    theirs = "whsec_dGhlaXJzIGFuZCBub3Qgb3Vycw=="
    world.simulator.add_endpoint(world.shop.url, SECRET, "shop")
    world.simulator.add_endpoint("http://neighbour.invalid/", theirs, "neighbour")
    world.arm({"fault": "foreign_signature", "operation": "delivery"})
    await world.charge("ord-1")

    await world.journal.seen("ok", what="attempt")

    assert world.shop.genuine == [False]


async def test_an_oversized_event_is_signed_and_true(world: "World") -> None:
    world.listen()
    world.arm({"fault": "oversized_event", "operation": "delivery", "padding_bytes": 100_000})

    await world.charge("ord-1")

    await world.journal.seen("ok", what="attempt")
    assert world.shop.genuine == [True]


async def test_an_event_is_duplicated_at_will(world: "World") -> None:
    world.listen()
    await world.charge("ord-1")
    await world.journal.seen("ok", what="attempt")

    path = "/_sim/events/evt_1/duplicate"
    itself = await world.call("POST", path, {"copies": 2, "mode": "sequential"})
    await world.journal.seen("ok", count=3, what="attempt")
    at_once = await world.call("POST", path, {"copies": 2, "mode": "concurrent"})
    await world.journal.seen("ok", count=5, what="attempt")
    anew = await world.call("POST", path, {"copies": 2, "new_id": True})
    await world.journal.seen("ok", count=7, what="attempt")
    nothing = await world.call("POST", "/_sim/events/evt_9/duplicate", {})

    assert (itself.status, nothing.status) == (202, 404)
    assert [len(each.data["deliveries"]) for each in (itself, at_once, anew)] == [1, 2, 2]
    assert world.shop.events[:5] == ["evt_1"] * 5
    assert sorted(world.shop.events[5:]) == ["evt_2", "evt_3"]
    shown = (await world.call("GET", "/_sim/events")).data["events"]
    assert [each["repeats"] for each in shown] == [None, "evt_1", "evt_1"]
    assert all(each["delivered"] for each in shown)


async def test_a_forged_event_is_told_once_and_is_no_event(world: "World") -> None:
    world.listen()
    world.shop.statuses = [401]

    answer = await world.call("POST", "/_sim/events/forge", {"reference": "ord-7"})
    await world.journal.seen("fail", what="attempt", status=401)

    [sent] = world.journal.find("send", what="attempt")
    assert (answer.status, answer.data["attempts"]) == (202, [sent.value["attempt"]])
    assert sent.value["forged"] is True
    assert sent.order == "ord-7"
    assert world.shop.genuine == [False]
    assert world.simulator.undelivered() == 0
    assert (await world.call("GET", "/_sim/events")).data["events"] == []


async def test_a_forger_may_know_the_secret_and_a_charge(world: "World") -> None:
    world.listen()
    await world.charge("ord-1")
    await world.journal.seen("ok", what="attempt")
    body = {"event": "evt_x", "charge": "ch_1", "status": "refunded", "signature": "right"}

    await world.call("POST", "/_sim/events/forge", body)

    await world.journal.seen("ok", event="evt_x")
    assert world.shop.genuine == [True, True]
    assert world.shop.events[-1] == "evt_x"


async def test_what_is_under_way_is_shown(world: "World") -> None:
    world.listen()
    seen = {}

    async def look() -> None:
        seen.update((await world.call("GET", "/_sim/in_flight")).data)

    world.shop.before_answer = look
    await world.charge("ord-1")
    await world.journal.seen("ok", what="attempt")

    assert (seen["calls"], seen["silences"]) == ([], 0)
    [attempt] = seen["attempts"]
    assert (attempt["event"], attempt["url"]) == ("evt_1", world.shop.url)


async def test_a_secret_is_rotated(world: "World") -> None:
    world.listen()
    new = "whsec_bmV3"

    rotated = await world.call(
        "POST", "/_sim/endpoints/rotate", {"url": world.shop.url, "secret": new}
    )
    nobody = await world.call("POST", "/_sim/endpoints/rotate", {"url": "http://x", "secret": new})
    none = await world.call(
        "POST", "/_sim/endpoints/rotate", {"url": world.shop.url, "secret": "wrong"}
    )
    await world.charge("ord-1")
    await world.journal.seen("ok", what="attempt")

    assert (rotated.status, nobody.status, none.status) == (200, 404, 422)
    assert world.shop.genuine == [True]  # signed with both


async def test_all_held_calls_are_released_at_once(world: "World") -> None:
    world.arm({"fault": "hold", "until": "released", "operation": "charge.create"})
    charging = [asyncio.ensure_future(world.charge(f"ord-{n}")) for n in range(2)]
    await world.journal.seen("park", count=2)

    released = await world.call("POST", "/_sim/held/release")

    assert released.data == {"released": 2}
    assert [(await each).status for each in charging] == [201, 201]


async def test_clock_seed_and_faults_are_shown(world: "World") -> None:
    clock = await world.call("GET", "/_sim/clock")
    seeded = await world.call("POST", "/_sim/seed", {"seed": 11})
    listed = await world.call("GET", "/_sim/faults")

    assert clock.data["next_wakeup_s"] is None
    assert clock.data["now_s"] >= 0
    assert seeded.data == {"seed": 11}
    assert (await world.call("GET", "/_sim/ready")).data["seed"] == 11
    [lost] = [each for each in listed.data["faults"] if each["name"] == "lose_reply"]
    assert (lost["fair"], lost["seams"]) == (True, ["after_commit"])
    assert "probability" in lost["rule"]["properties"]


async def test_a_plan_may_bring_its_seed(world: "World") -> None:
    plan = {"rules": [{"fault": "lookup_fails", "probability": 0.5}], "seed": 5}

    async def draw() -> list[int]:
        await world.call("POST", "/_sim/plan", plan)
        headers = {"Authorization": "Bearer shop"}
        return [(await world.call("GET", "/v1/charges", headers=headers)).status for _ in range(12)]

    assert await draw() == await draw()
