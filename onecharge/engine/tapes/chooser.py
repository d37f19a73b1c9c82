"""Who chooses: four engines behind one question. No I/O, no clock; chance is seeded.

A run asks ``choose(kind, alternatives)`` wherever something is left open and gets an index; 0 is
the boring alternative. ``Taping`` stands between the two and keeps what was asked and answered.

Rule 1: the engine decides, the run never does: whoever draws from elsewhere cannot be replayed.
Rule 2: an alternative is named ``LANE WHAT…``; its first word says who would move next.
Rule 3: a replay that is asked other things than its recording says so and goes on boringly. It
        never fails: that a service doesn't repeat itself is a finding, and no error of ours.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from onecharge.engine.tapes.tape import Choice, Tape

Alternatives = Sequence[str]

ALL_AT_ONCE: Final = "all at once"
"""The alternative that lets everything go that is parked: the machine decides what comes first."""


class Chooser(Protocol):
    """Answers every question of one run."""

    def choose(self, kind: str, alternatives: Alternatives) -> int:
        """Return the index of one alternative; there is at least one."""
        ...


@dataclass(frozen=True, slots=True)
class Asked:
    """What a run asked at one place, and what it was told."""

    kind: str
    alternatives: tuple[str, ...]
    index: int

    @property
    def question(self) -> tuple[str, tuple[str, ...]]:
        """What was asked, whatever was answered."""
        return self.kind, self.alternatives


class Taping:
    """A chooser that keeps what another one is asked and answers."""

    def __init__(self, chooser: Chooser) -> None:
        self.asked: list[Asked] = []
        self._chooser = chooser

    def choose(self, kind: str, alternatives: Alternatives) -> int:
        """Pass the question on and note the answer."""
        assert alternatives, "nothing to choose from"
        index = self._chooser.choose(kind, alternatives)
        assert 0 <= index < len(alternatives), f"{index} of {len(alternatives)}"
        self.asked.append(Asked(kind, tuple(alternatives), index))
        return index

    @property
    def tape(self) -> Tape:
        """What was chosen so far, by name."""
        return Tape(
            tuple(
                Choice(a.kind, a.index, a.alternatives[a.index], a.alternatives[0])
                if a.index
                else Choice(a.kind)
                for a in self.asked
            )
        )


class Boring:
    """Takes the boring alternative throughout."""

    def choose(self, kind: str, alternatives: Alternatives) -> int:  # noqa: ARG002 - it never looks
        """Return 0."""
        return 0


class InStep:
    """Lets everything go at once whenever that is on offer: no event waits for another.

    What races inside one statement, or inside the service itself, is seen by nothing else.
    """

    def choose(self, kind: str, alternatives: Alternatives) -> int:  # noqa: ARG002 - one is wanted
        """Return the place of *all at once*, and 0 where it is not on offer."""
        return alternatives.index(ALL_AT_ONCE) if ALL_AT_ONCE in alternatives else 0


class Replay:
    """Chooses as a tape did, by name where the tape knows names, else by number.

    ``departures`` says where the run asked other things than the recording.
    """

    def __init__(self, tape: Tape) -> None:
        self.departures: list[str] = []
        self._choices = tape.choices
        self._place = 0

    def choose(self, kind: str, alternatives: Alternatives) -> int:
        """Return what was recorded for this place, if it is on offer, and 0 if not."""
        place, self._place = self._place, self._place + 1
        if place >= len(self._choices) or not self._choices[place].deviates:
            return 0
        recorded = self._choices[place]
        if recorded.kind not in {"", kind}:
            says = f"the recording chose a {recorded.kind}, this run asks for a {kind}"
        elif recorded.takes:
            if recorded.takes in alternatives:
                return list(alternatives).index(recorded.takes)
            says = f"the recording took {recorded.takes!r}, which is not on offer"
        elif recorded.index < len(alternatives):
            return recorded.index
        else:
            says = f"the recording took alternative {recorded.index} of {len(alternatives)}"
        self.departures.append(f"choice {place} ({kind}): {says}")
        return 0

    @property
    def all_at_once(self) -> bool:
        """Whether the recording let everything go at once somewhere: it must be on offer again."""
        return any(choice.takes == ALL_AT_ONCE for choice in self._choices)

    @property
    def unread(self) -> int:
        """How many deviations of the tape lie beyond the end of the run."""
        return sum(choice.deviates for choice in self._choices[self._place :])


class InOrder:
    """Lets one event go on at a time, in the order in which they were seen to happen once.

    Where several went on at once, whose an event was could not be told: so one of another chain
    stands for it where its own is not there. What else was chosen is chosen again, by its name.
    """

    def __init__(self, events: Sequence[str], tape: Tape) -> None:
        self._left = list(events)
        self._others = {choice.takes for choice in tape.choices if choice.kind != RELEASE}

    def choose(self, kind: str, alternatives: Alternatives) -> int:
        """Return the event that came first of those on offer, and 0 if none of them is known."""
        if kind != RELEASE:
            return next((i for i, name in enumerate(alternatives) if name in self._others), 0)
        for place, event in enumerate(self._left):
            for called in (str, _what):
                names = [called(name) for name in alternatives]
                if called(event) in names:
                    del self._left[place]
                    return names.index(called(event))
        return 0


def _what(alternative: str) -> str:
    """Return what an event is called, without whose it is, and which of them."""
    return alternative.partition(" ")[2].rpartition(" #")[0]


class Drawn:
    """Chooses by a tape that was drawn as data before anything ran, as by Hypothesis.

    Whoever draws cannot know how many alternatives there will be: a number too large wraps.
    """

    def __init__(self, tape: Tape) -> None:
        self._indices = iter([choice.index for choice in tape.choices])

    def choose(self, kind: str, alternatives: Alternatives) -> int:  # noqa: ARG002 - data is blind
        """Return the next number of the tape, and 0 after its end."""
        return next(self._indices, 0) % len(alternatives)


_OFF: Final = 0.25
"""How likely an alternative's name is switched off for a whole run of the swarm."""


