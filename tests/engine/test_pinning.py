"""What fails by chance is pinned where that helps: its events go on in the order of that run."""

import asyncio
import random
from collections.abc import Sequence

from onecharge.engine.explorer import Found, Make, Ran, smallest
from onecharge.engine.parking import Place
from onecharge.engine.patience import Patience
from onecharge.engine.scheduler import Scheduler
from onecharge.engine.tapes.chooser import ALL_AT_ONCE, RELEASE, Chooser, InOrder, Replay, Taping
from onecharge.engine.tapes.tape import Choice, Tape
from tests.engine.toys import Toy, Way, two

TWICE = "one_charge_per_key"
MOST_RUNS = 400


class Chancy:
    """Services whose statements take longer or shorter: two at once may happen in either order."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(f"chancy/{seed}")

    async def looks_then_inserts(self, toy: Toy, who: int) -> None:
        """Look in one statement and insert in another: a race between the two."""
        await self._begun(toy, who, "SELECT FROM keys")
        known = "key" in toy.rows
        self._ended(toy, who, "SELECT FROM keys")
        await self._begun(toy, who, "INSERT INTO keys")
        toy.rows.add("key")
        self._ended(toy, who, "INSERT INTO keys")
        if not known:
            toy.charges.append(f"by {who}")

    async def inserts_unless_there(self, toy: Toy, who: int) -> None:
        """Look and insert in a single statement: a race inside it, if two run at once."""
        await self._begun(toy, who, "INSERT INTO keys")
        known = "key" in toy.rows
        await self._a_while()
        toy.rows.add("key")
        self._ended(toy, who, "INSERT INTO keys")
        if not known:
            toy.charges.append(f"by {who}")

    async def _begun(self, toy: Toy, who: int, what: str) -> None:
        await toy.statement(who, what)
        await self._a_while()

    def _ended(self, toy: Toy, who: int, what: str) -> None:
        toy.parking.answered(Place(f"client:{who}", what, 1))

    async def _a_while(self) -> None:
        for _ in range(self._chance.randrange(8)):
            await asyncio.sleep(0)


def runs_of(way: Way) -> Make:
    async def make(chooser: Chooser, all_at_once: bool) -> Ran:  # noqa: FBT001 - as Make says
        toy = Toy()
        scheduler = Scheduler(
            toy.parking, chooser, patience=Patience(20.0, 20.0), all_at_once=all_at_once
        )
        course = await scheduler.run(two(toy, way))
        return Ran(TWICE if len(toy.charges) > 1 else None, course)

    return make


async def found_by(make: Make, tape: Tape) -> Found:
    """Replay a tape until it fails."""
    while True:
        ran = await make(Replay(tape), True)
        if ran.kind is not None:
            return Found(ran.kind, tape, 1, ran.course.events)


def at_once(*before: Choice) -> Tape:
    return Tape((*before, Choice(RELEASE, 2, ALL_AT_ONCE)))


async def test_pinned_is_what_then_fails_more_often() -> None:
    make = runs_of(Chancy(1).looks_then_inserts)
    # The first has looked and is about to insert, the second is about to look: then both at once.
    tape = at_once(Choice(), Choice(), Choice(RELEASE, 1, "client:2 POST /charges #1"))
    found = await found_by(make, tape)
    small = await smallest(make, found, most_runs=MOST_RUNS)

    assert found.events == [
        "client:1 POST /charges #1",
        "client:1 SELECT FROM keys #1",
        "client:2 POST /charges #1",
        "client:2 SELECT FROM keys #1",  # it was over before what was let go together with it
        "client:1 INSERT INTO keys #1",
        "client:2 INSERT INTO keys #1",
    ]
    assert small.pinned is not None
    assert small.pinned.before < small.pinned.since == small.pinned.of
    assert str(small.pinned).startswith("the order of its events is pinned: 10 of 10 repeats, ")
    assert (small.failed, small.of) == (20, 20)
    assert [choice.takes for choice in small.tape.choices if choice.deviates] == [
        "client:2 POST /charges #1"
    ]


async def test_what_is_found_is_kept_where_pinning_does_not_help() -> None:
    make = runs_of(Chancy(2).inserts_unless_there)
    found = await found_by(make, at_once(*at_once().choices))
    small = await smallest(make, found, most_runs=MOST_RUNS)

    assert small.pinned is None
    assert 0 < small.failed < small.of
    assert ALL_AT_ONCE in {choice.takes for choice in small.tape.choices}


async def test_what_fails_every_time_is_not_pinned() -> None:
    make = runs_of(Toy.looks_then_inserts)
    tape = Tape((Choice(), Choice(), Choice(RELEASE, 1, "client:2 POST /charges #1")))
    small = await smallest(make, await found_by(make, tape), most_runs=MOST_RUNS)

    assert small.pinned is None
    assert small.failed == small.of


def chosen(events: Sequence[str], tape: Tape, *questions: tuple[str, Sequence[str]]) -> list[str]:
    taping = Taping(InOrder(events, tape))
    return [names[taping.choose(kind, names)] for kind, names in questions]


def test_in_order_whoever_is_there_stands_for_whose_event_could_not_be_told() -> None:
    events = ["client:1 POST #1", "client:2 SELECT #1", "client:2 SELECT #2", "client:2 INSERT #1"]
    assert chosen(
        events,
        Tape(),
        (RELEASE, ["client:2 POST #1", "client:1 POST #1"]),
        (RELEASE, ["client:1 SELECT #1", "client:2 SELECT #1"]),
        (RELEASE, ["client:2 INSERT #1", "client:1 SELECT #1"]),
        (RELEASE, ["client:1 UPDATE #1", "client:2 INSERT #1"]),
        (RELEASE, ["client:1 UPDATE #1"]),
    ) == [
        "client:1 POST #1",
        "client:2 SELECT #1",
        "client:1 SELECT #1",
        "client:2 INSERT #1",
        "client:1 UPDATE #1",
    ]


def test_in_order_what_went_wrong_goes_wrong_again() -> None:
    lost = "client:1 COMMIT #1 happens, and its acknowledgement is lost"
    questions = ("fault", ["client:1 COMMIT #1 goes on", "client:1 COMMIT #1 is cut off", lost])

    assert chosen([], Tape((Choice("fault", 2, lost),)), questions) == [lost]
    assert chosen([], Tape(), questions) == ["client:1 COMMIT #1 goes on"]
