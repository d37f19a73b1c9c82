"""What else can be done with an event than to let it go on: a fault, or the death of the service.

Rule 1: a move happens at an event that was chosen to go on, in its place or just before it.
Rule 2: a move is one that the real world makes: connections break, transactions are refused, a
        provider fails, a customer loses patience, a machine dies.
Rule 3: a move repeats: what it is called says all of it, and nothing in it is left to chance.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from onecharge.engine.boundaries import ParkedCall
from onecharge.engine.gates.gate import Held
from onecharge.engine.gates.postgres_statement import Statement
from onecharge.engine.gates.statements import changes, commits
from onecharge.engine.parking import Parked
from onecharge.engine.tapes.chooser import FAULT, KILL
from simulator.core.faults import Fault
from simulator.core.rules import Rule
from simulator.faults.error_after_commit import ErrorAfterCommit
from simulator.faults.error_before_commit import ErrorBeforeCommit
from simulator.faults.lose_reply import LoseReply
from simulator.faults.reset_before_commit import ResetBeforeCommit

if TYPE_CHECKING:
    from simulator.server import Simulator

SERIALIZATION: Final = "40001"
DEADLOCK: Final = "40P01"

AT_THE_PROVIDER: Final[dict[str, Fault]] = {
    "is blocked": ResetBeforeCommit(),
    "happens, and its answer is lost": LoseReply(),
    "is answered with an error and has not happened": ErrorBeforeCommit(),
    "is answered with an error and has happened": ErrorAfterCommit(),
}
"""What can become of a provider call that is about to be looked at."""


@dataclass(frozen=True, slots=True)
class Move:
    """One move: of what kind, what it is called, and what makes it.

    ``leaves``: nobody waits for the chain any more. ``ends``: nothing of this run goes on.
    """

    kind: str
    name: str
    make: Callable[[], None]
    leaves: bool = False
    ends: bool = False


def faults(event: Parked, simulator: "Simulator") -> Iterator[Move]:
    """Yield what can go wrong with an event in its place."""
    if isinstance(event, Held):
        yield from _of_a_command(event)
    elif isinstance(event, ParkedCall) and event.first:
        for name, fault in AT_THE_PROVIDER.items():
            yield Move(FAULT, name, partial(_bend, event, name, fault, simulator))


def hanging_up(leave: Callable[[], None]) -> Move:
    """Return the move of a customer who closes the connection while an event waits."""
    return Move(FAULT, "waits, and its customer hangs up", leave, leaves=True)


def dying(die: Callable[[], None]) -> Move:
    """Return the move by which the service dies before an event goes on."""
    return Move(KILL, "waits, and the service dies", die, ends=True)


def _of_a_command(event: Held) -> Iterator[Move]:
    yield Move(FAULT, "is cut off before it happens", event.cut_before)
    if not isinstance(event, Statement):
        yield Move(FAULT, "happens, and its answer is cut off", event.cut_after)
        return
    if commits(event.text):
        yield Move(FAULT, "happens, and its acknowledgement is lost", event.cut_after)
        yield Move(FAULT, f"is refused with {SERIALIZATION}", partial(event.refuse, SERIALIZATION))
    elif changes(event.text):
        if event.stands_alone:
            yield Move(FAULT, "happens, and its acknowledgement is lost", event.cut_after)
        for code in (SERIALIZATION, DEADLOCK):
            yield Move(FAULT, f"is refused with {code}", partial(event.refuse, code))


def _bend(event: ParkedCall, name: str, fault: Fault, simulator: "Simulator") -> None:
    """Have a fault strike the call that is released now, and no other."""
    rule = Rule(fault, f"{event.operation} {name}", operation=event.operation, times=1)
    simulator.arm_also(replace(rule, order=event.order))
    event.release()
