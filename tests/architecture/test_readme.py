"""The README's tables are those of ``onecharge list``: every file of a kind has its row."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from onecharge.catalogues import (
    CATALOGUES,
    FIGURES,
    TABLES,
    Table,
    as_markdown,
    table_of,
    with_tables,
)

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
FOLDERS = {
    "scenarios": "scenarios/*.toml",
    "faults": "simulator/faults/*.py",
    "dialects": "simulator/dialects/*",  # files, and one folder
    "invariants": "onecharge/invariants/*.py",
    "mutants": "reference_impl/mutants/[!_]*.py",
}

every_kind = pytest.mark.parametrize("what", CATALOGUES)
every_table = pytest.mark.parametrize("what", TABLES)


def test_every_kind_has_its_folder() -> None:
    assert FOLDERS.keys() == CATALOGUES.keys()


@every_kind
def test_every_file_has_its_row_and_every_row_says_something(what: str) -> None:
    table = table_of(what)
    names = {path.stem for path in ROOT.glob(FOLDERS[what])} - {"__init__", "__pycache__"}

    assert {row[0] for row in table.rows} == names
    assert all(len(row) == len(table.headers) for row in table.rows)
    assert all(row[1] for row in table.rows)


def test_every_figure_that_was_measured_has_its_row() -> None:
    measured = [json.loads(path.read_text())["figures"] for path in FIGURES.glob("*.json")]
    names = {name for figures in measured for name in figures}

    assert names
    assert names <= {row[0] for row in table_of("benchmarks").rows}


@every_table
def test_the_readme_has_its_table_once(what: str) -> None:
    assert README.read_text().count(f"<!-- table: {what} -->") == 1


@every_table
def test_the_tables_of_the_readme_are_current(what: str) -> None:
    block = f"<!-- table: {what} -->\n\n{as_markdown(table_of(what))}\n\n<!-- end -->"

    assert block in README.read_text(), "run: python -m onecharge.catalogues README.md"


def test_a_table_in_markdown_sets_names_as_code_and_keeps_its_columns() -> None:
    table = Table("Signs", ("name", "says"), (("a_or_b", "``a`` | b"), ("c", "c")))

    assert as_markdown(table).splitlines() == [
        "| name | says |",
        "| --- | --- |",
        r"| `a_or_b` | `a` \| b |",
        "| `c` | c |",
    ]


def test_the_command_rewrites_what_stands_between_the_marks_and_nothing_else(
    tmp_path: Path,
) -> None:
    before = (
        "# Words\n\n<!-- table: dialects -->\nold\n<!-- end -->\n\n<!-- x -->\nkept\n<!-- end -->\n"
    )
    file = tmp_path / "README.md"
    file.write_text(before)

    for _ in range(2):
        argv = [sys.executable, "-m", "onecharge.catalogues", str(file)]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)  # noqa: S603
        assert (done.returncode, done.stderr) == (0, "")

        assert file.read_text() == with_tables(before)
    assert re.sub(r"\| .* \|\n", "", file.read_text()) == before.replace("old\n", "\n\n")
