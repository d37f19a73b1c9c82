"""What can be combined: the registry's fair faults, and what a service file says of its service."""

from typing import get_args

import pytest

from onecharge.combinations.factors import FIRST, calls_in, factors_of
from onecharge.combinations.rows import Space
from onecharge.combinations.values import Call, Factor, Value
from onecharge.combinations.writing import scenario_of
from onecharge.history.records import Record
from onecharge.phases import lacking_for
from onecharge.scenario_file import Point
from onecharge.service_file import ServiceFile
from simulator.catalogue import faults

CHARGE = [Call("charge.create")]
MISINFORMED = "waits while events say that he was declined, and then that he paid"


def factor(factors: list[Factor], name: str) -> Factor:
    return next(each for each in factors if each.name == name)


def faults_in(*values: Value) -> set[str]:
    return {table["fault"] for value in values for table in value.faults}


def received(operation: str, order: str | None, index: int) -> Record:
    value = {"what": "call", "call": f"call-{index}", "operation": operation}
    return Record(index, index, "provider", "receive", value, order)


def test_every_fair_fault_of_the_registry_is_combined_and_no_other(space: Space) -> None:
    names = ("call", "retry", "delivery")
    values = [v for name in names for v in factor(list(space.factors), name).values]

    assert faults_in(*values) == {name for name, kind in faults().items() if kind.fair}


def test_the_boring_values_add_nothing(space: Space) -> None:
    for each in space.factors:
        assert each.boring == Value(each.boring.name)


def test_what_found_most_elsewhere_comes_first(space: Space) -> None:
    _, *values = factor(list(space.factors), "call").values

    assert [table["fault"] for value in values[:3] for table in value.faults] == list(FIRST)


def test_every_point_of_dying_is_there(space: Space) -> None:
    points = {value.kill.at for value in factor(list(space.factors), "death").values if value.kill}

    assert points == set(get_args(Point))


def test_names_are_told_apart(space: Space) -> None:
    names = [value.name for each in space.factors for value in each.values]

    assert len(set(names)) == len(names)


def test_calls_are_those_of_the_first_order_and_counted() -> None:
    records = [
        received("customer.create", None, 0),
        received("charge.create", "ord-1", 1),
        received("charge.capture", "ord-1", 2),
        received("charge.create", "ord-2", 3),
        received("charge.create", "ord-1", 4),
    ]

    assert calls_in(records) == [
        Call("charge.create"),
        Call("charge.capture"),
        Call("charge.create", 2),
    ]


def test_a_fault_strikes_each_call_of_a_charge(reference_file: ServiceFile) -> None:
    calls = [Call("charge.create"), Call("charge.capture")]

    one = factor(factors_of(reference_file, CHARGE, own_database=True), "call")
    two = factor(factors_of(reference_file, calls, own_database=True), "call")

    assert len(two.values) - 1 == 2 * (len(one.values) - 1)


def test_what_a_service_cannot_have_is_left_out_and_said(shop_file: ServiceFile) -> None:
    capabilities = shop_file.capabilities.model_copy(
        update={"restartable": False, "webhooks": False}
    )
    bare = shop_file.model_copy(update={"capabilities": capabilities})

    factors = factors_of(bare, CHARGE, own_database=False)

    assert factor(factors, "death").values == (factor(factors, "death").boring,)
    assert factor(factors, "delivery").values == (factor(factors, "delivery").boring,)
    assert "deliver_before_reply" not in faults_in(*factor(factors, "call").values)
    said = {name: why for each in factors for name, why in each.left_out.items()}
    assert said["deliver_before_reply"] == "the service takes no events"
    assert said["the database is away for a while"] == "the database is not ours to crash"
    assert "asks twice at once for the money back" in said
    assert said[MISINFORMED] == "the service does not claim to withstand it"
    assert said["is declined, and strangers say that he paid"] == "the service takes no events"


def test_who_never_looks_a_call_up_is_offered_no_look_up_that_fails(
    reference_file: ServiceFile,
) -> None:
    capabilities = reference_file.capabilities.model_copy(update={"lookups": False})
    never = reference_file.model_copy(update={"capabilities": capabilities})

    retry = factor(factors_of(never, CHARGE, own_database=True), "retry")

    assert faults_in(*retry.values) == set(FIRST[:2])
    assert retry.left_out == {"lookup_fails": "the service never asks how a call went"}


@pytest.mark.parametrize("which", ["reference_file", "shop_file"])
def test_every_value_is_a_fair_scenario_that_applies(
    which: str, request: pytest.FixtureRequest
) -> None:
    file: ServiceFile = request.getfixturevalue(which)
    own = file.database is not None
    made = Space(factors_of(file, CHARGE, own_database=own))

    for place in made.places():
        scenario = scenario_of(made, made.row(dict([place])), "one")
        assert scenario.fair or scenario.file.claimed, scenario.file.title
        assert not lacking_for(scenario, file, own_database=own), scenario.file.title
