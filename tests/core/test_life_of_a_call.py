"""The life of a call: what it does, what it writes down, and in which order."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from simulator.core.calls import Call
from simulator.core.faults import Break, Fault
from simulator.core.messages import Held, HttpRequest, Until
from simulator.core.provider import Provider
from simulator.core.rules import Rule
from simulator.dialects.generic import IETF, Generic
from simulator.faults.decline import Decline
from simulator.faults.error_after_commit import ErrorAfterCommit
from simulator.faults.error_before_commit import ErrorBeforeCommit
from simulator.faults.garbage_reply import GarbageReply
from simulator.faults.hold import Hold
from simulator.faults.ignore_keys import IgnoreKeys
from simulator.faults.lose_reply import LoseReply
from simulator.faults.rate_limit import RateLimit
from simulator.faults.reset_before_commit import ResetBeforeCommit

if TYPE_CHECKING:
    from .conftest import Build

ONE_CHARGE = [
    "provider receive call",
    "provider effect charge.captured",
    "provider effect event.created",
    "provider send reply",
]


def test_a_charge_is_received_done_told_and_answered(provider: "Build") -> None:
    shop = provider()

    made = shop.data(shop.charge())

    assert made == {
        "id": "ch_1",
        "object": "charge",
        "status": "captured",
        "amount_minor": 500,
        "captured_minor": 500,
        "refunded_minor": 0,
        "currency": "EUR",
        "reference": "ord-1",
        "customer": "cus-1",
        "metadata": {},
        "decline_code": None,
        "created": 0,
    }
    assert shop.story() == ONE_CHARGE
    assert shop.captured() == ["ch_1"]


def test_every_entry_names_order_tenant_key_and_cause(provider: "Build") -> None:
    shop = provider()

    shop.charge()

    received, *others = shop.journal.entries
    assert {(e.order, e.tenant, e.key) for e in shop.journal.entries} == {
        ("ord-1", "shop", "key-1")
    }
    assert received.cause is None
    assert [e.cause for e in others] == [0, 0, 0]
    assert received.value == {
        "what": "call",
        "call": "call-1",
        "operation": "charge.create",
        "method": "POST",
        "path": "/v1/charges",
        "source": "",
    }
    assert others[0].value == {
        "what": "charge.captured",
        "charge": "ch_1",
        "call": "call-1",
        "operation": "charge.create",
        "amount_minor": 500,
        "currency": "EUR",
        "customer": "cus-1",
        "reference": "ord-1",
        "key_honoured": True,
    }
    assert others[1].value == {
        "what": "event.created",
        "event": "evt_1",
        "type": "charge.captured",
        "charge": "ch_1",
    }
    assert others[2].value == {
        "what": "reply",
        "call": "call-1",
        "status": 201,
        "charge": "ch_1",
        "replayed": False,
    }


def test_the_same_key_gets_the_same_answer_and_charges_once(provider: "Build") -> None:
    shop = provider()
    first = shop.reply(shop.charge())

    again = shop.reply(shop.charge())

    assert (again.status, again.body) == (first.status, first.body)
    assert ("idempotent-replayed", "true") in again.headers
    assert ("idempotent-replayed", "true") not in first.headers
    assert shop.captured() == ["ch_1"]
    assert shop.entries("reply")[-1].value == {
        "what": "reply",
        "call": "call-2",
        "status": 201,
        "charge": "ch_1",
        "replayed": True,
    }


def test_the_same_key_with_another_payload_is_refused(provider: "Build") -> None:
    shop = provider()
    shop.charge()

    other = shop.charge(amount_minor=501)

    assert (shop.status(other), shop.data(other)["code"]) == (422, "key_mismatch")
    assert shop.captured() == ["ch_1"]


def test_a_key_belongs_to_one_account(provider: "Build") -> None:
    shop = provider()
    shop.charge()

    assert shop.status(shop.charge(account="other")) == 201
    assert shop.captured() == ["ch_1", "ch_2"]


def test_a_key_executes_again_after_its_retention(provider: "Build") -> None:
    shop = provider()
    shop.charge()
    shop.now = 86_400.0

    assert shop.data(shop.charge())["id"] == "ch_2"


@pytest.mark.parametrize("key,code", [(None, "key_missing"), ("x" * 256, "key_invalid")])
def test_a_key_is_required_and_must_be_one(provider: "Build", key: str | None, code: str) -> None:
    shop = provider()

    refused = shop.charge(key=key)

    assert (shop.status(refused), shop.data(refused)["code"]) == (400, code)
    assert shop.story() == ["provider receive call", "provider send reply"]
    assert shop.journal.entries[0].key is None


def test_a_declined_charge_is_definite_and_stored(provider: "Build") -> None:
    shop = provider(Rule(Decline("lost_card"), "no", times=1))

    first, again = shop.charge(), shop.charge()

    assert (shop.status(first), shop.status(again)) == (402, 402)
    assert shop.data(first)["decline_code"] == "lost_card"
    assert shop.data(first)["charge"]["status"] == "declined"
    assert shop.captured() == []
    assert shop.story()[:5] == [
        "provider receive call",
        "fault effect fired",
        "provider effect charge.declined",
        "provider effect event.created",
        "provider send reply",
    ]


def test_an_authorised_charge_is_captured_in_part_and_refunded_to_the_end(
    provider: "Build",
) -> None:
    shop = provider()
    shop.charge(capture=False)
    path = "/v1/charges/ch_1"

    captured = shop.data(shop.send("POST", f"{path}/capture", {"amount_minor": 400}, key="c"))
    part = shop.data(shop.send("POST", f"{path}/refunds", {"amount_minor": 100}, key="r1"))
    rest = shop.send("POST", f"{path}/refunds", key="r2")
    shown = shop.data(shop.send("GET", path))

    assert (captured["status"], captured["captured_minor"]) == ("captured", 400)
    assert part == {
        "id": "re_1",
        "object": "refund",
        "charge": "ch_1",
        "amount_minor": 100,
        "currency": "EUR",
        "reference": "ord-1",
    }
    assert (shop.status(rest), shop.data(rest)["amount_minor"]) == (201, 300)
    assert (shown["status"], shown["refunded_minor"]) == ("refunded", 400)
    facts = [e.value["what"] for e in shop.entries("charge.refunded")]
    assert len(facts) == 2
    assert shop.provider.ledger.balance_minor("merchant:shop", "EUR") == 0
    assert {e.order for e in shop.journal.entries} == {"ord-1"}


def test_a_cancelled_charge_says_so_and_moves_no_money(provider: "Build") -> None:
    shop = provider()
    shop.charge(capture=False)

    cancelled = shop.data(shop.send("POST", "/v1/charges/ch_1/cancel", key="x"))

    assert cancelled["status"] == "cancelled"
    assert len(shop.provider.ledger) == 0
    assert [e.type for e in shop.provider.events.values()] == [
        "charge.authorised",
        "charge.cancelled",
    ]


@pytest.mark.parametrize(
    "verb,body,status,code",
    [
        ("cancel", None, 409, "illegal_transition"),
        ("capture", None, 409, "illegal_transition"),
        ("refunds", {"amount_minor": 501}, 422, "refund_exceeds_capture"),
    ],
)
def test_what_the_charge_does_not_allow_changes_nothing(
    provider: "Build", verb: str, body: object, status: int, code: str
) -> None:
    shop = provider()
    shop.charge()

    refused = shop.send("POST", f"/v1/charges/ch_1/{verb}", body, key="x")

    assert (shop.status(refused), shop.data(refused)["code"]) == (status, code)
    assert shop.story() == [*ONE_CHARGE, "provider receive call", "provider send reply"]


def test_a_capture_of_more_than_was_authorised_is_refused(provider: "Build") -> None:
    shop = provider()
    shop.charge(capture=False)

    refused = shop.send("POST", "/v1/charges/ch_1/capture", {"amount_minor": 501}, key="x")

    assert shop.data(refused)["code"] == "capture_exceeds_authorisation"


@pytest.mark.parametrize(
    "verb,status,code",
    [
        ("capture", 402, "declined"),
        ("cancel", 402, "cancel_declined"),
        ("refunds", 402, "refund_declined"),
    ],
)
def test_the_bank_may_say_no_to_everything(
    provider: "Build", verb: str, status: int, code: str
) -> None:
    operation = {"capture": "charge.capture", "cancel": "charge.cancel", "refunds": "charge.refund"}
    shop = provider(Rule(Decline(), "no", operation=operation[verb]))
    shop.charge(capture=verb == "refunds")

    refused = shop.send("POST", f"/v1/charges/ch_1/{verb}", key="x")

    assert (shop.status(refused), shop.data(refused)["code"]) == (status, code)
    after = "declined" if verb == "capture" else shop.provider.charges["ch_1"].status
    assert shop.provider.charges["ch_1"].status == after
    assert sum(p.kind == "refund" for p in shop.provider.ledger) == 0


@pytest.mark.parametrize("verb", ["", "/capture", "/cancel", "/refunds"])
def test_a_foreign_charge_is_an_absent_charge(provider: "Build", verb: str) -> None:
    shop = provider()
    shop.charge(capture=False)
    method = "POST" if verb else "GET"

    foreign = shop.send(method, f"/v1/charges/ch_1{verb}", key="x", account="thief")

    assert shop.status(foreign) == 404
    assert shop.journal.entries[-1].order is None


def test_charges_are_listed_by_reference_and_account(provider: "Build") -> None:
    shop = provider()
    shop.charge("ord-1", "k1")
    shop.charge("ord-2", "k2")
    shop.charge("ord-1", "k3", account="other")

    def listed(*query: tuple[str, str]) -> list[str]:
        return [c["id"] for c in shop.data(shop.send("GET", "/v1/charges", query=query))["data"]]

    assert listed(("reference", "ord-1")) == ["ch_1"]
    assert listed() == ["ch_1", "ch_2"]
    assert listed(("reference", "ord-9")) == []


def test_a_lookup_names_the_charge_it_shows(provider: "Build") -> None:
    shop = provider()
    shop.charge()

    shop.send("GET", "/v1/charges/ch_1")

    assert shop.journal.entries[-1].value["charge"] == "ch_1"


def test_what_cannot_be_read_is_written_down_and_answered(provider: "Build") -> None:
    shop = provider(Rule(RateLimit(), "limit"))

    refused = shop.send("POST", "/v1/charges", ["no", "object"], key="k")

    assert shop.status(refused) == 400
    assert shop.story() == ["provider receive call", "provider send reply"]
    assert shop.journal.entries[0].value["operation"] == "charge.create"
    assert shop.journal.entries[0].key == "k"


def test_a_call_held_before_the_lookup_has_claimed_nothing(provider: "Build") -> None:
    shop = provider(Rule(Hold("on_receive"), "hold", times=1))

    first = shop.charge()
    second = shop.charge()
    late = shop.resume(first)

    assert isinstance(first, Held)
    assert shop.status(second) == 201
    assert ("idempotent-replayed", "true") in shop.reply(late).headers
    assert shop.captured() == ["ch_1"]


def test_a_call_held_before_the_commit_has_claimed_its_key(provider: "Build") -> None:
    shop = provider(Rule(Hold("before_commit"), "hold", times=1))

    first = shop.charge()
    second = shop.charge()

    assert (shop.status(second), shop.data(second)["code"]) == (409, "key_in_flight")
    assert ("retry-after", "1") in shop.reply(second).headers
    assert shop.captured() == []
    assert shop.status(shop.resume(first)) == 201
    assert shop.captured() == ["ch_1"]


def test_a_call_held_after_the_commit_can_be_replayed_meanwhile(provider: "Build") -> None:
    shop = provider(Rule(Hold("after_commit"), "hold", times=1))

    first = shop.charge()
    second = shop.charge()

    assert shop.captured() == ["ch_1"]
    assert shop.reply(second).body == shop.reply(shop.resume(first)).body


def test_a_hold_is_written_down_with_its_condition_and_its_end(provider: "Build") -> None:
    shop = provider(Rule(Hold("before_commit", until="caller_gone", at_most_ms=7), "hold"))

    held = shop.charge()
    shop.resume(held, "caller_gone")

    assert held == Held("call-1", "before_commit", Until("caller_gone", 0, 7))
    assert shop.story() == [
        "provider receive call",
        "fault effect fired",
        "provider park call",
        "provider release call",
        "provider effect charge.captured",
        "provider effect event.created",
        "provider send reply",
    ]
    fired, park, release = shop.journal.entries[1:4]
    assert fired.value == {
        "what": "fired",
        "rule": "hold",
        "fault": "hold",
        "seam": "before_commit",
        "call": "call-1",
    }
    assert park.value == {
        "what": "call",
        "call": "call-1",
        "operation": "charge.create",
        "seam": "before_commit",
        "condition": "caller_gone",
    }
    assert release.value == {
        "what": "call",
        "call": "call-1",
        "seam": "before_commit",
        "reason": "caller_gone",
    }
    assert {e.cause for e in shop.journal.entries[1:]} == {0}


def test_held_calls_can_be_looked_at_and_resumed_only_once(provider: "Build") -> None:
    shop = provider(Rule(Hold("on_receive"), "hold"))
    held = shop.charge()

    [(call, where)] = shop.provider.held.values()

    assert (repr(call), where) == ("<Call call-1 charge.create ord-1>", held)
    assert len(shop.provider.resume("call-1", 0)) == 1
    assert shop.provider.resume("call-1", 0) == []
    assert shop.provider.held == {}


def test_several_rules_fire_at_one_seam_in_plan_order(provider: "Build") -> None:
    shop = provider(
        Rule(Hold("after_commit"), "first"),
        Rule(LoseReply(), "then"),
        Rule(ErrorAfterCommit(), "never, for the reply is lost"),
    )

    held = shop.charge()
    lost = shop.resume(held)

    assert shop.how(lost) == "reset"
    assert shop.provider.plan.fired == {"first": 1, "then": 1, "never, for the reply is lost": 0}


def test_a_call_can_be_held_at_every_seam_in_turn(provider: "Build") -> None:
    shop = provider(
        Rule(Hold("on_receive"), "a"),
        Rule(Hold("before_commit"), "b"),
        Rule(Hold("after_commit"), "c"),
    )

    action = shop.charge()
    seams = []
    while isinstance(action, Held):
        seams.append(action.seam)
        action = shop.resume(action)

    assert seams == ["on_receive", "before_commit", "after_commit"]
    assert shop.status(action) == 201


def test_a_plan_that_was_ended_bends_no_held_call_any_more(provider: "Build") -> None:
    shop = provider(Rule(Hold("after_commit"), "hold"), Rule(LoseReply(), "lose"))
    held = shop.charge()

    shop.provider.disarm()

    assert shop.status(shop.resume(held)) == 201
    assert shop.provider.plan.fired == {"hold": 1, "lose": 0}


def test_an_error_before_the_commit_sets_the_key_free(provider: "Build") -> None:
    shop = provider(Rule(ErrorBeforeCommit(), "error", times=1))

    assert shop.status(shop.charge()) == 503
    assert shop.captured() == []
    assert shop.status(shop.charge()) == 201


def test_a_stored_error_before_the_commit_is_repeated_for_ever(provider: "Build") -> None:
    shop = provider(Rule(ErrorBeforeCommit(500, "internal_error", stored=True), "error", times=1))

    assert [shop.status(shop.charge()) for _ in range(2)] == [500, 500]
    assert shop.captured() == []


def test_a_stored_error_after_the_commit_is_repeated_while_lookups_tell_the_truth(
    provider: "Build",
) -> None:
    shop = provider(Rule(ErrorAfterCommit(), "error", operation="charge.create", times=1))

    assert [shop.status(shop.charge()) for _ in range(2)] == [500, 500]
    assert shop.captured() == ["ch_1"]
    assert shop.data(shop.send("GET", "/v1/charges/ch_1"))["status"] == "captured"


def test_an_error_that_is_not_stored_hides_the_answer_once(provider: "Build") -> None:
    shop = provider(Rule(ErrorAfterCommit(stored=False), "error", times=1))

    assert [shop.status(shop.charge()) for _ in range(2)] == [500, 201]
    assert shop.captured() == ["ch_1"]


def test_an_error_over_a_replay_leaves_what_is_stored(provider: "Build") -> None:
    shop = provider(Rule(ErrorAfterCommit(stored=True), "error", nth=2))

    assert [shop.status(shop.charge()) for _ in range(3)] == [201, 500, 201]


@dataclass(frozen=True)
class ResetOnReceive(Fault):
    def on_receive(self, call: Call) -> Break:  # noqa: ARG002  # every call alike
        return Break("reset")


def test_a_connection_can_break_before_the_key_is_looked_up(provider: "Build") -> None:
    shop = provider(Rule(ResetOnReceive(), "reset", times=1))

    assert shop.how(shop.charge()) == "reset"
    assert shop.story() == [
        "provider receive call",
        "fault effect fired",
        "provider drop reply",
    ]
    assert shop.journal.entries[-1].value == {"what": "reply", "call": "call-1", "how": "reset"}
    assert shop.status(shop.charge()) == 201


def test_a_limited_call_is_answered_before_anything_is_looked_at(provider: "Build") -> None:
    shop = provider(Rule(RateLimit(7), "limit", times=1))

    limited = shop.charge(key=None)

    assert shop.status(limited) == 429
    assert ("retry-after", "7") in shop.reply(limited).headers


def test_a_broken_connection_before_the_commit_sets_the_key_free(provider: "Build") -> None:
    shop = provider(
        Rule(ResetBeforeCommit(), "reset", order="ord-1", times=1), Rule(IgnoreKeys(), "x", nth=3)
    )

    assert shop.how(shop.charge()) == "reset"
    assert shop.captured() == []
    assert shop.status(shop.charge()) == 201


def test_garbage_is_sent_instead_of_the_reply_that_stays_stored(provider: "Build") -> None:
    shop = provider(Rule(GarbageReply(), "garbage", times=1))

    garbage = shop.reply(shop.charge())

    assert (garbage.status, garbage.body[:6]) == (200, b"<html>")
    assert shop.entries("reply")[-1].value["charge"] is None
    assert shop.data(shop.charge())["id"] == "ch_1"


def test_a_charge_need_not_carry_a_reference(provider: "Build") -> None:
    shop = provider()

    shop.send("POST", "/v1/charges", {"amount_minor": 1, "currency": "EUR"}, key="k")

    assert shop.journal.entries[-1].order is None
    assert len(shop.data(shop.send("GET", "/v1/charges"))["data"]) == 1


def test_a_provider_that_forgets_releases_the_key_of_a_finished_call() -> None:
    machine = Provider(Generic(replace(IETF, stored="nothing")))
    machine.arm([Rule(ErrorAfterCommit(stored=True), "error", times=1)])
    headers = {"authorization": "Bearer shop", "idempotency-key": "k"}
    body = b'{"amount_minor":1,"currency":"EUR"}'
    request = HttpRequest("POST", "/v1/charges", (), headers, body)

    for _ in range(2):
        machine.receive(request, 0)

    assert len(machine.ledger.real_charges()) == 2


def test_a_provider_that_ignores_keys_charges_twice_and_says_so(provider: "Build") -> None:
    shop = provider(Rule(IgnoreKeys(), "ignore"))

    shop.charge()
    shop.charge()

    assert shop.captured() == ["ch_1", "ch_2"]
    assert [e.value["key_honoured"] for e in shop.entries("charge.captured")] == [False, False]
    assert {e.key for e in shop.journal.entries} == {"key-1"}


def test_faults_before_the_commit_leave_a_call_without_a_key_alone(provider: "Build") -> None:
    shop = provider(
        Rule(IgnoreKeys(), "ignore"), Rule(ErrorBeforeCommit(stored=True), "error", times=1)
    )

    assert [shop.status(shop.charge(key=None)) for _ in range(2)] == [503, 201]


def test_a_namespace_sets_two_lives_apart(provider: "Build") -> None:
    shop = provider(namespace="b")

    assert shop.data(shop.charge())["id"] == "ch_b1"
    assert list(shop.provider.events) == ["evt_b1"]


def test_a_provider_on_its_own_keeps_its_own_journal() -> None:
    machine = Provider(Generic())

    [action] = machine.receive(HttpRequest("GET", "/nowhere"), 0)

    assert machine.sink is not None
    assert action.call == "call-1"
