"""The scheduler makes each order of boundary events happen, on toys and on a real provider."""

import asyncio
import base64
from collections.abc import Sequence
from dataclasses import replace
from math import comb

from aiohttp import ClientSession, web

from onecharge.engine.boundaries import ProviderGate, WebhookGate, stop
from onecharge.engine.course import Course, Operation
from onecharge.engine.parking import Parking
from onecharge.engine.patience import Patience
from onecharge.engine.scheduler import ASKED_AGAIN, Scheduler
from onecharge.engine.silence import Silence
from onecharge.engine.tapes.chooser import ALL_AT_ONCE, Boring, Replay, Taping
from onecharge.engine.tapes.odometer import Odometer
from onecharge.engine.tapes.tape import Choice, Tape
from simulator.server import Simulator
from tests.engine.toys import Toy, Way, two

PATIENT = Patience(20.0, 20.0)  # never waited for in full


async def _explored(way: Way) -> tuple[Odometer, list[tuple[Course, Toy]]]:
    odometer, runs = Odometer(), []
    while plan := odometer.next():
        toy, taping = Toy(), Taping(plan.choose_from())
        scheduler = Scheduler(toy.parking, taping, patience=PATIENT, blocked=toy.blocked)
        runs.append((await scheduler.run(two(toy, way)), toy))
        odometer.done(taping.asked)
    return odometer, runs


async def test_every_order_of_two_requests_happens_once_and_some_charge_twice() -> None:
    odometer, runs = await _explored(Toy.looks_then_inserts)

    orders = {tuple(course.releases) for course, _ in runs}
    assert odometer.exhausted
    assert len(orders) == len(runs) == comb(6, 3)
    assert all(course.counts and not course.silences for course, _ in runs)
    # Both look before either inserts: of 20 orders all but those where one ends before the other
    # looks. Before the second's look, the first has made its two steps after its beginning.
    twice = [toy for _, toy in runs if len(toy.charges) == 2]
    assert len(twice) == len([o for o in orders if not _one_ends_before_the_other_looks(o)])
    assert twice


def _one_ends_before_the_other_looks(order: Sequence[str]) -> bool:
    place = {name: at for at, name in enumerate(order)}
    return any(
        place[f"client:{a} INSERT INTO keys #1"] < place[f"client:{b} SELECT FROM keys #1"]
        for a, b in ((1, 2), (2, 1))
    )


async def test_who_waits_for_a_lock_is_seen_to_wait_and_nothing_is_waited_for_by_the_clock() -> (
    None
):
    odometer, runs = await _explored(Toy.locks)

    assert odometer.exhausted
    assert all(course.counts and not course.silences for course, _ in runs)
    assert all(len(toy.charges) == 1 for _, toy in runs)
    statements = [[name for name in course.releases if "POST" not in name] for course, _ in runs]
    assert [
        "client:1 SELECT FOR UPDATE #1",
        "client:2 SELECT FOR UPDATE #1",
        "client:1 COMMIT #1",
        "client:2 COMMIT #1",
    ] in statements


async def test_a_lock_that_cannot_be_asked_for_is_told_by_silence() -> None:
    toy = Toy()
    lock_first = Tape((Choice(), Choice(), Choice("release", 1, "client:2 POST /charges #1")))
    chooser = Replay(lock_first)
    course = await Scheduler(toy.parking, chooser, patience=PATIENT).run(two(toy, Toy.locks))

    assert course.releases[3:5] == ["client:2 SELECT FOR UPDATE #1", "client:1 COMMIT #1"]
    assert course.silences == 1
    assert len(toy.charges) == 1
    assert not course.stuck


async def test_boringly_one_operation_runs_to_its_end_before_the_next_begins() -> None:
    toy = Toy()
    course = await Scheduler(toy.parking, Boring(), patience=PATIENT).run(
        two(toy, Toy.looks_then_inserts)
    )

    assert course.releases == [
        "client:1 POST /charges #1",
        "client:1 SELECT FROM keys #1",
        "client:1 INSERT INTO keys #1",
        "client:2 POST /charges #1",
        "client:2 SELECT FROM keys #1",
        "client:2 INSERT INTO keys #1",
    ]
    assert toy.charges == ["by 1"]


async def test_all_at_once_lets_everything_go_and_is_a_sample() -> None:
    toy = Toy()
    tape = Tape((Choice("release", 2, ALL_AT_ONCE), Choice("release", 2, ALL_AT_ONCE)))
    course = await Scheduler(toy.parking, Replay(tape), patience=PATIENT, all_at_once=True).run(
        two(toy, Toy.looks_then_inserts)
    )

    assert course.releases[:2] == [ALL_AT_ONCE, ALL_AT_ONCE]
    assert len(toy.charges) == 2
    assert course.together
    assert not course.counts


