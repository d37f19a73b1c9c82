"""A team's own service, known by nothing but its service file, is judged like any other."""

import json
from typing import TYPE_CHECKING, Any

from onecharge.scenario_file import library

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import OneCharge, Shop

NEVER_FIRES = """
title = "A refund is lost, in a shop that never refunds"
why = "What was planned and did not happen proves nothing."
orders = 2

[[faults]]
fault = "lose_reply"
operation = "charge.refund"
name = "refund lost"
"""

KEYS_IGNORED = """
title = "The provider ignores keys and loses replies"
why = "Not every provider, operation and region honours keys."
orders = 2

[[faults]]
fault = "ignore_keys"
operation = "charge.create"

[[faults]]
fault = "lose_reply"
operation = "charge.create"
times = 2
"""


def test_a_service_that_is_right_holds(onecharge: "OneCharge", shop: "Shop") -> None:
    scenarios = ("lost_replies", "parallel_same_key", "duplicate_events_at_once")
    named = [word for name in scenarios for word in ("--scenario", name)]

    ended = onecharge("verify", "--service", shop(), *named)

    assert ended.exit_code == 0, ended.says
    assert "corner shop" in ended.out
    assert "holds" in ended.out


def test_a_service_that_charges_again_and_answers_the_same_is_found_out(
    onecharge: "OneCharge", shop: "Shop", tmp_path: "Path"
) -> None:
    service = shop(mistake="charges_every_press")

    ended = onecharge(
        *("verify", "--service", service, "--scenario", "parallel_same_key"),
        *("--seed", "7", "--json", "verdict.json", "--junit", "junit.xml", "--html", "page.html"),
    )

    assert ended.exit_code == 1, ended.says
    verdict = json.loads((tmp_path / "verdict.json").read_text())
    violated = {each["name"] for each in verdict["invariants"] if each["verdict"] == "violated"}
    assert violated == {"one_charge_per_key"}
    repeat = "onecharge verify --scenario parallel_same_key --service onecharge.toml --seed 7"
    assert f"repeat: {repeat}\n" in ended.out
    # While it was played, and not with the verdict on it.
    assert ended.out.index("one_charge_per_key, seen at record ") < ended.out.index("orders · ")
    assert "<failure " in (tmp_path / "junit.xml").read_text()
    assert f"<pre>{repeat}</pre>" in (tmp_path / "page.html").read_text()

    again = onecharge("report", "--json", "again.json")

    assert again.exit_code == 1, again.says
    judged_again = json.loads((tmp_path / "again.json").read_text())
    for told in ("scenarios", "invariants"):
        assert judged_again[told] == verdict[told]
    # The same words again, from the scenario's line on: what was ready is no part of a history.
    assert ended.out.endswith(again.out.partition("\n")[2])


def test_a_fault_that_never_fires_is_named_and_nothing_is_green(
    here: "OneCharge", shop: "Shop", tmp_path: "Path"
) -> None:
    (tmp_path / "refunds.toml").write_text(NEVER_FIRES)

    ended = here("run", "refunds.toml", "--service", shop(), "--json", "verdict.json")

    assert ended.exit_code == 3, ended.says
    assert "unknown refunds: the fault refund lost never fired" in ended.out
    assert "repeat: onecharge run refunds.toml --service onecharge.toml --seed 1\n" in ended.out
    verdict = json.loads((tmp_path / "verdict.json").read_text())
    assert verdict["verdict"] == "unknown"
    assert verdict["not_reached"] == [{"scenario": "refunds", "rule": "refund lost"}]


def test_what_only_a_provider_that_breaks_its_word_could_do_is_exposure(
    here: "OneCharge", shop: "Shop", tmp_path: "Path"
) -> None:
    (tmp_path / "keys_ignored.toml").write_text(KEYS_IGNORED)

    ended = here("run", "keys_ignored.toml", "--service", shop(), "--json", "verdict.json")

    assert ended.exit_code == 0, ended.says
    assert "exposure keys_ignored: " in ended.out
    verdict = json.loads((tmp_path / "verdict.json").read_text())
    exposed = {found["invariant"] for found in verdict["exposure"]}
    assert "one_charge_per_key" in exposed
    assert violations_of(verdict) == []


