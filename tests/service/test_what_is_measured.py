from typing import TYPE_CHECKING

from prometheus_client.parser import text_string_to_metric_families

if TYPE_CHECKING:
    from tests.service.conftest import Shop


async def _measured(shop: "Shop", at: int = 0) -> dict[str, float]:
    """Return every sample of /metrics by its name and labels."""
    page = await shop.send("GET", "/metrics", {}, at=at)
    assert page.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    families = text_string_to_metric_families(page.body.decode())
    return {
        " ".join([sample.name.removeprefix("reference_"), *sample.labels.values()]): sample.value
        for family in families
        for sample in family.samples
        if not sample.name.endswith("_created")
    }


async def test_attempts_replays_conflicts_and_unknowns_are_counted(shop: "Shop") -> None:
    await shop.open(PROVIDER_TIMEOUT_S="0.3")
    await shop.pay()
    await shop.pay()
    await shop.pay(amount_minor=999)
    await shop.tell(await shop.provider_charge())
    shop.go_wrong({"fault": "time_out_after_commit", "operation": "charge.create", "times": 1})
    await shop.pay("key-2", "ord-2")
    shop.simulator.disarm()
    open_before = await _measured(shop)
    await shop.reconcile()

    counted = await _measured(shop)

    assert counted["attempts_total charge"] == 2
    assert counted["replays_total charge"] == 1
    assert counted["conflicts_total charge mismatch"] == 1
    assert counted["outcomes_total charge captured"] == 2
    assert counted["unknowns_total charge"] == 1
    assert counted["reconciled_total succeeded"] == 1
    assert counted["events_total applied"] == 1
    assert open_before["oldest_unknown_seconds"] > 0
    assert counted["oldest_unknown_seconds"] == 0


async def test_a_process_that_serves_is_alive_and_ready(shop: "Shop") -> None:
    await shop.open()

    seen = [await shop.send("GET", f"/healthz{path}", {}) for path in ("", "/live", "/ready")]

    assert [answer.status for answer in seen] == [200, 200, 200]
