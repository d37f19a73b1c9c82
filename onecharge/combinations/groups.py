"""Which rows are played together. Most of a row is waiting, and they can wait together.

Rule 1: those that a kill strikes come together, up to a number, and likewise those whose database
        crashes; never both in one group.
Rule 2: the others fill these groups evenly: they begin when all is up again, and first those whose
        calls go wrong: somebody has to wait there. What is more than one trouble by itself takes
        long, or many orders: all of it is in the first of them.
Rule 3: where charges do not name their orders, nobody plays beside anybody.
"""

import math
from collections.abc import Sequence
from typing import Final

from onecharge.combinations.rows import Row, Space

STRUCK_TOGETHER: Final = 24
"""So many have one blow in common: more would not all be there while the first can wait."""

SIDE_BY_SIDE: Final = 64
"""So many rows are one playing at most."""


def arranged(space: Space, rows: Sequence[Row], *, tied: bool) -> list[list[Row]]:
    """Return the rows in groups that are played one after the other."""
    if not tied:
        return [[row] for row in rows]
    kills, crashes, others = [], [], []
    for row in rows:
        if any(value.kill for value in space.values(row)):
            kills.append(row)
        elif any(value.crash for value in space.values(row)):
            crashes.append(row)
        else:
            others.append(row)
    groups = [*_dealt(space, kills), *_dealt(space, crashes)]
    needed = math.ceil(len(rows) / SIDE_BY_SIDE)
    groups += [[] for _ in range(needed - len(groups))]
    for row in sorted(others, key=lambda row: not _bends_a_call(space, row)):
        double = any(value.troubles > 1 for value in space.values(row))
        (groups[0] if double else min(groups, key=len)).append(row)
    return [group for group in groups if group]


def _bends_a_call(space: Space, row: Row) -> bool:
    return any(space.factors[place].name in {"call", "retry"} for place, _ in row.places)


def _dealt(space: Space, rows: Sequence[Row]) -> list[list[Row]]:
    """Deal rows that are struck to as few groups as can be, every kind of blow to all alike."""
    number = math.ceil(len(rows) / STRUCK_TOGETHER)
    deaths = [place for place, factor in enumerate(space.factors) if factor.name == "death"]
    ordered = sorted(rows, key=lambda row: [row.indices[place] for place in deaths])
    return [ordered[first::number] for first in range(number)]
