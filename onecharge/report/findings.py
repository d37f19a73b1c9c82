"""What a run found, in the order and the words in which every report tells it.

Rule 1: money before truth before books before waiting; small scenarios first, since what shows
        with a few orders is quicker to repeat and easier to follow. What the explorer made small
        goes before all others for the same reason.
Rule 2: only what counts is a finding; exposure is told elsewhere.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from onecharge.exploring.batches import is_batch
from onecharge.history.buckets import BUCKETS, Bucket
from onecharge.history.judgement import Evidence, Violation, money
from onecharge.verdict import RunVerdict, ScenarioVerdict


@dataclass(frozen=True, slots=True)
class Finding:
    """Violations of one invariant, in one scenario, through one boundary: the first speaks."""

    invariant: str
    rank: int
    scenario: ScenarioVerdict
    violations: tuple[Violation, ...]

    @property
    def first(self) -> Violation:
        return self.violations[0]

    @property
    def more(self) -> int:
        """How many there are like the first."""
        return len(self.violations) - 1

    @property
    def weight(self) -> tuple[int, int, int]:
        """What sorts findings."""
        money_at_risk = sum(violation.at_risk_minor for violation in self.violations)
        return self.rank, self.scenario.orders, -money_at_risk


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why something stayed unknown, and the command that shows it again."""

    says: str
    repeat: str


def findings(run: RunVerdict) -> list[Finding]:
    """Return what is wrong, the most telling first."""
    found = []
    for scenario in run.scenarios:
        if not scenario.fair:
            continue
        for rank, one in enumerate(scenario.invariants):
            violations = sorted(one.judgement.violations, key=_boundary)
            for _, alike in groupby(violations, key=_boundary):
                found.append(Finding(one.name, rank, scenario, tuple(alike)))

    def first(finding: Finding) -> tuple[bool, tuple[int, int, int]]:
        told = run.discovery(finding.scenario.name, finding.invariant)
        return told is None, finding.weight

    return sorted(found, key=first)


def is_told_by(run: RunVerdict, finding: Finding) -> bool:
    """Whether a finding is what led to the schedule that is told elsewhere, made small."""
    kinds = {part.found.kind for part in run.parts if part.found is not None}
    return is_batch(finding.scenario.name) and finding.invariant in kinds


def telling(evidence: Sequence[Evidence], shown: int) -> list[Evidence]:
    """Return a few pieces that still show every side, in the order of the history."""
    if len(evidence) <= shown:
        return list(evidence)
    firsts = {piece.side: piece for piece in reversed(evidence)}
    rest = [piece for piece in evidence if piece not in firsts.values()]
    rest.sort(key=lambda piece: piece.side != "provider")  # where the money is
    return sorted([*firsts.values(), *rest][:shown], key=lambda piece: piece.index)


def doubts(run: RunVerdict) -> list[Doubt]:
    """Return every reason why something stayed unknown, what was not reached first."""
    # What is unknown of the whole run is the headline, unless something worse is.
    whole = [run.interrupted, *run.reasons] if run.interrupted else [*run.reasons]
    if run.verdict == "unknown":
        whole = whole[1:]
    return [Doubt(reason, "") for reason in whole] + [
        Doubt(f"{scenario.name}: {reason}", scenario.repeat)
        for scenario in run.scenarios
        for reason in (*_not_reached(scenario), *scenario.reasons)
    ]


def in_words(run: RunVerdict) -> str:
    """Say what the verdict rests on: the money at risk first, if there is any."""
    match run.verdict:
        case "violated":
            places = {(s.name, v.order) for s in run.scenarios for v in s.violations}
            orders = {place for place in places if place[1] is not None} or places
            return f"{at_risk(run) or 'no money'} at risk in {len(orders)} order(s)"
        case "holds" | "not_applicable":
            return _totals(run)
        case "unknown":
            if run.interrupted:
                return f"{run.interrupted} after {len(run.scenarios)} scenario(s)"
            if all(scenario.lacking for scenario in run.scenarios):
                return "no scenario applies to this service"
            if run.reasons:
                return run.reasons[0]
            unsure = sum(scenario.verdict == "unknown" for scenario in run.scenarios)
            return f"{unsure} of {len(run.scenarios)} scenarios could not be judged"


def at_risk(run: RunVerdict) -> str:
    """Say how much money is at risk; nothing, if none is."""
    return " and ".join(money(amount, currency) for currency, amount in run.at_risk.items())


def unknown_outcomes(run: RunVerdict) -> dict[Bucket, int]:
    """Count how the unknown outcomes of the fair scenarios ended, in every bucket."""
    return {
        bucket: sum(s.buckets.get(bucket, 0) for s in run.scenarios if s.fair) for bucket in BUCKETS
    }


def outcomes_in_words(run: RunVerdict) -> str:
    """Say how unknown outcomes ended, the empty buckets left out; nothing, if there were none."""
    return " · ".join(f"{count} {name}" for name, count in unknown_outcomes(run).items() if count)


def _totals(run: RunVerdict) -> str:
    fair = [scenario for scenario in run.scenarios if scenario.fair and not scenario.lacking]
    orders, charges = sum(s.orders for s in fair), sum(s.charges for s in fair)
    told = f"{orders} orders in {len(fair)} fair scenarios, {charges} real charges, none twice"
    if runs := sum(part.runs for part in run.parts):
        told += f"; {runs} schedules explored"
    return told


def _not_reached(scenario: ScenarioVerdict) -> Iterator[str]:
    for rule in scenario.not_reached:
        yield f"the fault {rule} never fired"


def _boundary(violation: Violation) -> str:
    return str(violation.boundary)
