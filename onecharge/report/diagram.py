"""A space-time diagram: who did what to whom, downwards in the order in which it was seen.

Rule 1: rows, not milliseconds, are the axis: what matters is the order, and nothing overlaps.
Rule 2: this file says what is drawn and between which rows and lanes, not where on the paper.
Rule 3: nothing is drawn that no record says. Arrows are messages and causes; a bar lasts from a
        record to the record that ended it, and stays open where none did.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from onecharge.history.case import Case
from onecharge.history.records import Record
from onecharge.report.episode import MOST, Left, Line, Scene, Thread, episode
from onecharge.report.telling import Mark, Told, told

BarKind = Literal["waiting", "open", "call", "parked", "delivery"]
ArrowKind = Literal["message", "lost", "cause"]

_CLIENTS: Final = 4  # beyond so many at once, the last lane is shared
_FIXED: Final = ("service", "database", "provider", "webhook")
_LANES: Final = {"fault": "provider", "process": "service", "judge": "service"}
_BARS: Final[dict[str, BarKind]] = {"client": "waiting", "call": "call", "delivery": "delivery"}


@dataclass(frozen=True, slots=True)
class Step:
    """One record: its row and lane, its place in the lane, and what it says."""

    row: int
    lane: int
    slot: int
    mark: Mark
    who: str
    says: str
    record: int
    at_ms: float
    number: int


@dataclass(frozen=True, slots=True)
class Gap:
    """A row that says how many records were left out."""

    row: int
    count: int


@dataclass(frozen=True, slots=True)
class Bar:
    """Something lasted, in one lane, from row to row; ``end`` None: nothing ended it."""

    lane: int
    slot: int
    start: int
    end: int | None
    kind: BarKind


@dataclass(frozen=True, slots=True)
class Arrow:
    """A message or a cause, from one place (row, lane, slot) to another."""

    start: tuple[int, int, int]
    end: tuple[int, int, int]
    kind: ArrowKind


@dataclass(frozen=True, slots=True)
class Diagram:
    """The story of one order, ready to be drawn."""

    order: str
    lanes: tuple[str, ...]
    rows: int
    steps: tuple[Step, ...]
    gaps: tuple[Gap, ...] = ()
    bars: tuple[Bar, ...] = ()
    arrows: tuple[Arrow, ...] = ()


def diagram_of(
    case: Case,
    records: Sequence[Record],
    order: str | None,
    evidence: Collection[int] = (),
    most: int = MOST,
) -> Diagram | None:
    """Draw the story of an order; None where there is none to tell."""
    lines = [] if order is None else episode(case, records, order, evidence, most)
    if order is None or not any(isinstance(line, Scene) for line in lines):
        return None
    return _Drawing(order, lines).done()


class _Drawing:
    """Lays the lines of an episode out over rows, lanes and slots."""

    def __init__(self, order: str, lines: Sequence[Line]) -> None:
        self._order = order
        self._placed = [(row, line) for row, line in enumerate(lines) if isinstance(line, Scene)]
        self._gaps = tuple(
            Gap(row, line.count) for row, line in enumerate(lines) if isinstance(line, Left)
        )
        self._rows = len(lines)
        self._spans = _spans(self._placed)
        clients = _packed({t: s for t, s in self._spans.items() if t[0] == "client"}, self._rows)
        self._clients = {thread: min(place, _CLIENTS - 1) for thread, place in clients.items()}
        used = {self._lane_name(scene) for _, scene in self._placed} | {"service"}
        self._names = (
            *sorted(name for name in used if name not in _FIXED),
            *(name for name in _FIXED if name in used),
        )
        self._threads = {scene.record.index: scene.thread for _, scene in self._placed}
        self._slots = self._packed_by_lane()

    def done(self) -> Diagram:
        steps = tuple(
            self._step(number, row, scene)
            for number, (row, scene) in enumerate(self._placed, start=1)
        )
        return Diagram(
            order=self._order,
            lanes=self._names,
            rows=self._rows,
            steps=steps,
            gaps=self._gaps,
            bars=tuple(self._bars()),
            arrows=tuple(self._arrows()),
        )

    def _step(self, number: int, row: int, scene: Scene) -> Step:
        record, words = scene.record, told(scene.record)
        began = self._placed[0][1].record.time_ns
        lane = self._lane(scene)
        return Step(
            row=row,
            lane=lane,
            slot=self._slot(scene),
            mark=words.mark,
            who=self._names[lane],
            says=words.says,
            record=record.index,
            at_ms=round((record.time_ns - began) / 1e6, 1),
            number=number,
        )

    # Where things are.

    def _lane_name(self, scene: Scene) -> str:
        lane = scene.record.lane.partition(":")[0]
        if lane == "client":
            return f"client {'ABCD'[self._clients[scene.thread]]}"
        name = _LANES.get(lane, lane)
        return name if name in _FIXED else "service"

    def _lane(self, scene: Scene) -> int:
        return self._names.index(self._lane_name(scene))

    def _place(self, row: int, scene: Scene) -> tuple[int, int, int]:
        return row, self._lane(scene), self._slot(scene)

    def _slot(self, scene: Scene) -> int:
        """Return the place beside others in the lane; what a call caused stands in its place."""
        cause = self._threads.get(-1 if scene.record.cause is None else scene.record.cause)
        for thread in (scene.thread, cause):
            if thread in self._slots and _lane_of(thread) == _lane_of(scene.thread):
                return self._slots[thread]
        return 0

    def _packed_by_lane(self) -> dict[Thread, int]:
        """Give what goes on at the same time in one lane places beside each other."""
        lanes: dict[int, dict[Thread, tuple[int, int | None]]] = {}
        for _, scene in self._placed:
            if scene.thread[0] in _BARS:
                spans = lanes.setdefault(self._lane(scene), {})
                spans[scene.thread] = self._spans[scene.thread]
        return {
            thread: slot
            for spans in lanes.values()
            for thread, slot in _packed(spans, self._rows).items()
        }

    # What lasts.

    def _bars(self) -> Iterable[Bar]:
        told_last: dict[Thread, tuple[int, Scene]] = {}
        for row, scene in self._placed:
            if scene.thread not in told_last and (kind := _BARS.get(scene.thread[0])):
                _, lane, slot = self._place(row, scene)
                yield Bar(lane, slot, row, self._spans[scene.thread][1], kind)
            told_last[scene.thread] = row, scene
        for row, scene in told_last.values():
            if scene.record.kind == "unknown" and scene.thread[0] in {"client", "delivery"}:
                _, lane, slot = self._place(row, scene)
                yield Bar(lane, slot, row, self._next_in(lane, slot, row), "open")
        yield from self._parked()

    def _next_in(self, lane: int, slot: int, after: int) -> int | None:
        """Return where the next thing begins in that place, if one does."""
        return next(
            (
                row
                for row, scene in self._placed
                if row > after and self._place(row, scene)[1:] == (lane, slot)
            ),
            None,
        )

    def _parked(self) -> Iterable[Bar]:
        held: dict[tuple[Thread, str], tuple[int, Scene]] = {}
        for row, scene in self._placed:
            name = scene.thread, str(scene.record.value.get("seam"))
            if scene.record.kind == "park":
                held[name] = row, scene
            elif scene.record.kind == "release" and (parked := held.pop(name, None)):
                _, lane, slot = self._place(*parked)
                yield Bar(lane, slot, parked[0], row, "parked")
        for parked in held.values():
            _, lane, slot = self._place(*parked)
            yield Bar(lane, slot, parked[0], None, "parked")

    # What travels.

    def _arrows(self) -> Iterable[Arrow]:
        places = {scene.record.index: self._place(row, scene) for row, scene in self._placed}
        for row, scene in self._placed:
            here = self._place(row, scene)
            if arrow := self._message(here, told(scene.record)):
                yield arrow
            cause = places.get(-1 if scene.record.cause is None else scene.record.cause)
            if cause and cause[1] != here[1]:
                yield Arrow(cause, here, "cause")

    def _message(self, here: tuple[int, int, int], words: Told) -> Arrow | None:
        service = here[0], self._names.index("service"), 0
        match words.way:
            case None:
                return None
            case "to_service":
                return Arrow(here, service, "message")
            case "from_service":
                return Arrow(service, here, "message")
            case "breaks_off":
                return Arrow(here, service, "lost")


def _lane_of(thread: Thread) -> str:
    return "call" if thread[0] == "event" else thread[0]


Spans = dict[Thread, tuple[int, int | None]]
"""From which row to which each thread lasts; None: nothing ended it."""


def _spans(placed: Sequence[tuple[int, Scene]]) -> Spans:
    spans: Spans = {}
    for row, scene in placed:
        start = spans.get(scene.thread, (row, None))[0]
        spans[scene.thread] = start, row if _ends(scene.record) else None
    return spans


def _ends(record: Record) -> bool:
    """Whether nothing is owed after this record of a thread."""
    return record.what in {"answer", "reply"} or (
        record.lane == "webhook" and record.kind != "send"
    )


def _packed(spans: Spans, rows: int) -> dict[Thread, int]:
    """Give each span the first place that is free from its beginning to its end."""
    free_from: list[int] = []
    places: dict[Thread, int] = {}
    for thread, (start, end) in sorted(spans.items(), key=lambda item: item[1][0]):
        place = next((p for p, free in enumerate(free_from) if free <= start), len(free_from))
        free_from[place : place + 1] = [rows if end is None else end + 1]
        places[thread] = place
    return places
