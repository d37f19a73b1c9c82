import asyncio
import json
import time
from typing import TYPE_CHECKING

import pytest

SECRET = "whsec_dGhlIHJlZmVyZW5jZSBzZXJ2aWNlJ3Mgc2VjcmV0"  # the shop's own

if TYPE_CHECKING:
    from tests.service.conftest import Shop

CREATE: dict[str, object] = {"operation": "charge.create"}


async def test_an_event_settles_a_charge_whose_answer_never_came(shop: "Shop") -> None:
    await shop.open(PROVIDER_TIMEOUT_S="0.3")
    shop.go_wrong({"fault": "time_out_after_commit", **CREATE})
    unclear = await shop.pay()

    told = await shop.tell(await shop.provider_charge())
    paid = await shop.pay()

    assert (unclear.status, told.status) == (202, 200)
    assert (paid.status, paid.json["provider_charge"]) == (201, "ch_1")
    assert await shop.credits_minor() == [500]
    assert len(shop.upstream_keys()) == 1
    assert await shop.reconcile() == 0


async def test_an_event_and_the_response_book_one_credit_between_them(shop: "Shop") -> None:
    await shop.open()
    await shop.pay()

    told = await shop.tell(await shop.provider_charge())

    assert told.status == 200
    assert await shop.credits_minor() == [500]


async def test_an_event_before_the_reply_books_one_credit(shop: "Shop") -> None:
    await shop.open()
    shop.deliver_events()
    shop.go_wrong({"fault": "deliver_before_reply", **CREATE})

    paid = await shop.pay()

    assert paid.status == 201
    events = await shop.rows("select id from events")
    assert len(events) == 1, "the event was there before the reply"
    assert await shop.credits_minor() == [500]


async def test_duplicates_are_acknowledged_and_credit_once(shop: "Shop") -> None:
    await shop.open()
    await shop.pay()
    charge = await shop.provider_charge()

    told = [await shop.tell(charge) for _ in range(3)]

    assert [seen.status for seen in told] == [200, 200, 200]
    assert [seen.json["taken"] for seen in told] == ["applied", "duplicate", "duplicate"]
    assert await shop.credits_minor() == [500]


async def test_duplicates_at_the_same_moment_over_two_services_credit_once(shop: "Shop") -> None:
    await shop.open(PROVIDER_TIMEOUT_S="0.3")
    await shop.open()
    shop.go_wrong({"fault": "time_out_after_commit", **CREATE})
    await shop.pay()
    charge = await shop.provider_charge()

    told = await asyncio.gather(*(shop.tell(charge, at=copy % 2) for copy in range(8)))

    assert {seen.status for seen in told} == {200}
    assert sorted(seen.json["taken"] for seen in told) == ["applied", *["duplicate"] * 7]
    assert await shop.credits_minor() == [500]


async def test_the_same_fact_under_a_new_event_id_credits_once(shop: "Shop") -> None:
    await shop.open()
    await shop.pay()
    charge = await shop.provider_charge()

    told = [await shop.tell(charge, f"evt-{number}") for number in range(3)]

    assert [seen.json["taken"] for seen in told] == ["applied"] * 3
    assert await shop.credits_minor() == [500]


async def test_money_that_moved_for_a_charge_that_is_not_here_yet_is_asked_for_again(
    shop: "Shop",
) -> None:
    await shop.open()
    await shop.pay()
    charge = await shop.provider_charge()
    unknown = charge | {"id": "ch_9", "reference": "ord-9", "metadata": {}}

    early = await shop.tell(unknown, "evt-9")

    assert (early.status, early.headers["Retry-After"]) == (503, "1")
    assert await shop.rows("select 1 from events") == []

    shop.go_wrong({"fault": "reset_before_commit", **CREATE})
    await shop.pay("key-9", "ord-9")
    assert (await shop.tell(unknown, "evt-9")).json["taken"] == "applied"
    assert await shop.status("ord-9") == "succeeded"


