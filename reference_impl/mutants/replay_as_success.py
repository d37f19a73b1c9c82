"""A replay has the body of the first answer, and always status 200.

The guard was that an answer is stored and given again as a whole. Without it a decline is told as
a success. Modelled on report A07 (IdempotentAPI #39): 200 where the first answer was 406.
"""

from dataclasses import replace

from reference_impl.answers import Reply
from reference_impl.charging import Charging
from reference_impl.operation import Operation

VIOLATES = "replays_are_faithful"
CLASS = "K10"
REPORT = "A07"
SHOWN_BY = "declines_are_repeated"


class Mutant(Charging):
    async def replay(self, operation: Operation) -> Reply:
        return replace(await super().replay(operation), status=200)
