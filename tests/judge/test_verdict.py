"""From findings to one verdict, an exit code and the JSON of it."""

import gc
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import onecharge.verdict
from onecharge.history import Case, Judgement, Segment, merge
from onecharge.invariants import Invariant
from onecharge.report import write_json
from onecharge.verdict import RunVerdict, ScenarioVerdict, combine, judge_scenario, not_applicable

if TYPE_CHECKING:
    from tests.judge.conftest import Tale

REPEAT = "onecharge verify --scenario lost_replies --seed 7"


def judged(tale: "Tale") -> ScenarioVerdict:
    return judge_scenario(tale.records, repeat=REPEAT)


def whole(*scenarios: ScenarioVerdict) -> RunVerdict:
    return combine(scenarios, seed=7, duration_s=1.23456)


def good(tale: "Tale") -> "Tale":
    tale.hears(tale.pays("ord-1"))
    tale.ends_well("ord-1")
    return tale


def double(tale: "Tale") -> "Tale":
    tale.pays("ord-1", "up-1")
    tale.hears(tale.pays("ord-1", "up-2"))
    tale.ends_well("ord-1")
    return tale


def test_a_good_run_holds_and_exits_with_0(tale: "Tale") -> None:
    scenario = judged(good(tale))
    run = whole(scenario)

    assert (run.verdict, run.exit_code()) == ("holds", 0)
    assert (scenario.orders, scenario.charges, scenario.fired) == (1, 1, 0)
    assert scenario.ties == {"reference": 1}
    assert run.at_risk == {}


def test_a_double_charge_is_violated_and_exits_with_1(tale: "Tale") -> None:
    run = whole(judged(double(tale)))

    assert (run.verdict, run.exit_code()) == ("violated", 1)
    assert run.at_risk == {"EUR": 500}  # three invariants speak of the same five euros


def test_an_unfair_scenario_reports_exposure_and_leaves_the_exit_code_alone(
    tell: type["Tale"], tale: "Tale"
) -> None:
    unfair = judged(double(tell("ord-1", fair=False, scenario="provider_ignores_keys")))
    alone, beside = whole(unfair), whole(judged(good(tale)), unfair)

    assert (alone.exit_code(), beside.exit_code()) == (0, 0)
    assert unfair.violations == []
    data = beside.to_json()
    assert data["exposure"][0]["order"] == "ord-1"
    assert data["exposure"][0]["scenario"] == "provider_ignores_keys"
    assert {one["verdict"] for one in data["invariants"] if one["exercised"]} == {"holds"}
    assert {one["verdict"] for one in alone.to_json()["invariants"]} == {"not_applicable"}


def test_a_rule_that_never_fired_makes_it_unknown_and_is_named(tell: type["Tale"]) -> None:
    plan = [{"name": "lose_reply"}, {"name": "hold"}]
    tale = tell("ord-1", plan=plan)
    tale.fires("hold")
    run = whole(judged(good(tale)))

    assert (run.verdict, run.exit_code()) == ("unknown", 3)
    assert run.to_json()["not_reached"] == [{"scenario": "lost_replies", "rule": "lose_reply"}]


def test_a_violation_goes_before_a_doubt(tell: type["Tale"]) -> None:
    run = whole(judged(double(tell("ord-1", plan=[{"name": "lose_reply"}]))))

    assert run.exit_code() == 1


@pytest.mark.parametrize("fair", [True, False])
def test_a_charge_of_no_known_order_makes_it_unknown(tell: type["Tale"], fair: bool) -> None:  # noqa: FBT001
    tale = tell("ord-1", "ord-2", fair=fair)
    tale.asks("ord-2")
    tale.hears(tale.pays("ord-1"))
    tale.captures(tale.calls(None), customer=None, reference=None, amount_minor=77)
    tale.ends_well("ord-1")
    tale.believes("ord-2", "absent")

    scenario = judged(tale)

    assert scenario.verdict == "unknown"
    assert scenario.reasons[0].startswith("1 real charge(s) cannot be tied to an order: have the")


def test_a_ledger_of_ours_that_does_not_balance_makes_it_unknown(tale: "Tale") -> None:
    tale.judge("unknown", "ledger", says="debits 5, credits 4")

    scenario = judged(good(tale))

    assert scenario.verdict == "unknown"
    assert "the provider's ledger does not balance (our bug): debits 5, credits 4" in (
        scenario.reasons
    )