async def test_late_failures_do_not_undo_a_success(shop: "Shop") -> None:
    await shop.open()
    await shop.pay()
    charge = await shop.provider_charge()

    for number, status in enumerate(["declined", "pending", "authorised", "cancelled"]):
        late = charge | {"status": status, "captured_minor": 0}
        assert (await shop.tell(late, f"evt-{number}")).status == 200

    assert await shop.status() == "succeeded"
    assert (await shop.pay()).status == 201
    assert await shop.credits_minor() == [500]


async def test_a_success_that_comes_after_a_failure_is_believed(shop: "Shop") -> None:
    await shop.open()
    shop.go_wrong({"fault": "decline", **CREATE})
    assert (await shop.pay()).status == 402
    charge = await shop.provider_charge()

    await shop.tell(charge | {"status": "captured", "captured_minor": 500})

    assert await shop.status() == "succeeded"
    assert await shop.credits_minor() == [500]
    assert (await shop.pay()).status == 201


async def test_a_refund_made_at_the_provider_is_booked_once(shop: "Shop") -> None:
    await shop.open()
    await shop.pay()
    charge = await shop.provider_charge() | {"status": "captured", "refunded_minor": 200}
    refund = {"id": "re_1", "object": "refund", "charge": "ch_1", "amount_minor": 200}

    for event in ("evt-1", "evt-1", "evt-2"):
        await shop.tell(charge, event, refund=refund)

    ledger = await shop.read("/accounts/cus-1/ledger")
    assert ledger["balance_minor"] == {"EUR": 300}
    assert [entry["kind"] for entry in ledger["entries"]] == ["charge", "refund"]


async def test_what_another_charge_did_is_not_booked_to_ours(shop: "Shop") -> None:
    await shop.open(PROVIDER_TIMEOUT_S="0.3")
    shop.go_wrong({"fault": "time_out_after_commit", **CREATE})
    await shop.pay()
    charge = await shop.provider_charge()

    told = await shop.tell(charge | {"amount_minor": 1, "captured_minor": 1})

    assert told.status == 200
    assert await shop.status() == "processing"
    assert await shop.credits_minor() == []


@pytest.mark.parametrize("named_by", ["its id", "its reference"])
async def test_an_event_without_our_metadata_still_finds_its_charge(
    shop: "Shop", named_by: str
) -> None:
    await shop.open(PROVIDER_TIMEOUT_S="0.3")
    if named_by == "its reference":
        shop.go_wrong({"fault": "time_out_after_commit", **CREATE})
    await shop.pay()

    told = await shop.tell(await shop.provider_charge() | {"metadata": {}})

    assert told.json["taken"] == "applied"
    assert await shop.credits_minor() == [500]


async def test_an_event_that_two_charges_could_mean_is_given_to_neither(shop: "Shop") -> None:
    await shop.open()
    shop.go_wrong({"fault": "reset_before_commit", **CREATE})
    await shop.pay("key-1")
    await shop.pay("key-2")

    told = await shop.tell(
        {
            "id": "ch_1",
            "status": "captured",
            "amount_minor": 500,
            "currency": "EUR",
            "reference": "ord-1",
        }
    )

    assert told.status == 503
    assert await shop.credits_minor() == []


async def test_a_second_real_charge_for_an_order_that_has_ended_is_an_alarm_and_no_credit(
    shop: "Shop", caplog: pytest.LogCaptureFixture
) -> None:
    await shop.open()
    await shop.pay()

    told = await shop.tell(await shop.provider_charge() | {"id": "ch_9", "metadata": {}})

    assert told.status == 200
    assert "a real charge nobody asked for" in caplog.messages
    assert await shop.credits_minor() == [500]


async def test_news_of_no_money_for_a_charge_we_do_not_have_is_acknowledged(
    shop: "Shop",
) -> None:
    await shop.open()
    await shop.pay()

    told = await shop.tell(
        await shop.provider_charge()
        | {"id": "ch_9", "status": "declined", "reference": "ord-9", "metadata": {}}
    )

    assert told.status == 200


