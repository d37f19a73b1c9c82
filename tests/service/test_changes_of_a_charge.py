"""Captures and refunds: the same three steps as a charge, under keys of their own."""

import asyncio
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.service.conftest import Shop

CAPTURE = {"operation": "charge.capture"}
REFUND = {"operation": "charge.refund"}
UNCLEAR: list[dict[str, object]] = [
    {"fault": "lose_reply", "times": 2},
    {"fault": "time_out_after_commit", "times": 1},
    {"fault": "reset_before_commit", "times": 2},
    {"fault": "garbage_reply", "times": 2},
    {"fault": "error_before_commit", "times": 2},
]


def _fault(rule: dict[str, object]) -> str:
    return str(rule["fault"])


async def test_what_is_authorised_is_captured_and_booked_once(shop: "Shop") -> None:
    await shop.open()
    charge_id = await shop.authorise()
    assert shop.real_charges() == []

    captured = await shop.capture(charge_id)
    again = await shop.capture(charge_id)

    assert (captured.status, captured.json["status"]) == (201, "succeeded")
    assert (captured.json["charge"], captured.json["amount_minor"]) == (charge_id, 500)
    assert (again.status, again.body) == (201, captured.body)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert shop.real_charges() == ["ch_1"]
    assert await shop.status() == "succeeded"
    assert await shop.credits_minor() == [500]
    assert len(shop.upstream_keys("charge.capture")) == 1


async def test_the_first_answer_of_an_authorised_charge_stays_its_answer(shop: "Shop") -> None:
    await shop.open()
    first = await shop.pay(capture=False)
    await shop.capture(first.json["id"])

    again = await shop.pay(capture=False)

    assert again.body == first.body


async def test_a_part_is_captured_and_the_rest_given_up(shop: "Shop") -> None:
    await shop.open()
    charge_id = await shop.authorise()

    captured = await shop.capture(charge_id, amount_minor=300)
    second = await shop.capture(charge_id, "key-2", amount_minor=200)

    assert captured.json["amount_minor"] == 300
    assert (second.status, second.json["code"]) == (409, "not_possible")
    assert await shop.credits_minor() == [300]


async def test_a_part_and_the_rest_are_refunded_and_no_more(shop: "Shop") -> None:
    await shop.open()
    charge_id = (await shop.pay()).json["id"]

    part = await shop.refund(charge_id, "key-1", amount_minor=200)
    more = await shop.refund(charge_id, "key-2", amount_minor=301)
    rest = await shop.refund(charge_id, "key-3")
    nothing = await shop.refund(charge_id, "key-4")
    again = await shop.refund(charge_id, "key-3")

    assert (part.status, part.json["provider_refund"]) == (201, "re_1")
    assert (more.status, more.json["code"]) == (422, "exceeds")
    assert (rest.status, rest.json["amount_minor"]) == (201, 300)
    assert (nothing.status, nothing.json["code"]) == (422, "exceeds")
    assert again.body == rest.body
    assert shop.refunds_minor() == [200, 300]
    ledger = await shop.read("/accounts/cus-1/ledger")
    assert ledger["balance_minor"] == {"EUR": 0}


async def test_a_key_belongs_to_its_operation(shop: "Shop") -> None:
    await shop.open()
    charge_id = await shop.authorise()

    assert (await shop.capture(charge_id, "key-1")).status == 201
    assert (await shop.refund(charge_id, "key-1")).status == 201


async def test_the_same_key_with_another_refund_is_refused_and_moves_nothing(
    shop: "Shop",
) -> None:
    await shop.open()
    charge_id = (await shop.pay()).json["id"]
    other_id = (await shop.pay("key-2", "ord-2")).json["id"]
    await shop.refund(charge_id, amount_minor=200)

    for path, amount_minor in [(charge_id, 100), (charge_id, None), (other_id, 200)]:
        refused = await shop.refund(path, amount_minor=amount_minor)
        assert (refused.status, refused.json["code"]) == (422, "key_reused")
    assert shop.refunds_minor() == [200]


