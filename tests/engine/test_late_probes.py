"""A second request is let go around the end of the first, and what that was is on the tape."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable

import pytest

from onecharge.engine.boundaries import stop
from onecharge.engine.course import Course, Operation
from onecharge.engine.explorer import Coverage, Ran, explored
from onecharge.engine.late_probes import PARTS, LateProbes
from onecharge.engine.paces import PACE
from onecharge.engine.parking import Parking
from onecharge.engine.tapes.chooser import PROBE, Boring, Chooser, Replay, Taping
from onecharge.engine.tapes.tape import Choice, Tape

CALL = "charge.create on_receive"
EVENT = f"client:1 {CALL} #1"
ONCE, TWICE = ["first", "first has ended", "second"], ["first", "second", "first has ended"]


class Shop:
    """Two presses: the first one calls the provider, and takes its time afterwards."""

    def __init__(self) -> None:
        self.parking = Parking()
        self.probes = LateProbes(self.parking)
        self.happened: list[str] = []
        self.may_end: asyncio.Event | None = None

    async def first(self) -> None:
        self.happened.append("first")
        await stop(self.parking, "client:1", CALL, standing="under way")
        if self.may_end is None:
            await asyncio.sleep(0.002)
        else:
            await self.may_end.wait()
        self.happened.append("first has ended")

    async def second(self) -> None:
        self.happened.append("second")
        if self.may_end is not None:
            self.may_end.set()

    async def probed(self, chooser: Chooser) -> Course:
        self.happened.clear()
        return await self.probes.run(*self.operations(), chooser)

    async def measured(self) -> None:
        while not self.probes.measured:
            await self.probes.measure(*self.operations())

    def operations(self) -> tuple[Operation, Operation]:
        return (operation("client:1", self.first), operation("client:2", self.second))


def operation(lane: str, begin: Callable[[], Awaitable[None]]) -> Operation:
    return Operation(lane, "POST /pay", begin)


@pytest.fixture
async def shop() -> Shop:
    shop = Shop()
    await shop.measured()
    return shop


async def test_the_boring_second_request_comes_when_the_first_was_answered(shop: Shop) -> None:
    course = await shop.probed(Boring())

    assert shop.happened == ONCE
    assert course.releases == ["client:1 POST /pay #1", f"client:1 {CALL} #1"]
    assert (course.swept, course.counts) == (True, False)


async def test_around_each_event_there_are_parts_of_what_it_takes(shop: Shop) -> None:
    taping = Taping(Boring())
    await shop.probed(taping)

    provider, press, call = taping.asked
    assert provider.alternatives == ("the provider is quick", "the provider is slow")
    assert press.alternatives[0] == "client:1 POST /pay #1"
    assert call.alternatives[1:] == tuple(
        f"client:2 {n}/{PARTS} around {EVENT}" for n in range(PARTS + 1)
    )
    # A part of what was measured: the last one is when the next thing happens, and the first is
    # so long before as a request takes to come so far; nothing is before the first request.
    assert shop.probes.after_s(f"client:1 {CALL} #1", PARTS + 1) > 0
    assert shop.probes.after_s(f"client:1 {CALL} #1", 1) < 0
    assert shop.probes.after_s("client:1 POST /pay #1", 1) == 0


async def test_beside_a_gate_a_second_request_comes_right_behind_an_event(shop: Shop) -> None:
    shop.probes = LateProbes.beside_a_gate(shop.parking, 0.01)
    await shop.measured()
    taping = Taping(Boring())
    await shop.probed(taping)
    right = f"client:2 right behind {EVENT}"
    asked = [one.alternatives for one in taping.asked]

    assert asked == [
        ("reads are quick", "reads are slow"),
        ("writes are quick", "writes are slow"),
        ("the provider is quick", "the provider is slow"),
        ("client:1 POST /pay #1", "client:2 right behind client:1 POST /pay #1"),
        (EVENT, right),
    ]
    shop.may_end = asyncio.Event()
    boring = (Choice(),) * 4
    await shop.probed(Replay(Tape((*boring, Choice(PROBE, 1, right)))))
    assert shop.happened == TWICE


@pytest.mark.parametrize("part", [0, PARTS])
@pytest.mark.parametrize("provider", ["quick", "slow"])
async def test_a_probe_comes_while_the_first_is_under_way(
    shop: Shop, provider: str, part: int
) -> None:
    shop.may_end = asyncio.Event()
    takes = f"client:2 {part}/{PARTS} around {EVENT}"
    slow = Choice(PACE, 1, "the provider is slow") if provider == "slow" else Choice()
    course = await shop.probed(Replay(Tape((slow, Choice(), Choice(PROBE, part + 1, takes)))))

    assert shop.happened == TWICE
    assert course.releases[-1] == takes


async def test_an_event_is_held_for_a_probe_that_comes_before_it(shop: Shop) -> None:
    takes = f"client:2 0/{PARTS} around {EVENT}"
    shop.probes.took("client:1 POST /pay #1", 0.2)
    shop.probes.took("client:1 POST /pay #1", 0.2)
    course = await shop.probed(Replay(Tape((Choice(), Choice(), Choice(PROBE, 1, takes)))))

    assert shop.happened == TWICE
    assert course.releases == ["client:1 POST /pay #1", takes]


async def test_what_takes_less_than_was_measured_is_measured_anew(shop: Shop) -> None:
    press = "client:1 POST /pay #1"
    for _ in range(9):
        shop.probes.took(press, 60.0)
    takes = f"client:2 {PARTS}/{PARTS} around {press}"
    for _ in range(5):
        await shop.probed(Replay(Tape((Choice(), Choice(PROBE, PARTS + 1, takes)))))
    assert shop.probes.after_s(press, PARTS + 1) < 1


async def test_a_sweep_is_samples_and_is_never_called_exhausted(shop: Shop) -> None:
    async def make(chooser: Chooser, _all_at_once: bool) -> Ran:  # noqa: FBT001 - as Make says
        course = await shop.probed(chooser)
        return Ran("one_charge_per_key" if shop.happened == TWICE else None, course)

    left = itertools.chain(itertools.repeat(True, 200), itertools.repeat(False))
    coverage = Coverage("two requests with one key", "provider calls")
    result = await explored(
        make, coverage, systematically=lambda: next(left), by_chance=lambda: False
    )

    assert result.found is not None
    assert not coverage.exhausted
    assert coverage.unlike == 0
    assert coverage.sentences()[0] == (
        f"{coverage.swept} run(s) in a sweep of two requests with one key, which are samples"
    )
