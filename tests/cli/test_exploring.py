"""``explore``: a race is found, made small, repeated, written down, and gone when it is mended."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from onecharge.engine.retold import Deviation, Step
from onecharge.engine.scopes import SCOPES
from onecharge.exploring.counterexample import counterexample_of, read_counterexample
from onecharge.report.json_file import json_text
from onecharge.report.pytest_file import pytest_text
from onecharge.stored_run import stored_run
from onecharge.targets import target
from onecharge.world.postgres import Postgres

from .conftest import DEADLINE_S, NOTHING_SET

if TYPE_CHECKING:
    from .conftest import OneCharge

SERVICES = Path(__file__).parent.parent / "engine" / "services"


def open_shop(folder: Path, guard: str) -> Path:
    text = (SERVICES / "onecharge.toml").read_text()
    (folder / "onecharge.toml").write_text(text.replace('"on_conflict"', f'"{guard}"'))
    shutil.copy(SERVICES / "shop.py", folder)
    return folder / "onecharge.toml"


def by_pytest(folder: Path, database_url: str) -> "subprocess.CompletedProcess[str]":
    """Run the test that was written; it needs none of the plug-ins that happen to be here."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_counterexample.py"],
        cwd=folder,
        env={
            **NOTHING_SET,
            "DATABASE_URL": database_url,
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )


def test_a_race_is_found_made_small_and_repeated(
    onecharge: "OneCharge", postgres: Postgres, tmp_path: Path
) -> None:
    open_shop(tmp_path, "look_first")

    ended = onecharge(
        *("explore", "--service", "onecharge.toml", "--scope", "two-requests"),
        *("--budget", "20", "--json", "verdict.json", "--junit", "junit.xml"),
        DATABASE_URL=postgres.url("postgres"),
    )

    assert ended.exit_code == 1, ended.says
    verdict = json.loads((tmp_path / "verdict.json").read_text())
    [part] = verdict["explored"]
    found = part["found"]
    assert (found["kind"], found["failed"], found["of"]) == ("one_charge_per_key", 20, 20)
    assert found["steps"] == [
        "client 1 sends POST /pay and stops before INSERT INTO notes",
        "client 2 sends POST /pay and goes on to its end",
        "everything else goes on in its usual order",
    ]
    assert f"  repeat: {found['repeat']}\n" in ended.out
    assert f"came back in 20 of 20 repeats · found after {found['after']} schedule(s)" in ended.out
    for number, step in enumerate(found["steps"], start=1):
        assert f"  {number}.  {step}\n" in ended.out
    assert "<failure " in (tmp_path / "junit.xml").read_text()

    example = read_counterexample(tmp_path / found["file"])
    assert list(example.steps) == found["steps"]
    compile((tmp_path / found["test"]).read_text(), "test", "exec")
    again = stored_run(str((tmp_path / found["file"]).parent)).judged()
    assert json.loads(json_text(again)) == verdict | {"duration_s": again.duration_s}


@pytest.mark.timeout(450)  # two processes of pytest, each with a service that it repeats 20 times
def test_the_test_that_is_written_is_red_until_the_service_is_mended(
    postgres: Postgres, tmp_path: Path
) -> None:
    file, database_url = open_shop(tmp_path, "look_first"), postgres.url("postgres")
    second = Deviation(2, "release", 1, "client:2 POST /pay #1", "client:1 INSERT INTO notes #1")
    example = counterexample_of(
        tmp_path / "counterexample.toml",
        [Step("client 2 comes in between", (second,))],
        wanted=target(file, None),
        scope=SCOPES["two-requests"],
        violates="one_charge_per_key",
        seed=1,
        found_after=4,
        failed=20,
        of=20,
    )
    example.write()
    test = pytest_text(title="a race", steps=example.steps, says="seen", file=example.path.name)
    (tmp_path / "test_counterexample.py").write_text(test)

    red = by_pytest(tmp_path, database_url)
    assert red.returncode == 1, red.stdout + red.stderr
    assert "came back in 20 of 20 repeats" in red.stdout

    open_shop(tmp_path, "on_conflict")
    green = by_pytest(tmp_path, database_url)
    assert green.returncode == 0, green.stdout + green.stderr
    assert "1 passed" in green.stdout


@pytest.mark.parametrize(
    "words, says",
    [
        ("explore --scope two-request", "--scope: no scope is called 'two-request'; did you mean"),
        ("run old.toml", "old.toml:1: counterexample: expected version 1, found 0"),
    ],
)
def test_what_there_is_not_is_told_in_one_sentence(
    words: str, says: str, here: "OneCharge", tmp_path: Path
) -> None:
    (tmp_path / "old.toml").write_text("counterexample = 0\n")

    ended = here(*words.split())

    assert (ended.exit_code, ended.out) == (2, "")
    assert says in ended.err
    assert len(ended.err.splitlines()) == 1
    assert not (tmp_path / ".onecharge").exists(), "nothing was begun"
