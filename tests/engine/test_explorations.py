"""Explorations and repetitions in one world of a service that is right."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from onecharge.control import clean_control
from onecharge.engine.retold import Deviation, Step
from onecharge.engine.scope import Scope
from onecharge.engine.stage import SCOPES
from onecharge.explored import Part, Parts, parts_in
from onecharge.exploring.counterexample import Counterexample, counterexample_of
from onecharge.exploring.exploration import Budget, Exploration
from onecharge.exploring.repetition import REPEATS, Repetition
from onecharge.stored_run import StoredRun
from onecharge.targets import Target, target
from onecharge.world.postgres import Postgres
from onecharge.world.world import World, standing

FILE = Path(__file__).parent / "services" / "onecharge.toml"
TWO = SCOPES["two-requests"]
ASLEEP_S = 10.0


class Audience:
    """Who listens, and cancels what is under way when asked to."""

    def __init__(self) -> None:
        self.heard: list[Part] = []

    def step(self, says: str) -> None: ...

    def playing(self, name: str) -> AbstractContextManager[object]:  # noqa: ARG002
        return nullcontext()

    def explored(self, part: Part) -> None:
        self.heard.append(part)


@pytest.fixture(scope="module")
def wanted() -> Target:
    return target(FILE, None)


@pytest.fixture(autouse=True)
def no_history_of_another_test(world: World) -> Iterator[None]:
    """Every test of this world begins its histories anew; seeds keep its orders apart."""
    yield
    for path in world.folder.glob("explore-*.jsonl"):
        path.unlink()


@pytest.fixture(scope="module")
async def world(
    wanted: Target, postgres: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[World]:
    folder = tmp_path_factory.mktemp("explorations")
    url = postgres.url("postgres")
    async with standing(wanted.service_file, folder, seed=1, gated=True, server_url=url) as world:
        await clean_control(world, seed=1)
        yield world


def exploration(
    wanted: Target,
    folder: Path,
    seed: int,
    scopes: Sequence[Scope] = (TWO,),
    *,
    looks: int = 10,
    bound: int | None = None,
) -> Exploration:
    """Explore until the clock was looked at so many times: no test waits for a real one."""
    clock = itertools.count()
    return Exploration(
        wanted,
        seed,
        Budget(looks, bound),
        Parts(folder, Audience()),
        scopes=scopes,
        clock=lambda: next(clock),
    )


async def test_every_scope_is_explored_or_said_not_to_apply(
    world: World, wanted: Target, tmp_path: Path
) -> None:
    scopes = [SCOPES[name] for name in ("own-webhook", "two-requests", "lease-runs-out")]
    exploring = exploration(wanted, tmp_path, 2, scopes, looks=40, bound=0)

    await exploring.through(world, ASLEEP_S, tied=True)

    parts = {part.name: part for part in exploring.parts.all}
    assert list(parts) == [scope.name for scope in scopes]
    assert parts["two-requests"].verdict == "holds"
    assert parts["own-webhook"].why_not == "the service takes no webhooks"
    assert {verdict.verdict for verdict in exploring.verdicts} == {"holds"}
    assert parts_in(tmp_path) == tuple(exploring.parts.all)


async def test_without_time_a_scope_is_run_once_all_the_same(
    world: World, wanted: Target, tmp_path: Path
) -> None:
    exploring = exploration(wanted, tmp_path, 3, looks=0)

    await exploring.through(world, ASLEEP_S, tied=True)

    [part] = exploring.parts.all
    assert part.runs == 1
    assert not part.complete


async def test_one_that_is_interrupted_is_in_doubt_and_so_is_the_stored_run(
    world: World, wanted: Target, tmp_path: Path
) -> None:
    exploring = exploration(wanted, tmp_path, 4, looks=1_000_000)
    task = asyncio.ensure_future(exploring.through(world, ASLEEP_S, tied=True))
    while not exploring.verdicts:
        await asyncio.sleep(0)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    [part] = exploring.parts.all
    assert (part.verdict, part.doubt) == ("unknown", "interrupted")
    assert StoredRun(tmp_path).judged().reasons == ("two-requests: interrupted",)


def recording(path: Path, wanted: Target, takes: str) -> Counterexample:
    deviation = Deviation(1, "release", 1, takes, "client:1 INSERT INTO sales #1")
    return counterexample_of(
        path,
        (Step("Something happens", (deviation,)),),
        wanted=wanted,
        scope=TWO,
        violates="one_charge_per_key",
        seed=5,
        found_after=1,
        failed=20,
        of=20,
    )


@pytest.mark.parametrize(
    "takes, verdict", [("client:2 POST /pay #1", "holds"), ("client:1 DELETE #1", "unknown")]
)
async def test_a_recording_is_repeated_or_said_not_to_be_on_offer(
    takes: str, verdict: str, world: World, wanted: Target, tmp_path: Path
) -> None:
    seed = len(takes)  # each has orders of its own in this world
    example = recording(tmp_path / "counterexample.toml", wanted, takes)
    parts = Parts(tmp_path, Audience())
    repetition = Repetition(example, wanted, seed, parts)

    await repetition.through(world, ASLEEP_S, tied=True)

    [part] = parts.all
    assert (part.verdict, part.runs) == (verdict, REPEATS)
    assert f"violated in 0 of {REPEATS} repeats" in part.says[0]
    if verdict == "unknown":
        assert "'client:1 DELETE #1', which is not on offer" in part.says[1]
    assert [one.verdict for one in repetition.verdicts] == ["holds"]
    assert repetition.verdicts[0].orders == REPEATS + 1  # and the one by which habits are learnt
