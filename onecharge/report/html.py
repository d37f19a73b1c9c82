"""The page as one HTML file: no script, no address that is ever asked, readable anywhere.

Rule 1: every text goes through ``visible`` and jinja2's escaping; there is no way around both.
Rule 2: a policy in the page itself forbids scripts and requests, should a text ever slip through.
"""

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from onecharge.report.diagram import Diagram
from onecharge.report.foreign_text import visible
from onecharge.report.page import Page
from onecharge.report.picture import NARROW, WIDE, Picture, picture_of, sentence

_TEMPLATES = Path(__file__).parent / "templates"


def page_html(page: Page) -> str:
    """Return the page as HTML."""
    return _environment().get_template("page.html.jinja").render(page=page)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_harmless,
    )
    environment.globals["pictures"] = _pictures
    environment.globals["sentence"] = sentence
    return environment


def _harmless(shown: Any) -> Any:
    # A text that is already markup is ours: it comes from a template and was escaped there.
    return visible(shown) if type(shown) is str else shown


def _pictures(diagram: Diagram) -> tuple[Picture, ...]:
    return picture_of(diagram, WIDE), picture_of(diagram, NARROW)
