"""From what the invariants found to one verdict on a run.

Rule 1: violated goes before unknown, unknown before holds. Nothing unknown is ever green.
Rule 2: an unfair scenario cannot violate: what is found there is exposure.
Rule 3: a plan that did not happen, a charge of no known order, a ledger of ours that does not
        balance and a judge that fails make the scenario unknown, whatever the invariants say.
Rule 4: an invariant that found nothing of its kind in a scenario leaves that scenario's verdict
        alone, unless the scenario was planned to put it to the test. Over the whole library,
        what no scenario put to the test is unknown.
"""

import gc
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from onecharge.explaining.causes import sharpened
from onecharge.explored import Discovery, Part
from onecharge.history.assembly import case_of
from onecharge.history.attribution import HOW_TO_TIE, TieRule
from onecharge.history.buckets import Bucket, buckets
from onecharge.history.case import Case
from onecharge.history.judgement import Judgement, Verdict, Violation, worst
from onecharge.history.lint import advice
from onecharge.history.records import Record
from onecharge.invariants import Invariant, invariants
from onecharge.verdict_json import run_json

EXIT_CODES: Final[Mapping[Verdict, int]] = {
    "holds": 0,
    "not_applicable": 0,
    "violated": 1,
    "unknown": 3,
}


@dataclass(frozen=True, slots=True)
class InvariantVerdict:
    """What one invariant made of one scenario, or of the whole run."""

    name: str
    judgement: Judgement
    lacking: tuple[str, ...] = ()

    planned: bool = True

    @property
    def verdict(self) -> Verdict:
        return self.judgement.verdict

    @property
    def counts(self) -> bool:
        """Whether it speaks for its scenario: it had something to judge, or should have had."""
        return self.planned or self.judgement.exercised


@dataclass(frozen=True, slots=True)
class ScenarioVerdict:
    """The verdict on one scenario, and what it rests on.

    ``fair`` says whether findings count, ``reasons`` why anything stayed unknown, ``not_reached``
    which rules of the plan never fired, ``repeat`` the command that shows it again.
    """

    name: str
    verdict: Verdict
    repeat: str
    fair: bool = True
    seed: int | None = None
    duration_s: float = 0.0
    orders: int = 0
    charges: int = 0
    fired: int = 0
    invariants: tuple[InvariantVerdict, ...] = ()
    reasons: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    not_reached: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()
    buckets: Mapping[Bucket, int] = field(default_factory=dict)
    ties: Mapping[TieRule, int] = field(default_factory=dict)

    @property
    def violations(self) -> list[Violation]:
        """What is wrong, as far as it counts."""
        return self._found() if self.fair else []

    @property
    def exposure(self) -> list[Violation]:
        """What would be wrong if the provider broke its word."""
        return [] if self.fair else self._found()

    def orders_violating(self, invariant: str) -> set[str | None]:
        """The orders that show a violation of this invariant; None stands for all of them."""
        judgements = (one.judgement for one in self.invariants if one.name == invariant)
        return {violation.order for each in judgements for violation in each.violations}

    def _found(self) -> list[Violation]:
        return [v for invariant in self.invariants for v in invariant.judgement.violations]


def not_applicable(name: str, lacking: tuple[str, ...]) -> ScenarioVerdict:
    """Return the verdict on a scenario that the service declares it has no use for."""
    return ScenarioVerdict(name=name, verdict="not_applicable", repeat="", lacking=lacking)


def judge_scenario(
    records: Iterable[Record], *, repeat: str, trouble: str | None = None
) -> ScenarioVerdict:
    """Judge the records of one scenario. ``repeat`` is the command that plays it again.

    ``trouble`` says what went wrong with the playing itself; nothing can then be called green.
    """
    with _no_cycles():
        return _scenario_verdict(records, repeat, trouble)


@contextmanager
def _no_cycles() -> Iterator[None]:
    """Look for no cycles meanwhile: a case has none, and a long history makes the search dear."""
    searched = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if searched:
            gc.enable()


