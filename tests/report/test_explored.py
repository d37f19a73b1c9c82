"""What was explored, in every form of report; and batches that hold, told as one."""

import io
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from onecharge.explored import Discovery, Part, parts_in, unexplored, write_parts
from onecharge.exploring.batches import gathered, natural
from onecharge.report import Terminal
from onecharge.report.html import page_html
from onecharge.report.junit import junit_text
from onecharge.report.page import About, page_of
from onecharge.report.summary import summary_text
from onecharge.stored_run import MANIFEST, stored_run
from onecharge.verdict import RunVerdict, combine

from .conftest import HOSTILE, Tale, doubled, judged, on_disk, right

COVERED = Part("two-requests", "two requests", 11, complete=True, says=("all 11 orders",))
WHY_NOT = Part("own-webhook", "its own webhook", why_not="the service takes no webhooks")
DOUBTFUL = Part("level-1", "every trouble", 3, doubt="interrupted")
NAME = "explore-two-requests-counterexample-1"
REPEAT = "onecharge run counterexample.toml"


def discovery(*steps: str) -> Discovery:
    return Discovery("one_charge_per_key", NAME, 14, 19, 20, steps, REPEAT, "x.toml", "test_x.py")


def found(*steps: str) -> Part:
    return replace(COVERED, complete=False, found=discovery(*steps))


def run(tell: type[Tale], *parts: Part) -> RunVerdict:
    wrong = any(part.found for part in parts)
    tale = doubled(tell("ord-1"), "ord-1") if wrong else right(tell("ord-1"))
    verdict = replace(judged(tale, REPEAT), name=NAME)
    return combine([verdict], seed=7, duration_s=1.0, parts=parts)


def shown(verdict: RunVerdict) -> str:
    file = io.StringIO()
    terminal = Terminal(Console(file=file, width=200))
    for part in verdict.parts:
        terminal.explored(part)
    terminal.verdict(verdict)
    return file.getvalue()


def test_the_terminal_says_what_was_covered_and_the_schedule_in_a_few_lines(
    tell: type[Tale],
) -> None:
    steps = [f"step {number}" for number in range(1, 9)]
    lines = shown(run(tell, found(*steps), WHY_NOT)).splitlines()

    assert lines[0] == "✗ two-requests               all 11 orders"
    assert lines[1] == "· own-webhook                the service takes no webhooks"
    assert "  again    came back in 19 of 20 repeats · found after 14 schedule(s)" in lines
    assert [line for line in lines if ".  step " in line] == [
        f"{number:>8}.  step {number}" for number in range(1, 9)
    ]
    assert len(lines) - 2 - len(steps) <= 15


def test_what_no_schedule_shows_by_itself_is_said_to_be_so(tell: type[Tale]) -> None:
    alone = replace(discovery(), failed=0, of=5, file="", test="")
    told = shown(run(tell, replace(COVERED, found=alone)))

    assert "came back in 0 of 5 repeats by itself: other runs of its batch had a part" in told
    assert "1.  " not in told


def test_a_doubt_of_a_part_is_unknown_and_a_part_that_does_not_apply_is_not(
    tell: type[Tale],
) -> None:
    assert run(tell, COVERED, WHY_NOT).verdict == "holds"
    doubtful = run(tell, COVERED, DOUBTFUL)

    assert (doubtful.verdict, doubtful.exit_code()) == ("unknown", 3)
    assert "unknown: level-1: interrupted" in shown(doubtful)


def test_a_run_that_holds_says_how_many_schedules_that_rests_on(tell: type[Tale]) -> None:
    assert "none twice; 11 schedules explored" in shown(run(tell, COVERED))


def test_what_was_found_is_violated_even_where_no_history_shows_it() -> None:
    lost = combine([], seed=1, duration_s=0.0, parts=[found("a step")])

    assert lost.verdict == "violated"


def test_junit_has_a_case_for_each_part(tell: type[Tale]) -> None:
    document = ET.fromstring(junit_text(run(tell, found("a step"), WHY_NOT, DOUBTFUL), "shop"))  # noqa: S314 - our own

    cases = document.findall("testsuite[@name='explored']/testcase")
    assert [(case.get("name"), case[0].tag) for case in cases] == [
        ("two-requests", "failure"),
        ("own-webhook", "skipped"),
        ("level-1", "error"),
    ]
    assert cases[0][0].text is not None
    assert f"a step\nrepeat: {REPEAT}" in cases[0][0].text


def test_the_page_and_the_summary_tell_the_schedule_and_what_was_covered(tell: type[Tale]) -> None:
    verdict = run(tell, found("a step that <i>is</i> no markup"), WHY_NOT)
    page = page_html(page_of(verdict, About("shop"), lambda _: ()))
    summary = summary_text(verdict, "shop")

    assert "It came back in 19 of 20 repeats" in page
    assert "<li>a step that &lt;i&gt;is&lt;/i&gt; no markup</li>" in page
    assert "<h2>What was explored</h2>" in page
    assert "1. a step that &#60;i&#62;is&#60;/i&#62; no markup" in summary
    assert "- ⚪ own-webhook: the service takes no webhooks" in summary


def test_names_of_a_foreign_service_do_no_harm(tell: type[Tale]) -> None:
    text = shown(run(tell, found(HOSTILE)))

    assert "\x1b" not in text
    assert "[red]markup[/red]" in text


def test_parts_are_written_and_read_again(tmp_path: Path) -> None:
    parts = (found("one", "two"), WHY_NOT, DOUBTFUL, unexplored("level-2", "pairs", found=False))
    write_parts(tmp_path, parts)

    assert parts_in(tmp_path) == parts
    assert parts[-1].sentences == ("not explored: there was no time left",)
    (tmp_path / "explored.json").write_text('[{"name": "torn"')
    assert parts_in(tmp_path) == ()


def test_a_part_that_was_planned_and_never_ended_is_unknown(
    tmp_path: Path, tell: type[Tale]
) -> None:
    on_disk(right(tell("ord-1")), tmp_path / "lost_replies.jsonl")
    (tmp_path / MANIFEST).write_text('{"explored": ["two-requests", "own-webhook"]}')
    write_parts(tmp_path, [COVERED])

    again = stored_run(str(tmp_path)).judged()

    assert again.verdict == "unknown"
    assert again.interrupted == "cut short before the end of own-webhook"


def test_batches_that_hold_are_one_scenario_and_the_others_are_not(tell: type[Tale]) -> None:
    good = [
        replace(judged(right(tell("ord-1"))), name=f"explore-two-requests-{number}")
        for number in (1, 2)
    ]
    bad = replace(judged(doubled(tell("ord-1"), "ord-1")), name="explore-two-requests-3")

    together, other = gathered([*good, bad])

    assert (together.name, together.verdict) == ("explore-two-requests", "holds")
    assert together.orders == 2 * good[0].orders
    assert together.buckets["recovered"] == 2
    assert [one.verdict for one in together.invariants] == [
        one.verdict for one in good[0].invariants
    ]
    assert other == bad


def test_the_ninth_batch_comes_before_the_tenth() -> None:
    names = ["explore-x-10", "explore-x-9", "lost_replies"]

    assert sorted(names, key=natural) == ["explore-x-9", "explore-x-10", "lost_replies"]
