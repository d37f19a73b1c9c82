"""A shelf of things that an account may find by id, and page through, newest first.

Rule 1: a foreign thing is an absent thing: accounts never see each other's.
Rule 2: a page costs what it passes over, not what there is.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from simulator.core.charges import Impossible


class NoSuchThing(Impossible):
    """There is none of this id, or it is somebody else's."""

    code = "not_found"

    def __init__(self, kind: str, id_: str) -> None:
        super().__init__(f"no such {kind}: {id_!r}")
        self.kind = kind


class Kept(Protocol):
    @property
    def id(self) -> str: ...

    @property
    def account(self) -> str: ...


ThingT = TypeVar("ThingT", bound=Kept)


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a list, newest first: after the one id, or before the other, which is older."""

    limit: int = 10
    after: str | None = None
    before: str | None = None


class Shelf(Generic[ThingT]):
    """Things of one kind. Putting one with a known id replaces it and keeps its place."""

    def __init__(self, kind: str, prefix: str, namespace: str) -> None:
        self.kind = kind
        self._prefix = f"{prefix}_{namespace}"
        self._made = 0
        self._things: dict[str, ThingT] = {}
        self._ids: dict[str, list[str]] = {}
        self._places: dict[str, int] = {}

    def new_id(self) -> str:
        """Return an id that was never given before."""
        self._made += 1
        return f"{self._prefix}{self._made}"

    def put(self, thing: ThingT) -> None:
        if thing.id not in self._things:
            ids = self._ids.setdefault(thing.account, [])
            self._places[thing.id] = len(ids)
            ids.append(thing.id)
        self._things[thing.id] = thing

    def remove(self, id_: str) -> None:
        """Take a thing away; its place stays empty."""
        del self._things[id_]

    def seek(self, id_: str, account: str) -> ThingT | None:
        """Return a thing if this account has it."""
        thing = self._things.get(id_)
        return thing if thing is not None and thing.account == account else None

    def find(self, id_: str, account: str) -> ThingT:
        """Return a thing, or raise ``NoSuchThing``."""
        thing = self.seek(id_, account)
        if thing is None:
            raise NoSuchThing(self.kind, id_)
        return thing

    def page(
        self, account: str, page: Page, wanted: Callable[[ThingT], bool]
    ) -> tuple[tuple[ThingT, ...], bool]:
        """Return a page of what is wanted, and whether there is more beyond it."""
        found: list[ThingT] = []
        for thing in self._passing(account, page):
            if wanted(thing):
                if len(found) == page.limit:
                    return _newest_first(found, page), True
                found.append(thing)
        return _newest_first(found, page), False

    def _passing(self, account: str, page: Page) -> Iterator[ThingT]:
        """Yield what an account has, from the cursor on: to older ones, or back to newer ones."""
        ids = self._ids.get(account, [])
        cursor = page.after or page.before
        if cursor is not None:
            self.find(cursor, account)
        if page.before is not None and page.after is None:
            places = range(self._places[page.before] + 1, len(ids))
        else:
            last = len(ids) if page.after is None else self._places[page.after]
            places = range(last - 1, -1, -1)
        for place in places:
            if (thing := self._things.get(ids[place])) is not None:
                yield thing


def _newest_first(found: list[ThingT], page: Page) -> tuple[ThingT, ...]:
    backwards = page.before is not None and page.after is None
    return tuple(reversed(found)) if backwards else tuple(found)
