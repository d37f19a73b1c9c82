"""Reports are made of the judge's tales: histories told by hand, one line for one fact."""

from pathlib import Path

from onecharge.history.records import HEADER, VERSION, to_line
from onecharge.report.page import About, Page, page_of
from onecharge.verdict import RunVerdict, ScenarioVerdict, combine, judge_scenario
from tests.judge.conftest import Tale, tale, tell

__all__ = ["Tale", "tale", "tell"]

REPEAT = "onecharge verify --scenario lost_replies --seed 7"
HOSTILE = (
    "</script><script>alert(1)</script>"
    "]]>"
    "\x1b[2J\x1b]0;title\x07"
    "[red]markup[/red]"
    "|cell| `code` ``` **bold** <b>&amp;\"'"
    "\x00\x01\ufffe\ud800"
    "\u202eright to left"
    "\r\n# heading"
)
"""What a service could put into an id, an error or a name, to be obeyed by whoever shows it."""


def judged(tale: Tale, repeat: str = REPEAT) -> ScenarioVerdict:
    return judge_scenario(tale.records, repeat=repeat)


def run_of(*tales: Tale, interrupted: str | None = None) -> RunVerdict:
    scenarios = [judged(each) for each in tales]
    return combine(scenarios, seed=7, duration_s=1.5, interrupted=interrupted)


def paged(*tales: Tale) -> Page:
    """Return the page on a run of these tales, each of a scenario of its own."""
    run = run_of(*tales)
    records = {s.name: t.records for s, t in zip(run.scenarios, tales, strict=True)}
    return page_of(run, About("shop", 7, "2026-11-29"), records.__getitem__)


def doubled(tale: Tale, *orders: str) -> Tale:
    """Charge each order twice, in two processes at the same time, and answer the same."""
    for order in orders:
        one, two = tale.asks(order), tale.asks(order)
        first, second = tale.calls(order, f"up-{order}-1"), tale.calls(order, f"up-{order}-2")
        charge = tale.captures(first)
        tale.replies(first, charge=charge)
        other = tale.captures(second)
        tale.replies(second, charge=other)
        for asked in (one, two):
            tale.told(asked, status=201, charge="pay-1", provider_charge=charge)
        tale.hears(other)
    tale.ends_well(*orders)
    return tale


def right(tale: Tale, order: str = "ord-1") -> Tale:
    """Have one reply lost and the charge made once all the same."""
    tale.told(tale.asks(order), "unknown", error="no answer within 5 s")
    tale.hears(tale.pays(order))
    tale.ends_well(order)
    return tale


def on_disk(tale: Tale, path: Path) -> Path:
    """Write a tale down as the recorder would have."""
    lines = [f'{{"{HEADER}": {VERSION}, "host": "here", "pid": 1}}', *map(to_line, tale.records)]
    path.write_text("\n".join(lines) + "\n")
    return path
