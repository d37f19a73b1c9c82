"""Orders made from a seed: every id, key and amount of a run follows from it.

Identity is planted: each order has its own reference, amount and customer, so that a charge at
the provider is tied to its order by what the service passes on, not by guessing. Where a service
has a price list, amounts come from it and tie nothing; reference and customer must.
"""

import random

from onecharge.press import Order
from onecharge.service_file import ServiceFile

_BASE_MINOR = 1_000


def orders_of(
    service_file: ServiceFile, name: str, number: int, seed: int, *, mark: str = ""
) -> list[Order]:
    """Return ``number`` orders of the scenario ``name``, equal for equal seeds.

    ``mark`` makes them others: a service that outlives a run remembers those that it has had.
    """
    chance = random.Random("/".join(filter(None, (name, str(seed), mark))))
    run = f"{chance.getrandbits(32):08x}"
    family = f"ord-{run}"
    tenants = list(service_file.tenants.items())
    made = []
    for serial in range(1, number + 1):
        tenant, token = tenants[serial % len(tenants)]
        made.append(
            Order(
                serial=serial,
                reference=f"{family}-{serial}",
                key=f"key-{run}-{serial}-{chance.getrandbits(64):016x}",
                amount_minor=amount_of(service_file, serial),
                currency=service_file.orders.currency,
                customer=f"cus-{run}-{serial}",
                tenant=tenant,
                token=token,
            )
        )
    return made


def family_of(reference: str | None) -> str:
    """Return what the references of all orders of one scenario have in common."""
    return (reference or "").rpartition("-")[0]


def amount_of(service_file: ServiceFile, serial: int) -> int:
    """Return what the order of that serial costs: the next price, or an amount of its own."""
    prices = service_file.orders.amounts
    return prices[serial % len(prices)] if prices else _BASE_MINOR + serial


def alike(order: Order, serial: int) -> Order:
    """Return a second genuine purchase: same customer, same amount, another order and key."""
    return _another(order, serial)


def of_tenant(order: Order, serial: int, tenant: str, token: str) -> Order:
    """Return another tenant's order, to be sent under the key of this one.

    It has its own reference and customer: it is a purchase like any other.
    """
    other = _another(order, serial)
    other.tenant, other.token = tenant, token
    other.customer = f"{order.customer}-{tenant}"
    return other


def _another(order: Order, serial: int) -> Order:
    return Order(
        serial=serial,
        reference=f"{family_of(order.reference)}-{serial}",
        key=f"{order.key}-{serial}",
        amount_minor=order.amount_minor,
        currency=order.currency,
        customer=order.customer,
        tenant=order.tenant,
        token=order.token,
    )
