"""A history put in order."""

from typing import TYPE_CHECKING

import pytest

from onecharge.history import Record, case_of
from onecharge.history.buckets import buckets
from onecharge.history.case import CAPABILITIES
from onecharge.history.evidence import of_attempt, of_charge, three_sides
from simulator.core.journal import Entry

if TYPE_CHECKING:
    from tests.judge.conftest import Tale


def test_a_run_says_what_it_was_meant_to_be(tell: type["Tale"]) -> None:
    plan = [{"name": "lose_reply", "fault": "lose_reply"}, {"fault": "nameless"}]
    case = tell("ord-1", plan=plan, capabilities={"refunds": False, "webhooks": True}).case()

    assert case.run.scenario == "lost_replies"
    assert case.run.seed == 7
    assert case.run.rules == ("lose_reply",)
    assert case.run.absent == {"refunds"}
    assert case.orders["ord-1"].amount_minor == 500
    assert case.sent == []


def test_capabilities_may_be_a_list_of_what_is_there(tell: type["Tale"]) -> None:
    case = tell(capabilities=sorted(CAPABILITIES - {"tenants"})).case()

    assert case.run.absent == {"tenants"}


def test_an_unfair_scenario_counts_where_the_service_claims_to_withstand_it(
    tell: type["Tale"],
) -> None:
    unfair = {"scenario": "provider_ignores_keys", "fair": False}

    assert not tell(**unfair).case().run.can_violate
    assert tell(**unfair, claims=["provider_ignores_keys"]).case().run.can_violate


@pytest.mark.parametrize("claims", [[], ["provider_ignores_keys"], ["one_charge_per_order"]])
def test_an_unfair_scenario_counts_where_it_asks_for_nothing_but_what_is_claimed(
    tell: type["Tale"], claims: list[str]
) -> None:
    asks = {"fair": False, "claimed": ["one_charge_per_order"], "claims": claims}

    assert tell(**asks).case().run.can_violate == ("one_charge_per_order" in claims)


def test_an_empty_history_is_an_empty_case() -> None:
    case = case_of([])

    assert (case.orders, case.charges, case.duration_s) == ({}, {}, 0)
    assert not case.healed
    assert not case.read_back


def test_a_story_is_told_from_all_sides(tale: "Tale") -> None:
    charge = tale.pays("ord-1")
    event = tale.hears(charge)
    tale.fires("lose_reply", call="call-1")
    tale.fires("late", order="ord-1")
    tale.fires("nobodys")
    tale.ends_well("ord-1")
    case = tale.case()
    story = case.orders["ord-1"]

    assert repr(story) == "<OrderStory ord-1: 1 attempts, 1 real charges>"
    assert story.keys == ("key-ord-1",)
    assert [answer.outcome for answer in story.answers] == ["ok"]
    assert [c.id for c in story.charges] == [charge]
    assert [c.id for c in story.calls] == ["call-1"]
    assert [e.id for e in story.events] == [event]
    assert [f.rule for f in story.firings] == ["lose_reply", "late"]
    assert len(case.firings) == 3
    assert story.belief is not None
    assert case.converged is not None
    assert case.duration_s > 0


def test_orders_nobody_announced_are_known_by_what_was_sent(tell: type["Tale"]) -> None:
    tale = tell(announced=False)
    tale.pays("ord-9")
    story = tale.case().orders["ord-9"]

    assert (story.tenant, story.amount_minor, story.currency) == ("shop", 500, "EUR")
    assert len(story.real_charges) == 1


def test_a_call_that_names_only_its_charge_belongs_to_the_charges_order(tale: "Tale") -> None:
    charge = tale.pays("ord-1")
    read = tale.calls(None, operation="charge.read")
    tale.replies(read, 200, charge=charge)
    stray = tale.calls(None, operation="charge.list")
    tale.replies(stray, 200)

    assert [c.id for c in tale.case().orders["ord-1"].calls] == ["call-1", read]


def test_money_taken_in_two_captures_is_one_real_charge(tale: "Tale") -> None:
    tale.asks("ord-1")
    call = tale.calls("ord-1", "up-1")
    charge = tale.captures(call, amount_minor=200)
    tale.captures(call, charge=charge, amount_minor=300)
    tale.refunds(charge, 50)
    [story] = tale.case().sent

    assert [(c.captured_minor, c.kept_minor) for c in story.real_charges] == [(500, 450)]


def test_more_given_back_than_taken_is_trouble_with_our_own_ledger(tale: "Tale") -> None:
    charge = tale.pays("ord-1")
    tale.refunds(charge, 501)
    tale.judge("unknown", "ledger", says="entries do not add up")
    tale.judge("unknown", "ledger")

    assert tale.case().ledger_trouble == [
        "entries do not add up",
        "it does not balance",
        "ch_1: 501 given back of 500 taken",
    ]


def test_records_that_nobody_knows_or_that_lead_nowhere_are_left_alone(tale: "Tale") -> None:
    tale.pays("ord-1")
    before = tale.case()
    for entry in (
        Entry("database", "park", {"what": "statement"}),
        Entry("client:9", "ok", {"what": "answer", "outcome": "ok"}),
        Entry("client:9", "ok", {"what": "answer", "outcome": "ok"}, cause=0),
        Entry("provider", "release", {"what": "call", "call": "call-99"}),
        Entry("provider", "send", {"what": "reply", "call": "call-99"}),
        Entry("webhook", "send", {"what": "attempt", "attempt": "a", "event": "evt-99"}),
        Entry("webhook", "ok", {"what": "attempt", "attempt": "b"}),
        Entry("judge", "read", {"what": "belief", "status": "failed"}),
        Entry("provider", "receive", {}),
    ):
        tale.recorder(entry)
    after = tale.case()

    assert (after.orders, after.charges, after.calls) == (
        before.orders,
        before.charges,
        before.calls,
    )


