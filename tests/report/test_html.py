"""The page as a browser gets it: well-formed, self-contained, and nobody else's words are code."""

from html.parser import HTMLParser
from typing import TYPE_CHECKING

from onecharge.report.foreign_text import visible
from onecharge.report.html import page_html
from onecharge.report.page import About, page_of
from onecharge.verdict import combine
from tests.report.conftest import HOSTILE, REPEAT, doubled, paged, right

if TYPE_CHECKING:
    from tests.judge.conftest import Tale

VOID = {"meta", "link", "br"}
FETCHING = {"src", "href", "xlink:href", "action", "data", "poster", "srcset"}


class Seen(HTMLParser):
    """What is on the page: tags, attributes and texts; every element is closed in its turn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def seen(tale: "Tale") -> Seen:
    return Seen(page_html(paged(tale)))


def test_the_page_says_what_a_person_needs(tale: "Tale") -> None:
    page = seen(doubled(tale, "ord-1", "ord-2"))

    for said in (
        "violated : 10.01 EUR at risk in 2 order(s)",
        "ord-1 was charged 2 times",
        REPEAT,
        "client → API: open",
        "Likely cause both requests had looked before either had claimed the key",
        "Usual guard reserve the client's key",
        "What happened to ord-1",
        "Why this is wrong Let ord-1, an order of 5.00 EUR",
        "What was and was not reached",
    ):
        assert said in page.text
    assert page.tags.count("svg") >= 2


def test_a_page_of_a_run_that_holds_has_no_finding(tale: "Tale") -> None:
    page = seen(right(tale))

    assert "holds : 1 orders in 1 fair scenarios, 1 real charges, none twice" in page.text
    assert "1 recovered charged once, and known to be" in page.text
    assert "article" not in page.tags


def test_a_page_of_nothing_is_a_page() -> None:
    run = combine([], seed=7, duration_s=0, interrupted="cut short")
    page = Seen(page_html(page_of(run, About("shop"), lambda _: ())))

    assert "unknown : cut short after 0 scenario(s)" in page.text


def test_the_page_asks_nobody_for_anything(tale: "Tale") -> None:
    page = seen(doubled(tale, "ord-1"))

    asked = [value for _, name, value in page.attributes if name in FETCHING]
    assert all(value is None or value.startswith(("#", "data:,")) for value in asked)
    assert not {"script", "iframe", "object", "img", "form"} & set(page.tags)
    assert not any(name.startswith("on") for _, name, _ in page.attributes)
    policy = next(
        v
        for tag, name, v in page.attributes
        if (tag, name) == ("meta", "content") and v and "default-src" in v
    )
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def test_hostile_texts_are_texts(tell: type["Tale"]) -> None:
    tale = doubled(tell(HOSTILE, scenario=HOSTILE), HOSTILE)
    tale.told(tale.asks(HOSTILE, key=HOSTILE), "unknown", error=HOSTILE)
    page = seen(tale)
    plain = seen(doubled(tell("ord-1", scenario="s"), "ord-1"))

    assert set(page.tags) == set(plain.tags)
    assert " ".join(visible(HOSTILE).split()) in page.text
    for value in (value or "" for _, _, value in page.attributes):
        assert visible(value) == value
    assert {name for _, name, _ in page.attributes} == {name for _, name, _ in plain.attributes}


def test_ids_of_a_page_are_its_own_once(tale: "Tale") -> None:
    page = seen(doubled(tale, "ord-1"))

    ids = [value for _, name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids)) > 0
