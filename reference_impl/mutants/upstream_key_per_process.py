"""The upstream key is the same for the retries of one process, and for those of no other.

The guard was a key that is stored before the first call. Without it whoever takes an operation
over charges again. Modelled on report B07 (stripe-php #637): the caller's key gave way to one that
the library made for its own retries.
"""

from functools import cached_property
from uuid import uuid4

from reference_impl.charging import Charging
from reference_impl.operation import Operation

VIOLATES = "one_charge_per_key"
CLASS = "K18"
REPORT = "B07"
SHOWN_BY = None  # no fair scenario of the library reaches it every time


class Mutant(Charging):
    @cached_property
    def session(self) -> str:
        return uuid4().hex

    def upstream_key(self, operation: Operation) -> str:
        return f"{operation.upstream_key}-{self.session}"
