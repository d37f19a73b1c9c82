"""The verdict as a JSON file, for CI and for whoever comes after."""

import json
from pathlib import Path

from onecharge.report.written import write_whole
from onecharge.verdict import RunVerdict
from simulator.redaction import without_secrets


def json_text(verdict: RunVerdict) -> str:
    """Return the verdict as JSON, in ASCII: half a character of a foreign answer cannot harm it."""
    return json.dumps(without_secrets(verdict.to_json()), indent=2) + "\n"


def write_json(verdict: RunVerdict, path: Path) -> None:
    """Write the verdict to ``path``, whole or not at all; ``OSError`` if it cannot be written."""
    write_whole(json_text(verdict), path)
