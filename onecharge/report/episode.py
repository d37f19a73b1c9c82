"""One order's story, cut to what a picture can hold.

Rule 1: threads are chosen, not records: a request with its answer, a call with all that befell it,
        a delivery with its end. Half a thread would tell a lie.
Rule 2: evidence and real charges come first, then what clients did and who was killed, then other
        calls, then deliveries. What is left out is counted where it is missing.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from onecharge.history.case import Case
from onecharge.history.records import Record
from onecharge.history.story import OrderStory

MOST: Final = 40

Thread = tuple[str, str]
"""What a record belongs to: a kind of thread, and its name."""

_RANKS: Final[dict[str, int]] = {"client": 1, "process": 1, "judge": 2, "call": 3}
_LAST: Final = 4


@dataclass(frozen=True, slots=True)
class Left:
    """So many records of the order were left out here."""

    count: int


@dataclass(frozen=True, slots=True)
class Scene:
    """A record that is shown, and the thread it belongs to."""

    record: Record
    thread: Thread


Line = Scene | Left


def episode(
    case: Case,
    records: Sequence[Record],
    order: str,
    evidence: Collection[int],
    most: int = MOST,
) -> list[Line]:
    """Return the story of an order in at most ``most`` records, with what was left out counted."""
    story = case.orders.get(order)
    if story is None:
        return []
    scenes = _scenes(case, story, records)
    chosen = _chosen(scenes, evidence, most)
    lines: list[Line] = []
    for shown, group in groupby(scenes, key=lambda scene: scene.thread in chosen):
        together = list(group)
        lines += together if shown else [Left(len(together))]
    return lines


def _scenes(case: Case, story: OrderStory, records: Sequence[Record]) -> list[Scene]:
    """Return every record of the order, and the kills in between."""
    mine = _Belonging(case, story)
    scenes: list[Scene] = []
    around: list[Scene] = []  # what concerns every order, until we know that the story goes on
    for record in records:
        if thread := mine.thread(record):
            if scenes:
                scenes += around
            around = []
            scenes.append(Scene(record, thread))
        elif _concerns_all(record):
            around.append(Scene(record, (record.lane.partition(":")[0], str(record.index))))
    return list(_without_echoes(scenes))


class _Belonging:
    """Tells which records belong to one order, and to which thread of its story."""

    def __init__(self, case: Case, story: OrderStory) -> None:
        self._order = story.order
        self._calls = {call.id for call in story.calls}
        self._calls |= {charge.call for charge in story.charges if charge.call}
        self._attempts = {attempt.invoked for attempt in story.attempts}
        self._events = {event.id for event in story.events}
        self._foreign = case.calls.keys() - self._calls

    def thread(self, record: Record) -> Thread | None:
        value = record.value
        match record.lane.partition(":")[0]:
            case "client":
                place = record.index if record.kind == "invoke" else record.cause
                return ("client", str(place)) if place in self._attempts else None
            case "provider" | "fault" if record.what == "event.created":
                event = value.get("event")
                return ("event", str(event)) if event in self._events else None
            case "provider" | "fault":
                call = value.get("call")
                mine = call in self._calls or (
                    record.order == self._order and call not in self._foreign
                )
                return ("call", str(call or record.index)) if mine else None
            case "webhook":
                mine = value.get("event") in self._events
                return ("delivery", str(value.get("attempt"))) if mine else None
            case lane:
                return (lane, str(record.index)) if record.order == self._order else None


def _concerns_all(record: Record) -> bool:
    killed = record.lane.startswith("process") and record.kind in {"crash", "restart"}
    return killed or (record.what == "phase" and record.value.get("phase") == "heal")


def _without_echoes(scenes: Sequence[Scene]) -> Iterator[Scene]:
    """Leave out that the rule fired where the next record of the call says that it is held."""
    for place, scene in enumerate(scenes):
        rest = scenes[place + 1 : place + 3]
        echoed = scene.record.what == "fired" and any(
            after.record.kind == "park" and after.thread == scene.thread for after in rest
        )
        if not echoed:
            yield scene


def _chosen(scenes: Sequence[Scene], evidence: Collection[int], most: int) -> set[Thread]:
    threads: dict[Thread, list[Record]] = {}
    for scene in scenes:
        threads.setdefault(scene.thread, []).append(scene.record)
    chosen: set[Thread] = set()
    room = most
    for thread in sorted(threads, key=lambda thread: _rank(thread, threads[thread], evidence)):
        if len(threads[thread]) <= room:
            chosen.add(thread)
            room -= len(threads[thread])
    return chosen


def _rank(thread: Thread, records: Sequence[Record], evidence: Collection[int]) -> int:
    """Return how early a thread is chosen; among equals the earlier comes first."""
    matters = any(r.what == "charge.captured" or r.index in evidence for r in records)
    return 0 if matters else _RANKS.get(thread[0], _LAST)
