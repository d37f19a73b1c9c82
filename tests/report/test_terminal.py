"""What a person reads."""

import io
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from onecharge.report import Terminal
from onecharge.verdict import ScenarioVerdict, combine, judge_scenario

if TYPE_CHECKING:
    from tests.judge.conftest import Tale

REPEAT = "onecharge verify --service onecharge.toml --scenario lost_replies --seed 7 " + "x" * 80


ORDERS = ("ord-1", "ord-2", "ord-3")


class Screen:
    """A console that remembers, and a terminal that prints to it."""

    def __init__(self, *, encoding: str = "utf-8", **options: bool) -> None:
        self.file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, write_through=True)
        self.console = Console(file=self.file, width=80, **options)  # type: ignore[arg-type]
        self.terminal = Terminal(self.console)

    @property
    def text(self) -> str:
        self.file.seek(0)
        return self.file.read()

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()


def judged(tale: "Tale") -> ScenarioVerdict:
    return judge_scenario(tale.records, repeat=REPEAT)


def show(screen: Screen, *scenarios: ScenarioVerdict, report: Path | None = None) -> list[str]:
    screen.terminal.verdict(combine(scenarios, seed=7, duration_s=1), report)
    return screen.lines[1:]


def double(tale: "Tale", *orders: str) -> "Tale":
    for order in orders:
        tale.pays(order, f"up-{order}-1")
        tale.hears(tale.pays(order, f"up-{order}-2"))
    tale.ends_well(*orders)
    return tale


def good(tale: "Tale") -> "Tale":
    tale.told(tale.asks("ord-1"), "unknown")
    tale.hears(tale.pays("ord-1"))
    tale.ends_well("ord-1")
    return tale


def test_a_scenario_is_one_line(tale: "Tale") -> None:
    screen = Screen()
    tale.fires("lose_reply")
    screen.terminal.scenario(judged(good(tale)))

    [line] = screen.lines
    assert line.startswith("✓ lost_replies ")
    assert "1 orders · 1 charges · 1 faults fired  0.0 s" in line


def test_of_many_scenarios_those_that_hold_share_lines() -> None:
    screen = Screen()
    screen.terminal.title("shop", 40, 1)

    for number in range(5):
        screen.terminal.scenario(ScenarioVerdict(f"good_{number}", "holds", ""))
    screen.terminal.scenario(ScenarioVerdict("doubtful", "unknown", ""))
    screen.terminal.scenario(ScenarioVerdict("good_5", "holds", ""))
    show(screen, ScenarioVerdict("good_5", "holds", ""))

    assert [line.split("  ")[0] for line in screen.lines[1:5]] == [
        "✓ good_0 · good_1 · good_2 · good_3",
        "✓ good_4",
        "? doubtful",
        "✓ good_5",
    ]


def test_an_exposed_scenario_says_that_it_does_not_count(tell: type["Tale"]) -> None:
    screen = Screen()
    screen.terminal.scenario(judged(double(tell("ord-1", fair=False), "ord-1")))

    assert screen.text.startswith("✓ lost_replies")
    assert "exposed (unfair: does not count)" in screen.text


def test_a_good_run_says_what_was_judged(tale: "Tale") -> None:
    lines = show(Screen(), judged(good(tale)), report=Path("run/report.html"))

    assert lines == [
        "✓ holds: 1 orders in 1 fair scenarios, 1 real charges, none twice",
        "unknown outcomes: 1 recovered",
        "report: run/report.html",
    ]


def test_a_good_run_without_unknown_outcomes_does_not_speak_of_them(tale: "Tale") -> None:
    tale.pays("ord-1")
    tale.ends_well("ord-1")

    assert show(Screen(), judged(tale)) == [
        "✓ holds: 1 orders in 1 fair scenarios, 1 real charges, none twice"
    ]


def test_a_double_charge_is_told_with_the_money_first_and_the_command_in_one_piece(
    tale: "Tale",
) -> None:
    lines = show(Screen(), judged(double(tale, "ord-1", "ord-2")))

    assert lines[0] == "✗ violated: 10.01 EUR at risk in 2 order(s)"
    assert lines[1].startswith("one_charge_per_key · lost_replies: ord-1 was charged 2 times")
    assert lines[1].endswith("(and 1 more like it)")
    sides = [line.split()[0] for line in lines[2:6]]
    assert {"client", "provider", "service"} == set(sides)
    assert sides.count("provider") == 2
    assert lines[6].startswith("  open     client → API: ")
    assert lines[7].startswith("  guard    ")
    assert lines[8] == f"  repeat: {REPEAT}"
    assert lines[9].startswith("also violated: one_effect_per_event in lost_replies")


def test_a_finding_with_little_evidence_shows_all_of_it(tale: "Tale") -> None:
    tale.told(tale.asks("ord-1"), status=201)
    lines = show(Screen(), judged(tale))

    assert lines[0] == "✗ violated: 5.00 EUR at risk in 1 order(s)"
    assert lines[1].startswith("answers_tell_the_truth · lost_replies: ord-1: told ok")
    assert lines[2].startswith(
        "  client   #2 attempt 1 under key key-ord-1 was told: ok (HTTP 201)"
    )
    assert lines[3].startswith("  open     API → provider")


