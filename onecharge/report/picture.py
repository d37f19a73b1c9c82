"""Where a diagram stands on the paper: one drawing for a wide page, one for a telephone.

Rule 1: a wide picture has a sentence beside each row; a narrow one has its number, and the page
        lists the sentences below.
Rule 2: numbers only, in pixels; the template turns them into SVG and the style sheet into colours.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from onecharge.report.diagram import Arrow, ArrowKind, Bar, BarKind, Diagram, Step
from onecharge.report.telling import Mark

_HEAD: Final = 44
_FOOT: Final = 18
_APART: Final = 7.0  # between the end of an arrow and the mark it points at
_LETTER: Final = 6.4  # the width of an average one, at the size of the sentences


@dataclass(frozen=True, slots=True)
class Layout:
    """The measures of one way to draw."""

    name: str
    width: int
    row: int
    gutter: int
    lane: float | None
    slot: int
    sentences: bool


WIDE: Final = Layout("wide", 1180, 28, 68, 92.0, 15, sentences=True)
NARROW: Final = Layout("narrow", 356, 26, 24, None, 8, sentences=False)


@dataclass(frozen=True, slots=True)
class Lane:
    """A line from top to bottom, with a name above it."""

    x: float
    name: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Dot:
    """The mark of one record."""

    x: float
    y: float
    mark: Mark
    at: str
    number: int
    says: str
    title: str


@dataclass(frozen=True, slots=True)
class Stretch:
    """A bar; ``open`` says that nothing ended it."""

    x: float
    y: float
    height: float
    kind: BarKind
    open: bool


@dataclass(frozen=True, slots=True)
class Stroke:
    """An arrow from one point to another."""

    x1: float
    y1: float
    x2: float
    y2: float
    kind: ArrowKind


@dataclass(frozen=True, slots=True)
class Cut:
    """A row of records that were left out."""

    y: float
    says: str


@dataclass(frozen=True, slots=True)
class Picture:
    """Everything to draw, placed."""

    name: str
    label: str
    width: int
    height: float
    lanes: tuple[Lane, ...]
    top: float
    bottom: float
    text_x: float | None
    stretches: tuple[Stretch, ...]
    strokes: tuple[Stroke, ...]
    dots: tuple[Dot, ...]
    cuts: tuple[Cut, ...]


def picture_of(diagram: Diagram, layout: Layout) -> Picture:
    """Place a diagram on paper of this layout."""
    return _Paper(diagram, layout).picture()


def sentence(step: Step) -> str:
    """Say what happened in a row, with who did it where the words leave it open."""
    return f"{step.who} {step.says}" if step.who.startswith("client") else step.says


class _Paper:
    def __init__(self, diagram: Diagram, layout: Layout) -> None:
        self._diagram = diagram
        self._layout = layout
        room = layout.width - layout.gutter
        self._lane = layout.lane or room / len(diagram.lanes)

    def picture(self) -> Picture:
        diagram, layout = self._diagram, self._layout
        bottom = self._y(diagram.rows) - layout.row / 2
        return Picture(
            name=layout.name,
            label=f"What happened to {diagram.order}, as a space-time diagram",
            width=layout.width,
            height=bottom + _FOOT,
            lanes=tuple(
                Lane(self._x(place), tuple(name.split()))
                for place, name in enumerate(diagram.lanes)
            ),
            top=_HEAD - 6.0,
            bottom=bottom,
            text_x=self._text_x if layout.sentences else None,
            stretches=tuple(map(self._stretch, diagram.bars)),
            strokes=tuple(map(self._stroke, diagram.arrows)),
            dots=tuple(map(self._dot, diagram.steps)),
            cuts=tuple(Cut(self._y(gap.row), f"… {gap.count} more") for gap in diagram.gaps),
        )

    @property
    def _text_x(self) -> float:
        return self._layout.gutter + len(self._diagram.lanes) * self._lane + 10

    def _x(self, lane: int, slot: int = 0) -> float:
        beside = min(slot * self._layout.slot, self._lane * 0.45)
        return round(self._layout.gutter + (lane + 0.4) * self._lane + beside, 1)

    def _y(self, row: int) -> float:
        return _HEAD + (row + 0.5) * self._layout.row

    def _stretch(self, bar: Bar) -> Stretch:
        y = self._y(bar.start)
        end = (
            self._y(self._diagram.rows) - self._layout.row / 2
            if bar.end is None
            else self._y(bar.end)
        )
        return Stretch(self._x(bar.lane, bar.slot), y, end - y, bar.kind, bar.end is None)

    def _stroke(self, arrow: Arrow) -> Stroke:
        (row1, lane1, slot1), (row2, lane2, slot2) = arrow.start, arrow.end
        x1, x2 = self._x(lane1, slot1), self._x(lane2, slot2)
        way = 1 if x2 > x1 else -1
        if arrow.kind == "cause":  # from the side, and from above: messages come in from the side
            return Stroke(x1 + way * _APART, self._y(row1), x2, self._y(row2) - _APART, "cause")
        if arrow.kind == "lost":  # it never got there
            x2 = (x1 + x2) / 2
        return Stroke(
            round(x1 + way * _APART, 1),
            self._y(row1),
            round(x2 - way * _APART, 1),
            self._y(row2),
            arrow.kind,
        )

    def _dot(self, step: Step) -> Dot:
        says = sentence(step)
        return Dot(
            x=self._x(step.lane, step.slot),
            y=self._y(step.row),
            mark=step.mark,
            at=f"{step.at_ms:.1f} ms",
            number=step.number,
            says="".join(self._fitting(says)) if self._layout.sentences else "",
            title=f"#{step.record} at {step.at_ms:.1f} ms: {says}",
        )

    def _fitting(self, says: str) -> Iterator[str]:
        fits = int((self._layout.width - self._text_x) / _LETTER)
        yield says if len(says) <= fits else says[: fits - 1] + "…"
