import asyncio
from dataclasses import dataclass, field

import pytest

from onecharge.engine.parking import Parking, Place, Places, Standing


@dataclass(eq=False)
class Event:
    parking: Parking
    place: Place
    order: str | None = None
    standing: Standing = "under way"
    went: list[str] = field(default_factory=list)

    def release(self) -> None:
        self.parking.leave(self)
        self.went.append(self.place.lane)


@pytest.fixture
def parking() -> Parking:
    parking = Parking()
    parking.arm()
    return parking


def waiting(parking: Parking, *lanes: str) -> list[Event]:
    went: list[str] = []
    events = [Event(parking, parking.places.next(lane, "COMMIT"), went=went) for lane in lanes]
    for event in events:
        parking.park(event)
    return events


def test_events_wait_in_the_order_of_their_arrival(parking: Parking) -> None:
    first, second = waiting(parking, "client:1", "client:2")

    assert parking.parked() == (first, second)
    assert repr(parking) == "<Parking armed, 2 parked>"


def test_one_that_is_released_leaves_and_only_once(parking: Parking) -> None:
    first, second = waiting(parking, "client:1", "client:2")

    parking.release(second)
    parking.release(second)

    assert parking.parked() == (first,)
    assert second.went == ["client:2"]


def test_disarming_lets_all_go_in_their_order(parking: Parking) -> None:
    first, _ = waiting(parking, "client:1", "client:2")

    parking.disarm()

    assert first.went == ["client:1", "client:2"]
    assert not parking.armed
    assert parking.parked() == ()


def test_nothing_is_parked_where_nothing_is_held() -> None:
    parking = Parking()

    with pytest.raises(AssertionError, match="although nothing is to be held"):
        waiting(parking, "client:1")


async def test_who_waits_for_a_change_is_woken_by_it(parking: Parking) -> None:
    looked = parking.changes
    woken = asyncio.create_task(parking.changed(looked))
    await asyncio.sleep(0)
    assert not woken.done()

    waiting(parking, "client:1")

    assert await woken == looked + 1


async def test_a_change_between_a_look_and_the_wait_is_not_missed(parking: Parking) -> None:
    looked = parking.changes
    parking.stir()

    assert await parking.changed(looked) == looked + 1


def test_places_are_numbered_by_lane_and_kind_and_anew_in_each_run() -> None:
    places = Places()

    def one_run() -> list[str]:
        first, second = places.lane("client", "a"), places.lane("client", "b")
        assert places.lane("client", "a") == first
        named = [places.next(lane, "COMMIT") for lane in (second, first, second)]
        return [str(place) for place in named]

    assert one_run() == ["client:2 COMMIT #1", "client:1 COMMIT #1", "client:2 COMMIT #2"]
    places.start_over()
    assert one_run() == ["client:2 COMMIT #1", "client:1 COMMIT #1", "client:2 COMMIT #2"]


def test_what_is_released_says_who_moves(parking: Parking) -> None:
    first, second = waiting(parking, "client:1", "client:2")

    parking.release(second)
    moved = parking.chains.moving
    parking.release(first)
    parking.release(second)

    assert (moved, parking.chains.moving) == ("client:2", "client:1")


def test_rest_is_told_to_whoever_wants_to_know(parking: Parking) -> None:
    heard: list[str] = []
    parking.at_rest += [lambda: heard.append("a"), lambda: heard.append("b")]

    parking.rest()

    assert heard == ["a", "b"]
