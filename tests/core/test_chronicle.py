"""The lists of events: whose they are, in which order, and how little is looked at for them."""

from simulator.core.charges import Charge
from simulator.core.chronicle import Chronicle
from simulator.core.events import Event


class Told:
    """Knows which events have been delivered, and how often it was asked."""

    def __init__(self) -> None:
        self.events: set[str] = set()
        self.asked = 0

    def __call__(self, event_id: str) -> bool:
        self.asked += 1
        return event_id in self.events


def event(number: int, account: str = "shop") -> Event:
    charge = Charge(f"ch_{number}", account, 500, "EUR")
    return Event(f"evt_{number}", "charge.captured", charge, None, 0.0, None)


def ids(events: list[Event]) -> list[str]:
    return [each.id for each in events]


def test_an_account_sees_its_own_events_in_the_order_of_birth() -> None:
    chronicle = Chronicle(Told())
    for number in range(1, 12):
        chronicle.keep(event(number, "shop" if number % 2 else "other"))

    assert ids(chronicle.of("shop")) == ["evt_1", "evt_3", "evt_5", "evt_7", "evt_9", "evt_11"]
    assert chronicle.of("nobody") == []
    assert chronicle.find("evt_2", "shop") is None


def test_an_event_is_on_the_list_of_the_delivered_or_on_the_other() -> None:
    told = Told()
    chronicle = Chronicle(told)
    for number in (1, 2, 3):
        chronicle.keep(event(number))
    told.events = {"evt_2"}

    assert ids(chronicle.of("shop", delivered=True)) == ["evt_2"]
    assert ids(chronicle.of("shop", delivered=False)) == ["evt_1", "evt_3"]


def test_what_was_found_delivered_is_not_asked_of_again() -> None:
    told = Told()
    chronicle = Chronicle(told)
    for number in range(1, 1_001):
        chronicle.keep(event(number))
    told.events = {f"evt_{number}" for number in range(1, 999)}
    chronicle.of("shop", delivered=False)
    told.asked = 0

    assert ids(chronicle.of("shop", delivered=False)) == ["evt_999", "evt_1000"]
    assert told.asked == 2


def test_an_event_that_is_owed_anew_comes_back_to_its_place() -> None:
    told = Told()
    chronicle = Chronicle(told)
    for number in range(1, 11):
        chronicle.keep(event(number))
    told.events = {"evt_2", "evt_3"}
    chronicle.of("shop", delivered=False)

    told.events = {"evt_3"}
    chronicle.owed_anew(chronicle.by_id["evt_2"])

    assert ids(chronicle.of("shop", delivered=False))[:3] == ["evt_1", "evt_2", "evt_4"]
    assert ids(chronicle.of("shop", delivered=False))[-1] == "evt_10"