def test_a_capability_declared_absent_makes_its_invariant_not_applicable(
    here: "OneCharge", shop: "Shop", tmp_path: "Path"
) -> None:
    service = shop()
    file = tmp_path / service
    before, _, rest = file.read_text().partition("[effects]\n")
    rest = rest.partition("\n\n")[2].replace("[capabilities]", "[capabilities]\neffects = false")
    file.write_text(before + rest)

    ended = here(
        *("verify", "--service", service, "--scenario", "duplicate_events_at_once"),
        *("--json", "verdict.json"),
    )

    assert ended.exit_code == 0, ended.says
    verdict = json.loads((tmp_path / "verdict.json").read_text())
    assert [one for one in verdict["not_applicable"] if "effects" in one["lacking"]] == [
        {"invariant": "one_effect_per_event", "lacking": ["effects"]},
        {"invariant": "books_agree", "lacking": ["effects"]},
    ]


def test_a_verdict_that_cannot_be_written_is_said_and_not_green(
    here: "OneCharge", shop: "Shop"
) -> None:
    words = ("verify", "--service", shop(), "--scenario", "badly_signed_events")

    ended = here(*words, "--json", "/dev/full")

    assert ended.exit_code == 3, ended.says
    assert "✓ holds: " in ended.out
    assert ended.err == (
        "onecharge: /dev/full: the verdict cannot be written: No space left on device\n"
    )


def violations_of(verdict: dict[str, Any]) -> list[Any]:
    return [found for invariant in verdict["invariants"] for found in invariant["violations"]]


def test_the_scenarios_used_here_are_in_the_library() -> None:
    assert {"lost_replies", "parallel_same_key", "duplicate_events_at_once"} <= library().keys()


def test_a_service_that_does_not_come_back_is_unknown_and_what_was_seen_is_judged(
    here: "OneCharge", shop: "Shop", tmp_path: "Path"
) -> None:
    scenarios = ("lost_replies", "killed_between_commit_and_record", "rolling_replacement")
    named = [word for name in scenarios for word in ("--scenario", name)]

    ended = here("verify", "--service", shop("starts_once"), *named, "--json", "verdict.json")

    assert ended.exit_code == 3, ended.says
    assert "service-1 ended with code 1 before it was ready" in ended.out
    verdict = json.loads((tmp_path / "verdict.json").read_text())
    assert [(one["name"], one["verdict"]) for one in verdict["scenarios"]] == [
        ("lost_replies", "holds"),
        ("killed_between_commit_and_record", "unknown"),
    ]


def test_a_scenario_that_needs_what_a_service_has_not_does_not_apply(
    here: "OneCharge", shop: "Shop", tmp_path: "Path"
) -> None:
    service = tmp_path / shop()
    text = service.read_text().replace("refunds = false", "refunds = false\nwebhooks = false")
    service.write_text(text.replace('[webhook]\npath = "/news"\n', ""))

    ended = here(
        *("verify", "--service", service, "--json", "verdict.json"),
        *("--scenario", "duplicate_events_at_once", "--scenario", "lost_replies"),
    )

    assert ended.exit_code == 0, ended.says
    verdict = json.loads((tmp_path / "verdict.json").read_text())
    assert {"scenario": "duplicate_events_at_once", "lacking": ["webhooks"]} in verdict[
        "not_applicable"
    ]


def test_a_service_to_which_nothing_applies_is_not_green(
    here: "OneCharge", shop: "Shop", tmp_path: "Path"
) -> None:
    service = tmp_path / shop()
    service.write_text(service.read_text() + "restartable = false\n")

    ended = here(
        *("verify", "--service", service, "--scenario", "killed_between_commit_and_record")
    )

    assert ended.exit_code == 3, ended.says
    assert "no scenario applies to this service" in ended.out
