"""A service file says everything the harness knows of a service; each mistake is one sentence."""

from pathlib import Path

import pytest

from onecharge.service_file import ServiceFile, found, read_service_file
from onecharge.targets import target
from onecharge.toml_file import FileError

GOOD = """
[service]
name = "shop"
command = ["{python}", "shop.py"]

[service.env]
PORT = "{port}"
PROVIDER_URL = "{provider_url}"

[provider]
dialect = "generic"

[charge]
path = "/charges"
headers = { Idempotency-Key = "{key}" }
json = { amount = "{amount_minor}" }

[read]
path = "/charges?order={order}"

[effects]
path = "/ledger"
each = "$.entries[?@.order == '{order}']"

[webhook]
path = "/hooks"
"""


def read(text: str, tmp_path: Path) -> ServiceFile:
    path = tmp_path / "onecharge.toml"
    path.write_text(text)
    return read_service_file(path)


def error_for(text: str, tmp_path: Path) -> str:
    with pytest.raises(FileError) as error:
        read(text, tmp_path)
    assert str(tmp_path / "onecharge.toml") in str(error.value)
    return str(error.value).removeprefix(str(tmp_path / "onecharge.toml"))


def test_a_good_file_is_read_with_its_folder_beside_it(tmp_path: Path) -> None:
    file = read(GOOD, tmp_path)
    assert file.service.folder == tmp_path.resolve()
    assert file.charge.method == "POST"
    assert file.read is not None
    assert file.read.method == "GET"


def test_the_reference_is_described_by_a_good_file() -> None:
    assert target(None, None).service_file.service.instances == 2


@pytest.mark.parametrize(
    "old, new, says",
    [
        (
            "[charge]",
            "[charge]\nurl = '/x'",
            ":14: charge.url: unknown field; known here: method, path, headers, json, answer",
        ),
        ('name = "shop"', "", ":2: service.name: required, but missing"),
        ('"generic"', '"strype"', ":11: provider.dialect: expected one of generic"),
        ('"/charges"', '"charges"', ":14: charge.path: string should match"),
        (
            '"{key}"',
            '"{kye}"',
            ":15: charge.headers: unknown placeholder {kye}; known here: {amount",
        ),
        ('"{port}"', '"{prot}"', ":6: service.env: unknown placeholder {prot}; known here:"),
        ("$.entries[?", "$.entries[[?", ":23: effects.each: expected a JSONPath, found"),
        ('command = ["{python}", "shop.py"]', "command = []", ":4: service.command: tuple should"),
        ("[webhook]\npath", "# path", ": table [webhook] is missing; write it, or declare"),
        (
            'name = "shop"',
            'name = "shop"\nfolder = "elsewhere"',
            ":4: service.folder: no such folder",
        ),
        ('name = "shop"', 'name = "shop"\ninstances = 0', ":4: service.instances: input should be"),
    ],
)
def test_a_mistake_names_line_and_field_and_what_was_expected(
    old: str, new: str, says: str, tmp_path: Path
) -> None:
    assert says in error_for(GOOD.replace(old, new, 1), tmp_path)


def test_a_capability_declared_absent_needs_no_table(tmp_path: Path) -> None:
    text = GOOD.replace('[webhook]\npath = "/hooks"', "[capabilities]\nwebhooks = false")
    assert read(text, tmp_path).webhook is None


def test_a_jsonpath_finds_its_first_node_or_nothing() -> None:
    body = {"data": [{"id": "a"}, {"id": "b"}]}
    assert found("$.data[*].id", body) == "a"
    assert found("$.none", body) is None
    assert found("$.id", None) is None
    assert found("$.id", "a text") is None
