"""A factor is something that can be one way or another in a charge; its values are the ways.

Rule 1: value 0 of every factor is the boring one: it adds nothing.
Rule 2: a value is data, and says what it adds to a scenario: steps of customers, faults, a death.
Rule 3: whatever strikes, strikes one order, the *subject*: others only stand beside it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from onecharge.history.case import Claim
from onecharge.history.story import Variant
from onecharge.scenario_file import Kill
from onecharge.steps import CrashDatabase, Step

FactorName = Literal["customer", "call", "retry", "delivery", "death", "concurrency"]

KINDS: Final[Mapping[FactorName, str]] = {
    "customer": "key",
    "call": "fault",
    "retry": "fault",
    "delivery": "copies",
    "death": "kill",
    "concurrency": "racers",
}
"""What shrinking calls a factor: it tries them away in an order of its own."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call to the provider that a plain charge makes: the ``nth`` of its operation."""

    operation: str
    nth: int = 1

    def __str__(self) -> str:
        return self.operation if self.nth == 1 else f"{self.operation} #{self.nth}"


@dataclass(frozen=True, slots=True)
class Value:
    """One way for a factor to be; ``name`` is what people say of it, within a sentence.

    ``means`` explains the name, where it is that of a fault: in a sentence of its own.
    ``orders`` is how many orders it takes, ``subject`` which of them is struck. ``lone`` says that
    it is combined with nothing, ``troubles`` how many it is by itself: what is more than one is
    played with the pairs. ``paced`` says that its presses have a time of their own, so that nobody
    can press beside them. ``upon`` are calls that a plain charge does not make: the value comes to
    nothing until one of them is made, because of another trouble. ``ends`` says that the bank
    says no, and no further call is made. ``variant`` is a press that must have been seen for the
    value to have been put to the test. ``meanwhile`` has the customers begin before a crash.
    ``claimed`` is what the service claims beyond what is usual, and is held to here.
    """

    name: str
    steps: tuple[Step, ...] = ()
    faults: tuple[Mapping[str, Any], ...] = ()
    customer: Mapping[str, Any] = field(default_factory=dict)
    kill: Kill | None = None
    crash: CrashDatabase | None = None
    meanwhile: bool = False
    orders: int = 1
    subject: int = 1
    at_once: int = 1
    lone: bool = False
    troubles: Literal[1, 2] = 1
    paced: bool = False
    ends: bool = False
    upon: frozenset[Call] = frozenset()
    variant: Variant | None = None
    claimed: tuple[Claim, ...] = ()
    means: str = ""

    @property
    def in_words(self) -> str:
        """What it is called, and what that means."""
        return f"{self.name}: {self.means}" if self.means else self.name

    def __repr__(self) -> str:
        return f"<Value {self.name}>"


@dataclass(frozen=True, slots=True)
class Factor:
    """A factor and its values, the boring one first; ``left_out`` are those a service cannot have.

    Each of these goes with the reason, in a few words.
    """

    name: FactorName
    values: tuple[Value, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """What shrinking calls it."""
        return KINDS[self.name]

    @property
    def boring(self) -> Value:
        """The value that adds nothing."""
        return self.values[0]

    def __repr__(self) -> str:
        return f"<Factor {self.name}, {len(self.values)} values>"