class Swarm:
    """Chooses by chance, with weights that one run keeps and the next draws anew.

    Names (without their numbers) get weights between 1 and 1/1000, and some are off: uniform
    chance would make every run alike.
    """

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(f"swarm/{seed}")
        self._weights: dict[str, float] = {}

    def choose(self, kind: str, alternatives: Alternatives) -> int:
        """Draw one by its weight; if all are off, the boring one."""
        weights = [self._weight(f"{kind}/{name}") for name in alternatives]
        if not any(weights):
            return 0
        return self._chance.choices(range(len(weights)), weights)[0]

    def _weight(self, name: str) -> float:
        if name not in self._weights:
            weight = 10 ** -(3 * self._chance.random())
            self._weights[name] = 0.0 if self._chance.random() < _OFF else weight
        return self._weights[name]


RELEASE: Final = "release"
"""The kind of choice that says who moves next: what priorities are about."""

FAULT: Final = "fault"
"""The kind of choice that says what goes wrong with what moves next."""

KILL: Final = "kill"
"""The kind of choice that says whether the service dies before it moves."""


PROBE: Final = "probe"
"""The kind of choice that says behind what a second request comes, where nothing is held."""


class Priorities:
    """Probabilistic concurrency testing: the lane of the highest priority moves.

    Lanes get priorities by chance when they first appear; at ``depth - 1`` places, drawn among
    the first ``steps`` releases, the lane that would move falls below all others. What is no
    release is boring. See Burckhardt and others, "A randomized scheduler with probabilistic
    guarantees of finding bugs", 2010.
    """

    def __init__(self, seed: int, *, depth: int, steps: int) -> None:
        assert depth >= 1
        assert steps >= 1
        self._chance = random.Random(f"pct/{seed}")
        self._falls = sorted(self._chance.randrange(steps) for _ in range(depth - 1))
        self._order: list[str] = []  # lanes, highest priority first
        self._fallen: list[str] = []  # below all others, the latest fall lowest
        self._step = 0

    def choose(self, kind: str, alternatives: Alternatives) -> int:
        """Return the alternative whose lane ranks highest."""
        if kind != RELEASE:
            return 0
        lanes = [lane_of(name) for name in alternatives]
        for lane in dict.fromkeys(lanes):
            if lane not in self._order and lane not in self._fallen:
                self._order.insert(self._chance.randint(0, len(self._order)), lane)
        while self._falls and self._falls[0] <= self._step:
            del self._falls[0]
            self._fall(self._highest(lanes))
        self._step += 1
        return lanes.index(self._highest(lanes))

    def _highest(self, lanes: Sequence[str]) -> str:
        return next(lane for lane in [*self._order, *self._fallen] if lane in lanes)

    def _fall(self, lane: str) -> None:
        of = self._order if lane in self._order else self._fallen
        of.remove(lane)
        self._fallen.append(lane)


def lane_of(alternative: str) -> str:
    """Return who would move: the first word of an alternative's name."""
    return alternative.partition(" ")[0]


@dataclass(frozen=True, slots=True)
class Bound:
    """What a clean result of the priorities engine means."""

    lanes: int
    steps: int
    depth: int
    runs: int

    @property
    def per_run(self) -> float:
        """How likely one run finds a given race of this depth, at least."""
        return 1 / float(max(1, self.lanes) * max(1, self.steps) ** (self.depth - 1))

    @property
    def missed(self) -> float:
        """How likely all runs have missed it, at most."""
        return float((1 - self.per_run) ** self.runs)

    def __str__(self) -> str:
        chance = f"{self.lanes}·{self.steps}^{self.depth - 1}"
        return (
            f"a race of depth {self.depth} among {self.lanes} lanes and {self.steps} releases is "
            f"found by one run with a probability of at least 1/({chance}) = {self.per_run:.2g}; "
            f"{self.runs} runs miss it with one of at most {self.missed:.2g}"
        )
