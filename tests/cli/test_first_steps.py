"""The first five minutes: ``init`` writes a file, ``check`` tells what it sees, ``schema``."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from onecharge.cli import app
from onecharge.service_file import read_service_file
from onecharge.targets import WrongUsage
from onecharge.toml_file import FileError

if TYPE_CHECKING:
    from .conftest import OneCharge, Shop


def init(*words: str) -> str:
    """Run ``init`` in this process; what is no mistake of a user's is raised."""
    done = CliRunner().invoke(app, ["init", *words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.output


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_first_file_is_written_from_options_alone(folder: Path) -> None:
    said = init(
        *("--yes", "--command", "node server.js", "--webhook", "/hooks", "--name", "shop"),
        *("--setup", "node migrate.js", "--succeeded", "paid", "--failed", "declined"),
    )

    assert "wrote onecharge.toml" in said
    file = read_service_file(folder / "onecharge.toml")
    assert (file.service.name, file.service.command) == ("shop", ("node", "server.js"))
    assert file.webhook is not None
    assert file.service.setup == (("node", "migrate.js"),)
    answer = file.charge.answer
    assert (answer.succeeded, answer.failed) == (("paid",), ("declined",))
    assert not (folder / "onecharge.schema.json").exists()


def test_a_service_that_runs_already_needs_its_address_only(folder: Path) -> None:
    init("mine.toml", "--yes", "--url", "http://127.0.0.1:9000", "--listen", "127.0.0.1:9001")

    file = read_service_file(folder / "mine.toml")
    assert file.service.urls == ("http://127.0.0.1:9000",)
    assert file.provider.address == ("127.0.0.1", 9001)
    assert file.service.name == folder.name


def test_the_schema_stands_beside_the_file_that_names_it(folder: Path) -> None:
    init("--yes", "--schema")

    first = (folder / "onecharge.toml").read_text().splitlines()[0]
    assert first == "#:schema onecharge.schema.json"
    schema = json.loads((folder / "onecharge.schema.json").read_text())
    assert schema["title"] == "onecharge.toml"
    assert json.loads(CliRunner().invoke(app, ["schema"]).output) == schema


def test_a_file_that_is_there_is_not_overwritten_unless_forced(folder: Path) -> None:
    (folder / "onecharge.toml").write_text("mine")

    with pytest.raises(WrongUsage, match="is there already; --force overwrites"):
        init("--yes")
    assert (folder / "onecharge.toml").read_text() == "mine"

    init("--yes", "--force")
    assert read_service_file(folder / "onecharge.toml").service.attached


@pytest.mark.parametrize(
    "words, mistake, says",
    [
        (("--charge", "pay"), FileError, r"onecharge.toml:\d+: charge.path: string should match"),
        (("--dialect", "strype"), FileError, "provider.dialect: expected one of generic, stripe"),
        (("--command", "node '"), WrongUsage, "--command: No closing quotation: node '"),
        (("nowhere/x.toml",), WrongUsage, "nowhere/x.toml: no such folder: nowhere"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_an_answer_that_does_not_do_writes_nothing(
    words: tuple[str, ...], mistake: type[Exception], says: str
) -> None:
    with pytest.raises(mistake, match=says):
        init("--yes", *words)
    assert list(Path().iterdir()) == []


def test_what_no_option_says_is_asked_where_somebody_can_answer(folder: Path) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "onecharge", "init", "--dialect", "stripe"],
        cwd=folder,
        stdin=theirs,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as command:
        os.close(theirs)
        os.write(
            ours,
            b"node server.js\nmy shop\n/healthz\nPSP_URL\n\n\n/pay\n\npaid\n/sales/{order}\n\n",
        )
        assert command.wait(60) == 0, command.stderr and command.stderr.read()
    os.close(ours)

    file = read_service_file(folder / "onecharge.toml")
    assert (file.service.name, file.service.ready) == ("my shop", "/healthz")
    assert file.service.env["PSP_URL"] == "{provider_url}"
    assert (file.provider.dialect, file.charge.path) == ("stripe", "/pay")
    assert file.charge.json_body == {
        "order": "{order}",
        "amount_minor": "{amount_minor}",
        "currency": "{currency}",
        "customer": "{customer}",
    }
    assert file.charge.answer.succeeded == ("paid",)
    assert file.read is not None
    assert file.read.path == "/sales/{order}"
    assert (file.database, file.webhook) == (None, None)


def test_a_check_tells_every_step_and_breaks_nothing(onecharge: "OneCharge", shop: "Shop") -> None:
    ended = onecharge("check", "--service", shop())

    assert (ended.exit_code, ended.err) == (0, ""), ended.says
    told = [line.partition(" ")[2] for line in ended.out.splitlines()]
    assert [each[:30] for each in told[:6]] == [
        "provider simulator (generic) r",
        "service corner shop: 1 process",
        "POST /pay → 200, read as ok",
        "the provider was called once: ",
        "webhook: POST /news → 200, ack",
        "read back: succeeded, 1 effect",
    ]
    assert told[-1] == "next: onecharge verify --service onecharge.toml"


def test_a_check_that_fails_tells_what_went_well_before(here: "OneCharge", shop: "Shop") -> None:
    ended = here("check", "--service", shop("never_calls"))

    assert ended.exit_code == 2, ended.says
    assert "POST /pay → 200, read as ok\n" in ended.out
    assert ended.err.startswith("onecharge: onecharge.toml: the service says it charged, and the ")
    assert "is PROVIDER_URL read?" in ended.err
