"""Rules made of tables, and what is said about those nobody can follow."""

from dataclasses import fields
from pathlib import Path

import pytest

import simulator.faults
from simulator.catalogue import (
    OPERATIONS,
    PlanError,
    dialects,
    faults,
    rule_from,
    rule_schema,
    rules_from,
    table_from,
)
from simulator.core.rules import Rule
from simulator.faults.hold import Hold


def test_every_file_is_a_fault_of_its_name() -> None:
    [folder] = simulator.faults.__path__
    files = {file.stem for file in Path(folder).glob("*.py") if not file.stem.startswith("_")}

    assert faults().keys() == files
    assert {name: fault.name for name, fault in faults().items()} == {f: f for f in files}


def test_there_is_a_generic_dialect() -> None:
    assert dialects()["generic"].name == "generic"


def test_operations_are_those_of_the_machine() -> None:
    assert {"charge.create", "charge.refund", "event.resend"} < set(OPERATIONS)


def test_a_table_becomes_a_rule() -> None:
    rule = rule_from(
        {
            "fault": "hold",
            "operation": "charge.create",
            "seam": "after_commit",
            "until": "elapsed",
            "amount": 300,
            "times": 1,
            "nth": 2,
            "name": "slow",
        }
    )

    assert rule == Rule(
        fault=Hold(seam="after_commit", until="elapsed", amount=300),
        name="slow",
        operation="charge.create",
        times=1,
        nth=2,
    )


def test_a_rule_without_a_name_is_called_like_its_fault() -> None:
    assert rule_from({"fault": "lose_reply"}).name == "lose_reply"
    assert [rule.name for rule in rules_from([{"fault": "hold"}] * 3)] == [
        "hold",
        "hold-2",
        "hold-3",
    ]


def test_every_field_of_a_rule_can_be_written() -> None:
    written = rule_schema("lose_reply")["properties"].keys()

    assert written == {field.name for field in fields(Rule)}


@pytest.mark.parametrize("name", sorted(faults()))
def test_every_fault_can_be_written_as_a_table_and_read_back(name: str) -> None:
    rule = rule_from({"fault": name, "order": "ord-1", "probability": 1, "until_s": 60})

    assert rule_from(table_from(rule)) == rule


@pytest.mark.parametrize(
    "table, said",
    [
        ({}, r"fault: expected one of .*hold.*, found nothing"),
        (
            {"fault": "loose_reply"},
            r"fault: .* found 'loose_reply' \(did you mean 'lose_reply'\?\)",
        ),
        ({"fault": ["hold"]}, r"fault: expected one of .*, found \['hold'\]"),
        ({"fault": "hold", "utnil": "quiet"}, r"utnil: .* \(did you mean 'until'\?\)"),
        ({"fault": "hold", "amount": "3"}, r"amount: expected a valid integer, found '3'"),
        ({"fault": "hold", "amount": True}, r"amount: expected a valid integer, found True"),
        ({"fault": "hold", "amount": 1.5}, r"amount: expected a valid integer, found 1.5"),
        ({"fault": "hold", "until": "soon"}, r"until: expected 'released', .* found 'soon'"),
        ({"fault": "hold", "times": 0}, r"times: expected greater than or equal to 1, found 0"),
        ({"fault": "hold", "probability": 1.1}, r"probability: .* found 1.1"),
        ({"fault": "hold", "name": ""}, r"name: .* found ''"),
        ({"fault": "hold", "operation": "charge.creat"}, r"did you mean 'charge.create'\?"),
        ({"fault": "hold", "operation": "delivery"}, r"operation: .* found 'delivery'"),
        ({"fault": "redeliver", "operation": "charge.create"}, r"operation: expected one of \*"),
    ],
)
def test_a_table_nobody_can_follow_is_one_clear_sentence(
    table: dict[str, object], said: str
) -> None:
    with pytest.raises(PlanError, match=said) as caught:
        rule_from(table)

    assert str(caught.value).startswith(f"{caught.value.field}: expected {caught.value.expected}")


def test_an_error_in_a_plan_says_in_which_rule() -> None:
    with pytest.raises(PlanError) as caught:
        rules_from([{"fault": "hold"}, {"fault": "hold", "nth": 0}])

    assert (caught.value.field, caught.value.found) == ("rules[1].nth", 0)


def test_two_rules_cannot_have_one_name() -> None:
    with pytest.raises(PlanError, match=r"rules\[1\].name: .* found 'x'"):
        rules_from([{"fault": "hold", "name": "x"}, {"fault": "lose_reply", "name": "x"}])
