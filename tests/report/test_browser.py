"""The page in a real browser: nothing on the console, nothing asked for, nothing cut off.

Needs a Chromium that the machine has (Debian: ``chromium-headless-shell``); without one, and only
then, there is nothing to open the page with.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from onecharge.report.html import page_html
from tests.report.conftest import HOSTILE, doubled, paged, right

if TYPE_CHECKING:
    from tests.judge.conftest import Tale

BROWSERS = (
    *("chromium-headless-shell", "chromium", "chromium-browser"),
    *("google-chrome", "google-chrome-stable", "chrome"),
)
WIDE, NARROW = 1280, 390

# What is wider than the window, or less than 11 pixels high where it is meant to be read.
OVERFLOW = "document.documentElement.scrollWidth - window.innerWidth"
SMALLEST = """
() => {
  const sizes = [];
  for (const seen of document.querySelectorAll("p, li, td, dd, dt, pre, h1, h2, h3, svg text")) {
    const box = seen.getBoundingClientRect();
    if (!box.width || !box.height) continue;
    const svg = seen.closest("svg");
    const scale = svg ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1;
    sizes.push(parseFloat(getComputedStyle(seen).fontSize) * scale);
  }
  return Math.min(...sizes);
}
"""
CUT_OFF = """
() => [...document.querySelectorAll("svg.picture text")]
  .filter((text) => {
    const box = text.getBoundingClientRect();
    const paper = text.closest("svg").getBoundingClientRect();
    return box.width && (box.left < paper.left - 2 || box.right > paper.right + 2);
  })
  .map((text) => text.textContent)
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"no browser on this machine: none of {', '.join(BROWSERS)}")
    with sync_playwright() as playwright:
        # No sandbox: the pages are ours, and root, which CI runs as, may not have one.
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def file(tell: "type[Tale]", tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a page with much on it: a double charge, a long story, texts that want to be code."""
    double = doubled(tell("ord-1", "ord-2", scenario="parallel"), "ord-1")
    event = double.event("ch_1")
    for _ in range(40):
        double.answered(double.delivers(event), status=200)
    double.told(double.asks("ord-1"), "unknown", error="no answer within 5 s")
    hostile = doubled(tell(HOSTILE, scenario=HOSTILE), HOSTILE)
    for _ in range(6):
        hostile.asks(HOSTILE, key=HOSTILE)
    long = right(tell("o" * 300, scenario="s" * 200, plan=[{"name": "n" * 200}]), "o" * 300)
    file = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(page_html(paged(double, hostile, long)))
    return file


class Opened:
    """A page that was opened, and what the browser had to say about it."""

    def __init__(self, browser: Browser, file: Path, width: int) -> None:
        self.file, self.width = file, width
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page: Page = browser.new_page(viewport={"width": width, "height": 900})
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(file.as_uri())
        self.page.wait_for_load_state("networkidle")

    def shows(self, css: str) -> bool:
        return self.page.locator(css).first.is_visible()

    def colour(self, css: str, what: str) -> str:
        script = "([css, what]) => getComputedStyle(document.querySelector(css))[what]"
        return str(self.page.evaluate(script, [css, what]))


@pytest.fixture(scope="module", params=[WIDE, NARROW])
def opened(browser: Browser, file: Path, request: pytest.FixtureRequest) -> Opened:
    return Opened(browser, file, request.param)


def test_the_page_opens_in_silence(opened: Opened) -> None:
    assert opened.said == []
    assert [url for url in opened.asked if not url.startswith("data:")] == [opened.file.as_uri()]


def test_everything_is_on_the_page_and_can_be_read(opened: Opened) -> None:
    assert opened.page.evaluate(OVERFLOW) <= 0
    assert opened.page.evaluate(SMALLEST) >= 11
    assert opened.page.evaluate(CUT_OFF) == []


def test_each_width_has_its_picture(opened: Opened) -> None:
    wide = opened.width == WIDE

    assert [opened.shows(css) for css in ("svg.wide", "svg.narrow", "ol.steps")] == [
        wide,
        not wide,
        not wide,
    ]


def test_real_charges_are_red_and_dark_is_dark(opened: Opened) -> None:
    seen = {}
    for scheme in ("dark", "light"):
        opened.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        charge = opened.colour("svg .mark.charge", "fill")
        seen[scheme] = charge, opened.colour("body", "backgroundColor")

    assert seen == {
        "light": ("rgb(196, 22, 28)", "rgb(255, 255, 255)"),
        "dark": ("rgb(255, 107, 107)", "rgb(18, 22, 29)"),
    }
