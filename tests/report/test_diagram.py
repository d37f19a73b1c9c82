"""One order's story is drawn from its records alone, cut to what a picture can hold."""

from typing import TYPE_CHECKING

import pytest

from onecharge.history import case_of
from onecharge.report.diagram import Bar, Diagram, diagram_of
from onecharge.report.picture import NARROW, WIDE, picture_of, sentence
from tests.report.conftest import HOSTILE, doubled, right

if TYPE_CHECKING:
    from tests.judge.conftest import Tale


def drawn(tale: "Tale", order: str = "ord-1", *evidence: int, most: int = 40) -> Diagram:
    diagram = diagram_of(case_of(tale.records), tale.records, order, evidence, most)
    assert diagram is not None
    return diagram


def says(diagram: Diagram) -> list[str]:
    return [sentence(step) for step in diagram.steps]


def bars(diagram: Diagram, kind: str) -> list[Bar]:
    return [bar for bar in diagram.bars if bar.kind == kind]


def test_a_double_charge_is_told_from_the_press_to_the_belief(tale: "Tale") -> None:
    diagram = drawn(doubled(tale, "ord-1"))

    assert diagram.lanes == ("client A", "client B", "service", "provider", "webhook")
    assert says(diagram) == [
        "client A asks for 5.00 EUR (attempt 1, key key-ord-1)",
        "client B asks for 5.00 EUR (attempt 2, key key-ord-1)",
        "the service calls charge.create (call-1, provider key up-ord-1-1)",
        "the service calls charge.create (call-2, provider key up-ord-1-2)",
        "5.00 EUR taken: real charge ch_1",
        "call-1 is answered (HTTP 201)",
        "5.00 EUR taken: real charge ch_2",
        "call-2 is answered (HTTP 201)",
        "client A is told: ok (HTTP 201), charge ch_1",
        "client B is told: ok (HTTP 201), charge ch_1",
        "evt_1 is born: charge.captured",
        "evt_1 is delivered (attempt 1)",
        "evt_1 is acknowledged (HTTP 200)",
        "faults stop, healing begins",
        "the service believes: succeeded, 1 credit(s) booked",
    ]
    assert [step.row for step in diagram.steps if step.mark == "charge"] == [4, 6]
    assert [step.at_ms for step in diagram.steps[:3]] == [0.0, 1.0, 2.0]
    assert diagram.gaps == ()


def test_what_goes_on_at_once_stands_side_by_side(tale: "Tale") -> None:
    diagram = drawn(doubled(tale, "ord-1"))

    assert bars(diagram, "waiting") == [
        Bar(lane=0, slot=0, start=0, end=8, kind="waiting"),
        Bar(lane=1, slot=0, start=1, end=9, kind="waiting"),
    ]
    assert [(bar.slot, bar.start, bar.end) for bar in bars(diagram, "call")] == [
        (0, 2, 5),
        (1, 3, 7),
    ]


def test_an_unknown_outcome_stays_open_until_the_client_asks_again(tale: "Tale") -> None:
    diagram = drawn(right(tale))

    assert "client A cannot know how it ended: no answer within 5 s" in says(diagram)
    [still_open] = bars(diagram, "open")
    assert (still_open.start, still_open.end) == (1, 2)
    assert diagram.lanes[0] == "client A"
    assert "client B" not in diagram.lanes


def test_an_attempt_that_was_never_answered_has_no_end(tale: "Tale") -> None:
    tale.asks("ord-1")
    diagram = drawn(tale)

    assert [(bar.start, bar.end) for bar in bars(diagram, "waiting")] == [(0, None)]


def test_parked_time_lasts_from_the_park_to_the_release(tale: "Tale") -> None:
    tale.asks("ord-1")
    call = tale.calls("ord-1", "up-1")
    tale.fires("hold", call)
    tale.parks(call)
    tale.releases(call, "caller_gone")
    held = tale.calls("ord-1", "up-2")
    tale.parks(held)
    diagram = drawn(tale)

    assert says(diagram)[2:4] == [
        "call-1 is held on receive, until others have arrived",
        "call-1 is let go: its caller has gone",
    ]
    assert [(bar.start, bar.end) for bar in bars(diagram, "parked")] == [(2, 3), (5, None)]


def test_arrows_are_messages_and_causes(tale: "Tale") -> None:
    asked = tale.asks("ord-1")
    call = tale.calls("ord-1")
    tale.hears(tale.captures(call))
    tale.drops(call)
    tale.told(asked, "refused")
    diagram = drawn(tale)

    place = {step.number: (step.row, step.lane, step.slot) for step in diagram.steps}
    service = diagram.lanes.index("service")
    arrows = {(arrow.start, arrow.end, arrow.kind) for arrow in diagram.arrows}
    assert arrows == {
        (place[1], (0, service, 0), "message"),
        ((1, service, 0), place[2], "message"),
        (place[4], place[5], "cause"),
        (place[5], (4, service, 0), "message"),
        ((5, service, 0), place[6], "message"),
        (place[7], (6, service, 0), "lost"),
    }
    assert says(diagram)[-2:] == [
        "the answer to call-1 is lost: reset",
        "client A could not connect: not a byte was sent",
    ]