@pytest.mark.parametrize(
    "body, status",
    [
        ('{"type": "payout.paid", "data": {"payout": {}}}', 200),
        ('{"type": "account.closed"}', 200),
        ('{"data": {}}', 400),
        ('{"type": "charge.captured", "data": {"charge": {"id": "ch_1"}}}', 400),
        ("nonsense", 400),
    ],
)
async def test_what_is_no_news_of_a_charge_is_acknowledged_if_it_is_an_event(
    shop: "Shop", body: str, status: int
) -> None:
    await shop.open()

    assert (await shop.deliver(body)).status == status


async def test_an_event_signed_by_somebody_else_changes_nothing(shop: "Shop") -> None:
    await shop.open(PROVIDER_TIMEOUT_S="0.3")
    shop.go_wrong({"fault": "time_out_after_commit", **CREATE})
    await shop.pay()

    forged = await shop.tell(
        await shop.provider_charge(), secret="whsec_bm90IG91ciBzZWNyZXQgYXQgYWxsISEh"
    )

    assert forged.status == 401
    assert await shop.status() == "processing"
    assert await shop.rows("select 1 from events") == []


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"webhook-id": "evt-1"},
        {"webhook-id": "evt-1", "webhook-timestamp": "soon", "webhook-signature": "v1,AAAA"},
        {"webhook-id": "evt-1", "webhook-timestamp": "1", "webhook-signature": "v1,AAAA"},
        {"webhook-id": "evt-1", "webhook-timestamp": "{now}", "webhook-signature": "nonsense"},
        {"webhook-id": "evt-1", "webhook-timestamp": "{now}", "webhook-signature": "v1,###"},
    ],
)
async def test_what_is_not_signed_is_refused(shop: "Shop", headers: dict[str, str]) -> None:
    await shop.open()
    now = {name: value.format(now=int(time.time())) for name, value in headers.items()}

    refused = await shop.send("POST", "/webhooks/provider", now, b"\xff{}")

    assert refused.status == 401
    assert await shop.rows("select 1 from events") == []


OLD = "whsec_dGhlIG9sZCBzZWNyZXQsIHN0aWxsIGdvb2Q="


async def test_while_secrets_are_rotated_either_is_good(shop: "Shop") -> None:
    await shop.open(WEBHOOK_SECRET=f"{SECRET} {OLD}")
    await shop.pay()
    charge = await shop.provider_charge()

    told = [
        await shop.tell(charge, f"evt-{number}", secret=secret)
        for number, secret in enumerate((SECRET, OLD, OLD.replace("dG", "dH")))
    ]

    assert [seen.status for seen in told] == [200, 200, 401]


@pytest.mark.parametrize("seconds, status", [(-30, 401), (30, 401), (-5, 200)])
async def test_a_signature_is_good_for_a_while_and_no_longer(
    shop: "Shop", seconds: float, status: int
) -> None:
    await shop.open(WEBHOOK_TOLERANCE_S="15")
    await shop.pay()

    told = await shop.tell(await shop.provider_charge(), signed_s_ago=-seconds)

    assert told.status == status


@pytest.mark.parametrize("alias", ["payment.succeeded", "checkout.completed", "charge.updated"])
async def test_an_alias_of_an_event_credits_nothing_more(shop: "Shop", alias: str) -> None:
    await shop.open()
    await shop.pay()
    charge = await shop.provider_charge()
    await shop.tell(charge)

    told = await shop.deliver(json.dumps({"type": alias, "data": {"charge": charge}}), "evt-2")

    assert told.status == 200
    assert await shop.credits_minor() == [500]


async def test_a_re_emitted_refund_is_booked_once(shop: "Shop") -> None:
    await shop.open()
    charge_id = (await shop.pay()).json["id"]
    await shop.refund(charge_id, amount_minor=200)
    charge = await shop.provider_charge()
    refund = {"id": "re_1", "charge": "ch_1", "amount_minor": 200}

    for event in ("evt-1", "evt-2"):
        assert (await shop.tell(charge, event, refund=refund)).status == 200

    assert await shop.entries_minor() == [("charge", 500), ("refund", 200)]
