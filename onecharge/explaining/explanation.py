"""Why a run is wrong, so that it can be followed without having seen it.

Let this be so; then that must hold; however, this was seen: a contradiction. Beside it where the
run first parted from one that passed, which boundary is open, the likely cause, the usual guard.

Rule 1: everything that is said comes from the history, and names its records (``#12``); where a
        schedule is compared, from the courses that were really run.
Rule 2: the nearest passing course is the one that goes along for longest.
Rule 3: what no pattern fits (``causes.py``) is told by the invariant's own words.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from onecharge.explaining.causes import Cause, cause_of
from onecharge.explaining.witness import Witness
from onecharge.history.case import Case
from onecharge.history.judgement import Boundary, Violation, money
from onecharge.history.records import Record
from onecharge.invariants import invariants


@dataclass(frozen=True, slots=True)
class Argument:
    """Why it is wrong: let this be so; then that must hold; however, this was seen."""

    let: str
    then: str
    however: tuple[str, ...]
    so: str


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where a course parted from the nearest one that passed.

    ``together`` are the steps that both have in common, ``went`` what this one did next and
    ``passed`` what the other did; None stands for its end.
    """

    together: tuple[str, ...]
    went: str | None
    passed: str | None

    def __str__(self) -> str:
        steps = len(self.together)
        after = f"after {steps} step{'s' * (steps != 1)} alike" if steps else "from the first step"
        return (
            f"{after}, this run went on with {_step(self.went)}, and one that passed with "
            f"{_step(self.passed)}"
        )


@dataclass(frozen=True, slots=True)
class Explanation:
    """One violation, explained."""

    invariant: str
    argument: Argument
    boundary: Boundary
    likely: str
    guard: str
    pattern: str | None = None
    divergence: Divergence | None = None

    def lines(self) -> list[str]:
        """Return it for people, a line for each thought."""
        argument = self.argument
        told = [f"let      {argument.let}", f"then     {argument.then}"]
        told += [f"however  {seen}" for seen in argument.however]
        told += [f"so       {argument.so}"]
        if self.divergence is not None:
            told.append(f"differs  {self.divergence}")
        return [
            *told,
            f"open     {self.boundary}",
            f"cause    likely: {self.likely}",
            f"guard    {self.guard}",
        ]


def explained(
    case: Case,
    invariant: str,
    violation: Violation,
    *,
    records: Iterable[Record] = (),
    course: Sequence[str] = (),
    passing: Collection[Sequence[str]] = (),
    lease_s: float | None = None,
) -> Explanation:
    """Explain one violation of an invariant, by name, that was found in a case.

    ``records`` are those of the case. Where an explorer found it, ``course`` is how the run went
    and ``passing`` are the courses without a violation, each in the order of its releases.
    ``lease_s`` is what the service declares.
    """
    story = case.orders.get(violation.order or "")
    found: Cause | None = None
    if story is not None:
        known = {record.index: record for record in records}
        found = cause_of(invariant, Witness(case, story, known, course, lease_s))
    return Explanation(
        invariant=invariant,
        argument=_argument(violation, invariant, case, found),
        boundary=violation.boundary,
        likely=violation.cause if found is None else found.likely,
        guard=violation.guard if found is None else found.guard,
        pattern=None if found is None else found.pattern,
        divergence=divergence(course, passing),
    )


def divergence(course: Sequence[str], passing: Iterable[Sequence[str]]) -> Divergence | None:
    """Return where a course parted from the nearest that passed; None if there is none."""
    others = sorted(tuple(other) for other in passing if tuple(other) != tuple(course))
    if not course or not others:
        return None
    nearest = max(others, key=lambda other: _alike(course, other))
    alike = _alike(course, nearest)
    return Divergence(
        together=tuple(course[:alike]),
        went=course[alike] if alike < len(course) else None,
        passed=nearest[alike] if alike < len(nearest) else None,
    )


def _alike(one: Sequence[str], two: Sequence[str]) -> int:
    """Return how many steps two courses have in common before they part."""
    for place, (step, other) in enumerate(zip(one, two, strict=False)):
        if step != other:
            return place
    return min(len(one), len(two))


def _argument(violation: Violation, invariant: str, case: Case, found: Cause | None) -> Argument:
    claims = {each.name: each.claim for each in invariants()}
    return Argument(
        let=_let(violation, case),
        then=claims.get(invariant, ""),
        however=(*_however(violation), *(() if found is None else (found.seen,))),
        so=violation.says,
    )


def _let(violation: Violation, case: Case) -> str:
    story = case.orders.get(violation.order or "")
    if story is None:
        return f"{len(case.sent)} orders, each sent to be paid once"
    presses = len(story.attempts)
    words = [f"{story.order}, an order of {money(story.amount_minor, story.currency)}"]
    words.append(f"asked for {presses} time{'s' * (presses != 1)}")
    if len(story.keys) == 1:
        words.append(f"always under the key {story.keys[0]}")
    elif story.keys:
        words.append(f"under {len(story.keys)} keys")
    return ", ".join(words)


def _however(violation: Violation) -> Iterator[str]:
    provider = [piece for piece in violation.evidence if piece.side == "provider"]
    # Where the provider has nothing to say against the claim, the other sides do.
    seen = provider if len(provider) > 1 else violation.evidence
    return (f"#{piece.index} {piece.side}: {piece.says}" for piece in seen)


def _step(step: str | None) -> str:
    return "nothing more" if step is None else f"“{step}”"
