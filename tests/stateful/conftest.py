"""A stage: a world that stands, on which plans are played one after the other and judged."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from onecharge.control import clean_control
from onecharge.drawing import fair_faults
from onecharge.loops import new_event_loop
from onecharge.phases import Play, perform
from onecharge.plans import NAME, Plan, as_scenario
from onecharge.service_file import ServiceFile
from onecharge.targets import target
from onecharge.verdict import ScenarioVerdict, judge_scenario
from onecharge.world.postgres import Postgres
from onecharge.world.world import World, standing

SEED = 1

QUICK = {"PROVIDER_TIMEOUT_S": "0.4", "LEASE_S": "1", "RECONCILE_EVERY_S": "0.1"}
"""The reference's own settings, made small: a plan is played in half a second, not in five."""

COMPLETE = 0.6
"""At least this part of the drawn plans must have happened in full."""


class Stage:
    """Plays plans in a world that stands; the loop it lives on runs only meanwhile."""

    def __init__(self, runner: asyncio.Runner, world: World, bound_s: float) -> None:
        self._runner = runner
        self._world = world
        self._bound_s = bound_s
        self._serial = count(1)

    def __repr__(self) -> str:
        return f"<Stage of {self._world!r}>"

    def play(self, plan: Plan) -> ScenarioVerdict:
        """Play a plan to its end and judge its history. Each play has orders of its own."""
        name = f"{NAME}-{next(self._serial)}"
        play = Play(self._world, as_scenario(plan, name), SEED, self._bound_s)
        self._runner.run(perform(self._world, [play], SEED))
        recorder = play.recorder
        return judge_scenario(recorder.records, repeat=str(recorder.path), trouble=recorder.lost)

    def breaks(self, claim: str, plan: Plan) -> bool:
        """Tell whether this claim is violated, and not just any."""
        found = self.play(plan).invariants
        return any(one.name == claim and one.verdict == "violated" for one in found)


SetStage = Callable[[str | None], AbstractContextManager[Stage]]
"""Takes the name of a mutant, or None for the reference."""


@dataclass
class Tally:
    """What came of all plans of a test, so that a test which broke nothing by chance says so."""

    played: int = 0
    complete: int = 0
    fired: Counter[str] = field(default_factory=Counter)
    violated: bool = False

    def note(self, plan: Plan, verdict: ScenarioVerdict) -> list[str]:
        """Count what went wrong as planned, and return it by the faults' public names."""
        rules = [str(rule["name"]) for rule in as_scenario(plan).plan({})]
        fired = [
            kind
            for kind, rule in zip(plan.kinds, rules, strict=True)
            if rule not in verdict.not_reached
        ]
        self.played += 1
        self.complete += not verdict.not_reached
        self.violated |= verdict.verdict == "violated"
        self.fired.update(fired)
        return fired


@pytest.fixture
def set_stage(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> SetStage:
    """Set a stage on the PostgreSQL of all tests, in a folder of its own."""
    return partial(
        _stage, folder=tmp_path_factory.mktemp("stage"), server_url=postgres.url("postgres")
    )


@pytest.fixture(scope="module")
def reference(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("reference")
    with _stage(None, folder, postgres.url("postgres")) as stage:
        yield stage


@pytest.fixture(scope="module")
def tally() -> Iterator[Tally]:
    """Count over all examples of a test; what is red here was green for want of trouble."""
    tally = Tally()
    yield tally
    if not tally.violated:
        assert tally.complete >= COMPLETE * tally.played, tally
        assert {*fair_faults(), "kill"} <= tally.fired.keys(), tally


@contextmanager
def _stage(mutant: str | None, folder: Path, server_url: str) -> Iterator[Stage]:
    """Set a stage for the reference, or for a mutant of it, on a PostgreSQL that runs."""
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        stack = AsyncExitStack()
        try:
            quick = _quick(target(None, mutant).service_file)
            world = runner.run(
                stack.enter_async_context(
                    standing(quick, folder, seed=SEED, mutant=mutant or "", server_url=server_url)
                )
            )
            passed = runner.run(clean_control(world, SEED))
            yield Stage(runner, world, passed.bound_s(quick.timing.settles_within_s))
        finally:
            runner.run(stack.aclose())


def _quick(service_file: ServiceFile) -> ServiceFile:
    service = service_file.service
    provider = service_file.provider
    return service_file.model_copy(
        update={
            "service": service.model_copy(update={"env": {**service.env, **QUICK}}),
            "provider": provider.model_copy(
                update={
                    "timeout_s": float(QUICK["PROVIDER_TIMEOUT_S"]),
                    "lease_s": float(QUICK["LEASE_S"]),
                }
            ),
        }
    )
