"""What a CI server reads is what the verdict says, in the form that Jenkins prescribes."""

from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
import xmlschema

from onecharge.invariants import invariants
from onecharge.report.foreign_text import visible
from onecharge.report.junit import junit_text
from onecharge.verdict import RunVerdict, combine, not_applicable
from tests.report.conftest import HOSTILE, REPEAT, doubled, judged, right, run_of

if TYPE_CHECKING:
    from tests.judge.conftest import Tale

SCHEMA = xmlschema.XMLSchema(Path(__file__).parent / "jenkins.xsd")


def read(run: RunVerdict, service: str = "shop") -> ET.Element:
    """Return the report as a CI server has it, having been checked by the schema."""
    text = junit_text(run, service)
    SCHEMA.validate(text)
    return ET.fromstring(text)  # noqa: S314  we wrote it ourselves


def ends(root: ET.Element, tag: str) -> list[str]:
    """Return which cases ended so, by name."""
    return [case.attrib["name"] for case in root.iter("testcase") if case.find(tag) is not None]


def test_every_scenario_and_invariant_is_a_case(tell: type["Tale"]) -> None:
    root = read(run_of(right(tell("ord-1", scenario="a")), right(tell("ord-1", scenario="b"))))

    names = [invariant.name for invariant in invariants()]
    assert [suite.attrib["name"] for suite in root] == ["a", "b"]
    for suite in root:
        assert [case.attrib["name"] for case in suite] == names
        assert {case.attrib["classname"] for case in suite} == {f"onecharge.{suite.attrib['name']}"}
    assert root.attrib["name"] == "onecharge shop"
    assert [root.attrib[count] for count in ("tests", "failures", "errors")] == [
        str(2 * len(names)),
        "0",
        "0",
    ]


def test_a_violation_is_one_failure_that_tells_everything(tale: "Tale") -> None:
    root = read(run_of(doubled(tale, "ord-1", "ord-2")))

    assert "one_charge_per_key" in ends(root, "failure")
    assert root.attrib["failures"] == str(len(ends(root, "failure")))
    assert root.attrib["errors"] == "0"
    failure = root.find(".//testcase[@name='one_charge_per_key']/failure")
    assert failure is not None
    assert failure.attrib["message"].startswith("ord-1 was charged 2 times")
    assert failure.attrib["message"].endswith("(and 1 more)")
    assert failure.attrib["type"] == "client → API"
    text = failure.text or ""
    assert "ord-2 was charged 2 times" in text
    assert "guard: reserve the client's key" in text
    assert f"repeat: {REPEAT}" in text


def test_many_violations_are_counted_and_not_all_told(tell: type["Tale"]) -> None:
    orders = [f"ord-{n}" for n in range(15)]
    root = read(run_of(doubled(tell(*orders), *orders)))

    failure = root.find(".//testcase[@name='one_charge_per_key']/failure")
    assert failure is not None
    assert "\n… 5 more\n" in (failure.text or "")


@pytest.mark.parametrize("duration_s", [0.1 + 0.2, 1e-07, 123456.789012])
def test_a_time_has_no_more_decimals_than_jenkins_reads(duration_s: float) -> None:
    root = read(combine([], seed=1, duration_s=duration_s))

    assert float(root.attrib["time"]) == round(duration_s, 3)


def test_a_rule_that_never_fired_is_an_error_of_its_own(tell: type["Tale"]) -> None:
    run = run_of(right(tell("ord-1", plan=[{"name": "never"}])))
    root = read(run)

    assert run.verdict == "unknown"
    assert (ends(root, "error"), ends(root, "failure")) == (["played_as_planned"], [])


def test_an_invariant_that_cannot_be_judged_is_an_error(tale: "Tale") -> None:
    tale.told(tale.asks("ord-1"), "unknown")
    run = run_of(tale)
    root = read(run)

    assert run.verdict == "unknown"
    assert "one_charge_per_key" in ends(root, "error")
    assert ends(root, "failure") == []


def test_what_does_not_apply_is_skipped(tell: type["Tale"]) -> None:
    tale = right(tell("ord-1", capabilities={"webhooks": False}))
    lacking = not_applicable("events_twice", ("webhooks",))
    root = read(combine([judged(tale), lacking], seed=7, duration_s=1))

    one, other = root
    assert "one_effect_per_event" in ends(one, "skipped")
    assert len(ends(other, "skipped")) == len(other) == len(invariants())
    skipped = other.find("testcase/skipped")
    assert skipped is not None
    assert skipped.attrib["message"] == "the service declares no webhooks"


def test_what_nothing_put_to_the_test_is_skipped_and_in_doubt_over_the_whole_library(
    tale: "Tale",
) -> None:
    scenario = judged(right(tale))
    apart = read(combine([scenario], seed=7, duration_s=1))
    whole = read(combine([scenario], seed=7, duration_s=1, whole=True))

    assert "refunds_never_exceed" in ends(apart, "skipped")
    assert ends(apart, "error") == []
    assert ends(whole, "error") == ["played_as_planned"]
    assert "no scenario put refunds_never_exceed to the test" in "".join(whole[-1].itertext())


def test_exposure_passes_and_is_said(tell: type["Tale"]) -> None:
    run = run_of(doubled(tell("ord-1", fair=False), "ord-1"))
    root = read(run)

    assert run.verdict == "holds"
    assert (ends(root, "failure"), ends(root, "error")) == ([], [])
    assert "exposure: ord-1 was charged 2 times" in "".join(root.itertext())


def test_a_run_that_was_cut_short_is_never_all_green(tale: "Tale") -> None:
    root = read(run_of(right(tale), interrupted="interrupted by SIGINT"))
    nothing = read(combine([], seed=7, duration_s=0))

    for report in (root, nothing):
        assert ends(report[-1], "error") == ["played_as_planned"]
        assert report[-1].attrib["name"] == "the_whole_run"


def test_hostile_texts_stay_texts(tell: type["Tale"]) -> None:
    tale = doubled(tell(HOSTILE, scenario=HOSTILE), HOSTILE)
    root = read(run_of(tale), service=HOSTILE)

    assert {element.tag for element in root.iter()} == {
        *("testsuites", "testsuite", "testcase", "failure", "skipped")
    }
    assert root[0].attrib["name"] == visible(HOSTILE)
    failure = root.find(".//failure")
    assert failure is not None
    assert failure.attrib["message"].startswith(f"{visible(HOSTILE)} was charged 2 times")
