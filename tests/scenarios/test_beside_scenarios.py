"""What is explored beside scenarios: in which world, and what becomes of the run's verdict."""

import shutil
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from onecharge.explored import Discovery, Part
from onecharge.scenario_file import named_scenario
from onecharge.stored_run import stored_run
from onecharge.targets import Target, target
from onecharge.verdict import ScenarioVerdict
from onecharge.verify import Run, ToExplore
from onecharge.watch import Seen
from onecharge.world.world import World

SHOP = Path(__file__).parents[1] / "cli"
FOUND = Discovery("one_charge_per_key", "explore-x-1", 1, 20, 20, ("a step",), "onecharge run x")


class Audience:
    def step(self, says: str) -> None: ...

    def playing(self, name: str) -> AbstractContextManager[object]:  # noqa: ARG002
        return nullcontext()

    def seen(self, scenario: str, seen: Seen) -> None: ...

    def scenario(self, scenario: ScenarioVerdict) -> None: ...


@dataclass
class Tour:
    """Something to explore that only says where it was."""

    name: str
    gated: bool
    parts: list[Part]
    found: Discovery | None = None
    worlds: list[World] = field(default_factory=list)
    tied: bool | None = None
    verdicts: tuple[ScenarioVerdict, ...] = ()

    @property
    def names(self) -> list[str]:
        return [self.name]

    async def through(self, world: World, bound_s: float, *, tied: bool) -> None:
        assert bound_s > 0
        self.worlds.append(world)
        self.tied = tied
        self.parts.append(Part(self.name, self.name, runs=1, found=self.found))

    def leave_out(self) -> None:
        self.parts.append(Part(self.name, self.name, says=("left out",)))


@pytest.fixture
def shop(tmp_path: Path) -> Target:
    for name in ("onecharge.toml", "shop.py"):
        shutil.copy(SHOP / name, tmp_path)
    return target(tmp_path / "onecharge.toml", None)


def run_of(
    shop: Target, folder: Path, parts: list[Part], *tours: Tour, scenarios: bool = True
) -> Run:
    folder.mkdir()
    return Run(
        shop,
        [named_scenario("badly_signed_events")] if scenarios else [],
        1,
        folder=folder,
        listener=Audience(),
        to_explore=ToExplore(tours, parts),
    )


async def test_what_needs_no_gates_comes_into_the_world_of_the_scenarios(
    shop: Target, tmp_path: Path
) -> None:
    parts: list[Part] = []
    gated, plain = Tour("gated", True, parts), Tour("plain", False, parts)

    verdict = await run_of(shop, tmp_path / "run", parts, gated, plain).verdict()

    assert verdict.verdict == "holds"
    assert [part.name for part in verdict.parts] == ["plain", "gated"]
    assert plain.worlds != gated.worlds
    assert (plain.tied, gated.tied) == (True, True)
    assert {path.name for path in (tmp_path / "run").glob("control*")} == {
        *("control.jsonl", "control.again.jsonl"),
    }
    assert "badly_signed_events" in stored_run(str(tmp_path / "run")).histories
    assert "control.again" not in stored_run(str(tmp_path / "run")).histories


async def test_every_world_has_a_control_of_its_own(shop: Target, tmp_path: Path) -> None:
    parts: list[Part] = []
    tours = [Tour(str(nth), nth == 2, parts) for nth in (1, 2, 3)]

    verdict = await run_of(shop, tmp_path / "run", parts, *tours, scenarios=False).verdict()

    assert [part.name for part in verdict.parts] == ["1", "2", "3"]
    assert {path.name for path in (tmp_path / "run").glob("control*")} == {
        *("control.jsonl", "control.again.jsonl", "control.again-2.jsonl"),
    }
    assert stored_run(str(tmp_path / "run")).histories == {}


async def test_after_a_finding_no_further_world_is_made(shop: Target, tmp_path: Path) -> None:
    parts: list[Part] = []
    plain = Tour("plain", False, parts, found=FOUND)
    gated = Tour("gated", True, parts)

    verdict = await run_of(shop, tmp_path / "run", parts, plain, gated).verdict()

    assert verdict.verdict == "violated"
    assert gated.worlds == []
    assert verdict.parts[1] == replace(Part("gated", "gated"), says=("left out",))
