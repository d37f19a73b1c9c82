"""Texts of others are shown as they are and obeyed by nobody."""

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from onecharge.report.foreign_text import code_in_markdown, in_markdown, visible
from tests.report.conftest import HOSTILE

any_text = st.text(st.characters(), max_size=40)
markdown = MarkdownIt("commonmark").enable("table")


@pytest.mark.parametrize(
    "text,shown",
    [
        ("plain · → €", "plain · → €"),
        ("\x1b[2J", r"\x1b[2J"),
        ("a\x00b\r\nc\td", r"a\x00b\r\nc\td"),
        ("\u202eevil\u2028", r"\u202eevil\u2028"),
        ("\ud800\ufffe", r"\ud800\ufffe"),
    ],
)
def test_what_would_be_obeyed_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(any_text)
def test_nothing_that_is_left_is_a_control_or_forbidden_in_xml(text: str) -> None:
    for character in visible(text):
        assert unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@given(any_text)
def test_a_text_in_a_markdown_table_is_one_text_in_one_cell(text: str) -> None:
    tokens = markdown.parse(f"| a | b |\n| --- | --- |\n| x{in_markdown(text)}x | last |\n")

    cells = [token for before, token in pairwise(tokens) if before.type == "td_open"]
    assert len(cells) == 2
    assert text_of(cells[0]) == f"x{visible(text)}x"
    assert cells[1].content == "last"


def test_a_hostile_text_builds_nothing_in_markdown() -> None:
    [_, inline, _] = markdown.parse(f"- {in_markdown(HOSTILE)}")[2:5]

    assert {child.type for child in inline.children or ()} == {"text"}
    assert text_of(inline) == visible(HOSTILE)


@given(st.text("`~\n a", max_size=30))
def test_code_stays_in_its_block(text: str) -> None:
    tokens = markdown.parse(code_in_markdown(text))

    assert [token.type for token in tokens] == ["fence"]
    assert tokens[0].content == f"{visible(text)}\n"


def text_of(inline: Token) -> str:
    return "".join(child.content for child in inline.children or ())
