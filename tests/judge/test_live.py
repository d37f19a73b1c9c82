"""What is seen while it happens is what is judged at the end, and seen as soon as it can be."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from onecharge.history import case_of, read_history
from onecharge.invariants import invariants
from simulator.core.journal import Entry

from .conftest import seen_in, untrue

if TYPE_CHECKING:
    from .conftest import Tale

STORED: Final = sorted((Path(__file__).parent / "histories").glob("*.jsonl"))


def charged_again(tale: "Tale") -> str:
    tale.pays("ord-1")
    tale.asks("ord-1")
    tale.captures(tale.calls("ord-1", "up-again"))
    return "one_charge_per_key"


def charged_after_a_decline(tale: "Tale") -> str:
    tale.refused("ord-1", "declined")
    tale.captures(tale.calls("ord-1", "up-1"))
    return "no_zombie_charge"


def another_body_charged(tale: "Tale") -> str:
    tale.pays("ord-1")
    tale.told(tale.asks("ord-1", variant="other_amount", amount_minor=999), "ok")
    return "mismatches_move_no_money"


def another_tenant_let_in(tale: "Tale") -> str:
    tale.pays("ord-1")
    tale.told(tale.asks_how("ord-1", variant="other_tenant"), "ok")
    return "tenants_are_isolated"


def told_of_another_tenants_charge(tale: "Tale") -> str:
    charge = tale.pays("ord-1")
    tale.told(tale.asks("ord-3", tenant="stall"), "ok", provider_charge=charge)
    return "tenants_are_isolated"


def went_back(tale: "Tale") -> str:
    tale.pays("ord-1")
    tale.believes("ord-1", "succeeded")
    tale.believes("ord-1", "pending")
    return "statuses_never_go_back"


def denied_later(tale: "Tale") -> str:
    tale.pays("ord-1")
    tale.refused("ord-1", "declined")
    return "replays_are_faithful"


def another_name(tale: "Tale") -> str:
    tale.told(tale.asks("ord-1"), "ok", charge="s-1")
    tale.told(tale.asks("ord-1"), "ok", charge="s-2")
    return "replays_are_faithful"


WRONG: Final[list[Callable[["Tale"], str]]] = [
    charged_again,
    charged_after_a_decline,
    another_body_charged,
    another_tenant_let_in,
    told_of_another_tenants_charge,
    went_back,
    denied_later,
    another_name,
]


@pytest.mark.parametrize("goes_wrong", WRONG)
def test_it_is_seen_with_the_record_that_shows_it(
    tale: "Tale", goes_wrong: Callable[["Tale"], str]
) -> None:
    name = goes_wrong(tale)
    shown = len(tale.records) - 1
    tale.pays("ord-2")

    [seen] = seen_in(tale.records)

    assert (seen.invariant, seen.at) == (name, shown)
    assert seen.violation.evidence


def test_every_invariant_that_can_be_watched_is_seen_here() -> None:
    watched = {each.name for each in invariants() if each.at_once is not None}

    assert watched == {
        "one_charge_per_key",
        "no_zombie_charge",
        "mismatches_move_no_money",
        "tenants_are_isolated",
        "statuses_never_go_back",
        "replays_are_faithful",
    }


@pytest.mark.parametrize("run", [{"fair": False}, {"capabilities": {"tenants": False}}])
def test_what_does_not_count_at_the_end_is_not_told_before(
    tell: type["Tale"], run: dict[str, object]
) -> None:
    tale = tell("ord-1", **run)
    another_tenant_let_in(tale)

    assert seen_in(tale.records) == []


def test_a_charge_that_names_nobody_is_left_for_the_end(tale: "Tale") -> None:
    tale.pays("ord-1")
    tale.asks("ord-1")
    tale.captures(tale.calls(None, "up-again"), amount_minor=77, customer="cus-nobody")

    assert seen_in(tale.records) == []
    assert len(case_of(tale.records).orders["ord-1"].real_charges) == 2


def test_an_event_that_asks_for_a_charge_excuses_it_before_its_order_is_known_too(
    tell: type["Tale"],
) -> None:
    tale = tell(announced=False)
    tale.bills("ord-1")
    tale.refused("ord-1", "declined")
    told = {"what": "attempt", "attempt": "att-1", "event": "evt_due_ord-1"}
    tale.recorder(Entry("webhook", "send", told, "ord-1"))
    tale.captures(tale.calls("ord-1", "up-1"))

    assert seen_in(tale.records) == []


def test_who_watches_nonsense_sees_nothing_and_stops_nobody(tale: "Tale") -> None:
    tale.judge("invoke", "run", orders=[{}])
    charged_again(tale)

    assert seen_in(tale.records) == []


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_a_history_of_a_mutant_is_seen_to_be_wrong_as_far_as_that_can_be_seen(path: Path) -> None:
    records = read_history(path)
    [charges] = [each for each in invariants() if each.name == "one_charge_per_key"]
    judged = {violation.order for violation in charges.judge(case_of(records)).violations}

    assert {each.violation.order for each in seen_in(records)} >= judged
    assert untrue(records) == []
