"""A service that puts live keys and card numbers wherever it can: no file and no screen has them.

It is judged once, with every report there is; each place where its words end up is looked at.
"""

import re
import subprocess
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Final

import pytest

from simulator.redaction import found_in

from .conftest import COMMAND, DEADLINE_S, HERE, NOTHING_SET

VERIFY: Final = (
    "verify --scenario parallel_same_key --scenario duplicate_events_one_by_one "
    "--json verdict.json --junit junit.xml --html page.html"
)
OWN: Final = frozenset({"shop.py", "onecharge.toml"})


@dataclass(frozen=True)
class Played:
    """What came of the run."""

    folder: Path
    said: dict[str, str]

    @property
    def run(self) -> Path:
        """The folder that the run left behind."""
        [history] = self.folder.rglob("parallel_same_key.jsonl")
        return history.parent


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """Judge the shop that charges every press and tells everybody its secrets."""
    folder = tmp_path_factory.mktemp("shop")
    text = (HERE / "onecharge.toml").read_text()
    text = text.replace('MISTAKE = ""', 'MISTAKE = "charges_every_press"')
    text = text.replace('BLURTS_OUT = ""', 'BLURTS_OUT = "yes"')
    text = text.replace("\n[read]\n", 'stable_fields = ["$.serial"]\n\n[read]\n')
    (folder / "onecharge.toml").write_text(text)
    (folder / "shop.py").write_bytes((HERE / "shop.py").read_bytes())
    return Played(folder, {words: _said(folder, words) for words in (VERIFY, "report", "check")})


@pytest.mark.parametrize("words", [VERIFY, "report", "check"])
def test_what_a_command_says_holds_no_secret(played: Played, words: str) -> None:
    assert "onecharge" in played.said[words]
    assert secrets_in(played.said[words]) == []


@pytest.mark.parametrize("name", ["verdict.json", "junit.xml", "page.html", "summary.md"])
def test_a_report_holds_no_secret_and_shows_what_is_wrong(played: Played, name: str) -> None:
    text = (played.folder / name).read_text()

    assert "one_charge_per_key" in unescape(text)
    assert secrets_in(unescape(text)) == []


@pytest.mark.parametrize(
    "what, where",
    [
        ("header", '"key"'),
        ("account", '"tenant"'),
        ("customer", '"customer"'),
        ("body", '"body"'),
        ("stable field", '"stable"'),
    ],
)
def test_a_history_has_what_was_sent_without_its_secrets(
    played: Played, what: str, where: str
) -> None:
    text = (played.run / "parallel_same_key.jsonl").read_text()
    told = [line for line in text.splitlines() if where in line and " removed]" in line]

    assert told, f"the shop put none into its {what}"
    assert all(secrets_in(line.partition('"lane"')[2]) == [] for line in told)


def test_the_service_s_own_log_is_kept_without_them(played: Played) -> None:
    log = (played.run / "logs" / "service-1.log").read_text()

    assert "/pay [live key removed] [card number removed] [card number removed]" in log
    assert secrets_in(log) == []


def test_no_other_file_has_any(played: Played) -> None:
    files = [file for file in played.folder.rglob("*") if file.is_file() and file.name not in OWN]
    told = {str(file): secrets_in(_without_times(file)) for file in files}

    assert len(told) > 10
    assert {name: found for name, found in told.items() if found} == {}


def secrets_in(text: str) -> list[str]:
    return [text[found.start : found.end] for found in found_in(text)]


def _without_times(file: Path) -> str:
    text = file.read_text(errors="replace")
    return re.sub(r'"t":\d+', "", text) if file.suffix == ".jsonl" else text


def _said(folder: Path, words: str) -> str:
    service = [] if words == "report" else ["--service", "onecharge.toml"]
    done = subprocess.run(  # noqa: S603
        [*COMMAND, *words.split(), *service],
        cwd=folder,
        env=NOTHING_SET | {"GITHUB_STEP_SUMMARY": "summary.md"},
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    return done.stdout + done.stderr
