"""Orders made from a seed: every id, key and amount of a run follows from it.

Identity is planted: each order has its own reference, amount and customer, so that a charge at
the provider is tied to its order by what the service passes on, not by guessing.
"""

import random

from onecharge.press import Order
from onecharge.service_file import ServiceFile

CURRENCY = "EUR"
_BASE_MINOR = 1_000


def orders_of(service_file: ServiceFile, name: str, count: int, seed: int) -> list[Order]:
    """Return ``count`` orders of the scenario ``name``, equal for equal seeds."""
    chance = random.Random(f"{name}/{seed}")
    run = f"{chance.getrandbits(32):08x}"
    tenants = list(service_file.tenants.items())
    made = []
    for serial in range(1, count + 1):
        tenant, token = tenants[serial % len(tenants)]
        made.append(
            Order(
                serial=serial,
                reference=f"ord-{run}-{serial}",
                key=f"key-{run}-{serial}-{chance.getrandbits(64):016x}",
                amount_minor=_BASE_MINOR + serial,
                currency=CURRENCY,
                customer=f"cus-{run}-{serial}",
                tenant=tenant,
                token=token,
            )
        )
    return made
