"""A schedule that breaks a service, as a file: ``counterexample.toml``.

Rule 1: people read its steps; what a step deviates from the usual order is its tape, by name.
Rule 2: it says which service it breaks, and how: repeated, only the same violation counts.
Rule 3: a file of another version, or with a field that there is not, is refused by name.
"""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, Self

import tomli_w
from pydantic import Field, model_validator

from onecharge.engine.retold import MOST_STEPS, Step
from onecharge.engine.stage import SCOPES, Scope
from onecharge.engine.tapes.tape import Choice, Tape
from onecharge.invariants import invariants
from onecharge.report.written import write_whole
from onecharge.targets import Target, WrongUsage, reference, target
from onecharge.toml_file import (
    FileError,
    Misplaced,
    Section,
    line_of,
    read_toml,
    validated,
)
from simulator.redaction import redacted

VERSION: Final = 1
_FIELD: Final = "counterexample"


class ChoiceTable(Section):
    """A choice that is not the usual one: the ``place``-th of the run, from 0."""

    place: int = Field(ge=0, le=100_000)
    kind: str = Field(min_length=1)
    alternative: int = Field(ge=1, le=100_000)
    takes: str = Field(min_length=1)
    instead_of: str = ""


class StepTable(Section):
    """One step in English, and the choices that make it happen."""

    says: str = Field(min_length=1)
    choice: tuple[ChoiceTable, ...] = ()


class CounterexampleFile(Section):
    """What was found, on which service, and the steps that show it again.

    ``failed`` of ``of`` repeats showed it when it was found, ``found_after`` so many schedules.
    ``pinned`` says what came of it that the order of its events is pinned, if it is.
    """

    counterexample: Literal[1]
    title: str = Field(min_length=1)
    violates: str
    scope: str
    seed: int = Field(ge=0)
    found_after: int = Field(ge=1)
    failed: int = Field(ge=0)
    of: int = Field(ge=1)
    pinned: str | None = None
    service: str | None = None
    mutant: str | None = None
    step: tuple[StepTable, ...] = Field(min_length=1, max_length=MOST_STEPS)

    @model_validator(mode="after")
    def _names_what_there_is(self) -> Self:
        _known("scope", self.scope, SCOPES)
        _known("violates", self.violates, [invariant.name for invariant in invariants()])
        if self.service is not None and self.mutant is not None:
            raise Misplaced(("mutant",), "a mutant is of the reference: service excludes it")
        if self.failed > self.of:
            raise Misplaced(("failed",), f"expected at most {self.of}, found {self.failed}")
        before = -1
        for number, step in enumerate(self.step):
            for place, choice in enumerate(step.choice):
                if choice.place <= before:
                    says = f"expected places that ascend, found {choice.place} after {before}"
                    raise Misplaced(("step", number, "choice", place, "place"), says)
                before = choice.place
        return self


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A counterexample file that has been read and checked, or is about to be written."""

    path: Path
    file: CounterexampleFile

    @property
    def scope(self) -> Scope:
        """What is run."""
        return SCOPES[self.file.scope]

    @property
    def steps(self) -> tuple[str, ...]:
        """The schedule in English."""
        return tuple(step.says for step in self.file.step)

    @property
    def tape(self) -> Tape:
        """What is chosen in a run, by name."""
        known = {choice.place: choice for step in self.file.step for choice in step.choice}
        return Tape(
            tuple(
                Choice(one.kind, one.alternative, one.takes, one.instead_of)
                if (one := known.get(place)) is not None
                else Choice()
                for place in range(max(known, default=-1) + 1)
            )
        )

    def target(self, service: Path | None, mutant: str | None) -> Target:
        """Return what it is to be repeated on: what the user names, else what it was found on."""
        if service is not None or mutant is not None:
            return target(service, mutant)
        try:
            if self.file.service is None:
                return reference(self.file.mutant)
            return target(Path(self.file.service), self.file.mutant)
        except (FileError, WrongUsage) as mistake:
            field = "service" if self.file.service is not None else "mutant"
            says = f"{mistake}; say --service FILE or --mutant NAME"
            raise FileError.at(self.path, _line(self.path, field), field, says) from None

    def write(self) -> None:
        """Write it to its path; ``OSError`` if it cannot be."""
        write_whole(self.text, self.path)

    @property
    def text(self) -> str:
        """What stands in the file."""
        text = tomli_w.dumps(self.file.model_dump(exclude_none=True, exclude={"step"}))
        for step in self.file.step:
            text += f"\n[[step]]\n{tomli_w.dumps({'says': redacted(step.says)})}"
            for choice in step.choice:
                text += f"\n[[step.choice]]\n{tomli_w.dumps(_shown(choice))}"
        return (
            f"# A schedule that breaks a service. It is played again by:\n"
            f"#     onecharge run {self.path.name}\n"
            "# The steps are for people; their choices are what is replayed.\n\n" + text
        )


def _shown(choice: ChoiceTable) -> dict[str, Any]:
    # One that is named after a secret of the service does not repeat: better than to keep it.
    fields = choice.model_dump()
    return {name: redacted(it) if isinstance(it, str) else it for name, it in fields.items()}


def counterexample_of(
    path: Path,
    steps: Sequence[Step],
    *,
    wanted: Target,
    scope: Scope,
    violates: str,
    seed: int,
    found_after: int,
    failed: int,
    of: int,
    pinned: str = "",
) -> Counterexample:
    """Return the counterexample that was found, about to be written to ``path``."""
    tables = tuple(
        StepTable(
            says=step.says,
            choice=tuple(
                ChoiceTable(
                    place=one.place,
                    kind=one.kind,
                    alternative=one.index,
                    takes=one.takes,
                    instead_of=one.instead_of,
                )
                for one in step.deviations
            ),
        )
        for step in steps
    )
    own_file = wanted.words[:1] == ("--service",)
    file = CounterexampleFile(
        counterexample=VERSION,
        title=f"{scope.what}: {violates} is violated",
        violates=violates,
        scope=scope.name,
        seed=seed,
        found_after=found_after,
        failed=failed,
        of=of,
        pinned=pinned or None,
        service=str(wanted.path) if own_file else None,
        mutant=wanted.mutant or None,
        step=tables,
    )
    return Counterexample(path, file)


def is_counterexample(path: Path) -> bool:
    """Tell whether a file is meant to be a counterexample, and no scenario."""
    data, _ = read_toml(path)
    return _FIELD in data


def read_counterexample(path: Path) -> Counterexample:
    """Return the counterexample at ``path``; raise ``FileError`` with one clear sentence if not."""
    data, text = read_toml(path)
    if (version := data.get(_FIELD)) != VERSION:
        says = f"expected version {VERSION}, found {version!r}"
        raise FileError.at(path, line_of(text, (_FIELD,)), _FIELD, says)
    return Counterexample(path, validated(CounterexampleFile, data, text, path))


def _line(path: Path, field: str) -> int | None:
    return line_of(path.read_text(encoding="utf-8"), (field,))


def _known(field: str, name: str, known: Any) -> None:
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known)}"
        raise Misplaced((field,), f"no {_WORDS[field]} is called {name!r}; {hint}")


_WORDS: Final = {"scope": "scope", "violates": "invariant"}
