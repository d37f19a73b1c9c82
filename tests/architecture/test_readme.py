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
    rewrite,
    table_of,
    with_tables,
)

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = {what: ROOT / "docs" / "figures.md" if what == "figures" else README for what in TABLES}
"""Where each table stands."""
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
    assert names <= {row[0] for row in table_of("figures").rows}


def test_the_readme_tells_every_figure_that_has_a_target_or_is_of_a_race() -> None:
    told = {path: json.loads(path.read_text()) for path in FIGURES.glob("*.json")}
    races = told.pop(FIGURES / "races.json")["figures"]
    wanted = {name for each in told.values() for name in each["targets"]}

    assert wanted == {name for name, measured, _ in table_of("benchmarks").rows if measured}
    assert {name.split(": ")[1] for name in races} == {row[0] for row in table_of("races").rows}


@every_table
def test_every_table_stands_on_its_page_once(what: str) -> None:
    assert PAGES[what].read_text().count(f"<!-- table: {what} -->") == 1


@every_table
def test_the_tables_are_current(what: str) -> None:
    block = f"<!-- table: {what} -->\n\n{as_markdown(table_of(what))}\n\n<!-- end -->"

    page = PAGES[what].read_text()
    assert block in page, "run: python -m onecharge.catalogues README.md docs/figures.md"


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

    argv = [sys.executable, "-m", "onecharge.catalogues", str(file)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)  # noqa: S603
    assert (done.returncode, done.stderr) == (0, "")
    assert file.read_text() == with_tables(before)

    rewrite(file)
    assert file.read_text() == with_tables(before), "once more, it changes nothing"
    assert re.sub(r"\| .* \|\n", "", file.read_text()) == before.replace("old\n", "\n\n")
