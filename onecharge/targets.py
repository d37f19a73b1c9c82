"""What is to be judged: a user's service file, or the reference, right or with one guard broken.

Rule 1: the reference is found as files beside us and never imported: it is a service like others.
Rule 2: a mutant is the reference's own service file with a name filled in.
"""

import ast
import difflib
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from onecharge.service_file import ServiceFile, read_service_file

HERE: Final = Path("onecharge.toml")
"""What is judged where nothing is named, if it is there."""

_REFERENCE = "reference_impl"


class WrongUsage(Exception):
    """The command line asks for something there is not; the message is the whole explanation."""


@dataclass(frozen=True)
class Target:
    """A service to judge, and how the command line named it."""

    path: Path
    service_file: ServiceFile
    mutant: str = ""
    words: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What the report calls it."""
        name = self.service_file.service.name
        return f"{name} with mutant {self.mutant}" if self.mutant else name


@dataclass(frozen=True)
class Mutant:
    """The reference with one guard broken, as its file describes itself.

    ``violates`` is the invariant that it breaks first of all, ``shown_by`` a scenario in which that
    is seen, if the library has one.
    """

    name: str
    says: str
    violates: str
    report: str
    bug_class: str
    shown_by: str | None


def target(service: Path | None, mutant: str | None) -> Target:
    """Return what the user named: a service file, or a mutant.

    Who names none means the ``onecharge.toml`` of this folder, or else the reference.
    """
    if service is not None and mutant is not None:
        raise WrongUsage("--service and --mutant exclude each other: a mutant is of the reference")
    if service is None and mutant is None and HERE.is_file():
        service = HERE
    if service is not None:
        return Target(service, read_service_file(service), words=("--service", str(service)))
    return reference(mutant)


def reference(mutant: str | None = None) -> Target:
    """Return the reference, with a guard broken if one is named."""
    path = _reference_folder() / "onecharge.toml"
    file = read_service_file(path)
    if mutant is None:
        return Target(path, file)
    known = mutants()
    if mutant not in known:
        near = difflib.get_close_matches(mutant, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known)}"
        raise WrongUsage(f"--mutant: no mutant is called {mutant!r}; {hint}")
    return Target(path, file, mutant, ("--mutant", mutant))


def mutants() -> dict[str, Mutant]:
    """Return every mutant by name, read from its file without running it."""
    files = sorted((_reference_folder() / "mutants").glob("*.py"))
    return {file.stem: _described(file) for file in files if not file.stem.startswith("_")}


def _described(file: Path) -> Mutant:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    constants: dict[str, Any] = {
        node.targets[0].id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
    }
    says = (ast.get_docstring(tree) or "").partition("\n\n")[0].replace("\n", " ")
    return Mutant(
        name=file.stem,
        says=says,
        violates=constants["VIOLATES"],
        report=constants["REPORT"],
        bug_class=constants["CLASS"],
        shown_by=constants.get("SHOWN_BY"),
    )


def _reference_folder() -> Path:
    spec = find_spec(_REFERENCE)
    if spec is None or not spec.submodule_search_locations:
        raise WrongUsage("the reference service is not installed; name one with --service FILE")
    return Path(spec.submodule_search_locations[0])
