"""A key has to be remembered as long as the service file says, and no longer."""

from pathlib import Path

import pytest

from onecharge.history.judgement import Verdict
from onecharge.press import Order
from onecharge.retention import note_a_new_life
from simulator.core.journal import Journal
from tests.scenarios.shops import Shop, judged, played


@pytest.mark.parametrize(
    "shop, retention_s, verdict",
    [
        (Shop(forgets=True), 0.001, "holds"),
        (Shop(forgets=True), 3_600, "violated"),
        (Shop(), 0.001, "holds"),
    ],
)
async def test_who_forgets_a_key_may_charge_it_again_once_its_time_is_over(
    tmp_path: Path, shop: Shop, retention_s: float, verdict: Verdict
) -> None:
    steps = [{"do": "pay"}, {"do": "settle"}, {"do": "press"}]

    async with played(shop, tmp_path, retention_s=retention_s, steps=steps) as (play, _):
        judgement = judged(play)

    assert judgement.verdict == verdict, judgement.reasons
    assert judgement.charges == (4 if shop.forgets else 2)
    assert bool(judgement.orders_violating("one_charge_per_key")) == (verdict == "violated")


def test_each_life_of_a_key_lasts_from_its_first_press() -> None:
    order, journal = Order(1, "ord-1", "key-1", 1_001, "EUR", "cus-1", "shop", "token"), Journal()

    for now_s, key in ((0, "key-1"), (9, "key-1"), (9, "other"), (10, "key-1"), (19, "key-1")):
        note_a_new_life(journal, order, key, retention_s=10, now_s=now_s)

    [expired] = journal.entries
    assert (expired.value["what"], expired.order, expired.key) == ("expired", "ord-1", "key-1")


def test_without_a_documented_retention_a_key_is_remembered_for_good() -> None:
    order, journal = Order(1, "ord-1", "key-1", 1_001, "EUR", "cus-1", "shop", "token"), Journal()

    for now_s in (0, 1e9):
        note_a_new_life(journal, order, "key-1", retention_s=None, now_s=now_s)

    assert journal.entries == []
