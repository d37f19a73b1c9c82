import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.service.conftest import Shop

LOST_REPLY: dict[str, object] = {"fault": "lose_reply", "operation": "charge.create"}
SILENCE: dict[str, object] = {"fault": "time_out_after_commit", "operation": "charge.create"}
HELD: dict[str, object] = {
    "fault": "hold",
    "operation": "charge.create",
    "seam": "before_commit",
    "until": "released",
}


async def test_a_plain_charge_is_made_booked_and_shown(shop: "Shop") -> None:
    await shop.open()

    paid = await shop.pay()

    assert paid.status == 201
    charge_id = paid.json["id"]
    assert paid.json == {
        "id": charge_id,
        "order": "ord-1",
        "status": "succeeded",
        "amount_minor": 500,
        "currency": "EUR",
        "customer": "cus-1",
        "provider_charge": "ch_1",
    }
    assert shop.real_charges() == ["ch_1"]
    assert await shop.read(f"/charges/{charge_id}") == paid.json
    assert await shop.read("/charges?order=ord-1") == {"data": [paid.json | {"refunded_minor": 0}]}
    ledger = await shop.read("/accounts/cus-1/ledger")
    assert ledger["account"] == "cus-1"
    assert ledger["balance_minor"] == {"EUR": 500}
    [entry] = ledger["entries"]
    assert (entry["kind"], entry["order"], entry["charge"], entry["provider_charge"]) == (
        "charge",
        "ord-1",
        charge_id,
        "ch_1",
    )


async def test_a_replay_is_byte_identical_and_says_that_it_is_one(shop: "Shop") -> None:
    await shop.open()

    first = await shop.pay()
    again = await shop.pay()

    assert (again.status, again.body) == (first.status, first.body)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert "Idempotent-Replayed" not in first.headers
    assert len(shop.upstream_keys()) == 1


async def test_spaces_and_the_order_of_members_do_not_make_another_intent(shop: "Shop") -> None:
    await shop.open()
    await shop.pay()
    body = b"""{ "customer": "cus-1", "currency": "EUR",
                 "amount_minor": 500, "order": "ord-1" }"""

    again = await shop.send(
        "POST", "/charges", {"Authorization": "Bearer shop", "Idempotency-Key": "key-1"}, body
    )

    assert again.status == 201
    assert len(shop.upstream_keys()) == 1


async def test_the_same_key_with_another_intent_is_refused_and_moves_nothing(
    shop: "Shop",
) -> None:
    await shop.open()
    await shop.pay()

    other = await shop.pay(amount_minor=999)

    assert other.status == 422
    assert other.headers["Content-Type"] == "application/problem+json"
    assert len(shop.upstream_keys()) == 1


async def test_a_key_belongs_to_its_tenant(shop: "Shop") -> None:
    await shop.open()

    ours = await shop.pay(order="ord-1", tenant="shop")
    theirs = await shop.pay(order="ord-2", tenant="another")

    assert (ours.status, theirs.status) == (201, 201)
    assert ours.json["id"] != theirs.json["id"]
    seen = await shop.send(
        "GET", f"/charges/{ours.json['id']}", {"Authorization": "Bearer another"}
    )
    assert seen.status == 404
    assert await shop.read("/accounts/cus-1/ledger", tenant="nobody") == {
        "account": "cus-1",
        "balance_minor": {},
        "entries": [],
    }


async def test_while_one_request_is_at_work_its_key_is_in_flight(shop: "Shop") -> None:
    await shop.open()
    shop.go_wrong(HELD)
    first = asyncio.create_task(shop.pay())
    await shop.parked()

    second = await shop.pay()
    other = await shop.pay(amount_minor=999)
    shop.simulator.disarm()

    assert (second.status, second.headers["Retry-After"]) == (409, "1")
    assert other.status == 422
    assert (await first).status == 201
    assert shop.real_charges() == ["ch_1"]


async def test_a_decline_is_definite_and_stays_one(shop: "Shop") -> None:
    await shop.open()
    shop.go_wrong({"fault": "decline", "operation": "charge.create"})

    declined = await shop.pay()
    shop.simulator.disarm()
    again = await shop.pay()

    assert declined.status == 402
    assert declined.json["code"] == "declined"
    assert declined.json["reason"] == "insufficient_funds"
    assert declined.json["charge"]["status"] == "failed"
    assert (again.status, again.body) == (402, declined.body)
    assert await shop.credits_minor() == []
    assert await shop.status() == "failed"
    assert (await shop.pay("key-2")).status == 201  # a new key may try again


async def test_a_lost_reply_is_asked_for_again_with_the_same_upstream_key(shop: "Shop") -> None:
    await shop.open()
    shop.go_wrong({**LOST_REPLY, "times": 1})

    paid = await shop.pay()

    assert paid.status == 201
    first, second = shop.upstream_keys()
    assert first == second
    assert shop.real_charges() == ["ch_1"]
    assert await shop.credits_minor() == [500]


@pytest.mark.parametrize(
    "rule",
    [
        {**LOST_REPLY, "times": 2},
        {**SILENCE, "times": 1},
        {"fault": "garbage_reply", "operation": "charge.create", "times": 2},
        {"fault": "cut_reply", "operation": "charge.create", "times": 2},
        {"fault": "error_before_commit", "operation": "charge.create", "times": 2},
        {"fault": "reset_before_commit", "operation": "charge.create", "times": 2},
        {"fault": "rate_limit", "operation": "charge.create", "times": 1},
    ],
    ids=lambda rule: str(rule["fault"]),
)
async def test_an_unknown_outcome_stays_unknown_until_the_retry_finds_out(
    shop: "Shop", rule: dict[str, object]
) -> None:
    await shop.open(PROVIDER_TIMEOUT_S="0.5")
    shop.go_wrong(rule)

    unclear = await shop.pay()
    believed = await shop.status()
    shop.simulator.disarm()
    paid = await shop.pay()

    assert (unclear.status, unclear.json["status"]) == (202, "processing")
    assert unclear.headers["Retry-After"] == "1"
    assert believed == "processing"
    assert (paid.status, paid.json["id"]) == (201, unclear.json["id"])
    assert len(shop.real_charges()) == 1
    assert len(set(shop.upstream_keys())) == 1
    assert await shop.credits_minor() == [500]