def test_a_run_cut_short_is_unknown_and_says_where(tale: "Tale") -> None:
    tale.pays("ord-1")
    assert "the run was cut short (in the beginning)" in judged(tale).reasons

    tale.phase("faults", "heal")
    assert "the run was cut short (in heal)" in judged(tale).reasons


def test_no_history_at_all_is_unknown() -> None:
    scenario = judge_scenario([], repeat=REPEAT)

    assert scenario.verdict == "unknown"
    assert scenario.reasons[:2] == (
        "the history does not say which scenario was run",
        "no order was sent",
    )
    assert whole().exit_code() == 3


def test_a_run_that_was_interrupted_is_unknown_unless_something_was_found(
    tale: "Tale", tell: type["Tale"]
) -> None:
    found = judged(double(tell("ord-1")))
    interrupted = combine([judged(good(tale))], seed=7, duration_s=1, interrupted="Ctrl-C")

    assert interrupted.exit_code() == 3
    assert interrupted.to_json()["interrupted"] == "Ctrl-C"
    assert combine([found], seed=7, duration_s=1, interrupted="Ctrl-C").exit_code() == 1


def test_trouble_in_playing_makes_it_unknown(tale: "Tale") -> None:
    scenario = judge_scenario(good(tale).records, repeat=REPEAT, trouble="the disk is full")

    assert (scenario.verdict, scenario.reasons) == ("unknown", ("the disk is full",))


def broken(case: Case) -> Judgement:
    raise ZeroDivisionError(len(case.orders))


@pytest.mark.parametrize("fair", [True, False])
def test_a_judge_that_fails_makes_it_unknown_and_shows_why(
    tell: type["Tale"],
    monkeypatch: pytest.MonkeyPatch,
    fair: bool,  # noqa: FBT001
) -> None:
    bad = Invariant("broken", "It breaks.", frozenset(), 1, broken)
    monkeypatch.setattr(onecharge.verdict, "invariants", lambda: (bad,))

    scenario = judged(good(tell("ord-1", fair=fair)))

    assert scenario.verdict == "unknown"
    assert scenario.reasons == ("the judge itself failed: ZeroDivisionError: 1",)


def test_records_that_make_no_sense_are_a_failed_judge_and_not_a_crash(tale: "Tale") -> None:
    tale.judge("invoke", "run", orders=[{"no": "order"}])

    scenario = judged(tale)

    assert scenario.verdict == "unknown"
    assert scenario.reasons == ("the judge itself failed: KeyError: 'order'",)


def test_what_the_service_cannot_do_is_not_applicable_and_not_held_against_it(
    tell: type["Tale"],
) -> None:
    run = whole(judged(good(tell("ord-1", capabilities={"webhooks": False}))))
    data = run.to_json()

    assert run.exit_code() == 0
    assert data["not_applicable"] == [
        {"invariant": "forged_events_change_nothing", "lacking": ["webhooks"]},
        {"invariant": "one_effect_per_event", "lacking": ["webhooks"]},
        {"invariant": "duplicates_are_acknowledged", "lacking": ["webhooks"]},
    ]
    verdicts = {one["name"]: one["verdict"] for one in data["invariants"]}
    assert verdicts["one_effect_per_event"] == "not_applicable"
    assert verdicts["one_charge_per_key"] == "holds"


def test_the_json_has_the_form_that_was_promised(tale: "Tale", tmp_path: Path) -> None:
    path = tmp_path / "verdict.json"
    path.write_text("an older verdict, and longer than nothing")
    write_json(whole(judged(double(tale))), path)
    data = json.loads(path.read_text())

    assert list(tmp_path.iterdir()) == [path]
    assert list(data) == [
        "verdict",
        "seed",
        "duration_s",
        "interrupted",
        "scenarios",
        "invariants",
        "advice",
        "exposure",
        "reasons",
        "not_exercised",
        "not_reached",
        "not_applicable",
        "explored",
    ]
    assert (data["verdict"], data["seed"], data["duration_s"]) == ("violated", 7, 1.235)
    [one] = [i for i in data["invariants"] if i["name"] == "one_charge_per_key"]
    assert one["verdict"] == "violated"
    [violation] = one["violations"]
    assert violation["order"] == "ord-1"
    assert violation["boundary"] == "client → API"
    assert violation["repeat"] == REPEAT
    assert {piece["side"] for piece in violation["evidence"]} == {"client", "provider", "service"}
    assert data["scenarios"][0]["unknown_outcomes"]["recovered"] == 0


