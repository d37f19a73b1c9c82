"""Rows played side by side: each as an ordinary scenario, but on cue, and struck together.

Rule 1: what a row does and what strikes it is what its scenario says. Only *when* it begins, and
        that one kill is for all who wait for one, is decided here.
Rule 2: a kill that came while somebody was elsewhere did not strike him: his rule never fired.
"""

from collections.abc import Sequence
from typing import Final

from onecharge.acts import Acts
from onecharge.combinations.cues import Crash, Cues, Kills
from onecharge.history.records import Record
from onecharge.phases import Play, perform
from onecharge.scenario_file import Kill, Point, Scenario
from onecharge.steps import CrashDatabase
from onecharge.world.executioner import Executioner
from onecharge.world.world import World
from simulator.core.journal import FAULT, Entry
from simulator.gates import HeldCall

TURNS: Final[Sequence[frozenset[Point]]] = (
    frozenset({"call_sent", "key_claimed", "committed"}),
    frozenset({"answered", "event_acknowledged"}),
    frozenset({"request_received"}),
)
"""Who goes to a point of dying first, by how long one can wait there."""

_PATIENCE: Final = 0.6
"""For so much of the shortest declared time a call stands still at most."""

_CRASH_WITHIN_S: Final = 1.0


class StagedPlay(Play):
    """A play that begins on cue, and dies together with others."""

    cues: Cues
    blow: Kills | Crash

    def __init__(
        self, world: World, scenario: Scenario, seed: int, bound_s: float, *, repeat: str = ""
    ) -> None:
        super().__init__(world, _with_names_of_its_own(scenario), seed, bound_s, repeat=repeat)

    @property
    def waits_for_news(self) -> bool:
        """Whether it comes to its point after its customers are through."""
        kill = kill_of(self.scenario)
        return kill is not None and kill.at == "event_acknowledged"

    def acts(self) -> Acts:
        """Return what carries out its steps when it is its turn."""
        return _StagedActs(self)

    def executioner(self) -> Executioner:
        """Return who tells when it has come to its point."""
        return _Herald(self)


class _StagedActs(Acts):
    def __init__(self, play: StagedPlay) -> None:
        super().__init__(
            play.world,
            play.recorder,
            play.customers,
            play.scenario,
            play.cast,
            bound_s=play.bound_s,
        )
        self._play = play

    async def through(self) -> None:
        """Wait for the cue, and carry out every step."""
        await self._play.cues.turn(self._play.label)
        try:
            await super().through()
        finally:
            if not self._play.waits_for_news:
                self._play.cues.over(self._play.label)

    async def _crash_database(self, step: CrashDatabase) -> None:
        blow = self._play.blow
        assert isinstance(blow, Crash)
        blow.concern(self._play.recorder, step.down_ms / 1000)
        self._play.cues.arrived(self._play.label)
        await self._play.cues.fallen()


class _Herald(Executioner):
    """Tells when a play has come to its point, and who is to be killed for it."""

    def __init__(self, play: StagedPlay) -> None:
        kills = dict(play.scenario.kills())
        super().__init__(play.world, play.recorder, kills, play.cast.references)
        self._play = play

    async def restarts(self) -> None:
        """Wait until everybody killed is back."""
        await self._play.cues.fallen()

    def _strike(self, held: HeldCall) -> None:
        if self._sentenced.pop(held.call, None) is None:
            return
        name = self._world.services.serving(held.source)
        if name != held.source:  # a customer's browser calls, and lives on
            self._world.simulator.gates.release(held.call)
        self._arrived([name])

    def _carry_out(self, name: str, record: Record) -> None:
        kill = self._kills[name]
        value = {"what": "fired", "rule": name, "fault": "kill", "seam": kill.at}
        self._recorder(Entry(FAULT, "effect", value, record.order, record.tenant, record.key))
        self._arrived(self._victims(kill, record))

    def _arrived(self, victims: Sequence[str]) -> None:
        blow = self._play.blow
        assert isinstance(blow, Kills)
        blow.condemn(victims)
        self._play.cues.arrived(self._play.label)


async def perform_staged(world: World, plays: Sequence[StagedPlay], seed: int) -> None:
    """Play rows side by side through every phase; those that are struck have one blow in common."""
    cues, blow = _staging(world, plays)
    for play in plays:
        play.cues, play.blow = cues, blow
    await perform(world, plays, seed)


def _staging(world: World, plays: Sequence[StagedPlay]) -> tuple[Cues, Kills | Crash]:
    mortal = {play.label: kill for play in plays if (kill := kill_of(play.scenario))}
    crashing = {play.label: step for play in plays if (step := crash_of(play.scenario))}
    assert not (mortal and crashing), "one blow for each playing"
    if crashing:
        turns = [
            [each for each, step in crashing.items() if step.meanwhile == late]
            for late in (False, True)
        ]
        crash = Crash(world)
        return Cues(world, turns, crash, _CRASH_WITHIN_S), crash
    turns = [[each for each, kill in mortal.items() if kill.at in points] for points in TURNS]
    kills = Kills(
        world, max((kill.after_ms for kill in mortal.values() if kill.at in TURNS[-1]), default=0)
    )
    return Cues(world, turns, kills, patience_s(world)), kills


def _with_names_of_its_own(scenario: Scenario) -> Scenario:
    """Name the kills of a scenario so that no other that is on has any of these names."""
    kills = tuple(
        kill.model_copy(update={"name": f"{scenario.name}/{name}"})
        for name, kill in scenario.kills()
    )
    file = scenario.file.model_copy(update={"kills": kills})
    return Scenario(scenario.name, scenario.path, file)


def kill_of(scenario: Scenario) -> Kill | None:
    """Return the kill of a row, if it has one; no row has two."""
    return next((kill for _, kill in scenario.kills()), None)


def crash_of(scenario: Scenario) -> CrashDatabase | None:
    """Return the step of a row that crashes the database, if it has one."""
    return next((step for step in scenario.file.steps if isinstance(step, CrashDatabase)), None)


def patience_s(world: World) -> float:
    """Return how long a call may stand still without anybody giving it up."""
    file = world.service_file
    declared = [file.provider.timeout_s, file.timing.answers_within_s]
    if file.provider.lease_s is not None:
        declared.append(file.provider.lease_s)
    return _PATIENCE * min(declared)