def _scenario_verdict(
    records: Iterable[Record], repeat: str, trouble: str | None
) -> ScenarioVerdict:
    try:
        case = case_of(records)
    except Exception as error:  # noqa: BLE001  rule 3: a judge that fails knows nothing
        return ScenarioVerdict(name="", verdict="unknown", repeat=repeat, reasons=(_failed(error),))
    judged = tuple(_judged(invariant, case) for invariant in invariants())
    fair = case.run.can_violate
    fired = {firing.rule for firing in case.firings}
    not_reached = tuple(rule for rule in case.run.rules if rule not in fired)
    reasons = [*([trouble] if trouble else ()), *_own_reasons(case)]
    verdicts: list[Verdict] = []
    if fair:
        speaking = [one for one in judged if one.counts]
        reasons += [reason for one in speaking for reason in reasons_of(one)]
        verdicts += [one.verdict for one in speaking]
    else:
        reasons += [r for one in judged for r in one.judgement.reasons if r.startswith(_FAILED)]
    if reasons or not_reached:
        verdicts.append("unknown")
    return ScenarioVerdict(
        name=case.run.scenario,
        verdict=worst(verdicts, none="holds"),
        repeat=repeat,
        fair=fair,
        seed=case.run.seed,
        duration_s=round(case.duration_s, 3),
        orders=len(case.sent),
        charges=len(case.real_charges),
        fired=len(case.firings),
        invariants=judged,
        reasons=tuple(dict.fromkeys(reasons)),
        advice=(*advice(case), *(says for one in judged for says in one.judgement.advice)),
        not_reached=not_reached,
        buckets=buckets(case),
        ties=case.attribution.counts(),
    )


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """The verdict on everything that was played."""

    verdict: Verdict
    seed: int
    duration_s: float
    scenarios: tuple[ScenarioVerdict, ...]
    interrupted: str | None = None
    not_exercised: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    """What was explored."""

    def exit_code(self) -> int:
        """0 holds, 1 violated, 3 unknown."""
        return EXIT_CODES[self.verdict]

    def discovery(self, scenario: str, invariant: str) -> Discovery | None:
        """Return what the explorer says of a violation, if it was the explorer who found it."""
        found = (part.found for part in self.parts if part.found is not None)
        return next((f for f in found if (f.scenario, f.kind) == (scenario, invariant)), None)

    @property
    def at_risk(self) -> dict[str, int]:
        """The money concerned, in minor units by currency, each order counted once."""
        total: Counter[str] = Counter()
        for scenario in self.scenarios:
            total += _at_risk(scenario.violations)
        return dict(total)

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as JSON data, in the form that ``--json`` writes."""
        return run_json(self)

    @property
    def not_applicable(self) -> list[tuple[str, str, tuple[str, ...]]]:
        """What does not apply, and the capabilities whose absence says so.

        Each is ``("scenario" | "invariant", name, lacking)``.
        """
        scenarios = [
            ("scenario", scenario.name, scenario.lacking)
            for scenario in self.scenarios
            if scenario.lacking
        ]
        found = {
            one.name: one.lacking
            for scenario in self.scenarios
            for one in scenario.invariants
            if one.verdict == "not_applicable"
        }
        return [*scenarios, *(("invariant", name, lacking) for name, lacking in found.items())]


def _at_risk(violations: Iterable[Violation]) -> Counter[str]:
    """Add up one scenario's orders. What is said of all of them speaks of the same money."""
    orders: dict[tuple[str, str], int] = {}
    everywhere: Counter[str] = Counter()
    for violation in violations:
        currency, amount_minor = violation.currency, violation.at_risk_minor
        if violation.order is None:
            everywhere[currency] = max(everywhere[currency], amount_minor)
        else:
            place = violation.order, currency
            orders[place] = max(orders.get(place, 0), amount_minor)
    total: Counter[str] = Counter()
    for (_, currency), amount_minor in orders.items():
        total[currency] += amount_minor
    return total | everywhere


def combine(
    scenarios: Sequence[ScenarioVerdict],
    *,
    seed: int,
    duration_s: float,
    interrupted: str | None = None,
    whole: bool = False,
    parts: Sequence[Part] = (),
) -> RunVerdict:
    """Return the verdict on a run from those on its scenarios; none at all is unknown.

    ``interrupted`` says what ended the run early; what was not played is then unknown. ``whole``
    says that these were all the scenarios there are: then every invariant must have had something
    to judge somewhere, or it is unknown whether it holds. ``parts`` are what was explored.
    """
    verdicts: list[Verdict] = [scenario.verdict for scenario in scenarios]
    not_exercised = _not_exercised(scenarios)
    reasons = tuple(f"no scenario put {name} to the test" for name in not_exercised if whole)
    reasons += tuple(f"{part.name}: {part.doubt}" for part in parts if part.doubt)
    if interrupted or reasons:
        verdicts.append("unknown")
    verdicts += ["violated" for part in parts if part.found is not None]
    verdict = worst(verdicts, none="unknown")
    return RunVerdict(
        verdict,
        seed,
        round(duration_s, 3),
        tuple(scenarios),
        interrupted,
        not_exercised,
        reasons,
        tuple(parts),
    )


def _not_exercised(scenarios: Sequence[ScenarioVerdict]) -> tuple[str, ...]:
    """Return the invariants that apply and that no fair scenario put to the test."""
    applying = [
        one
        for scenario in scenarios
        if scenario.fair
        for one in scenario.invariants
        if one.verdict != "not_applicable"
    ]
    exercised = {one.name for one in applying if one.judgement.exercised}
    return tuple(dict.fromkeys(one.name for one in applying if one.name not in exercised))


_FAILED: Final = "the judge itself failed"


def _failed(error: Exception) -> str:
    return f"{_FAILED}: {type(error).__name__}: {error}"


def _judged(invariant: Invariant, case: Case) -> InvariantVerdict:
    if lacking := tuple(sorted(invariant.needs & case.run.absent)):
        return InvariantVerdict(invariant.name, Judgement("not_applicable"), lacking)
    if case.hosts and not invariant.order_free:
        says = f"what {' and '.join(case.hosts)} wrote has no common order"
        return InvariantVerdict(invariant.name, Judgement("unknown", reasons=(says,)))
    planned = invariant.always or invariant.name in case.run.exercises
    try:
        judgement = sharpened(invariant.name, invariant.judge(case), case)
    except Exception as error:  # noqa: BLE001  rule 3: a judge that fails knows nothing
        judgement = Judgement("unknown", reasons=(_failed(error),))
    return InvariantVerdict(invariant.name, judgement, planned=planned)


def reasons_of(one: InvariantVerdict) -> Iterator[str]:
    """Say why it is not sure; where it had nothing to judge, say which claim that is."""
    for reason in one.judgement.reasons:
        yield reason if one.judgement.exercised else f"{one.name}: {reason}"


def _own_reasons(case: Case) -> Iterator[str]:
    """Say what stands in the way of any verdict."""
    if not case.run.scenario:
        yield "the history does not say which scenario was run"
    if not case.sent:
        yield "no order was sent"
    elif not case.read_back:
        phase = max(case.phases, key=case.phases.__getitem__, default="the beginning")
        yield f"the run was cut short (in {phase})"
    if case.unattributed:
        count = len(case.unattributed)
        yield f"{count} real charge(s) cannot be tied to an order: {HOW_TO_TIE}"
    for trouble in case.ledger_trouble:
        yield f"the provider's ledger does not balance (our bug): {trouble}"
