"""Verify a service: control, then every scenario, then what is explored, then one verdict.

Rule 1: nobody is blamed before the clean control has passed.
Rule 2: a scenario is judged from its history alone, as ``report`` would judge it later.
Rule 3: whatever ends a run early, what was seen so far is judged and said.
Rule 4: schedules are played in a world of their own, with gates: no scenario goes through them.
"""

import asyncio
import json
import shlex
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, Final, Protocol

from onecharge.control import ControlFailed, Passed, clean_control
from onecharge.explored import Part
from onecharge.exploring.batches import gathered
from onecharge.phases import Play, lacking_for, perform
from onecharge.scenario_file import Scenario, library
from onecharge.side_by_side import arranged, money_of_nobody, to_be_confirmed
from onecharge.stored_run import ALONE, MANIFEST, RUNS, TROUBLE, control_name, trouble_in
from onecharge.targets import Target
from onecharge.toml_file import FileError
from onecharge.verdict import (
    RunVerdict,
    ScenarioVerdict,
    combine,
    judge_scenario,
    not_applicable,
)
from onecharge.watch import Seen
from onecharge.world.postgres import PostgresError
from onecharge.world.service import NotReady
from onecharge.world.supervisor import SupervisorError
from onecharge.world.world import World, standing
from simulator.core.journal import Entry

ENOUGH: Final = 2
"""When so many scenarios in doubt were found violated alone, the others are left in doubt."""


class Listener(Protocol):
    """Who hears how a run is getting on: a terminal, or nobody."""

    def step(self, says: str) -> None:
        """Hear of one thing that is ready."""

    def playing(self, name: str) -> AbstractContextManager[object]:
        """Hear that a scenario is being played, as long as the context lasts."""

    def seen(self, scenario: str, seen: Seen) -> None:
        """Hear of a violation while the scenario is played."""

    def scenario(self, scenario: ScenarioVerdict) -> None:
        """Hear how it ended."""


class Schedules(Protocol):
    """What plays more than scenarios: an exploration, or a counterexample again."""

    @property
    def gated(self) -> bool:
        """Whether it needs a world with gates."""

    @property
    def names(self) -> list[str]:
        """What is to be explored."""

    @property
    def verdicts(self) -> Sequence[ScenarioVerdict]:
        """The verdicts on it so far."""

    async def through(self, world: World, bound_s: float, *, tied: bool) -> None:
        """Play them all; ``tied`` says whether charges name their orders."""

    def leave_out(self) -> None:
        """Say that nothing of it is played, since something else is to be mended first."""


@dataclass(frozen=True, slots=True)
class ToExplore:
    """What is played beside scenarios, in this order, and what is told of it."""

    schedules: Sequence[Schedules] = ()
    parts: Sequence[Part] = ()

    @property
    def names(self) -> list[str]:
        """What is to be explored."""
        return [name for each in self.schedules for name in each.names]

    @property
    def verdicts(self) -> list[ScenarioVerdict]:
        """The verdicts on it so far."""
        return [verdict for each in self.schedules for verdict in each.verdicts]