@pytest.mark.parametrize("rule", UNCLEAR, ids=_fault)
async def test_an_unclear_capture_stays_unclear_until_the_retry_finds_out(
    shop: "Shop", rule: dict[str, object]
) -> None:
    await shop.open(PROVIDER_TIMEOUT_S="0.5")
    charge_id = await shop.authorise()
    shop.go_wrong(rule | CAPTURE)

    unclear = await shop.capture(charge_id)
    shop.simulator.disarm()
    captured = await shop.capture(charge_id)

    assert (unclear.status, unclear.json["status"]) == (202, "processing")
    assert captured.status == 201
    assert shop.real_charges() == ["ch_1"]
    assert len(set(shop.upstream_keys("charge.capture"))) == 1
    assert await shop.credits_minor() == [500]


@pytest.mark.parametrize("rule", UNCLEAR, ids=_fault)
@pytest.mark.parametrize("finds_out", ["retry", "reconciler"])
async def test_an_unclear_refund_stays_unclear_until_somebody_finds_out(
    shop: "Shop", rule: dict[str, object], finds_out: str
) -> None:
    await shop.open(PROVIDER_TIMEOUT_S="0.5")
    charge_id = (await shop.pay()).json["id"]
    shop.go_wrong(rule | REFUND)

    unclear = await shop.refund(charge_id, amount_minor=200)
    shop.simulator.disarm()
    if finds_out == "reconciler":
        assert await shop.reconcile() == 1
    refunded = await shop.refund(charge_id, amount_minor=200)

    assert (unclear.status, unclear.json["status"]) == (202, "processing")
    assert refunded.status == 201
    assert shop.refunds_minor() == [200]
    assert len(set(shop.upstream_keys("charge.refund"))) == 1


async def test_while_one_change_is_under_way_another_waits(shop: "Shop") -> None:
    await shop.open()
    charge_id = (await shop.pay()).json["id"]
    shop.go_wrong({"fault": "hold", "seam": "before_commit", "until": "released", **REFUND})
    first = asyncio.create_task(shop.refund(charge_id, "key-1", amount_minor=200))
    await shop.parked()

    same = await shop.refund(charge_id, "key-1", amount_minor=200)
    other = await shop.refund(charge_id, "key-2", amount_minor=200)
    shop.simulator.disarm()

    assert (same.status, same.json["code"]) == (409, "in_flight")
    assert (other.status, other.json["code"]) == (409, "charge_busy")
    assert (await first).status == 201
    assert (await shop.refund(charge_id, "key-2", amount_minor=200)).status == 201
    assert shop.refunds_minor() == [200, 200]


async def test_refunds_at_the_same_moment_never_exceed(shop: "Shop") -> None:
    await shop.open()
    await shop.open()
    charge_id = (await shop.pay()).json["id"]

    seen = await asyncio.gather(
        *(shop.refund(charge_id, f"key-{n}", at=n % 2, amount_minor=300) for n in range(8))
    )

    assert [answer.status for answer in seen].count(201) == 1
    assert {answer.status for answer in seen} <= {201, 409, 422}
    assert shop.refunds_minor() == [300]


async def test_a_refund_that_the_provider_declines_gives_its_amount_back(shop: "Shop") -> None:
    await shop.open()
    charge_id = (await shop.pay()).json["id"]
    shop.go_wrong({"fault": "decline", **REFUND})

    declined = await shop.refund(charge_id)
    shop.simulator.disarm()

    assert (declined.status, declined.json["reason"]) == (402, "refund_declined")
    assert declined.json["refund"]["status"] == "failed"
    assert (await shop.refund(charge_id)).body == declined.body
    assert (await shop.refund(charge_id, "key-2")).status == 201


async def test_a_capture_that_is_declined_ends_it(shop: "Shop") -> None:
    await shop.open()
    charge_id = await shop.authorise()
    shop.go_wrong({"fault": "decline", **CAPTURE})

    declined = await shop.capture(charge_id)

    assert declined.status == 402
    assert shop.real_charges() == []
    assert await shop.credits_minor() == []


@pytest.mark.parametrize("stored_error", ["error_after_commit", "error_before_commit"])
async def test_an_error_that_is_bound_to_the_key_is_seen_through(
    shop: "Shop", stored_error: str
) -> None:
    await shop.open()
    charge_id = (await shop.pay()).json["id"]
    shop.go_wrong({"fault": stored_error, "stored": True, "times": 1, **REFUND})

    answer = await shop.refund(charge_id, amount_minor=200)
    happened = shop.refunds_minor() == [200]
    if happened:  # the amounts tell that it went back; the event tells its name
        charge = await shop.provider_charge()
        refund = {"id": "re_1", "charge": "ch_1", "amount_minor": 200}
        await shop.tell(charge, refund=refund)

    assert answer.status == (201 if happened else 402)
    booked = [("charge", 500), ("refund", 200)] if happened else [("charge", 500)]
    assert await shop.entries_minor() == booked


