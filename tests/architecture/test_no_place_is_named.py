"""No file names a package registry, or a folder of the machine that it was written on."""

import os
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# In pieces, because this file is looked at as well.
REGISTRIES = (
    *("pypi" + ".org", "pythonhosted" + ".org", "npmjs" + ".org", "npmjs" + ".com"),
    *("crates" + ".io", "rubygems" + ".org", "proxy.golang" + ".org"),
)
FOLDERS = ("/" + "work/", "/" + "root\\b", "/" + "tmp/v\\b")

NAMES_A_REGISTRY = re.compile("|".join(map(re.escape, REGISTRIES)), re.IGNORECASE)
NAMES_A_FOLDER = re.compile(rf"(?<![\w.])({'|'.join(FOLDERS)})")


def our_files() -> Iterator[Path]:
    """Every file but those that git is told to ignore."""
    lines = (ROOT / ".gitignore").read_text().splitlines()
    patterns = [".git", *(line.strip("/") for line in lines if line and line[0] != "#")]

    def ours(name: str) -> bool:
        return not any(fnmatch(name, pattern) for pattern in patterns)

    for folder, folders, files in os.walk(ROOT):
        folders[:] = filter(ours, folders)
        yield from (Path(folder, file) for file in files if ours(file))


@pytest.mark.parametrize("places", [NAMES_A_REGISTRY, NAMES_A_FOLDER], ids=["registry", "folder"])
def test_no_file_names_a_place(places: re.Pattern[str]) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in our_files()
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), start=1)
        if places.search(line)
    ]

    assert found == []


def test_all_files_were_looked_at() -> None:
    names = {str(path.relative_to(ROOT)) for path in our_files()}

    assert {"pyproject.toml", ".ci/run", "simulator/openapi.json", "onecharge/cli.py"} <= names
    assert not any(name.startswith((".venv/", ".git/", ".onecharge/")) for name in names)


@pytest.mark.parametrize(
    "line",
    [f"index-url = https://{REGISTRIES[0]}/simple", "'https://registry." + REGISTRIES[2] + "/x'"],
)
def test_a_registry_would_be_noticed(line: str) -> None:
    assert NAMES_A_REGISTRY.search(line)


@pytest.mark.parametrize("folder", ["/" + "work/main", "/" + "root", "/" + "tmp/v/bin/python"])
def test_a_folder_would_be_noticed(folder: str) -> None:
    assert NAMES_A_FOLDER.search(f'path = "{folder}"')
