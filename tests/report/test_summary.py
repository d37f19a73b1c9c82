"""What stands beside a build, in Markdown."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from onecharge.report.foreign_text import visible
from onecharge.report.summary import append_summary, summary_text
from onecharge.verdict import RunVerdict, combine, not_applicable
from tests.report.conftest import HOSTILE, REPEAT, doubled, judged, right, run_of

if TYPE_CHECKING:
    from tests.judge.conftest import Tale


def parsed(run: RunVerdict) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(summary_text(run, "shop"))


def texts(tokens: list[Token], kind: str) -> list[str]:
    """Return what stands in each element of a kind."""
    inside = [token for before, token in pairwise(tokens) if before.type == kind]
    return ["".join(child.content for child in token.children or ()) for token in inside]


def test_a_violated_run_opens_with_the_money_and_says_how_to_see_it_again(tale: "Tale") -> None:
    tokens = parsed(run_of(doubled(tale, "ord-1", "ord-2")))

    assert texts(tokens, "heading_open")[0] == "❌ onecharge: shop: violated"
    assert texts(tokens, "paragraph_open")[0] == "10.01 EUR at risk in 2 order(s)"
    assert next(token.content for token in tokens if token.type == "fence") == f"{REPEAT}\n"
    items = texts([t for t in tokens if t.type != "paragraph_open"], "list_item_open")
    assert any(item.startswith("open: client → API") for item in items)
    assert any(item.startswith("usual guard: reserve") for item in items)


def test_every_scenario_has_its_row(tell: type["Tale"]) -> None:
    exposed = doubled(tell("ord-1", scenario="b", fair=False), "ord-1")
    lacking = not_applicable("c", ("webhooks",))
    fair = right(tell("ord-1", scenario="a"))
    run = combine([judged(fair), judged(exposed), lacking], seed=7, duration_s=1)

    cells = texts(parsed(run), "td_open")

    assert cells[:5] == ["a", "✅ holds", "1", "1", "0"]
    exposures = len(judged(exposed).exposure)
    assert cells[5:7] == ["b", f"✅ holds (unfair: {exposures} exposed)"]
    assert cells[10:12] == ["c", "⚪ not applicable"]


def test_what_stayed_unknown_is_said(tell: type["Tale"]) -> None:
    plan = [{"name": f"rule-{n}"} for n in range(7)]
    tokens = parsed(run_of(right(tell("ord-1", plan=plan))))

    items = texts([t for t in tokens if t.type != "paragraph_open"], "list_item_open")
    assert items[0] == "lost_replies: the fault rule-0 never fired"
    assert items[-1] == "… 2 more"
    assert "Unknown outcomes: 1 recovered" in texts(tokens, "paragraph_open")


def test_many_findings_and_scenarios_are_cut(tell: type["Tale"]) -> None:
    one = judged(doubled(tell("ord-1"), "ord-1"))
    many = [replace(one, name=f"s{number}") for number in range(201)]
    tokens = parsed(combine(many, seed=7, duration_s=1))

    assert len(texts(tokens, "heading_open")) == 4
    assert any(
        text.endswith("the report has them all.") for text in texts(tokens, "paragraph_open")
    )
    assert texts(tokens, "td_open")[-5] == "… 1 more"


def test_hostile_texts_build_nothing(tell: type["Tale"]) -> None:
    tokens = parsed(run_of(doubled(tell(HOSTILE, scenario=HOSTILE), HOSTILE)))
    plain = parsed(run_of(doubled(tell("ord-1", scenario="s"), "ord-1")))

    assert [token.type for token in tokens] == [token.type for token in plain]
    assert visible(HOSTILE) in texts(tokens, "td_open")


def test_a_summary_is_appended(tmp_path: Path) -> None:
    file = tmp_path / "summary.md"
    file.write_text("# another step\n")

    append_summary("## ours\n", file)
    append_summary("## again\n", file)

    assert file.read_text() == "# another step\n## ours\n## again\n"
    with pytest.raises(OSError, match="Is a directory"):
        append_summary("", tmp_path)