async def test_a_capture_and_its_event_book_one_credit_between_them(shop: "Shop") -> None:
    await shop.open()
    shop.deliver_events()
    charge_id = await shop.authorise()
    shop.go_wrong({"fault": "deliver_before_reply", **CAPTURE})

    captured = await shop.capture(charge_id)

    assert captured.status == 201
    assert await shop.credits_minor() == [500]
    assert await shop.status() == "succeeded"


async def test_an_authorisation_that_the_provider_cancels_has_failed(shop: "Shop") -> None:
    await shop.open()
    charge_id = await shop.authorise()

    await shop.tell(await shop.provider_charge() | {"status": "cancelled"})

    assert await shop.status() == "failed"
    refused = await shop.capture(charge_id)
    assert (refused.status, refused.json["code"]) == (409, "not_possible")


@pytest.mark.parametrize(
    "path, key, body, status",
    [
        ("/charges/{id}/refunds", "key-1", {"amount_minor": 0}, 400),
        ("/charges/{id}/refunds", "key-1", {"amount_minor": "5"}, 400),
        ("/charges/{id}/refunds", "key-1", {"reason": "?"}, 400),
        ("/charges/{id}/refunds", "", {}, 400),
        ("/charges/{id}/captures", "key-1", {}, 409),
        ("/charges/pay_9/refunds", "key-1", {}, 404),
        ("/charges/pay_9/captures", "key-1", {}, 404),
    ],
)
async def test_what_is_no_change_is_refused_and_reserves_nothing(
    shop: "Shop", path: str, key: str, body: dict[str, object], status: int
) -> None:
    await shop.open()
    charge_id = (await shop.pay()).json["id"]

    refused = await shop.change(path.format(id=charge_id), key, body)

    assert refused.status == status
    assert refused.headers["Content-Type"] == "application/problem+json"
    assert len(await shop.rows("select 1 from operations")) == 1


async def test_more_than_was_authorised_is_not_captured(shop: "Shop") -> None:
    await shop.open()
    charge_id = await shop.authorise()

    refused = await shop.capture(charge_id, amount_minor=501)

    assert (refused.status, refused.json["code"]) == (422, "exceeds")


async def test_a_charge_of_somebody_else_is_not_there(shop: "Shop") -> None:
    await shop.open()
    charge_id = (await shop.pay()).json["id"]

    refused = await shop.change(f"/charges/{charge_id}/refunds", "key-1", {}, tenant="another")

    assert refused.status == 404


async def test_what_is_still_being_charged_cannot_be_refunded_yet(shop: "Shop") -> None:
    await shop.open(PROVIDER_TIMEOUT_S="0.3")
    shop.go_wrong({"fault": "time_out_after_commit", "operation": "charge.create"})
    charge_id = (await shop.pay()).json["id"]

    refused = await shop.refund(charge_id)

    assert (refused.status, refused.json["code"]) == (409, "charge_in_flight")


async def test_what_somebody_gave_back_at_the_provider_is_not_there_to_be_refunded(
    shop: "Shop",
) -> None:
    await shop.open()
    paid = await shop.pay()
    shop.deliver_events()
    url = f"{shop.simulator.url()}/v1/charges/ch_1/refunds"
    headers = {"Authorization": "Bearer sk_test", "Idempotency-Key": "by-hand"}
    async with shop.client.post(url, headers=headers, json={"amount_minor": 200}) as response:
        assert response.status == 201
    await shop.until("select 1 from ledger where kind = 'refund'")

    too_much = await shop.refund(paid.json["id"], amount_minor=301)
    all_there_is = await shop.refund(paid.json["id"], "key-2")

    assert (too_much.status, all_there_is.status) == (422, 201)
    assert shop.refunds_minor() == [200, 300]
    assert sorted(await shop.entries_minor()) == [("charge", 500), ("refund", 200), ("refund", 300)]
