"""Every error names the file, the line, the field, what was expected and what was found."""

from pathlib import Path

import pytest

from onecharge.toml_file import FileError, Section, field_name, line_of, read_toml, validated


class Fault(Section):
    fault: str
    times: int | None = None


class Customer(Section):
    attempts: int = 1


class Model(Section):
    title: str
    customer: Customer = Customer()
    faults: tuple[Fault, ...] = ()


def error_for(text: str, tmp_path: Path) -> str:
    path = tmp_path / "some.toml"
    path.write_text(text)
    with pytest.raises(FileError) as error:
        validated(Model, *read_toml(path), path)
    return str(error.value).removeprefix(f"{path}")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"absent\.toml: no such file"):
        read_toml(tmp_path / "absent.toml")


def test_a_file_that_is_not_toml_is_named_with_the_line(tmp_path: Path) -> None:
    says = error_for("title = 'x'\nfaults = ]", tmp_path)
    assert says.startswith(": not valid TOML: ")
    assert "line 2" in says


def test_a_file_that_is_not_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "some.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(FileError, match="cannot be read as UTF-8"):
        read_toml(path)


def test_an_unknown_field_is_named_with_its_line_and_the_nearest_known_one(tmp_path: Path) -> None:
    text = "title = 'x'\n\n[customer]\natempts = 3\n"
    assert error_for(text, tmp_path) == (
        ":4: customer.atempts: unknown field; did you mean 'attempts'?"
    )


def test_a_misspelt_field_is_told_before_the_one_that_is_missing_for_it(tmp_path: Path) -> None:
    assert error_for("titel = 'x'\n", tmp_path) == ":1: titel: unknown field; did you mean 'title'?"


def test_an_unknown_field_unlike_any_other_gets_the_list_of_known_ones(tmp_path: Path) -> None:
    assert error_for("title = 'x'\nzzz = 1\n", tmp_path) == (
        ":2: zzz: unknown field; known here: title, customer, faults"
    )


def test_a_wrong_type_in_the_second_of_several_tables_is_found_on_its_line(tmp_path: Path) -> None:
    text = "title = 'x'\n[[faults]]\nfault = 'a'\n[[faults]]\nfault = 'b'\ntimes = 'often'\n"
    says = error_for(text, tmp_path)
    assert says.startswith(":6: faults[2].times: ")
    assert says.endswith("found 'often'")


def test_a_missing_field_is_named_with_the_line_of_its_table(tmp_path: Path) -> None:
    text = "title = 'x'\n[[faults]]\ntimes = 1\n"
    assert error_for(text, tmp_path) == ":2: faults[1].fault: required, but missing"


def test_a_missing_field_of_the_whole_file_has_no_line(tmp_path: Path) -> None:
    assert error_for("", tmp_path) == ": title: required, but missing"


@pytest.mark.parametrize(
    "location, line",
    [
        (("a",), 1),
        (("b", "c"), 3),
        (("b", "d", "e"), 4),
        (("l", 0, "x"), 6),
        (("l", 1, "x"), 8),
        (("l", 1, "sub", "y"), 10),
        (("l", 1, "sub", "unwritten"), 9),
        (("absent",), None),
    ],
)
def test_a_place_is_found_as_people_would_find_it(
    location: tuple[str | int, ...], line: int | None
) -> None:
    text = "a = 1\n[b]\nc = 1\nd.e = 2\n[[l]]\nx = 1\n[[l]] # again\n'x' = 2\n[l.sub]\ny = 3\n"
    assert line_of(text, location) == line


def test_a_location_is_written_as_people_write_it() -> None:
    assert field_name(("faults", 1, "times")) == "faults[2].times"
