"""Mutants whose broken guard is the client's key: each makes its one mistake, and is seen to."""

import asyncio
from typing import TYPE_CHECKING

import pytest

from reference_impl.app import tenant_named_by
from reference_impl.operation import Intent

if TYPE_CHECKING:
    from tests.service.conftest import Shop

CREATE: dict[str, object] = {"operation": "charge.create"}
HELD: dict[str, object] = {"fault": "hold", "until": "released", **CREATE}
QUICK = {"PROVIDER_TIMEOUT_S": "0.5"}


async def test_a_key_that_is_ignored_charges_every_time(shop: "Shop") -> None:
    await shop.open("key_ignored")

    assert [(await shop.pay()).status, (await shop.pay()).status] == [201, 201]
    assert len(shop.real_charges()) == 2


async def test_a_key_that_is_swept_away_too_soon_is_a_new_one(shop: "Shop") -> None:
    await shop.open("finished_keys_are_swept")

    assert (await shop.pay()).body == (await shop.pay()).body
    assert len(shop.real_charges()) == 1

    await shop.until("select 1 from operations where created_at < now() - interval '0.6 second'")
    assert (await shop.pay()).status == 201
    assert len(shop.real_charges()) == 2


async def test_a_guard_that_is_seen_late_lets_two_at_once_through(shop: "Shop") -> None:
    await shop.open("guard_seen_late")
    shop.go_wrong({"fault": "hold", "until": "arrived", "amount": 2, **CREATE})

    await asyncio.gather(shop.pay(), shop.pay())

    assert len(shop.real_charges()) == 2


async def test_a_refund_under_the_key_of_its_charge_is_told_that_it_was_made(shop: "Shop") -> None:
    await shop.open("key_without_its_operation")
    paid = await shop.pay(key="key-1")

    refunded = await shop.refund(paid.json["id"], key="key-1")

    assert (refunded.status, refunded.body) == (201, paid.body)
    assert shop.refunds_minor() == []


async def test_keys_in_memory_are_not_known_to_the_next_process(shop: "Shop") -> None:
    await shop.open("keys_in_process_memory")
    await shop.open("keys_in_process_memory")

    here = [(await shop.pay()).body, (await shop.pay()).body]
    assert (here[0] == here[1], len(shop.real_charges())) == (True, 1)

    assert (await shop.pay(at=1)).status == 201
    assert len(shop.real_charges()) == 2


async def test_between_a_claim_that_is_cleared_and_its_result_another_charge_slips_in(
    shop: "Shop",
) -> None:
    await shop.open("claim_cleared_before_the_result")
    async with shop.locked("ledger"):
        first = asyncio.create_task(shop.pay())
        await shop.until("select 1 from operations where key like '%%~'")
        second = asyncio.create_task(shop.pay())
        await shop.until("select 1 from operations having count(*) = 2")
    await asyncio.gather(first, second)

    assert len(shop.real_charges()) == 2


async def test_a_live_owner_that_is_overtaken_charges_as_well(shop: "Shop") -> None:
    await shop.open("live_owner_overtaken")
    shop.go_wrong({"fault": "hold", "until": "arrived", "amount": 2, **CREATE})

    await asyncio.gather(shop.pay(), shop.pay())

    assert len(set(shop.upstream_keys())) == 2
    assert len(shop.real_charges()) == 2


async def test_whoever_dies_with_an_endless_lease_leaves_the_key_in_flight(shop: "Shop") -> None:
    service = await shop.open("lease_that_never_ends")
    intent = Intent("ord-1", 500, "EUR", "cus-1")
    await service.charging.reserve(tenant_named_by("shop"), "key-1", intent)

    assert await shop.reconcile() == 0
    assert (await shop.pay()).status == 409


async def test_an_unknown_outcome_that_keeps_its_key_is_never_found_out(shop: "Shop") -> None:
    await shop.open("unknown_keeps_the_key", **QUICK)
    shop.go_wrong({"fault": "time_out_before_commit", "times": 1, **CREATE})

    assert (await shop.pay()).status == 202
    assert await shop.reconcile() == 0
    assert (await shop.pay()).status == 409


async def test_a_claim_that_a_timeout_releases_is_charged_again(shop: "Shop") -> None:
    await shop.open("claim_released_on_timeout", **QUICK)
    shop.go_wrong({"fault": "time_out_after_commit", "times": 1, **CREATE})

    assert [(await shop.pay()).status, (await shop.pay()).status] == [202, 201]
    assert len(shop.real_charges()) == 2


async def test_a_claim_that_is_undone_by_hanging_up_is_charged_again(shop: "Shop") -> None:
    await shop.open("hanging_up_undoes_the_claim")
    shop.go_wrong({**HELD, "seam": "after_commit"})
    paying = asyncio.create_task(shop.pay())
    await shop.parked()

    paying.cancel()
    await shop.until("select 1 from operations having count(*) = 0")
    shop.simulator.disarm()

    assert (await shop.pay()).status == 201
    assert len(shop.real_charges()) == 2


async def test_behind_a_perfect_replay_the_charge_is_made_again(shop: "Shop") -> None:
    await shop.open("charge_repeated_behind_the_replay")

    assert (await shop.pay()).body == (await shop.pay()).body
    assert len(shop.real_charges()) == 2


async def test_the_replay_of_a_decline_is_a_success(shop: "Shop") -> None:
    await shop.open("replay_as_success")
    shop.go_wrong({"fault": "decline", **CREATE})

    assert [(await shop.pay()).status, (await shop.pay()).status] == [402, 200]


async def test_without_a_fingerprint_another_amount_is_told_that_it_was_paid(shop: "Shop") -> None:
    await shop.open("fingerprint_ignored")

    assert (await shop.pay()).body == (await shop.pay(amount_minor=999)).body
    assert len(shop.real_charges()) == 1


async def test_a_mismatch_that_is_another_key_is_charged_as_well(shop: "Shop") -> None:
    await shop.open("mismatch_is_another_key")

    assert [(await shop.pay(amount_minor=minor)).status for minor in (500, 999)] == [201, 201]
    assert len(shop.real_charges()) == 2


async def test_without_a_fingerprint_that_lasts_an_honest_retry_is_refused(shop: "Shop") -> None:
    await shop.open("fingerprint_dropped_when_done")

    assert [(await shop.pay()).status, (await shop.pay()).status] == [201, 422]


@pytest.mark.parametrize(
    "mutant, other",
    [
        ("keys_shared_by_tenants", {"tenant": "another"}),
        ("purchases_told_apart_by_amount", {"key": "key-2"}),
    ],
)
async def test_whoever_is_taken_for_another_is_given_the_others_charge(
    shop: "Shop", mutant: str, other: dict[str, str]
) -> None:
    await shop.open(mutant)

    first = await shop.pay()
    second = await shop.pay(order="ord-2", **other)  # type: ignore[arg-type]  # none is an amount

    assert (second.status, second.json["provider_charge"]) == (201, first.json["provider_charge"])
    assert shop.real_charges("ord-2") == []
    assert (await shop.pay(amount_minor=999)).status == 422, "its one mistake is the only one"
