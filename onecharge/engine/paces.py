"""How quick a provider and a service's store are in one run: chosen beforehand, kind by kind.

Where one event is held and another goes on, nothing takes long. But some services are wrong only
beside something slow, as who gives up a look at the store that takes too long; and some only
beside something quick, since a hold hides the race. So in these runs nothing is held.

Rule 1: what is quick goes on at once. To be quick is the boring choice.
Rule 2: a slow command happens at once, and its answer takes its time: what a slow read says is old
        when it is heard.
Rule 3: a slow provider takes its time before it looks at a call.
"""

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import Final, Self

from onecharge.engine.gates.gate import Held
from onecharge.engine.parking import Parked, Parking
from onecharge.engine.tapes.chooser import Chooser

PACE: Final = "pace"
"""The kind of choice that says how quick something is."""

READS: Final = "reads are"
WRITES: Final = "writes are"
PROVIDER: Final = "the provider is"
"""What may be quick or slow, in the words that it is told with."""
ALL: Final = (READS, WRITES, PROVIDER)

SLOW_PROVIDER_S: Final = 0.05
"""For how long a slow provider keeps a call before it looks at it."""
SLOW_STORE_S: Final = 0.15
"""For how long the answer to a slow command is on its way, at most."""


@dataclass(frozen=True, slots=True)
class Paces:
    """What is slow in one run."""

    slow: frozenset[str]
    store_s: float

    @classmethod
    def chosen(cls, chooser: Chooser, kinds: Collection[str], store_s: float) -> Self:
        """Return what a chooser has be slow, of these kinds."""
        slow = [
            kind for kind in kinds if chooser.choose(PACE, [f"{kind} quick", f"{kind} slow"]) == 1
        ]
        return cls(frozenset(slow), store_s)

    def let_go(
        self, event: Parked, parking: Parking, go_on: Callable[[Callable[[], None]], None]
    ) -> None:
        """Have an event go on in its time; ``go_on`` is called then, with what lets it."""
        if kind_of(event) not in self.slow:
            go_on(partial(parking.release, event))
        elif isinstance(event, Held):
            go_on(partial(self._answer_late, event, parking))
        else:
            loop = asyncio.get_running_loop()
            loop.call_later(SLOW_PROVIDER_S, go_on, partial(parking.release, event))

    def _answer_late(self, event: Held, parking: Parking) -> None:
        parking.chains.moves(event.place.lane)
        event.answer_late(self.store_s)


def kind_of(event: Parked) -> str | None:
    """Return what kind an event is of, of those that may be slow."""
    if isinstance(event, Held):
        return WRITES if event.writes else READS
    return PROVIDER if event.place.what.endswith("on_receive") else None