def test_whatever_there_is_to_say_takes_fifteen_lines(tell: type["Tale"]) -> None:
    scenarios = []
    for number in range(4):
        plan = [{"name": f"rule-{n}"} for n in range(6)]
        worst = tell(*ORDERS, scenario=f"s{number}", plan=plan, capabilities={"webhooks": False})
        worst.told(worst.asks("ord-1"), "unknown")
        worst.asks("ord-3")
        worst.drops(worst.calls("ord-3", "up-1"))
        worst.told(worst.asks("ord-3"), provider_charge=worst.captures(worst.calls("ord-3", "up")))
        scenarios.append(judged(double(worst, "ord-1", "ord-2")))
    scenarios += [judged(double(tell("ord-1", fair=False), "ord-1")) for _ in range(3)]

    lines = show(Screen(), *scenarios, report=Path("report.html"))

    assert len(lines) == 15
    assert [line.split()[0] for line in lines[9:]] == [
        "also",
        "unknown",
        "unknown",
        "advice",
        "exposure",
        "report:",
    ]
    assert lines[10] == "unknown s0: the fault rule-0 never fired (and 23 more)"
    assert lines[11].startswith("unknown outcomes: ")
    assert lines[12].endswith(" more)")
    assert lines[13].endswith(" more)")


def test_invariants_that_are_violated_as_well_are_named_in_one_line(tell: type["Tale"]) -> None:
    scenarios = [judged(double(tell("ord-1", scenario=f"s{n}"), "ord-1")) for n in range(3)]

    [line] = [line for line in show(Screen(), *scenarios) if line.startswith("also")]

    assert line.startswith(
        "also violated: one_charge_per_key in s1 and 1 more; one_effect_per_event in s0 and 2 more"
    )


def test_what_ended_a_violated_run_early_is_said(tale: "Tale") -> None:
    run = combine([judged(double(tale, "ord-1"))], seed=7, duration_s=1, interrupted="by SIGINT")
    screen = Screen()
    screen.terminal.verdict(run)

    assert "unknown by SIGINT" in screen.lines


def test_an_unknown_run_says_why_and_how_to_repeat_it(tell: type["Tale"]) -> None:
    tale = tell("ord-1", plan=[{"name": f"rule-{n}"} for n in range(6)])
    lines = show(Screen(), judged(good(tale)))

    assert lines[0] == "? unknown: 1 of 1 scenarios could not be judged"
    assert lines[1] == "unknown lost_replies: the fault rule-0 never fired"
    assert lines[4] == "unknown lost_replies: the fault rule-3 never fired (and 2 more)"
    assert lines[5] == f"  repeat: {REPEAT}"


def test_an_interrupted_run_says_what_ended_it(tale: "Tale") -> None:
    screen = Screen()
    run = combine([judged(good(tale))], seed=7, duration_s=1, interrupted="interrupted by Ctrl-C")
    screen.terminal.verdict(run)

    assert screen.lines[1] == "? unknown: interrupted by Ctrl-C after 1 scenario(s)"


def test_what_is_ready_and_tables_are_printed_as_they_are() -> None:
    screen = Screen()
    screen.terminal.title("shop", 14, 7)
    screen.terminal.step("PostgreSQL [18] is up")
    screen.terminal.table("faults", ["name", "fair"], [["[hold]", "yes"]])

    assert screen.lines[:2] == [
        "onecharge shop · 14 scenario(s) · seed 7",
        "· PostgreSQL [18] is up",
    ]
    assert "[hold]" in screen.text


def test_advice_and_what_does_not_apply_are_named(tell: type["Tale"]) -> None:
    tale = tell("ord-1", "ord-2", capabilities={"webhooks": False})
    tale.asks("ord-2")
    tale.drops(tale.calls("ord-2", "up-1"))
    tale.told(tale.asks("ord-2"), provider_charge=tale.captures(tale.calls("ord-2", "up-2")))
    lines = show(Screen(), judged(good(tale)))

    assert any(line.startswith("advice lost_replies: a new provider key") for line in lines)
    [note] = [line for line in lines if line.startswith("not applicable without webhooks: ")]
    assert "one_effect_per_event" in note


def test_foreign_text_is_never_markup_and_never_obeyed(tell: type["Tale"]) -> None:
    order = "[red]ord[/red]\x1b[2J\nevil"
    screen = Screen(force_terminal=True)
    lines = show(screen, judged(double(tell(order), order)))

    assert "\x1b[2J" not in screen.text
    assert r"[red]ord[/red]\x1b[2J\nevil was charged 2 times" in lines[1]


def test_colours_are_left_out_when_nobody_wants_them(
    tale: "Tale", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    screen = Screen(force_terminal=True)
    screen.terminal.scenario(judged(good(tale)))

    assert "\x1b[32m" not in screen.text
    assert "32" not in screen.text.partition("✓")[0]


def test_a_console_that_knows_only_ascii_gets_only_ascii(tale: "Tale") -> None:
    screen = Screen(encoding="ascii")
    screen.terminal.scenario(judged(good(tale)))
    show(screen, judged(double(tale, "ord-2")))

    assert screen.text.startswith("+ lost_replies")
    assert screen.text.isascii()


def test_while_a_scenario_plays_only_a_person_is_told() -> None:
    screen, watched = Screen(), Screen(force_terminal=True)
    with screen.terminal.playing("lost_replies"):
        pass
    with watched.terminal.playing("lost_replies"):
        pass

    assert screen.text == ""
    assert "lost_replies" in watched.text
