"""The verdict as JUnit XML: one case for each scenario and invariant, in the form Jenkins reads.

| verdict          | the case is                                                        |
|------------------|--------------------------------------------------------------------|
| holds            | passed                                                             |
| violated         | a failure                                                          |
| unknown          | an error: it did not fail, but nothing proves that it passed       |
| not applicable   | skipped; so is what a scenario does not put to the test            |
| exposure         | passed, and says on its output what a broken provider would do     |

Rule 1: no failure without *violated*, no error without *unknown*: who looks only at this file
        sees the same verdict.
Rule 2: what stands in the way of a whole scenario, or of the run, is a case of its own.
Rule 3: only elements and attributes of Jenkins' ``junit-10.xsd``; texts without a character that
        XML forbids.
"""

import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from onecharge.explored import Part
from onecharge.history.judgement import Violation
from onecharge.invariants import invariants
from onecharge.report.foreign_text import visible
from onecharge.verdict import InvariantVerdict, RunVerdict, ScenarioVerdict, reasons_of

_AS_PLANNED: Final = "played_as_planned"
_WHOLE_RUN: Final = "the_whole_run"
_EXPLORED: Final = "explored"
_NOTHING_OF_ITS_KIND: Final = "this scenario does not put it to the test"
_SHOWN: Final = 10


def junit_text(run: RunVerdict, service: str) -> str:
    """Return the verdict as JUnit XML; ``service`` is what the suites are of."""
    document = JUnitXml(visible(f"onecharge {service}"))
    for scenario in run.scenarios:
        document.add_testsuite(_suite(scenario))
    if run.parts:
        document.add_testsuite(_explored(run.parts))
    if reasons := list(_of_all(run)):
        document.add_testsuite(_whole_run(reasons))
    document.update_statistics()  # type: ignore[no-untyped-call]  # it has no types
    document.time = run.duration_s
    # Jenkins' schema has no count of skipped cases above the single suite.
    document._elem.attrib.pop("skipped", None)  # noqa: SLF001  the library has no other way
    file = io.BytesIO()
    document.write(file, pretty=True)
    return file.getvalue().decode()


def _suite(scenario: ScenarioVerdict) -> TestSuite:
    suite = TestSuite(visible(scenario.name))
    if scenario.lacking:
        cases = [_skipped(scenario, one.name, scenario.lacking) for one in invariants()]
    else:
        cases = [_case(scenario, one) for one in scenario.invariants]
        cases += _not_as_planned(scenario)
    if cases:  # the library knows no time of a whole suite but the sum of its cases
        cases[0].time = scenario.duration_s
    suite.add_testcases(cases)
    return suite


def _case(scenario: ScenarioVerdict, one: InvariantVerdict) -> TestCase:
    judgement = one.judgement
    if one.verdict == "not_applicable":
        return _skipped(scenario, one.name, one.lacking)
    if not one.counts:
        return _skipped(scenario, one.name)
    case = _named(one.name, scenario.name)
    if not scenario.fair:
        if judgement.violations:
            case.system_out = _lines(f"exposure: {v.says}" for v in judgement.violations)
    elif one.verdict == "violated":
        case.result = [_failure(judgement.violations, scenario)]
    elif one.verdict == "unknown":
        case.result = [_error(list(reasons_of(one)), scenario)]
    return case


def _not_as_planned(scenario: ScenarioVerdict) -> Iterator[TestCase]:
    """Yield one more case where the scenario itself did not go as planned."""
    told = {reason for one in scenario.invariants for reason in reasons_of(one)}
    reasons = [f"the fault {rule} never fired" for rule in scenario.not_reached]
    reasons += [r for r in scenario.reasons if not scenario.fair or r not in told]
    if reasons:
        case = _named(_AS_PLANNED, scenario.name)
        case.result = [_error(reasons, scenario)]
        yield case


def _of_all(run: RunVerdict) -> Iterator[str]:
    """Yield why more than single scenarios stayed unknown."""
    if run.interrupted:
        yield run.interrupted
    elif not run.scenarios:
        yield "nothing was played"
    yield from run.reasons


def _explored(parts: Sequence[Part]) -> TestSuite:
    """Return one case for each part of an exploration; what was covered is its output."""
    suite = TestSuite(_EXPLORED)
    for part in parts:
        case = _named(part.name, _EXPLORED)
        if part.found is not None:
            failure = Failure(visible(part.found.kind), "violated")
            failure.text = _lines(
                (part.found.in_words, *part.found.steps, f"repeat: {part.found.repeat}")
            )
            case.result = [failure]
        elif part.doubt:
            error = Error(visible(part.doubt), "unknown")
            error.text = _lines(part.sentences)
            case.result = [error]
        elif part.verdict == "not_applicable":
            case.result = [Skipped(visible("; ".join(part.sentences)))]
        else:
            case.system_out = _lines(part.sentences)
        suite.add_testcase(case)
    return suite


def _whole_run(reasons: Sequence[str]) -> TestSuite:
    suite = TestSuite(_WHOLE_RUN)
    case = _named(_AS_PLANNED, _WHOLE_RUN)
    error = Error(visible(reasons[0]), "unknown")
    error.text = _lines(reasons)
    case.result = [error]
    suite.add_testcase(case)
    return suite


def _named(name: str, scenario: str) -> TestCase:
    return TestCase(visible(name), visible(f"onecharge.{scenario}"), 0)


def _skipped(scenario: ScenarioVerdict, name: str, lacking: Sequence[str] = ()) -> TestCase:
    case = _named(name, scenario.name)
    why = f"the service declares no {', '.join(lacking)}" if lacking else _NOTHING_OF_ITS_KIND
    case.result = [Skipped(visible(why))]
    return case


def _failure(violations: Sequence[Violation], scenario: ScenarioVerdict) -> Failure:
    """Return one failure for all violations: a case fails once. The first gives it its name."""
    first, more = violations[0], len(violations) - 1
    says = f"{first.says} (and {more} more)" if more else first.says
    failure = Failure(visible(says), visible(str(first.boundary)))
    told = violations[:_SHOWN]
    failure.text = _lines(
        (
            *(line for violation in told for line in _in_full(violation)),
            *([f"… {more} more"] if (more := len(violations) - len(told)) else []),
            f"repeat: {scenario.repeat}",
        )
    )
    return failure


def _in_full(violation: Violation) -> Iterator[str]:
    yield violation.says
    for piece in violation.evidence:
        yield f"  {piece.side} #{piece.index} {piece.says}"
    yield f"  open: {violation.boundary}: {violation.cause}"
    yield f"  guard: {violation.guard}"


def _error(reasons: Iterable[str], scenario: ScenarioVerdict) -> Error:
    reasons = list(reasons)
    error = Error(visible(reasons[0]), "unknown")
    error.text = _lines((*reasons, f"repeat: {scenario.repeat}"))
    return error


def _lines(lines: Iterable[str]) -> str:
    return "\n".join(map(visible, lines))
