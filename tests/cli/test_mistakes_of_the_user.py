"""A mistake in usage or configuration ends in exit code 2 and one sentence that says where."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import OneCharge, Shop

ANSWERS_SOON = ("answers_within_s = 5", "answers_within_s = 2")
READY_SOON = ("ready_within_s = 20", "ready_within_s = 0.5")
MISFITS: dict[str, tuple[list[tuple[str, str]], str]] = {
    "another secret": (
        [('"{webhook_secret}"', '"whsec_c29tZXRoaW5nIGVsc2UgYWx0b2dldGhlcg=="'), ANSWERS_SOON],
        "(last: HTTP 401); its signature may be refused: is the secret the one that the service",
    ),
    "provider not called": (
        [('MISTAKE = ""', 'MISTAKE = "never_calls"')],
        "your service never called the provider; is PROVIDER_URL read?",
    ),
    "wrong port": (
        [('MISTAKE = ""', 'MISTAKE = "listens_elsewhere"'), READY_SOON],
        "service.ready: service-1 was not ready at http://127.0.0.1:",
    ),
    "program not there": (
        [('"shop.py"]', '"no_shop.py"]')],
        "service.command: service-1 ended with code 2 before it was ready; the end of",
    ),
}
"""What of the shop's file is replaced, by what, and what is said of it."""


def sentence(err: str) -> str:
    """The one sentence on standard error; what follows may quote the end of a log."""
    first, *quoted = err.splitlines()
    assert all(line.startswith("    ") for line in quoted), err
    assert "Traceback" not in err
    return first


@pytest.mark.parametrize("misfit", MISFITS)
def test_a_service_file_that_does_not_fit_its_service(
    misfit: str, here: "OneCharge", tmp_path: Path, shop: "Shop"
) -> None:
    changes, says = MISFITS[misfit]
    service = shop()
    text = (tmp_path / service).read_text()
    for part, instead in changes:
        assert text.count(part) == 1, part
        text = text.replace(part, instead)
    (tmp_path / service).write_text(text)

    ended = here("verify", "--service", service, "--scenario", "lost_replies")

    assert ended.exit_code == 2, ended.says
    assert sentence(ended.err).startswith("onecharge: onecharge.toml: ")
    assert says in sentence(ended.err)
    assert "lost_replies" not in ended.out, "nobody is blamed before the control has passed"


@pytest.mark.parametrize(
    "text, says",
    [
        ('[service]\nnmae = "shop"', "onecharge.toml:2: service.nmae: unknown field; did you mean"),
        ('[service\nname = "shop"', "onecharge.toml: not valid TOML: "),
        ('[service]\nname = "shop"', "onecharge.toml:1: service.command: required, but missing"),
    ],
    ids=["unknown field", "no TOML", "field missing"],
)
def test_a_service_file_that_is_none(
    text: str, says: str, here: "OneCharge", tmp_path: Path
) -> None:
    (tmp_path / "onecharge.toml").write_text(text)

    ended = here("verify", "--service", "onecharge.toml")

    assert (ended.exit_code, ended.out) == (2, "")
    assert sentence(ended.err).startswith(f"onecharge: {says}")


@pytest.mark.parametrize(
    "words, says",
    [
        ("verify --service nowhere.toml", "onecharge: nowhere.toml: no such file"),
        ("run nowhere.toml", "onecharge: nowhere.toml: no such file"),
        ("verify --scenario lost_reply", "no scenario is called 'lost_reply'; did you mean"),
        ("verify --mutant no_dedupe", "no mutant is called 'no_dedupe'; "),
        ("verify --mutant no_event_dedupe --service x.toml", "--service and --mutant exclude"),
        ("verify --json nowhere/verdict.json", "--json: no such folder: nowhere"),
        ("verify --json .", "--json: this is a folder: ."),
    ],
)
def test_a_command_that_asks_for_what_there_is_not(
    words: str, says: str, here: "OneCharge", tmp_path: Path
) -> None:
    ended = here(*words.split())

    assert (ended.exit_code, ended.out) == (2, "")
    assert says in sentence(ended.err)
    assert list(tmp_path.iterdir()) == [], "nothing was begun"


@pytest.mark.parametrize("words", ["verify --seed -1", "list mutnats"])
def test_a_command_that_is_none(words: str, here: "OneCharge") -> None:
    ended = here(*words.split())

    assert ended.exit_code == 2
    assert "Usage: " in ended.err
    assert "Traceback" not in ended.err


def test_a_scenario_file_with_a_mistake_names_the_line(here: "OneCharge", tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        'title = "Mine"\nwhy = "Because"\n\n[[faults]]\nfault = "loose_reply"\n'
    )

    ended = here("run", "mine.toml")

    assert (ended.exit_code, ended.out) == (2, "")
    assert sentence(ended.err).startswith("onecharge: mine.toml:5: faults[1].fault: ")


def test_a_folder_that_no_run_can_be_written_to(onecharge: "OneCharge", tmp_path: Path) -> None:
    (tmp_path / ".onecharge").write_text("a file where the folder of runs belongs")

    ended = onecharge("verify")

    assert (ended.exit_code, ended.out) == (2, "")
    assert sentence(ended.err).startswith("onecharge: .onecharge/runs: cannot be written: ")
