"""What the page says, before it is HTML."""

from dataclasses import replace
from typing import TYPE_CHECKING

from onecharge.history.judgement import Judgement
from onecharge.invariants import invariants
from onecharge.report.page import BUCKET_MEANINGS, About, page_of
from onecharge.verdict import combine, not_applicable
from tests.report.conftest import REPEAT, doubled, judged, paged, right, run_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onecharge.history import Record
    from tests.judge.conftest import Tale

ABOUT = About("shop", 7)


def nothing(_: str) -> "Sequence[Record]":
    return ()


def test_a_finding_is_told_in_full(tale: "Tale") -> None:
    page = paged(doubled(tale, "ord-1", "ord-2"))
    told = page.findings[0]

    assert (page.verdict, page.headline) == ("violated", "10.01 EUR at risk in 2 order(s)")
    assert (told.invariant, told.scenario, told.more) == ("one_charge_per_key", "lost_replies", 1)
    assert told.at_risk == "5.00 EUR"
    assert (told.boundary, told.repeat) == ("client → API", REPEAT)
    assert told.boundary in page.boundaries
    assert told.guard.startswith("reserve the client's key")
    assert {piece.side for piece in told.evidence} == {"client", "provider", "service"}
    assert told.diagram is not None
    assert told.diagram.order == "ord-1"


def test_the_argument_leads_from_the_order_to_the_contradiction(tale: "Tale") -> None:
    argument = paged(doubled(tale, "ord-1")).findings[0].argument

    assert argument.let == (
        "ord-1, an order of 5.00 EUR, asked for 2 times, always under the key key-ord-1"
    )
    assert argument.then == invariants()[0].claim
    *charges, pattern = argument.however
    assert [seen.partition(": ")[2][:12] for seen in charges] == ["captured ch_"] * 2
    assert "#" in pattern
    assert argument.so.startswith("ord-1 was charged 2 times")


def test_an_order_asked_for_under_several_keys_says_so(tale: "Tale") -> None:
    tale.asks("ord-1", key="other")
    argument = paged(doubled(tale, "ord-1")).findings[0].argument

    assert argument.let.endswith("asked for 3 times, under 2 keys")


def test_one_story_is_drawn_once(tale: "Tale") -> None:
    first, second, *_ = paged(doubled(tale, "ord-1")).findings

    assert (first.drawn_at, second.drawn_at) == (None, 1)
    assert second.diagram is None


def test_a_finding_about_no_order_has_an_argument_and_no_diagram(tale: "Tale") -> None:
    tale.pays("ord-1")
    tale.captures(tale.calls(None), amount_minor=9, customer=None, reference=None)
    tale.ends_well("ord-1")
    told = next(t for t in paged(tale).findings if t.invariant == "one_charge_per_key")

    assert (told.diagram, told.drawn_at) == (None, None)
    assert told.argument.let == "1 orders, each sent to be paid once"


def test_only_a_few_findings_are_told_in_full(tale: "Tale") -> None:
    one = judged(doubled(tale, "ord-1"))
    many = [replace(one, name=f"s{number}") for number in range(70)]
    page = page_of(combine(many, seed=7, duration_s=1), ABOUT, nothing)

    assert len(page.findings) == 5
    assert len(page.others) == 50
    assert page.unnamed >= 85
    assert all(told.diagram is None for told in page.findings)


def test_a_page_of_a_run_that_holds_says_what_was_covered(tell: type["Tale"]) -> None:
    tale = right(tell("ord-1", plan=[{"name": "lose_reply"}]))
    tale.fires("lose_reply")
    page = paged(tale)
    [scenario] = page.scenarios

    assert (page.verdict, page.findings) == ("holds", ())
    assert (scenario.orders, scenario.charges, scenario.fired) == (1, 1, 1)
    assert scenario.tied_by == "reference 1"
    counts = {row.name: row.count for row in page.buckets}
    assert counts == {"recovered": 1, "void": 0, "lost": 0, "stuck": 0, "duplicated": 0}
    assert counts.keys() == BUCKET_MEANINGS.keys()
    assert {row.name for row in page.invariants} == {one.name for one in invariants()}
    assert page.invariants[0].verdict == "holds"
    assert page.invariants[0].judged == 1


def test_what_was_not_reached_and_why_it_is_unknown(tell: type["Tale"]) -> None:
    page = paged(right(tell("ord-1", plan=[{"name": f"rule-{n}"} for n in range(30)])))

    assert page.verdict == "unknown"
    assert page.scenarios[0].not_reached[:2] == ("rule-0", "rule-1")
    assert page.doubts[0] == "lost_replies: the fault rule-0 never fired"
    assert page.doubts[-1] == "… 10 more"
    assert page.repeat == REPEAT


def test_advice_exposure_and_what_does_not_apply_are_kept_apart(tell: type["Tale"]) -> None:
    exposed = doubled(tell("ord-1", scenario="unfair", fair=False), "ord-1")
    run = run_of(exposed)
    lacking = not_applicable("events", ("webhooks",))
    advised = replace(judged(right(tell("ord-1"))), advice=("take care",))
    page = page_of(
        combine([*run.scenarios, lacking, advised], seed=7, duration_s=1), ABOUT, nothing
    )

    assert (page.verdict, page.findings) == ("holds", ())
    assert page.exposure[0].startswith("unfair: ord-1 was charged 2 times")
    assert page.advice == ("lost_replies: take care",)
    assert page.not_applicable == ("events (without webhooks)",)
    assert page.scenarios[0].exposed > 0
    assert page.scenarios[1].lacking == ("webhooks",)


def test_an_invariant_of_another_day_is_shown_all_the_same(tale: "Tale") -> None:
    one = judged(doubled(tale, "ord-1"))
    unheard = replace(one.invariants[0], name="unheard_of")
    assert unheard.judgement != Judgement("holds")
    run = combine([replace(one, invariants=(unheard,))], seed=7, duration_s=1)

    assert page_of(run, ABOUT, nothing).findings[0].argument.then == ""
