"""The orders of one scenario: those it has, and those that its steps make beside them.

Rule 1: everything is cast before anything is played: ids follow from the seed, and it is known
        whose they are before the first request leaves.
"""

from collections.abc import Iterator
from itertools import count, islice

from onecharge.keys import PAIR, SINGLE
from onecharge.press import Order
from onecharge.scenario_file import ScenarioFile
from onecharge.service_file import ServiceFile
from onecharge.steps import Bill, BuyAgain, EdgeKeys, OtherTenant
from onecharge.world.orders import alike, family_of, of_tenant, orders_of


class Cast:
    """Who plays. ``own`` are the scenario's orders; ``beside`` gives those that a step makes.

    ``billed`` are the references of those that nobody pays by hand.
    """

    def __init__(
        self,
        service_file: ServiceFile,
        file: ScenarioFile,
        label: str,
        seed: int,
        *,
        mark: str = "",
    ) -> None:
        self.own = orders_of(service_file, label, file.orders, seed, mark=mark)
        self.billed: set[str] = set()
        self._beside: dict[tuple[int, int], Order] = {}
        serials = count(len(self.own) + 1)
        for place, step in enumerate(file.steps):
            match step:
                case BuyAgain():
                    for order in self.chosen(step.orders):
                        self._beside[place, order.serial] = alike(order, next(serials))
                case OtherTenant():
                    for order in self.chosen(step.orders):
                        other = _of_another_tenant(order, next(serials), service_file)
                        self._beside[place, order.serial] = other
                case Bill():
                    for order in self.chosen(step.orders):
                        order.tenant, order.token = next(iter(service_file.tenants.items()))
                        self.billed.add(order.reference)
                case EdgeKeys():
                    _give_keys(step, iter(self.own))
                case _:
                    pass

    def __repr__(self) -> str:
        return f"<Cast of {len(self.own)} orders and {len(self._beside)} beside>"

    @property
    def all(self) -> list[Order]:
        """Every order that is or will be there."""
        return [*self.own, *self._beside.values()]

    @property
    def by_hand(self) -> list[Order]:
        """Every order but the billed ones."""
        return [order for order in self.all if order.reference not in self.billed]

    @property
    def family(self) -> str:
        """What all references have in common."""
        return family_of(self.own[0].reference)

    @property
    def references(self) -> dict[int, str]:
        """The references of the scenario's own orders, by serial."""
        return {order.serial: order.reference for order in self.own}

    def chosen(self, serials: tuple[int, ...]) -> list[Order]:
        """Return the orders of these serials; without any, all of the scenario's own."""
        return [order for order in self.own if not serials or order.serial in serials]

    def payers(self, serials: tuple[int, ...]) -> list[Order]:
        """Return those of the chosen orders that somebody pays by hand."""
        return [each for each in self.chosen(serials) if each.reference not in self.billed]

    def beside(self, place: int, order: Order) -> Order:
        """Return the order that the step at this place has made beside this one."""
        return self._beside[place, order.serial]


def other_tenant(order: Order, service_file: ServiceFile) -> tuple[str, str]:
    """Return the name and the credential of a tenant that is not the order's, if there is one."""
    tenants = service_file.tenants
    name = next((tenant for tenant in tenants if tenant != order.tenant), order.tenant)
    return name, tenants[name]


def _of_another_tenant(order: Order, serial: int, service_file: ServiceFile) -> Order:
    """Return an order of somebody else's customer that goes under the same key."""
    other = of_tenant(order, serial, *other_tenant(order, service_file))
    other.key = order.key
    return other


def _give_keys(step: EdgeKeys, orders: Iterator[Order]) -> None:
    for single, order in zip(step.single, orders, strict=False):
        order.key = SINGLE[single](order.key)
    for pair in step.pairs:
        one, two = islice(orders, 2)
        one.key, two.key = PAIR[pair](one.key)
