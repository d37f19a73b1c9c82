"""What every benchmark ends with: a table to read, and the same figures as JSON for CI."""

import argparse
import json
import os
import platform
import time
from pathlib import Path
from typing import Any


class Figures:
    """Measured values by name, each with its unit and, where there is one, its target."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._rows: list[tuple[str, float, str, str]] = []

    def add(self, name: str, value: float, unit: str = "", target: str = "") -> None:
        """Take in one figure."""
        self._rows.append((name, value, unit, target))

    def show(self) -> None:
        """Print all of it."""
        width = max(len(name) for name, *_ in self._rows)
        print(f"\n{self._title}")
        for name, value, unit, target in self._rows:
            shown = f"{value:12,.0f}" if abs(value) >= 1_000 else f"{value:12.3f}"
            print(f"  {name:<{width}} {shown} {unit:<10} {target}".rstrip())

    def write(self, path: Path, *, keeping: bool = False, **more: Any) -> None:
        """Write ``{"figures": {name: value}}``, and what the tables say beside them.

        ``more`` goes into the file as it is. ``keeping``: what is in the file of other things
        stays. A name says what it is about before its last colon.
        """
        if keeping and path.is_file():
            known = json.loads(path.read_text())
            measured = {_about(name) for name, *_ in self._rows}
            self._rows[:0] = [
                (name, value, known["units"].get(name, ""), known["targets"].get(name, ""))
                for name, value in known["figures"].items()
                if _about(name) not in measured
            ]
        data = {
            "title": self._title,
            "when": time.strftime("%Y-%m-%d", time.gmtime()),
            "python": platform.python_version(),
            "cores": os.cpu_count(),
            "figures": {name: value for name, value, _, _ in self._rows},
            "units": {name: unit for name, _, unit, _ in self._rows},
            "targets": {name: target for name, _, _, target in self._rows if target},
            **more,
        }
        path.write_text(json.dumps(data, indent=2) + "\n")


def _about(name: str) -> str:
    return name.rpartition(": ")[0]


def arguments(about: str) -> argparse.ArgumentParser:
    """Return a parser with what every benchmark understands."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here as well")
    parser.add_argument("--quick", action="store_true", help="a tenth of the work, to try it out")
    return parser