def test_kills_and_faults_stand_in_the_lane_of_whom_they_strike(tale: "Tale") -> None:
    tale.asks("ord-1")
    call = tale.calls("ord-1")
    tale.fires("lose_reply", call)
    tale.kills("app-1")
    tale.believes("ord-1", "pending")
    diagram = drawn(tale)

    assert [(step.mark, step.who) for step in diagram.steps[2:4]] == [
        ("fault", "provider"),
        ("crash", "service"),
    ]
    assert says(diagram)[2:4] == ["the fault lose_reply strikes after commit", "app-1 is killed"]


def test_what_an_order_had_no_part_in_is_left_out(tale: "Tale") -> None:
    tale.kills("before")
    tale.pays("ord-2")
    tale.pays("ord-1")
    tale.pays("ord-2")
    tale.kills("after")
    diagram = drawn(tale)

    assert len(diagram.steps) == 5
    assert not any("killed" in line for line in says(diagram))


def test_a_charge_tied_by_its_amount_belongs_to_the_story(tale: "Tale") -> None:
    asked = tale.asks("ord-1")
    call = tale.calls(None, "up-1")
    tale.captures(call, amount_minor=500, customer=None, reference=None)
    tale.told(asked)
    diagram = drawn(tale)

    assert "5.00 EUR taken: real charge ch_1" in says(diagram)


def test_every_kind_of_record_has_its_words(tale: "Tale") -> None:
    asked = tale.asks("ord-1", key="k" * 60)
    call = tale.calls("ord-1", operation="charge.refund")
    charge = tale.authorises(call)
    tale.refunds(charge, 200)
    event = tale.event(charge, "charge.authorised")
    tale.answered(tale.delivers(event, forged=True), "fail", status=401)
    tale.answered(tale.delivers(event, number=2), "unknown", error="reset")
    tale.replies(call, 200, replayed=True)
    tale.told(asked, "unknown", status=500)
    tale.believes("ord-1", None)
    tale.judge("read", "balance")
    diagram = drawn(tale)

    assert says(diagram) == [
        "client A asks for 5.00 EUR (attempt 1, key kkkkkkkkkkk…kkkkkkkk)",
        "the service calls charge.refund (call-1, no provider key)",
        "ch_1 authorised, 5.00 EUR",
        "ch_1 refunded, 2.00 EUR",
        "evt_1 is born: charge.authorised",
        "evt_1 is delivered (attempt 1, badly signed)",
        "evt_1 is refused (HTTP 401)",
        "evt_1 is delivered (attempt 2)",
        "evt_1: no answer: reset",
        "call-1 is answered (HTTP 200), replayed",
        "client A cannot know how it ended: HTTP 500",
        "the service believes: nothing that can be asked",
    ]


def test_a_long_story_is_cut_where_it_matters_least(tale: "Tale") -> None:
    doubled(tale, "ord-1")
    event = tale.event("ch_1")
    for _ in range(60):
        tale.answered(tale.delivers(event), status=200)
    for _ in range(3):
        tale.told(tale.asks("ord-1"))
    diagram = drawn(tale)

    assert len(diagram.steps) <= 40
    assert sum(step.mark == "charge" for step in diagram.steps) == 2
    assert sum(step.mark == "asked" for step in diagram.steps) == 5
    assert len(diagram.gaps) == 1
    told_of = len(diagram.steps) + diagram.gaps[0].count
    assert told_of == len(drawn(tale, most=1000).steps)
    assert picture_of(diagram, WIDE).cuts[0].says == f"… {diagram.gaps[0].count} more"


def test_evidence_is_shown_before_anything_else(tale: "Tale") -> None:
    doubled(tale, "ord-1")
    event = tale.event("ch_1")
    sent = len(tale.records)
    delivery = tale.delivers(event)
    tale.answered(delivery, status=200)

    without, with_it = drawn(tale, most=16), drawn(tale, "ord-1", sent, most=16)

    assert sent not in {step.record for step in without.steps}
    assert sent in {step.record for step in with_it.steps}


def test_many_clients_at_once_share_the_last_lane(tale: "Tale") -> None:
    for _ in range(6):
        tale.asks("ord-1")
    diagram = drawn(tale)

    assert diagram.lanes == ("client A", "client B", "client C", "client D", "service")
    assert [bar.slot for bar in diagram.bars] == [0, 0, 0, 0, 1, 2]


@pytest.mark.parametrize("order", [None, "ord-9", "ord-2"])
def test_where_there_is_no_story_nothing_is_drawn(tale: "Tale", order: str | None) -> None:
    tale.pays("ord-1")

    assert diagram_of(case_of(tale.records), tale.records, order) is None


def test_a_picture_stays_on_its_paper(tell: type["Tale"]) -> None:
    tale = tell(HOSTILE)
    for _ in range(8):
        tale.asks(HOSTILE)
    doubled(tale, HOSTILE)
    for chosen in (WIDE, NARROW):
        picture = picture_of(drawn(tale, HOSTILE), chosen)

        assert all(0 <= dot.x <= picture.width for dot in picture.dots)
        assert all(0 <= dot.y <= picture.height for dot in picture.dots)
        assert all(bar.height >= 0 for bar in picture.stretches)
        assert all(bar.y + bar.height <= picture.height for bar in picture.stretches)


def test_a_sentence_too_long_for_its_line_is_cut_and_whole_in_its_title(tale: "Tale") -> None:
    tale.told(tale.asks("ord-1"), "unknown", error="x" * 300)
    picture = picture_of(drawn(tale), WIDE)

    dot = picture.dots[1]
    assert dot.says.endswith("x…")
    assert "x" * 300 in dot.title
    assert picture_of(drawn(tale), NARROW).dots[1].says == ""
