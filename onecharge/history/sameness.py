"""What happened to one order, without what differs whenever it happens again.

Rule 1: two runs are the same if the same things happened on the same lanes in the same order, to
        the same effect. When, under which ids, at which port and for how much is no part of it.
Rule 2: an id is known by its place: the first charge, the second event. So it is seen if an answer
        names another charge than the provider made.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Final

from onecharge.history.judgement import decimal
from onecharge.history.records import Record

_PATTERNS: Final = (
    ("time", re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?")),
    ("address", re.compile(r"\b127\.0\.0\.1:\d+")),
    (
        "id",
        re.compile(
            r"\b(?:[a-z]+[-_])*[0-9a-f]{16,}\b|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"
        ),
    ),
    ("number", re.compile(r"\b[a-z]+[-_]\d+\b")),
)
"""What differs, and what it is called. The more telling come first."""

_PREFIX: Final = re.compile(r"[a-z]+(?=[-_])(?:[-_][a-z]+(?=[-_]))*")


def retold(records: Iterable[Record], order: str) -> tuple[str, ...]:
    """Return what happened to an order, a line for each record, with names instead of ids."""
    own = [record for record in records if record.order == order]
    names = _Names(order, own)
    return tuple(
        names.put_into(f"{record.lane} {record.kind} {json.dumps(record.value, sort_keys=True)}")
        for record in own
    )


class _Names:
    """Gives every id of one order a name, in the order of their first use."""

    def __init__(self, order: str, own: Iterable[Record]) -> None:
        self._known: dict[str, str] = {order: "<order>"}
        self._counts: defaultdict[str, int] = defaultdict(int)
        for record in own:
            if record.key is not None and record.lane.startswith("client:"):
                self._known[record.key] = "<key>"
            if isinstance(customer := record.value.get("customer"), str):
                self._known[customer] = "<customer>"
            if isinstance(amount_minor := record.value.get("amount_minor"), int):
                currency = str(record.value.get("currency", "EUR"))
                self._known[str(amount_minor)] = "<amount>"
                self._known[decimal(amount_minor, currency)] = "<amount>"
        longest_first = sorted(self._known, key=len, reverse=True)
        self._given = re.compile(
            "|".join(rf"(?<!\d){re.escape(word)}(?!\d)" for word in longest_first)
        )

    def put_into(self, line: str) -> str:
        line = self._given.sub(lambda found: self._known[found[0]], line)
        for kind, pattern in _PATTERNS:
            line = pattern.sub(self._naming(kind), line)
        return line

    def _naming(self, kind: str) -> Callable[[re.Match[str]], str]:
        def name(found: re.Match[str]) -> str:
            if kind in {"time", "address"}:
                return f"<{kind}>"
            if found[0] not in self._known:
                prefix = (_PREFIX.match(found[0]) or [kind])[0]
                self._counts[prefix] += 1
                self._known[found[0]] = f"<{prefix} {self._counts[prefix]}>"
            return self._known[found[0]]

        return name
