"""What a service claims beyond what is usual, it is held to; and nobody else is."""

from pathlib import Path

import pytest

from onecharge.history.case import Claim
from onecharge.history.judgement import Verdict
from onecharge.phases import lacking_for
from onecharge.scenario_file import named_scenario
from onecharge.targets import reference
from tests.scenarios.shops import Shop, judged, played

NAME = "paid_again_under_another_key"
CLAIM: Claim = "one_charge_per_order"


@pytest.mark.parametrize(
    "shop, claims, verdict",
    [
        (Shop(), [CLAIM], "holds"),
        (Shop(by_key=True), [CLAIM], "violated"),
        (Shop(by_key=True), [], "holds"),
    ],
)
async def test_one_charge_per_order_is_judged_where_it_is_claimed(
    tmp_path: Path, shop: Shop, claims: list[Claim], verdict: Verdict
) -> None:
    plan = named_scenario(NAME).file.model_dump(exclude={"title", "why", "claimed", "orders"})

    async with played(shop, tmp_path, claims=claims, **plan) as (play, _):
        judgement = judged(play)

    assert judgement.verdict == verdict, judgement.reasons
    assert bool(judgement.orders_violating("one_charge_per_key")) == (verdict == "violated")
    assert len(play.cast.all) < judgement.charges or not shop.by_key


@pytest.mark.parametrize("claims, lacking", [([CLAIM], ()), ([], (CLAIM,))])
def test_its_scenario_does_not_apply_to_who_claims_nothing(
    claims: list[Claim], lacking: tuple[str, ...]
) -> None:
    file = reference(None).service_file.model_copy(update={"claims": claims})

    assert lacking_for(named_scenario(NAME), file, own_database=True) == lacking
