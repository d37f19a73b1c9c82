"""Scenarios side by side: who shares the stage, and that sharing changes no verdict."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from onecharge.control import clean_control
from onecharge.history.judgement import Judgement, Violation
from onecharge.phases import Play, perform
from onecharge.scenario_file import Scenario, ScenarioFile, library, read_scenario_file
from onecharge.side_by_side import AT_ONCE, arranged, to_be_confirmed
from onecharge.targets import target
from onecharge.verdict import InvariantVerdict, ScenarioVerdict, judge_scenario
from onecharge.verify import Run
from onecharge.watch import Seen
from onecharge.world.postgres import Postgres
from onecharge.world.world import standing

SEED = 1
THREE = ("duplicate_events_one_by_one", "lost_replies", "declined_cards")


def scenario(name: str, **fields: object) -> Scenario:
    file = ScenarioFile.model_validate({"title": name, "why": name, **fields})
    return Scenario(name, Path(f"{name}.toml"), file)


@pytest.mark.parametrize(
    "fields",
    [
        {"alone": True},
        {"kills": [{"at": "committed"}]},
        {"faults": [{"fault": "forget_keys"}]},
        {"faults": [{"fault": "foreign_account"}]},
        {"faults": [{"fault": "hold", "until": "quiet"}]},
    ],
)
def test_what_would_strike_the_others_plays_alone(fields: dict[str, object]) -> None:
    strikes_all = scenario("strikes_all", **fields)

    groups = list(arranged([strikes_all, scenario("a"), scenario("b")], tied=True))

    assert [[each.name for each in group] for group in groups] == [["a", "b"], ["strikes_all"]]


def test_groups_are_small_and_leave_nobody_out() -> None:
    many = [scenario(f"s{n}") for n in range(2 * AT_ONCE + 1)]

    groups = list(arranged(many, tied=True))

    assert [len(group) for group in groups] == [AT_ONCE, AT_ONCE, 1]
    assert [each for group in groups for each in group] == many


def test_those_that_take_their_time_share_it() -> None:
    quick = [scenario(f"quick_{n}") for n in range(AT_ONCE)]
    slow = scenario("slow", steps=[{"do": "wait", "ms": 4000}])

    *_, last = arranged([slow, *quick], tied=True)

    assert [each.name for each in last] == ["slow"]


def test_charges_that_name_no_order_leave_everybody_alone() -> None:
    groups = list(arranged([scenario("a"), scenario("b")], tied=False))

    assert [len(group) for group in groups] == [1, 1]


def found(invariant: str) -> ScenarioVerdict:
    violation = Violation(
        order="ord-1", says="so", evidence=(), boundary="client → API", guard="", cause=""
    )
    judged = InvariantVerdict(invariant, Judgement("violated", (violation,)))
    return ScenarioVerdict("s", "violated", "", invariants=(judged,))


def test_what_may_only_have_been_late_has_to_be_confirmed_alone() -> None:
    assert to_be_confirmed(ScenarioVerdict("s", "unknown", ""))
    assert to_be_confirmed(found("every_order_settles"))
    assert not to_be_confirmed(found("one_charge_per_key"))
    assert not to_be_confirmed(ScenarioVerdict("s", "holds", ""))


class Heard:
    """A listener that remembers which scenarios it was told of."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def step(self, says: str) -> None:
        """Nothing of it is looked at."""

    def playing(self, name: str) -> AbstractContextManager[object]:  # noqa: ARG002 - as a listener
        return nullcontext()

    def seen(self, scenario: str, seen: Seen) -> None:
        """Nothing of it is looked at."""

    def scenario(self, scenario: ScenarioVerdict) -> None:
        self.names.append(scenario.name)


def histories_in(folder: Path) -> set[str]:
    return {path.stem for path in folder.glob("*.jsonl")}


async def test_what_is_left_in_doubt_is_played_again_alone_and_told_once(
    postgres: Postgres, tmp_path: Path
) -> None:
    never = {"fault": "lose_reply", "operation": "charge.cancel"}
    doubtful = scenario("doubtful", orders=1, faults=[never])
    heard = Heard()
    run = Run(
        target(None, None),
        [doubtful, scenario("clear", orders=1)],
        SEED,
        folder=tmp_path,
        listener=heard,
        server_url=postgres.url("postgres"),
    )

    verdict = await run.verdict()

    assert [(each.name, each.verdict) for each in verdict.scenarios] == [
        ("doubtful", "unknown"),
        ("clear", "holds"),
    ]
    assert verdict.scenarios[0].not_reached == ("lose_reply",)
    assert sorted(heard.names) == ["clear", "doubtful"]
    assert histories_in(tmp_path) == {"control", "clear", "doubtful", "doubtful.alone"}


async def test_the_verdicts_are_the_same_side_by_side_and_alone(
    postgres: Postgres, tmp_path: Path
) -> None:
    wanted = target(None, "no_event_dedupe")
    async with standing(
        wanted.service_file,
        tmp_path,
        seed=SEED,
        mutant=wanted.mutant,
        server_url=postgres.url("postgres"),
    ) as world:
        bound_s = (await clean_control(world, SEED)).bound_s(None)
        scenarios = [read_scenario_file(library()[name]) for name in THREE]
        together = [Play(world, each, SEED, bound_s) for each in scenarios]
        await perform(world, together, SEED)
        alone = [Play(world, each, SEED, bound_s, label=f"{each.name}.alone") for each in scenarios]
        for play in alone:
            await perform(world, [play], SEED)

    def outcomes(plays: list[Play]) -> list[tuple[str, str, int, list[str]]]:
        judged = [judge_scenario(play.recorder.records, repeat="") for play in plays]
        return [
            (each.name, each.verdict, each.orders, [v.boundary for v in each.violations])
            for each in judged
        ]

    assert outcomes(together) == outcomes(alone)
    assert [verdict for _, verdict, *_ in outcomes(alone)] == ["violated", "holds", "holds"]
