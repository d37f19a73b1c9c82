"""A choice tape: everything that was left to choose in a run, and what was chosen. No I/O.

Rule 1: alternative 0 is the boring one. What a tape says is where it deviates from that, so a
        token lists the deviations and nothing else.
Rule 2: a choice is known by its place in the run, never by a clock, and an alternative by its
        name, so that the same tape means the same thing in another process.
Rule 3: a tape is two things to keep: a file, which a person can read and which knows the names,
        and a token, which fits into a command and knows the places only.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Self

VERSION: Final = 1

_PREFIX: Final = f"t{VERSION}"
_STEP = re.compile(r"(0|[1-9][0-9]{0,5})\.([1-9][0-9]{0,5})", re.ASCII)


class NotATape(ValueError):
    """A text that should be a tape, and is none; the message says what was expected and found."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice: of what kind it was, which alternative was taken, and what that one is called.

    ``takes`` and ``instead_of`` are empty where only the place is known, as after a token.
    """

    kind: str = ""
    index: int = 0
    takes: str = ""
    instead_of: str = ""

    @property
    def deviates(self) -> bool:
        """Whether it is another than the boring one."""
        return self.index != 0


@dataclass(frozen=True, slots=True)
class Tape:
    """The choices of a run in their order; beyond the last, every choice is the boring one."""

    choices: tuple[Choice, ...] = ()

    def __repr__(self) -> str:
        return f"<Tape {self.token}>"

    @property
    def deviations(self) -> tuple[int, ...]:
        """The places, from 0, at which it deviates from the boring run."""
        return tuple(place for place, choice in enumerate(self.choices) if choice.deviates)

    @property
    def size(self) -> tuple[int, int, int]:
        """How complicated it is: deviations first, then how late they are, then how far."""
        places = self.deviations
        return len(places), sum(places), sum(self.choices[place].index for place in places)

    @property
    def trimmed(self) -> Self:
        """The same tape without the boring choices at its end."""
        last = max(self.deviations, default=-1)
        return replace(self, choices=self.choices[: last + 1])

    def without(self, places: Iterable[int]) -> Self:
        """Return the tape that is boring at these places."""
        return self.with_indices(dict.fromkeys(places, 0))

    def with_indices(self, indices: Mapping[int, int]) -> Self:
        """Return the tape that takes other alternatives at these places."""
        return replace(
            self,
            choices=tuple(
                Choice(choice.kind, indices[place]) if place in indices else choice
                for place, choice in enumerate(self.choices)
            ),
        ).trimmed

    @property
    def token(self) -> str:
        """The deviations as a word for a command line: ``t1-3.1-17.2``."""
        return "-".join(
            [_PREFIX, *(f"{place}.{self.choices[place].index}" for place in self.deviations)]
        )

    @classmethod
    def of_token(cls, token: str) -> Self:
        """Return the tape that a token stands for; ``NotATape`` says what is wrong with it."""
        prefix, *steps = token.split("-")
        if prefix != _PREFIX:
            raise NotATape(f"expected a token that begins with {_PREFIX!r}, found {token!r}")
        indices: list[int] = []
        for step in steps:
            match = _STEP.fullmatch(step)
            if match is None:
                raise NotATape(f"expected PLACE.ALTERNATIVE, found {step!r} in {token!r}")
            place = int(match[1])
            if place < len(indices):
                raise NotATape(f"expected places that ascend, found {place} twice or late")
            indices += [0] * (place - len(indices)) + [int(match[2])]
        return cls(tuple(Choice(index=index) for index in indices))

    @classmethod
    def of_indices(cls, indices: Sequence[int]) -> Self:
        """Return the tape that takes these alternatives, one after the other."""
        return cls(tuple(Choice(index=index) for index in indices)).trimmed

    def to_text(self) -> str:
        """Return the tape as the text of a file: JSON, one choice a line."""
        lines = ",\n".join(f"  {json.dumps(_table(choice))}" for choice in self.choices)
        return f'{{"onecharge_tape": {VERSION}, "choices": [\n{lines}\n]}}\n'

    @classmethod
    def of_text(cls, text: str) -> Self:
        """Return the tape that a file's text is; ``NotATape`` says what is wrong with it."""
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise NotATape(f"expected JSON: {error}") from None
        if not isinstance(data, dict) or data.get("onecharge_tape") != VERSION:
            raise NotATape(f'expected {{"onecharge_tape": {VERSION}, …}}, another version or file')
        choices = data.get("choices")
        if not isinstance(choices, list):
            raise NotATape("choices: expected a list")
        return cls(tuple(_choice(number, table) for number, table in enumerate(choices)))


def _table(choice: Choice) -> dict[str, Any]:
    table = {"kind": choice.kind, "index": choice.index}
    names = {"takes": choice.takes, "instead_of": choice.instead_of}
    return table | {key: name for key, name in names.items() if name}


def _choice(number: int, table: object) -> Choice:
    if not isinstance(table, dict):
        raise NotATape(f"choices[{number}]: expected a table, found {table!r}")
    known = {"kind": str, "index": int, "takes": str, "instead_of": str}
    for key, value in table.items():
        if key not in known:
            raise NotATape(f"choices[{number}]: expected {', '.join(known)}, found {key!r}")
        if type(value) is not known[key]:
            expected = known[key].__name__
            raise NotATape(f"choices[{number}].{key}: expected {expected}, found {value!r}")
    if table.get("index", 0) < 0:
        raise NotATape(f"choices[{number}].index: expected 0 or more, found {table['index']}")
    return Choice(**table)