async def test_an_unknown_outcome_is_found_out_by_the_reconciler(shop: "Shop") -> None:
    await shop.open(PROVIDER_TIMEOUT_S="0.5")
    shop.go_wrong({**SILENCE, "times": 1})
    await shop.pay()
    shop.simulator.disarm()

    assert await shop.reconcile() == 1

    assert await shop.status() == "succeeded"
    assert shop.real_charges() == ["ch_1"]
    assert len(shop.upstream_keys()) == 1  # asking by reference was enough
    assert (await shop.pay()).status == 201
    assert await shop.reconcile() == 0


async def test_the_reconciler_repeats_a_call_that_never_arrived(shop: "Shop") -> None:
    await shop.open()
    shop.go_wrong({"fault": "reset_before_commit", "operation": "charge.create"})
    await shop.pay()
    shop.simulator.disarm()

    assert await shop.reconcile() == 1

    assert await shop.status() == "succeeded"
    assert len(set(shop.upstream_keys())) == 1
    assert shop.real_charges() == ["ch_1"]


async def test_an_error_that_is_stored_under_the_key_does_not_hide_the_charge(
    shop: "Shop",
) -> None:
    await shop.open()
    shop.go_wrong({"fault": "error_after_commit", "operation": "charge.create", "stored": True})

    paid = await shop.pay()

    assert paid.status == 201
    assert shop.real_charges() == [paid.json["provider_charge"]]


async def test_an_error_that_is_stored_and_took_nothing_ends_the_charge_truthfully(
    shop: "Shop",
) -> None:
    await shop.open()
    shop.go_wrong(
        {"fault": "error_before_commit", "operation": "charge.create", "stored": True, "times": 1}
    )

    failed = await shop.pay()

    assert (failed.status, failed.json["reason"]) == (402, "provider_503")
    assert shop.real_charges() == []
    assert (await shop.pay("key-2")).status == 201


async def test_a_client_that_hangs_up_does_not_stop_its_charge(shop: "Shop") -> None:
    service = await shop.open()
    shop.go_wrong(HELD)
    impatient = asyncio.create_task(shop.pay())
    await shop.parked()

    impatient.cancel()
    await asyncio.gather(impatient, return_exceptions=True)
    shop.simulator.disarm()
    answers = [await shop.pay()]
    while answers[-1].status == 409:
        answers.append(await shop.pay())

    assert answers[-1].status == 201
    assert service.address
    assert len(shop.upstream_keys()) == 1
    assert await shop.credits_minor() == [500]


@pytest.mark.parametrize(
    "change, status",
    [
        ({"headers": {"Authorization": "Bearer shop"}}, 400),
        ({"headers": {"Authorization": "Bearer shop", "Idempotency-Key": ""}}, 400),
        ({"headers": {"Authorization": "Bearer shop", "Idempotency-Key": "k" * 256}}, 400),
        ({"headers": {"Authorization": "Bearer shop", "Idempotency-Key": "schlüssel"}}, 400),
        ({"headers": {"Idempotency-Key": "key-1"}}, 401),
        ({"headers": {"Authorization": "Basic shop", "Idempotency-Key": "key-1"}}, 401),
        ({"body": b"{"}, 400),
        ({"body": b"[]"}, 400),
        ({"amount_minor": 0}, 400),
        ({"amount_minor": 5.5}, 400),
        ({"amount_minor": "500"}, 400),
        ({"currency": "euro"}, 400),
        ({"order": ""}, 400),
        ({"order": "ord\u0000"}, 400),
        ({"surprise": 1}, 400),
        ({"body": b" " * 70_000}, 413),
    ],
)
async def test_what_is_not_a_charge_is_refused_and_reserves_nothing(
    shop: "Shop", change: dict[str, object], status: int
) -> None:
    await shop.open()
    intent = {"order": "ord-1", "amount_minor": 500, "currency": "EUR", "customer": "cus-1"}
    whole = {"headers": {"Authorization": "Bearer shop", "Idempotency-Key": "key-1"}}
    if not change.keys() & {"headers", "body"}:
        change = {"body": json.dumps(intent | change).encode()}
    request: dict[str, Any] = {"body": json.dumps(intent).encode()} | whole | change

    refused = await shop.send("POST", "/charges", request["headers"], request["body"])

    assert refused.status == status
    assert refused.headers["Content-Type"] == "application/problem+json"
    assert await shop.rows("select 1 from operations") == []
    assert shop.upstream_keys() == []


async def test_what_is_too_much_at_once_is_refused_before_it_reserves_anything(
    shop: "Shop", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reference_impl.app.WORK_LIMIT", 1)
    await shop.open()
    shop.go_wrong(HELD)
    first = asyncio.create_task(shop.pay())
    await shop.parked()

    refused = await shop.pay("key-2", "ord-2")
    shop.simulator.disarm()

    assert (refused.status, refused.json["code"]) == (503, "overloaded")
    assert refused.headers["Retry-After"] == "1"
    assert len(await shop.rows("select 1 from operations")) == 1
    assert (await first).status == 201
    assert (await shop.pay("key-2", "ord-2")).status == 201
