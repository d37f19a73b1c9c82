"""The schema that editors get accepts what we accept, and says what every field is for."""

import tomllib
from pathlib import Path

import jsonschema_rs
import pytest

from onecharge.service_file import Answers, drafted, json_schema
from onecharge.service_file.described import DIALECT, fields

ROOT = Path(__file__).parents[2]
FILES = sorted(
    path
    for folder in ("reference_impl", "tests", "examples")
    for path in ROOT.glob(f"{folder}/**/onecharge*.toml")
)


@pytest.fixture(scope="module")
def schema() -> jsonschema_rs.Validator:
    assert json_schema()["$schema"] == DIALECT
    return jsonschema_rs.validator_for(json_schema())


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_service_file_of_ours_fits_the_schema(
    path: Path, schema: jsonschema_rs.Validator
) -> None:
    schema.validate(tomllib.loads(path.read_text()))


@pytest.mark.parametrize("command", ["app", ""])
def test_a_first_file_fits_the_schema(command: str, schema: jsonschema_rs.Validator) -> None:
    answers = Answers("shop", command=command, urls=("http://127.0.0.1:1",))
    schema.validate(tomllib.loads(drafted(answers)))


@pytest.mark.parametrize(
    "old, new", [("path =", "paht ="), ("instances = 1", "instances = 0"), ("timeout_s = 10", "")]
)
def test_a_mistake_does_not_fit(old: str, new: str, schema: jsonschema_rs.Validator) -> None:
    text = drafted(Answers("shop", command="app")).replace(old, new or "timeout_s = 'long'")
    assert not schema.is_valid(tomllib.loads(text))


def test_every_field_says_what_it_is_for() -> None:
    described = list(fields())

    assert [field.name for field in described if not field.says] == []
    assert len({field.name for field in described}) == len(described) > 100


def test_a_field_stands_under_the_name_that_a_file_uses() -> None:
    by_name = {field.name: field for field in fields()}

    assert by_name["charge.json"].default == ""
    assert by_name["[[service.workers]]"].says.startswith("Processes beside the instances")
    assert by_name["charge.answer.declined"].default == "402"
    assert by_name["capabilities.effects"].default == "true"
    assert by_name["tenants"].default == "shop = shop"
    assert by_name["timing.answers_within_s"].default == "10"
    assert by_name["service.name"].default == "required"