def test_json_can_go_to_something_that_is_no_file(tale: "Tale") -> None:
    write_json(whole(judged(good(tale))), Path("/dev/null"))


def test_advice_is_listed_and_does_not_change_the_verdict(tale: "Tale") -> None:
    tale.asks("ord-2")
    tale.drops(tale.calls("ord-2", "up-1"))
    asked = tale.asks("ord-2")
    tale.told(asked, provider_charge=tale.captures(tale.calls("ord-2", "up-2")))
    tale.pays("ord-1")
    tale.ends_well("ord-1", "ord-2")
    run = whole(judged(tale))

    assert run.exit_code() == 0
    [note] = run.to_json()["advice"]
    assert note["scenario"] == "lost_replies"
    assert "a new provider key" in note["says"]


def test_a_scenario_that_does_not_apply_leaves_the_verdict_alone() -> None:
    held = ScenarioVerdict("lost_replies", "holds", "again", orders=1, charges=1)
    absent = not_applicable("duplicate_events_at_once", ("webhooks",))

    run = combine([held, absent], seed=1, duration_s=1)

    assert run.verdict == "holds"
    assert run.not_applicable == [("scenario", "duplicate_events_at_once", ("webhooks",))]
    assert combine([absent], seed=1, duration_s=1).verdict == "unknown"


def test_what_found_nothing_of_its_kind_leaves_the_scenario_alone(tale: "Tale") -> None:
    scenario = judged(good(tale))
    found = {one.name: one for one in scenario.invariants}

    assert (scenario.verdict, scenario.reasons) == ("holds", ())
    assert not found["refunds_never_exceed"].counts
    assert found["one_charge_per_key"].counts


def test_what_a_scenario_was_planned_to_exercise_must_be(tell: type["Tale"]) -> None:
    scenario = judged(good(tell("ord-1", exercises=["refunds_never_exceed"])))

    assert scenario.verdict == "unknown"
    assert scenario.reasons == ("refunds_never_exceed: there was nothing to judge",)


def test_over_the_whole_library_everything_must_be_put_to_the_test(tale: "Tale") -> None:
    scenario = judged(good(tale))
    part = combine([scenario], seed=7, duration_s=1)
    all_of_it = combine([scenario], seed=7, duration_s=1, whole=True)

    assert (part.verdict, part.reasons) == ("holds", ())
    assert "refunds_never_exceed" in part.not_exercised
    assert all_of_it.verdict == "unknown"
    assert "no scenario put refunds_never_exceed to the test" in all_of_it.reasons
    told = {one["name"]: one for one in all_of_it.to_json()["invariants"]}
    assert (told["refunds_never_exceed"]["verdict"], told["one_charge_per_key"]["verdict"]) == (
        "unknown",
        "holds",
    )


def test_what_is_said_of_a_whole_run_speaks_of_the_same_money(tale: "Tale") -> None:
    tale.hears(tale.pays("ord-1"), times=2)
    tale.settles()
    tale.believes("ord-1", effects=2)
    run = whole(judged(tale))

    assert {name for name, _ in named(run)} == {"one_effect_per_event", "books_agree"}
    assert run.at_risk == {"EUR": 500}


def named(run: RunVerdict) -> list[tuple[str, str]]:
    return [
        (one.name, violation.says)
        for scenario in run.scenarios
        for one in scenario.invariants
        for violation in one.judgement.violations
    ]


def test_what_several_hosts_wrote_is_judged_as_far_as_order_does_not_matter(
    tale: "Tale", tell: type["Tale"]
) -> None:
    provider, worker = good(tale).records, tell(announced=False)
    worker.refused("ord-2", "refused")
    segments = [Segment("here", 1, provider), Segment("there", 2, worker.records)]

    scenario = judge_scenario(merge(segments), repeat=REPEAT)
    found = {one.name: one for one in scenario.invariants}

    assert scenario.verdict == "unknown"
    assert found["one_charge_per_key"].verdict == "holds"
    assert found["answers_tell_the_truth"].judgement.reasons == (
        "what here and there wrote has no common order",
    )
    assert scenario.duration_s >= 0


@pytest.mark.parametrize("searched", [True, False])
def test_whether_cycles_are_looked_for_is_afterwards_as_it_was(
    tale: "Tale",
    searched: bool,  # noqa: FBT001
) -> None:
    before = gc.isenabled()
    try:
        (gc.enable if searched else gc.disable)()
        judged(good(tale))
        assert gc.isenabled() == searched
    finally:
        (gc.enable if before else gc.disable)()
