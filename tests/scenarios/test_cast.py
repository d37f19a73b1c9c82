"""Who plays: every order of a scenario and of its steps, known before anything is played."""

from pathlib import Path

import pytest

from onecharge.cast import Cast
from onecharge.keys import PAIR, SINGLE
from onecharge.phases import lacking_for
from onecharge.scenario_file import Scenario, ScenarioFile
from onecharge.service_file import ServiceFile
from onecharge.targets import target

REFERENCE = target(None, None).service_file
ONE_TENANT = REFERENCE.model_copy(update={"tenants": {"shop": "shop"}})


def scenario(*steps: dict[str, object], **fields: object) -> Scenario:
    file = ScenarioFile.model_validate({"title": "a", "why": "b", "steps": steps, **fields})
    return Scenario("mine", Path("mine.toml"), file)


def cast(*steps: dict[str, object], orders: int = 2) -> Cast:
    return Cast(REFERENCE, scenario(*steps, orders=orders).file, "mine", 1)


def test_a_cast_follows_from_its_label_and_the_seed() -> None:
    file = scenario({"do": "pay"}).file

    one, two, other = (Cast(REFERENCE, file, label, 1) for label in ("a", "a", "b"))

    assert [order.key for order in one.own] == [order.key for order in two.own]
    assert one.family == two.family != other.family


def test_an_equal_purchase_is_another_order_of_the_same_customer() -> None:
    players = cast({"do": "pay"}, {"do": "buy_again", "orders": [2]})

    order = players.own[1]
    twin = players.beside(1, order)

    assert (twin.customer, twin.amount_minor) == (order.customer, order.amount_minor)
    assert (twin.reference, twin.key) != (order.reference, order.key)
    assert [each.reference for each in players.all] == [
        f"{players.family}-{serial}" for serial in (1, 2, 3)
    ]


def test_another_tenants_order_goes_under_the_same_key() -> None:
    players = cast({"do": "other_tenant"})

    order = players.own[0]
    other = players.beside(0, order)

    assert other.key == order.key
    assert other.tenant != order.tenant
    assert REFERENCE.tenants[other.tenant] == other.token


def test_keys_at_the_edge_are_given_to_one_order_each() -> None:
    plain = cast({"do": "pay"}, orders=4)
    edgy = cast({"do": "edge_keys", "single": ["empty"], "pairs": ["case"]}, orders=4)

    first, second, _, last = (order.key for order in plain.own)
    assert [order.key for order in edgy.own] == [
        SINGLE["empty"](first),
        *PAIR["case"](second),
        last,
    ]


@pytest.mark.parametrize(
    "steps, service_file, lacking",
    [
        ([{"do": "pay"}], ONE_TENANT, ()),
        ([{"do": "other_tenant"}], ONE_TENANT, ("tenants",)),
        ([{"do": "refund"}], REFERENCE.model_copy(update={"refund": None}), ("refunds",)),
        ([{"do": "crash_database"}], REFERENCE, ("own_database",)),
        (
            [{"do": "press", "variant": "other_operation"}],
            REFERENCE.model_copy(update={"refund": None}),
            ("other_operation: there is neither a table [refund] nor [capture]",),
        ),
    ],
)
def test_a_scenario_does_not_apply_where_a_step_cannot_be_done(
    steps: list[dict[str, object]], service_file: ServiceFile, lacking: tuple[str, ...]
) -> None:
    assert lacking_for(scenario(*steps), service_file, own_database=False) == lacking
