"""A verdict as JSON data, in the form that ``--json`` writes and others read.

Rule 1: a name that is here stays here; what is new comes beside it.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from onecharge.history.judgement import Evidence, Violation, worst

if TYPE_CHECKING:
    from onecharge.verdict import RunVerdict, ScenarioVerdict


def run_json(run: "RunVerdict") -> dict[str, Any]:
    """Return the verdict on a run, with all that was found."""
    names = dict.fromkeys(one.name for scenario in run.scenarios for one in scenario.invariants)
    return {
        "verdict": run.verdict,
        "seed": run.seed,
        "duration_s": run.duration_s,
        "interrupted": run.interrupted,
        "scenarios": [_scenario_json(scenario) for scenario in run.scenarios],
        "invariants": [
            _invariant_json(name, run.scenarios, exercised=name not in run.not_exercised)
            for name in names
        ],
        "advice": [
            {"scenario": scenario.name, "says": says}
            for scenario in run.scenarios
            for says in scenario.advice
        ],
        "exposure": [
            {"invariant": name, **_violation_json(violation, scenario)}
            for scenario in run.scenarios
            if not scenario.fair
            for name, violation in _named(scenario)
        ],
        "reasons": list(run.reasons),
        "not_exercised": list(run.not_exercised),
        "not_reached": [
            {"scenario": scenario.name, "rule": rule}
            for scenario in run.scenarios
            for rule in scenario.not_reached
        ],
        "not_applicable": [
            {kind: name, "lacking": list(lacking)} for kind, name, lacking in run.not_applicable
        ],
        "explored": [part.to_json() for part in run.parts],
    }


def _invariant_json(
    name: str, scenarios: Sequence["ScenarioVerdict"], *, exercised: bool
) -> dict[str, Any]:
    fair = [
        (scenario, one)
        for scenario in scenarios
        if scenario.fair
        for one in scenario.invariants
        if one.name == name and one.counts
    ]
    return {
        "name": name,
        "verdict": worst(
            [one.verdict for _, one in fair], none="not_applicable" if exercised else "unknown"
        ),
        "exercised": any(one.judgement.exercised for _, one in fair),
        "violations": [
            _violation_json(violation, scenario)
            for scenario, one in fair
            for violation in one.judgement.violations
        ],
        "reasons": list(dict.fromkeys(r for _, one in fair for r in one.judgement.reasons)),
    }


def _named(scenario: "ScenarioVerdict") -> Iterator[tuple[str, Violation]]:
    for one in scenario.invariants:
        for violation in one.judgement.violations:
            yield one.name, violation


def _violation_json(violation: Violation, scenario: "ScenarioVerdict") -> dict[str, Any]:
    return {
        "order": violation.order,
        "scenario": scenario.name,
        "says": violation.says,
        "evidence": [_evidence_json(piece) for piece in violation.evidence],
        "boundary": violation.boundary,
        "cause": violation.cause,
        "guard": violation.guard,
        "at_risk_minor": violation.at_risk_minor,
        "currency": violation.currency,
        "repeat": scenario.repeat,
    }


def _evidence_json(piece: Evidence) -> dict[str, Any]:
    return {"record": piece.index, "side": piece.side, "says": piece.says}


def _scenario_json(scenario: "ScenarioVerdict") -> dict[str, Any]:
    return {
        "name": scenario.name,
        "verdict": scenario.verdict,
        "fair": scenario.fair,
        "seed": scenario.seed,
        "duration_s": scenario.duration_s,
        "orders": scenario.orders,
        "charges": scenario.charges,
        "faults_fired": scenario.fired,
        "reasons": list(scenario.reasons),
        "unknown_outcomes": dict(scenario.buckets),
        "tied_by": dict(scenario.ties),
        "repeat": scenario.repeat,
    }