def test_why_a_held_call_went_on_is_kept(tale: "Tale") -> None:
    call = tale.calls("ord-1", "up-1")
    tale.releases(call, "caller_gone")

    assert tale.case().calls[call].released_because == "caller_gone"


def test_orders_may_be_announced_by_name_alone_and_events_may_be_nobodys(tale: "Tale") -> None:
    tale.judge("invoke", "run", orders=[{"order": "ord-7"}])
    value = {"what": "event.created", "event": "evt-7", "type": "account.updated"}
    tale.recorder(Entry("provider", "effect", value))
    case = tale.case()

    assert case.orders["ord-7"].customers == ()
    assert case.orders["ord-7"].events == []
    assert "evt-7" in case.events


def test_a_client_without_order_or_key_is_still_a_story() -> None:
    case = case_of([Record(0, 1, "client:3", "invoke", {"what": "charge"})])

    assert list(case.orders) == ["client:3"]
    assert case.orders["client:3"].keys == ()


def test_evidence_reads_like_sentences(tale: "Tale") -> None:
    asked = tale.asks("ord-1")
    call = tale.calls("ord-1")
    declined = tale.declines(call)
    opened = tale.authorises(call)
    taken = tale.captures(call)
    tale.refunds(taken, 100)
    tale.told(asked, "in_flight", status=409, error="wait", charge="s-1")
    tale.asks("ord-1")
    tale.settles()
    tale.believes("ord-1", None, charge="s-1", effects=1, effects_minor=500)
    case = tale.case()
    story = case.orders["ord-1"]

    assert [of_charge(case.charges[charge]).says for charge in (declined, opened, taken)] == [
        "declined ch_1, 5.00 EUR, under no provider key",
        "opened ch_2, 5.00 EUR, under no provider key",
        "captured ch_3, 5.00 EUR, under no provider key; gave back 1.00 EUR",
    ]
    assert of_attempt(story.attempts[0]).says == (
        "attempt 1 under key key-ord-1 was told: in flight (HTTP 409), charge s-1, wait"
    )
    assert of_attempt(story.attempts[1]).says == "attempt 2 under key key-ord-1 was never answered"
    assert three_sides(story)[-1].says == (
        "believes: nothing that can be asked, charge s-1, 1 credit(s) booked, worth 5.00 EUR"
    )


def test_every_unknown_outcome_falls_into_one_bucket(tell: type["Tale"]) -> None:
    ends = {
        "recovered": (1, "succeeded"),
        "void": (0, "failed"),
        "void, absent": (0, "absent"),
        "lost": (1, "failed"),
        "lost, believed": (0, "succeeded"),
        "stuck": (1, "pending"),
        "stuck, unreadable": (0, "unreadable"),
        "duplicated": (2, "succeeded"),
    }
    tale = tell(*ends, "no unknown", "told later")
    for order, (charges, status) in ends.items():
        asked = tale.asks(order)
        for number in range(charges):
            tale.captures(tale.calls(order, f"up-{number}"))
        tale.told(asked, "unknown")
        tale.believes(order, status)
    tale.pays("no unknown")
    tale.told(tale.asks("told later"), "unknown")
    tale.pays("told later")

    assert buckets(tale.case()) == {
        "recovered": 2,
        "void": 2,
        "lost": 2,
        "stuck": 2,
        "duplicated": 1,
    }


def test_how_a_charge_was_tied_is_said_unless_it_named_its_order(tale: "Tale") -> None:
    tale.asks("ord-1")
    tale.asks("ord-2")
    tale.captures(tale.calls(None), reference=None, customer="cus-ord-1")
    tale.authorises(tale.calls(None), reference=None, customer=None, amount_minor=7)
    case = tale.case()

    [charge] = case.orders["ord-1"].charges
    assert of_charge(charge).says.endswith("under no provider key (known by its customer)")
    assert (case.unattributed, case.attribution.untied) == ((), ("ch_2",))


def test_a_reference_may_be_found_in_what_the_call_says(tale: "Tale") -> None:
    tale.asks("ord-1", amount_minor=0)
    call = tale.calls(None, mentions=["paid for ord-1"])
    tale.captures(call, reference=None, customer=None, mentions=["cus-7"])

    assert [charge.tied_by for charge in tale.case().orders["ord-1"].charges] == ["reference"]


def test_a_call_that_names_the_order_names_that_of_its_charge(tale: "Tale") -> None:
    tale.asks("ord-1")
    tale.captures(tale.calls("ord-1"), reference="unheard of")

    assert len(tale.case().orders["ord-1"].charges) == 1


def test_orders_of_which_no_amount_is_known_are_tied_by_their_customers() -> None:
    about = {"what": "run", "orders": [{"order": "ord-1", "customer": "cus-1"}, {"order": "ord-2"}]}
    taken = {"what": "charge.captured", "charge": "ch_1", "customer": "cus-1"}
    case = case_of(
        [Record(0, 1, "judge", "invoke", about), Record(1, 2, "provider", "effect", taken)]
    )

    assert [charge.id for charge in case.orders["ord-1"].real_charges] == ["ch_1"]
