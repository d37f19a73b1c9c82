"""What a control request is, once it has been read, and what it is answered.

Rule 1: an answer is made of the simulator and of what was asked, and of nothing else.
Rule 2: what cannot be done is ``Trouble``, raised by whoever finds out; it changes nothing.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simulator.control.bodies import Body, NoBody

if TYPE_CHECKING:
    from simulator.server import Simulator


@dataclass(frozen=True, slots=True)
class Asked:
    """One control request, read."""

    body: Any = None
    names: tuple[str, ...] = ()
    query: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Told:
    """An answer: JSON data, or nothing at all."""

    data: Any = None
    status: int = 200


Answer = Callable[["Simulator", Asked], Awaitable[Told]]


@dataclass(frozen=True, slots=True)
class Route:
    """One thing that can be asked. Names in braces are handed over in their order."""

    method: str
    path: str
    answer: Answer
    body: type[Body] = NoBody

    def names_in(self, path: str) -> tuple[str, ...] | None:
        """Return what stands in the place of the names, or None for another path."""
        ours, theirs = self.path.split("/"), path.split("/")
        if len(ours) != len(theirs):
            return None
        names = []
        for our, their in zip(ours, theirs, strict=True):
            if our.startswith("{") and their:
                names.append(their)
            elif our != their:
                return None
        return tuple(names)


class Trouble(Exception):
    """What was asked cannot be done, and why; the answer of problem+json."""

    def __init__(self, status: int, title: str, detail: str, **more: Any) -> None:
        super().__init__(detail)
        self.status = status
        self.problem = {"title": title, "status": status, "detail": detail, **more}


def invalid(place: str, expected: str, found: object, detail: str | None = None) -> Trouble:
    """Return what is said of a field that is not what it should be."""
    said = detail or f"{place}: {expected}"
    return Trouble(422, "Invalid", said, field=place, expected=expected, found=_shown(found))


def _shown(found: object) -> object:
    """Return what was found, if it is small; otherwise its beginning."""
    if found is None or isinstance(found, bool) or (isinstance(found, str) and len(found) < 200):
        return found
    return found if isinstance(found, int) and abs(found) < 2**53 else repr(found)[:200]
