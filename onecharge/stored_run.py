"""A run as it lies on disk: what was meant to be played, and the history of what was.

Rule 1: a verdict comes from the histories alone, by the invariants of today; what an earlier
        judge made of them is not looked at.
Rule 2: a run that was cut short anywhere is still a run: what is missing is said and unknown.
Rule 3: what is no run is refused by name.

| in the folder        | is                                                                        |
|----------------------|---------------------------------------------------------------------------|
| ``run.json``         | what was to be played, written before anything was                        |
| ``NAME.jsonl``       | the history of a scenario; ``control.jsonl`` is that of the clean control |
| ``NAME.alone.jsonl`` | that of the same scenario, played once more by itself: this one counts    |
| ``segments/``        | what load drivers saw, to be put in order with the one history there is   |
| ``explore-*.jsonl``  | the histories of an exploration, a batch of runs each                     |
| ``explored.json``    | what it says of what it covered and found                                 |
| ``explore-*/``       | combinations, and runs that made a schedule smaller: told, and not judged |
"""

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from onecharge.explored import Part, parts_in
from onecharge.exploring.batches import gathered, natural
from onecharge.history.reading import HistoryError, merge, read_history, read_segment
from onecharge.history.records import Record
from onecharge.verdict import RunVerdict, ScenarioVerdict, combine, judge_scenario, not_applicable

MANIFEST: Final = "run.json"
PAGE: Final = "report.html"
VERDICT: Final = "verdict.json"
SEGMENTS: Final = "segments"
RUNS: Final = Path(".onecharge") / "runs"
ALONE: Final = ".alone"
TROUBLE: Final = "trouble"
CONTROL: Final = "control"
AGAIN: Final = ".again"


def control_name(nth: int) -> str:
    """Return the name of the history of a run's first control, or of one in a further world."""
    return CONTROL if nth == 1 else f"{CONTROL}{AGAIN}" + (f"-{nth - 1}" if nth > 2 else "")


def _is_control(name: str) -> bool:
    return name == CONTROL or name.startswith(f"{CONTROL}{AGAIN}")


class NotARun(Exception):
    """What was named is no run's folder; the message is the whole explanation."""


