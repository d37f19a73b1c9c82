"""What a run was asked and answered, told in a few steps of English. No I/O.

Rule 1: events that go on with the same chain, one after the other, are one step.
Rule 2: there are at most eight steps; whatever comes after the last deviation is the usual order
        and one of them.
Rule 3: where nothing is held, what is told is what is slow, and when the second request comes.
Rule 4: a step keeps its deviations from the boring run: the steps of a run are its tape, too.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from onecharge.engine.tapes.chooser import ALL_AT_ONCE, PROBE, RELEASE, Asked, lane_of

MOST_STEPS: Final = 8

USUAL: Final = "everything else goes on in its usual order"
AFTERWARDS: Final = "the second request comes when the first has been answered"

_NUMBERED = re.compile(r"([a-z]+):(\d+)")
_PLACE = re.compile(r"(?P<lane>\S+) (?P<what>.+) #\d+")
_MOVE = re.compile(r"(?P<place>\S+ .+ #\d+) (?P<becomes>.+)")
_PROBE = re.compile(r"(?P<lane>\S+) (?P<part>\d+/\d+ around|right behind) (?P<event>.+)")
_METHOD = re.compile(r"(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) /")
_SEAM = re.compile(r"(?P<operation>\S+) (?P<seam>on_receive|before_commit|after_commit)")
_SEAMS: Final = {
    "on_receive": "its call {}",
    "before_commit": "the execution of its {}",
    "after_commit": "the answer to its {}",
}


@dataclass(frozen=True, slots=True)
class Deviation:
    """Where a run took another alternative than the boring one."""

    place: int
    kind: str
    index: int
    takes: str
    instead_of: str


@dataclass(frozen=True, slots=True)
class Step:
    """One step in English, with the deviations that it begins with or contains."""

    says: str
    deviations: tuple[Deviation, ...] = ()


def retold(asked: Sequence[Asked], most: int = MOST_STEPS) -> tuple[Step, ...]:
    """Return a run in at most so many steps."""
    if all(one.kind != RELEASE for one in asked):
        return _swept(asked)
    # Without a deviation it is the usual order itself that is told.
    last = max((place for place, one in enumerate(asked) if one.index), default=len(asked))
    parts = [part for part in _parts(asked) if part.start <= last]
    steps = [
        Step(_says(part, asked, after), part.deviations)
        for part, after in zip(parts, [*parts[1:], None], strict=True)
    ]
    if len(parts[-1].places) and parts[-1].end < _last_release(asked):
        steps.append(Step(USUAL))
    if len(steps) > most:
        rest = steps[most - 1 :]
        steps[most - 1 :] = [
            Step(
                f"and so on, {len(rest)} steps more",
                tuple(deviation for step in rest for deviation in step.deviations),
            )
        ]
    return tuple(steps)


def _swept(asked: Sequence[Asked]) -> tuple[Step, ...]:
    """Return a run in which nothing was held."""
    steps = [
        Step(_slow_or_early(deviation.takes), (deviation,))
        for place, one in enumerate(asked)
        for deviation in _deviations(place, one)
    ]
    probed = any(one.kind == PROBE and one.index for one in asked)
    return (*steps, *([] if probed else [Step(AFTERWARDS)]))


def _slow_or_early(name: str) -> str:
    """Say what is slow, or behind what the second request comes."""
    if (probe := _PROBE.fullmatch(name)) is None:
        return name
    who, begins = _plain(probe["lane"]), _begins(probe["event"])
    if probe["part"] == "right behind":
        return f"{begins}, and {who} comes right behind that"
    part = probe["part"].removesuffix(" around")
    return f"{begins}, and {who} comes around that, {part} of the way to what follows"


def _deviations(place: int, one: Asked) -> tuple[Deviation, ...]:
    """Return the deviation at a place, if there is one."""
    if not one.index:
        return ()
    return (
        Deviation(place, one.kind, one.index, one.alternatives[one.index], one.alternatives[0]),
    )


@dataclass(slots=True)
class _Part:
    """What goes on with one chain in one go, or one thing that went wrong."""

    lane: str
    kind: str
    places: list[int]
    deviations: tuple[Deviation, ...]

    @property
    def start(self) -> int:
        return self.places[0]

    @property
    def end(self) -> int:
        return self.places[-1]


def _parts(asked: Sequence[Asked]) -> Iterator[_Part]:
    part: _Part | None = None
    for place, one in enumerate(asked):
        taken, deviation = one.alternatives[one.index], _deviations(place, one)
        if one.kind != RELEASE and not deviation:
            continue  # it went through, as it should
        lane = lane_of(taken) if one.kind == RELEASE and taken != ALL_AT_ONCE else taken
        if part is not None and (part.lane, part.kind) == (lane, one.kind) and part.kind == RELEASE:
            part.places.append(place)
            part.deviations += deviation
            continue
        if part is not None:
            yield part
        part = _Part(lane, one.kind, [place], deviation)
    if part is not None:
        yield part


def _last_release(asked: Sequence[Asked]) -> int:
    return max(place for place, one in enumerate(asked) if one.kind == RELEASE)


def _says(part: _Part, asked: Sequence[Asked], after: _Part | None) -> str:
    first, last = asked[part.start], asked[part.end]
    taken = first.alternatives[first.index]
    if part.kind != RELEASE:
        return _trouble(taken)
    if part.lane == ALL_AT_ONCE:
        waiting = (name for name in first.alternatives if name != ALL_AT_ONCE)
        return f"all at once: {'; '.join(_begins(name) for name in waiting)}"
    if after is not None and after.kind != RELEASE:  # what goes wrong does so at the last event
        comes_to = _what(last.alternatives[last.index])
        if len(part.places) == 1:
            return f"{_plain(part.lane)} comes to {comes_to}"
        return f"{_begins(taken)} and comes to {comes_to}"
    until = _until(part, asked)
    ends = " and goes on to its end" if until is None else f" and stops before {_what(until)}"
    return _begins(taken) + ends


def _until(part: _Part, asked: Sequence[Asked]) -> str | None:
    """Return the event of the same chain that waits when the part is over."""
    names = (
        name for one in asked[part.end + 1 :] if one.kind == RELEASE for name in one.alternatives
    )
    return next((name for name in names if lane_of(name) == part.lane), None)


def _trouble(name: str) -> str:
    """Say what becomes of an event instead of going on."""
    if (move := _MOVE.fullmatch(name)) is None:
        return _plain(name)
    return f"there, {_what(move['place'])} {move['becomes']}"


def _begins(name: str) -> str:
    """Say what happens when an event goes on: ``client 1 sends POST /pay``."""
    place = _PLACE.fullmatch(name)
    if place is None:
        return _plain(name)
    who, what = _plain(place["lane"]), place["what"]
    if _METHOD.match(what):
        return f"{who} sends {what}"
    if place["lane"].startswith("webhook:") and "." in what and " " not in what:
        return f"{who} is sent ({what})"
    return f"{who} goes on with {_what(name)}"


def _what(name: str) -> str:
    """Name an event, whoever it happens to."""
    place = _PLACE.fullmatch(name)
    if place is None:
        return _plain(name)
    if seam := _SEAM.fullmatch(place["what"]):
        return _SEAMS[seam["seam"]].format(seam["operation"])
    return place["what"]


def _plain(name: str) -> str:
    return _NUMBERED.sub(r"\1 \2", name)