async def test_who_asks_again_and_again_lets_others_go_first() -> None:
    toy = Toy()
    second_asks = Tape((Choice(), Choice(), Choice("release", 1, "client:2 POST /charges #1")))

    async def polls(toy: Toy, who: int) -> None:
        await toy.statement(who, "SET lock")
        while "lock" in toy.rows:
            await toy.statement(who, "SET lock")
        toy.rows.add("lock")
        await toy.statement(who, "DEL lock")
        toy.rows.remove("lock")

    scheduler = Scheduler(toy.parking, Replay(second_asks), patience=PATIENT)
    course = await scheduler.run(two(toy, polls))

    asked = [name for name in course.releases if name.startswith("client:2 SET lock")]
    assert course.counts
    assert len(asked) == ASKED_AGAIN + 1  # the last time when the first was done
    assert course.releases.index("client:1 DEL lock #1") < course.releases.index(asked[-1])


async def test_who_waits_by_choice_is_no_silence_and_costs_nobody_patience() -> None:
    toy = Toy()
    first, second = two(toy, Toy.looks_then_inserts)
    late = replace(second, waits_s=0.06)
    order = Tape((Choice(), Choice("release", 1, "client:2 POST /charges #1")))
    scheduler = Scheduler(
        toy.parking, Replay(order), patience=Patience(0.05, 0.05), silence=Silence(0.02)
    )

    course = await scheduler.run([first, late])

    # The first stood still all the while, for longer than patience lasts, and went on at the end.
    assert course.releases[:2] == ["client:1 POST /charges #1", "client:2 POST /charges #1"]
    assert course.releases[-1] == "client:1 INSERT INTO keys #1"
    assert (course.counts, course.silences) == (True, 0)


async def test_without_patience_everything_is_let_go_and_the_course_is_a_sample() -> None:
    toy = Toy()
    course = await Scheduler(toy.parking, Boring(), patience=Patience(0, 0)).run(
        two(toy, Toy.looks_then_inserts)
    )

    assert course.hurried
    assert not course.counts
    assert not toy.parking.parked()


async def test_an_operation_that_waits_for_what_never_comes_ends_the_course() -> None:
    toy = Toy()
    never = asyncio.Event()

    async def wait_in_vain() -> None:
        never_comes = asyncio.create_task(never.wait())
        await asyncio.wait({never_comes}, timeout=0.05)
        never_comes.cancel()

    course = await Scheduler(toy.parking, Boring(), patience=Patience(0.001, 0.001)).run(
        [Operation("client:1", "POST /charges", wait_in_vain)]
    )

    assert course.stuck
    assert not course.counts


async def test_what_is_not_offered_stays_until_the_end() -> None:
    toy = Toy()
    aside = asyncio.create_task(_later(toy))
    course = await Scheduler(
        toy.parking,
        Boring(),
        patience=PATIENT,
        offered=lambda event: not event.place.lane.startswith("webhook"),
    ).run(two(toy, Toy.looks_then_inserts))
    await aside

    assert len(course.releases) == 6
    assert not toy.parking.parked()


async def _later(toy: Toy) -> None:
    while not toy.parking.armed:
        await asyncio.sleep(0)
    await stop(toy.parking, "webhook:1", "charge.succeeded")


async def test_a_provider_call_waits_at_each_seam_and_its_webhook_before_it_leaves() -> None:
    told: list[str] = []

    async def listen(request: web.BaseRequest) -> web.StreamResponse:
        told.append((await request.json())["data"]["charge"]["reference"])
        return web.Response(status=204)

    runner = web.ServerRunner(web.Server(listen))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    simulator, parking = Simulator(seed=1), Parking()
    await simulator.start()
    secret = "whsec_" + base64.b64encode(b"of the shop, and long enough").decode()
    simulator.add_endpoint(f"http://{host}:{port}/news", secret)
    webhooks = WebhookGate(simulator, parking)
    try:
        async with ClientSession() as http:
            with webhooks.on_duty(), ProviderGate(simulator, parking).on_duty():
                simulator.arm(ProviderGate.rules(["ord-1", "ord-2"]))

                async def pay(order: str) -> None:
                    async with http.post(
                        f"{simulator.url()}/v1/charges",
                        json={
                            "amount_minor": 500,
                            "currency": "EUR",
                            "reference": order,
                            "customer": "cus-1",
                        },
                        headers={"Authorization": "Bearer shop", "Idempotency-Key": order},
                    ) as answer:
                        assert answer.status == 201

                tape = Tape((Choice(), Choice("release", 1, "client:2 POST #1")))
                course = await Scheduler(
                    parking, Replay(tape), patience=PATIENT, busy=lambda: webhooks.under_way
                ).run(
                    [
                        Operation("client:1", "POST", lambda: pay("ord-1")),
                        Operation("client:2", "POST", lambda: pay("ord-2")),
                    ]
                )
    finally:
        await simulator.stop()
        await runner.cleanup()

    assert course.releases[:3] == [
        "client:1 POST #1",
        "client:2 POST #1",
        "client:2 charge.create on_receive #1",
    ]
    assert sorted(course.releases[3:]) == [
        "client:1 charge.create after_commit #1",
        "client:1 charge.create on_receive #1",
        "client:2 charge.create after_commit #1",
        "webhook:1 charge.captured #1",
        "webhook:2 charge.captured #1",
    ]
    assert told[0] == "ord-2"
    assert sorted(told) == ["ord-1", "ord-2"]
    assert course.counts
    assert not webhooks.under_way
