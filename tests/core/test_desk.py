"""The desk in front of the bank, where no dialect asks."""

from random import Random

import pytest

from simulator.core.bank import Bank
from simulator.core.calls import CreateCharge
from simulator.core.desk import Desk
from simulator.core.desk_calls import DESK_CALLS, DeskCall
from simulator.core.desk_results import ThingGone
from simulator.core.journal import Journal
from simulator.core.news import News
from simulator.core.rules import Plan
from simulator.core.shelf import NoSuchThing, Page, Shelf
from simulator.dialects.generic import Generic


@pytest.fixture
def bank() -> Bank:
    return Bank()


@pytest.fixture
def desk(bank: Bank) -> Desk:
    return Desk(bank, News(Generic(), Plan(Random(0)), Journal()))


def test_a_charge_without_an_intent_is_none_of_the_desks_business(bank: Bank, desk: Desk) -> None:
    _, change = bank.execute(CreateCharge(500, "EUR"), "shop", 0.0)

    assert change is not None
    assert desk.follow(change, 0.0) == ()


def test_nobody_at_the_desk_knows_a_call_of_no_kind(desk: Desk) -> None:
    with pytest.raises(AssertionError, match="nobody at the desk"):
        desk.handle(DeskCall(), "shop", 0.0)


def test_a_dialect_without_a_desk_has_no_words_for_it() -> None:
    generic = Generic()

    assert generic.event_type("charge.captured") == "charge.captured"
    with pytest.raises(AssertionError, match="no word"):
        generic.answer(ThingGone("customer", "cus_1"))


def test_every_call_to_the_desk_has_a_name() -> None:
    assert {each.operation for each in DESK_CALLS}.isdisjoint({"unknown", ""})
    assert len(set(DESK_CALLS)) == len(DESK_CALLS)


def test_what_is_taken_from_a_shelf_leaves_its_place_empty() -> None:
    shelf: Shelf[_Book] = Shelf("book", "bk", "x-")
    ids = [shelf.new_id() for _ in range(3)]
    for id_ in ids:
        shelf.put(_Book(id_))

    shelf.remove(ids[1])

    assert ids == ["bk_x-1", "bk_x-2", "bk_x-3"]
    things, more = shelf.page("shop", Page(), lambda _: True)
    assert ([thing.id for thing in things], more) == (["bk_x-3", "bk_x-1"], False)
    assert shelf.new_id() == "bk_x-4"
    with pytest.raises(NoSuchThing, match="no such book: 'bk_x-2'"):
        shelf.find(ids[1], "shop")


class _Book:
    account = "shop"

    def __init__(self, id_: str) -> None:
        self.id = id_
