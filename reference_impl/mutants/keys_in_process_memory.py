"""The keys that were seen are remembered by the process that saw them.

The guard was the key in the database that all processes share. Without it a retry that reaches
another process, or the same one started anew, is a new charge. Modelled on report A34 (unicon #56
and others): the keys were a map in the process.
"""

from functools import cached_property
from uuid import uuid4

from reference_impl.charging import Charging
from reference_impl.operation import Intent
from reference_impl.reservation import Reserved

VIOLATES = "one_charge_per_key"
CLASS = "K15"
REPORT = "A34"
SHOWN_BY = "restarted_between_presses"


class Mutant(Charging):
    @cached_property
    def seen(self) -> dict[str, str]:
        return {}

    async def reserve(self, tenant: str, key: str, intent: Intent) -> Reserved:
        remembered = self.seen.setdefault(f"{tenant} {key}", uuid4().hex)
        return await super().reserve(tenant, remembered, intent)
