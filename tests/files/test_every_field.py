"""Whatever field has a value of a wrong kind, the error names its line, its name, and the value."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from onecharge.service_file import read_service_file
from onecharge.service_file.described import Described, fields
from onecharge.toml_file import FileError

EVERYTHING = """
[service]
name = "shop"
command = ["app"]
[service.env]
PORT = "{port}"
[[service.workers]]
name = "outbox"
command = ["app"]
[service.workers.env]
WHO = "outbox"
[explore.env]
WHO = "nobody"
[database]
kind = "postgresql"
[redis]
url = "redis://127.0.0.1:6379/9"
[provider]
dialect = "generic"
[orders]
currency = "EUR"
[[prepare]]
path = "/login"
[charge]
path = "/charges"
[charge.answer]
charge = "$.id"
[charge.poll]
path = "/charges/{charge}"
[[browser]]
path = "/confirm"
[refund]
path = "/refund"
[refund.answer]
charge = "$.id"
[capture]
path = "/capture"
[capture.answer]
charge = "$.id"
[read]
path = "/read"
[effects]
path = "/effects"
[tick]
path = "/tick"
[webhook]
path = "/hooks"
[tenants]
shop = "shop"
[timing]
answers_within_s = 5
[capabilities]
effects = true
"""
WRONG = [[False]]  # neither a text, nor a number, nor a table, nor a list of any of these

LEAVES = [field for field in fields() if not field.name.startswith("[")]


def test_the_file_that_is_spoilt_has_every_section_and_is_right(tmp_path: Path) -> None:
    sections = {field.name.strip("[]") for field in fields()} - {leaf.name for leaf in LEAVES}
    data = tomllib.loads(EVERYTHING)

    assert all(table_at(data, section.split(".")) for section in sections)
    (tmp_path / "onecharge.toml").write_text(tomli_w.dumps(data))
    read_service_file(tmp_path / "onecharge.toml")


@pytest.mark.parametrize("field", LEAVES, ids=lambda field: field.name)
def test_a_value_of_a_wrong_kind_is_named_with_line_and_field(
    field: Described, tmp_path: Path
) -> None:
    data = tomllib.loads(EVERYTHING)
    *section, name = field.name.split(".")
    table_at(data, section)[name] = WRONG
    path = tmp_path / "onecharge.toml"
    path.write_text(tomli_w.dumps(data))
    before, found, _ = path.read_text().partition(f"\n{name} = [\n    [\n")
    assert found
    line = before.count("\n") + 2

    with pytest.raises(FileError) as error:
        read_service_file(path)

    place, _, says = str(error.value).partition(": ")
    named, _, expected = says.partition(": ")
    assert place == f"{path}:{line}"
    assert named.replace("[1]", "") == field.name
    assert ", found " in expected


def table_at(data: dict[str, Any], section: list[str]) -> dict[str, Any]:
    """Return a table of the file; of several, the first."""
    here: Any = data
    for part in section:
        here = here[part]
        here = here[0] if isinstance(here, list) else here
    assert isinstance(here, dict)
    return here
