"""The upstream key has the time in it, to the second.

The guard was a key that is stored and never made anew. Without it a retry a second later is a new
charge. Modelled on report B09 (flexprice #2488): the key had a timestamp in it.
"""

from reference_impl.charging import Charging
from reference_impl.operation import Operation

VIOLATES = "one_charge_per_key"
CLASS = "K18"
REPORT = "B09"
SHOWN_BY = None  # no fair scenario of the library reaches it every time


class Mutant(Charging):
    def upstream_key(self, operation: Operation) -> str:
        return f"{operation.upstream_key}-{self.surroundings.clock():%H%M%S}"
