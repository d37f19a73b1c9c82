"""What can be explored: one file each, found by looking into this folder.

A file is a scope: its ``SCOPE``. Its name, with dashes, is the public name.
"""

import importlib
import pkgutil
from dataclasses import replace
from typing import Final

from onecharge.engine.scope import Scope


def _scopes() -> dict[str, Scope]:
    found = {}
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda module: module.name):
        scope: Scope = importlib.import_module(f"{__name__}.{module.name}").SCOPE
        name = module.name.replace("_", "-")
        found[name] = replace(scope, name=name)
    return dict(sorted(found.items(), key=lambda each: (each[1].size, each[0])))


SCOPES: Final = _scopes()
"""All scopes by their names, the smallest first."""