@dataclass(frozen=True)
class StoredRun:
    """A run's folder, and what its manifest says: nothing, if the run had none."""

    folder: Path
    manifest: Mapping[str, Any] = field(default_factory=dict)

    @property
    def service(self) -> str:
        """What was judged; the folder's name, if nobody wrote that down."""
        name = str(self.manifest.get("service") or self.folder.name)
        mutant = self.manifest.get("mutant")
        return f"{name} with mutant {mutant}" if mutant else name

    @property
    def seed(self) -> int | None:
        seed = self.manifest.get("seed")
        return seed if isinstance(seed, int) else None

    @property
    def began(self) -> str:
        """When it began, as the manifest says it."""
        return str(self.manifest.get("began") or "")

    @property
    def histories(self) -> dict[str, Path]:
        """The histories there are, by scenario, in the order in which they were to be played."""
        paths = sorted(self.folder.glob("*.jsonl"), key=lambda path: natural(path.stem))
        found = {path.stem: path for path in paths if not _is_control(path.stem)}
        for name in [name for name in found if f"{name}{ALONE}" in found]:
            found[name] = found.pop(f"{name}{ALONE}")
        planned = [name for name in self._texts("scenarios") if name in found]
        return {name: found[name] for name in dict.fromkeys([*planned, *found])}

    @property
    def unplayed(self) -> list[str]:
        """What was to be played, is applicable and was never begun."""
        lacking = self._lacking()
        played = self.histories
        explored = {part.name for part in self.parts}
        return [
            *(n for n in self._texts("scenarios") if n not in played and n not in lacking),
            *(f"the end of {n}" for n in self._texts("explored") if n not in explored),
        ]

    def records(self, scenario: str) -> Sequence[Record]:
        """Return the records of a scenario, none if they cannot be read."""
        try:
            return self._read(scenario)
        except (HistoryError, KeyError):
            return ()

    def judged(self) -> RunVerdict:
        """Judge every history again."""
        lacking = self._lacking()
        histories = self.histories
        verdicts = gathered(self._judged(name) for name in histories)
        verdicts += [not_applicable(name, without) for name, without in lacking.items()]
        return combine(
            verdicts,
            seed=_seed_of(verdicts) if self.seed is None else self.seed,
            duration_s=sum(verdict.duration_s for verdict in verdicts),
            interrupted=self._cut_short(),
            whole=self.manifest.get("whole") is True,
            parts=self.parts,
        )

    @property
    def parts(self) -> tuple[Part, ...]:
        """What was explored, as the exploration told it."""
        return parts_in(self.folder)

    def _cut_short(self) -> str | None:
        """Say what was to be played and was never begun."""
        first, more = self.unplayed[:1], len(self.unplayed[1:])
        if not first:
            return None
        return f"cut short before {first[0]}" + f" and {more} more" * bool(more)

    def _judged(self, name: str) -> ScenarioVerdict:
        try:
            records = self._read(name)
        except HistoryError as damage:
            return ScenarioVerdict(
                name=name, verdict="unknown", repeat=self._repeat(name, ()), reasons=(str(damage),)
            )
        judged = judge_scenario(
            records, repeat=self._repeat(name, records), trouble=trouble_in(records)
        )
        return replace(judged, name=name)

    def _repeat(self, name: str, records: Sequence[Record]) -> str:
        """Return the command that the history names; else what the manifest makes likely."""
        if records and (repeat := records[0].value.get("repeat")):
            return str(repeat)
        words = ["onecharge", "verify", "--scenario", name]
        for option in ("mutant", "seed"):
            if (value := self.manifest.get(option)) is not None:
                words += [f"--{option}", str(value)]
        return shlex.join(words)

    def _read(self, scenario: str) -> Sequence[Record]:
        path = self.histories[scenario]
        segments = sorted((self.folder / SEGMENTS).glob("*.jsonl"))
        if not segments or len(self.histories) > 1:
            return read_history(path)
        return list(merge(read_segment(file) for file in [path, *segments]))

    def _lacking(self) -> dict[str, tuple[str, ...]]:
        played = self.histories
        return {
            name: tuple(str(capability) for capability in without)
            for name, without in self._lists("lacking").items()
            if name not in played
        }

    def _texts(self, name: str) -> list[str]:
        listed = self.manifest.get(name)
        return [str(text) for text in listed] if isinstance(listed, list) else []

    def _lists(self, name: str) -> dict[str, list[Any]]:
        table = self.manifest.get(name)
        rows = table.items() if isinstance(table, dict) else ()
        return {str(name): listed for name, listed in rows if isinstance(listed, list)}


def trouble_in(records: Iterable[Record]) -> str | None:
    """Return what went wrong with the playing itself, as far as it was written down."""
    told = (r.value.get("says") for r in records if r.lane == "judge" and r.what == TROUBLE)
    return next((str(says) for says in told if says), None)


def stored_run(named: str | None, runs: Path = RUNS) -> StoredRun:
    """Return the run that a user named: its folder, or its name under ``runs``; else the newest."""
    if named is None:
        return _newest(runs)
    for folder in (Path(named), runs / named):
        if folder.is_dir():
            if run := _as_run(folder):
                return run
            raise NotARun(
                f"{folder}: this is no run of onecharge: it has neither {MANIFEST} nor a history"
            )
    what = "this is a file, not a run's folder" if Path(named).exists() else "no such run"
    raise NotARun(f"{named}: {what}; expected a folder, or the name of one in {runs}")


def _newest(runs: Path) -> StoredRun:
    folders = sorted(runs.glob("*"), reverse=True) if runs.is_dir() else []
    for folder in folders:  # their names begin with the time
        if run := _as_run(folder):
            return run
    raise NotARun(f"{runs}: there is no run yet; `onecharge verify` makes one")


def _as_run(folder: Path) -> StoredRun | None:
    path = folder / MANIFEST
    if path.is_file():
        return StoredRun(folder, _manifest(path))
    run = StoredRun(folder)
    return run if run.histories else None


def _manifest(path: Path) -> Mapping[str, Any]:
    """Read what was to be played; of a manifest that was torn nothing is known."""
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return manifest if isinstance(manifest, dict) else {}


def _seed_of(verdicts: Sequence[ScenarioVerdict]) -> int:
    return next((verdict.seed for verdict in verdicts if verdict.seed is not None), 0)
