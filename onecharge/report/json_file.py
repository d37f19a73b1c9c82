"""The verdict as a JSON file, for CI and for whoever comes after."""

import json
import os
from pathlib import Path

from onecharge.verdict import RunVerdict


def write_json(verdict: RunVerdict, path: Path) -> None:
    """Write the verdict to ``path``, whole or not at all; ``OSError`` if it cannot be written."""
    text = json.dumps(verdict.to_json(), indent=2) + "\n"
    if path.exists() and not path.is_file():
        path.write_text(text, encoding="ascii")  # a device or a pipe: there is nothing to replace
        return
    # Beside the target, so that the last step is a rename on one file system. Never a half file:
    # a CI step that parses it must find the verdict or nothing.
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="ascii")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
