"""Tells that a mutant's own code was run: for ``museum.py``, which puts this on Python's path.

Python runs it in every process that finds it there, before anything else. When a mutant has been
imported, whatever its class defines leaves the file that ``MUSEUM_REACHED`` names as soon as it is
called. A mutant that defines nothing is what its store lacks: then that store's own code counts.
"""

import importlib.abc
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

MUTANTS = "reference_impl.mutants."


class Watch(importlib.abc.MetaPathFinder):
    """Finds mutants where they lie, and has them tell."""

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None = None,  # noqa: ARG002 - as every finder
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """Return where a mutant is, if it is one; of all else others know."""
        if not name.startswith(MUTANTS) or name.startswith(f"{MUTANTS}_"):
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        sys.meta_path.insert(0, self)
        if spec is not None and spec.loader is not None:
            spec.loader = Telling(spec.loader)
        return spec


class Telling(importlib.abc.Loader):
    """Loads a module as another loader does, and has its mutant tell."""

    def __init__(self, loader: importlib.abc.Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Leave it to the other."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Execute it, and put something around what its mutant defines."""
        self._loader.exec_module(module)
        mutant: type = module.Mutant
        own = dict(inspect.getmembers(mutant, inspect.isfunction))
        defined = own.keys() & vars(mutant).keys() or {
            name for each in mutant.__mro__ if MUTANTS in each.__module__ for name in vars(each)
        }
        for name in defined & own.keys():
            setattr(mutant, name, telling(own[name]))


def telling(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what leaves the file, and then does what the function does."""

    @wraps(function)
    def told(*words: Any, **named: Any) -> Any:
        Path(os.environ["MUSEUM_REACHED"]).touch()
        return function(*words, **named)

    return told


if "MUSEUM_REACHED" in os.environ:
    sys.meta_path.insert(0, Watch())
