"""What only a judge sees is made small in batches, whose orders are judged together."""

import pytest

from onecharge.engine.course import Course
from onecharge.engine.explorer import Found, Ran
from onecharge.engine.tapes.chooser import ALL_AT_ONCE, RELEASE, Chooser, Taping
from onecharge.engine.tapes.shrinking import Pinned
from onecharge.engine.tapes.tape import Choice, Tape
from onecharge.exploring.late_kinds import shrunk_in_batches
from onecharge.history.judgement import API_TO_PROVIDER, Judgement, Violation
from onecharge.verdict import InvariantVerdict, ScenarioVerdict

KIND = "books_agree"
BROKEN_AT = 3
WAYS = ("usual", "other", "third")


class ToyStage:
    """A service that goes wrong whenever the fourth choice is not the usual one.

    If it is *all at once*, only every other time.
    """

    def __init__(self, *, names_orders: bool = True) -> None:
        self.batch = 0
        self.tapes: dict[str, Tape] = {}
        self.batches = 0
        self._played: list[str] = []
        self._names_orders = names_orders

    async def make(self, chooser: Chooser, all_at_once: bool) -> Ran:  # noqa: FBT001
        taping = Taping(chooser)
        for _ in range(6):
            taping.choose(RELEASE, [*WAYS, ALL_AT_ONCE] if all_at_once else WAYS)
        order = f"ord-{len(self.tapes) + 1}"
        self.tapes[order] = taping.tape
        self._played.append(order)
        return Ran(None, Course())

    async def judged(self) -> ScenarioVerdict:
        self.batches += 1
        played, self._played = self._played, []
        wrong = [order for order in played if self._is_wrong(order)]
        violations = tuple(
            Violation(order if self._names_orders else None, "", (), API_TO_PROVIDER, "", "")
            for order in wrong
        )
        judged = InvariantVerdict(KIND, Judgement.of(judged=1, violations=violations))
        return ScenarioVerdict("toy", judged.verdict, "", invariants=(judged,))

    def _is_wrong(self, order: str) -> bool:
        tape = self.tapes[order]
        if BROKEN_AT not in tape.deviations:
            return False
        return tape.choices[BROKEN_AT].takes != ALL_AT_ONCE or int(order[4:]) % 2 == 0


def tape(*indices: int) -> Tape:
    return Tape(tuple(Choice(RELEASE, index, WAYS[index] if index else "") for index in indices))


async def test_what_does_not_matter_is_dropped_and_all_repeats_are_one_batch() -> None:
    stage = ToyStage()

    small = await shrunk_in_batches(stage, Found(KIND, tape(0, 1, 2, 2, 1), 1))  # type: ignore[arg-type]

    assert small.tape.deviations == (BROKEN_AT,)
    assert [choice.index for choice in small.tape.choices] == [0, 0, 0, 1]
    assert (small.failed, small.of) == (20, 20)
    assert stage.batches <= 5


async def test_a_claim_that_names_no_order_is_repeated_one_by_one() -> None:
    stage = ToyStage(names_orders=False)

    small = await shrunk_in_batches(stage, Found(KIND, tape(0, 0, 0, 1), 1))  # type: ignore[arg-type]

    assert small.tape.deviations == (BROKEN_AT,)
    assert small.failed == small.of == 5


async def test_what_went_on_at_once_is_pinned_first() -> None:
    at_once = Tape((*tape(0, 0, 0).choices, Choice(RELEASE, len(WAYS), ALL_AT_ONCE)))
    events = ("usual", "usual", "usual", "third", "usual", "usual")

    small = await shrunk_in_batches(ToyStage(), Found(KIND, at_once, 1, events))  # type: ignore[arg-type]

    assert small.pinned == Pinned(before=5, since=10)
    assert [choice.index for choice in small.tape.choices] == [0, 0, 0, 1]
    assert (small.failed, small.of) == (20, 20)


async def test_when_time_is_up_what_is_there_is_repeated() -> None:
    found = tape(0, 1, 0, 1)

    small = await shrunk_in_batches(ToyStage(), Found(KIND, found, 1), lambda: False)  # type: ignore[arg-type]

    assert small.tape == found
    assert (small.failed, small.of, small.minimal) == (20, 20, False)


@pytest.mark.parametrize("kind", ["every_order_settles"])
async def test_another_kind_is_no_repeat(kind: str) -> None:
    small = await shrunk_in_batches(ToyStage(), Found(kind, tape(0, 0, 0, 1), 1))  # type: ignore[arg-type]

    assert small.failed == 0