class Run:
    """One run over some scenarios, with a folder of its own for histories, logs and verdict."""

    def __init__(
        self,
        target: Target,
        scenarios: Sequence[Scenario],
        seed: int,
        *,
        folder: Path,
        listener: Listener,
        server_url: str | None = None,
        to_explore: ToExplore | None = None,
    ) -> None:
        self.folder = folder
        self._to_explore = to_explore or ToExplore()
        self._target = target
        self._scenarios = scenarios
        self._seed = seed
        self._listener = listener
        self._server_url = server_url
        self._began_s = time.monotonic()
        self._plays: dict[str, tuple[Play, int]] = {}  # and how many records were judged
        self._verdicts: dict[str, ScenarioVerdict] = {}
        self._confirmed = 0
        self._interrupted: str | None = None
        self._controls_passed = 0  # from the first one on, faults have begun

    async def verdict(self) -> RunVerdict:
        """Play everything and return the verdict; Ctrl-C ends the playing, not the judging.

        Before the first fault, what cannot work raises ``NotReady``, ``ControlFailed``,
        ``PostgresError`` or ``SupervisorError``, each with one clear sentence. Afterwards
        nothing raises: whatever ends the playing makes the rest unknown.
        """
        self._write_manifest()
        playing = asyncio.ensure_future(self._play())
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._interrupt, playing, signal.Signals(number).name)
        try:
            with suppress(asyncio.CancelledError):
                await playing
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)
        return combine(
            [
                *(self._verdicts[s.name] for s in self._scenarios if s.name in self._verdicts),
                *gathered(self._to_explore.verdicts),
            ],
            seed=self._seed,
            duration_s=round(time.monotonic() - self._began_s, 3),
            interrupted=self._interrupted,
            whole=self._whole,
            parts=self._to_explore.parts,
        )

    @property
    def _whole(self) -> bool:
        """Whether this is the whole library, over which every invariant must be put to the test."""
        return {each.name for each in self._scenarios} >= library().keys()

    def _interrupt(self, playing: "asyncio.Future[None]", by: str) -> None:
        self._interrupted = f"interrupted by {by}"
        playing.cancel()

    async def _play(self) -> None:
        try:
            schedules = self._to_explore.schedules
            if self._scenarios:  # what needs no gates comes into the same world
                beside = [each for each in schedules if not each.gated]
                schedules = [each for each in schedules if each.gated]
                await self._play_in_a_world(beside)
            for gated, together in groupby(schedules, key=lambda each: each.gated):
                await self._play_schedules(list(together), gated=gated)
        except (ControlFailed, NotReady, PostgresError, SupervisorError) as reason:
            if not self._controls_passed:
                raise self._told_of_its_file(reason) from None
            # From here on nobody is misconfigured: what was seen is judged, the rest is unknown.
            self._interrupted = f"ended early: {reason}"

    def _told_of_its_file(self, reason: Exception) -> Exception:
        """Put the service file's name before what it, and not this machine, is to blame for."""
        if isinstance(reason, ControlFailed | NotReady):
            return type(reason)(f"{self._target.path}: {reason}")
        return reason

    async def _play_in_a_world(self, beside: Sequence[Schedules]) -> None:
        async with self._standing() as world:
            passed = await self._controlled(world)
            bound_s = passed.bound_s(self._target.service_file.timing.settles_within_s)
            for group in arranged(self._applicable(), tied=passed.tied):
                await self._play_group(world, group, bound_s)
            for schedules in beside:
                await schedules.through(world, bound_s, tied=passed.tied)
            self._judge_what_came_late()

    async def _play_schedules(self, together: Sequence[Schedules], *, gated: bool) -> None:
        if any(part.found for part in self._to_explore.parts):
            for schedules in together:
                schedules.leave_out()
            return
        async with self._standing(gated=gated) as world:
            passed = await self._controlled(world)
            bound_s = passed.bound_s(self._target.service_file.timing.settles_within_s)
            for schedules in together:
                await schedules.through(world, bound_s, tied=passed.tied)

    def _standing(self, *, gated: bool = False) -> AbstractAsyncContextManager[World]:
        """Return a world of the service; of the second, nobody is told again what is ready."""
        return standing(
            self._target.service_file,
            self.folder,
            seed=self._seed,
            mutant=self._target.mutant,
            server_url=self._server_url,
            gated=gated,
            tell=(lambda _: None) if self._controls_passed else self._listener.step,
        )

    async def _controlled(self, world: World) -> Passed:
        name = control_name(self._controls_passed + 1)
        passed = await clean_control(world, self._seed, name=name)
        if not self._controls_passed:
            self._listener.step(f"clean control passed in {passed.took_s:.2f} s")
        self._controls_passed += 1
        return passed

    def _applicable(self) -> Iterator[Scenario]:
        """Yield what there is to play, and say of the rest that it does not apply."""
        for scenario in self._scenarios:
            if lacking := self._lacking_for(scenario):
                self._verdicts[scenario.name] = not_applicable(scenario.name, lacking)
            else:
                yield scenario

    def _lacking_for(self, scenario: Scenario) -> tuple[str, ...]:
        file = self._target.service_file
        own_database = file.database is not None and self._server_url is None
        return lacking_for(scenario, file, own_database=own_database)

    async def _play_group(
        self, world: World, scenarios: Sequence[Scenario], bound_s: float
    ) -> None:
        """Play scenarios side by side; what that leaves in doubt, once more and alone."""
        plays = [self._play_of(world, scenario, bound_s) for scenario in scenarios]
        for play in await self._play_through(world, plays, confirm=len(plays) > 1):
            if self._confirmed >= ENOUGH:  # the run is red, and each would take its time
                self._listener.scenario(self._verdict_on(play))
                continue
            again = self._play_of(world, play.scenario, bound_s, label=f"{play.label}{ALONE}")
            await self._play_through(world, [again], confirm=False)
            self._confirmed += self._verdict_on(again).verdict == "violated"

    def _play_of(self, world: World, scenario: Scenario, bound_s: float, label: str = "") -> Play:
        repeat = self._repeat(scenario)
        on_seen = partial(self._listener.seen, scenario.name)
        return Play(
            world, scenario, self._seed, bound_s, label=label, repeat=repeat, on_seen=on_seen
        )

    async def _play_through(
        self, world: World, plays: Sequence[Play], *, confirm: bool
    ) -> list[Play]:
        """Play to the end, judge, and return those whose verdict still has to be confirmed."""
        trouble: str | None = None
        try:
            with self._listener.playing(", ".join(play.scenario.name for play in plays)):
                await perform(world, plays, self._seed)
        except (NotReady, SupervisorError) as reason:
            trouble = str(reason)
            raise
        except asyncio.CancelledError:
            trouble = self._interrupted
            raise
        finally:
            untied = money_of_nobody(world.recorder.records) if len(plays) > 1 else None
            for play in plays:
                self._judge(play, trouble or untied)
        in_doubt = [play for play in plays if confirm and to_be_confirmed(self._verdict_on(play))]
        for play in plays:
            if play not in in_doubt:
                self._listener.scenario(self._verdict_on(play))
        return in_doubt

    def _judge(self, play: Play, trouble: str | None = None) -> None:
        """Judge what is known of a play by now; it takes the place of what was said before.

        ``trouble`` with the playing is written to the history: a later judge has only that.
        """
        if trouble:
            play.recorder(Entry("judge", "unknown", {"what": TROUBLE, "says": trouble}))
        self._plays[play.scenario.name] = (play, len(play.recorder.records))
        self._verdicts[play.scenario.name] = judge_scenario(
            play.recorder.records,
            repeat=play.repeat,
            trouble=trouble_in(play.recorder.records) or play.recorder.lost,
        )

    def _judge_what_came_late(self) -> None:
        """Judge again where the provider was called after the judgement: it counts as well."""
        for play, judged in list(self._plays.values()):
            late = play.recorder.records[judged:]
            if any(record.lane == "provider" for record in late):
                self._judge(play)
                self._listener.scenario(self._verdict_on(play))

    def _verdict_on(self, play: Play) -> ScenarioVerdict:
        return self._verdicts[play.scenario.name]

    def _repeat(self, scenario: Scenario) -> str:
        """Return the command that plays this scenario again."""
        named = (
            ("verify", "--scenario", scenario.name)
            if scenario.named
            else ("run", str(scenario.path))
        )
        return shlex.join(["onecharge", *named, *self._target.words, "--seed", str(self._seed)])

    def _write_manifest(self) -> None:
        manifest: dict[str, Any] = {
            "onecharge_run": 1,
            "began": datetime.now(UTC).isoformat(timespec="seconds"),
            "seed": self._seed,
            "service": self._target.service_file.service.name,
            "mutant": self._target.mutant,
            "scenarios": [scenario.name for scenario in self._scenarios],
            "whole": self._whole,
            "explored": self._to_explore.names,
            "lacking": {
                scenario.name: lacking
                for scenario in self._scenarios
                if (lacking := self._lacking_for(scenario))
            },
        }
        (self.folder / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n")


def new_run_folder(seed: int, parent: Path = RUNS) -> Path:
    """Make and return a folder for a run; its name sorts by time and is never used twice.

    ``FileError`` says if nothing can be written there.
    """
    try:
        parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{parent}: cannot be written: {error.strerror}") from None
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    for number in range(1, 1000):
        folder = parent / (f"{stamp}-{seed}" if number == 1 else f"{stamp}-{seed}-{number}")
        with suppress(FileExistsError):
            folder.mkdir()
            return folder
    raise FileExistsError(f"{parent}: a thousand runs within one second")
