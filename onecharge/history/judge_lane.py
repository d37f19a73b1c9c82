"""What the judge's own lane says: what was to be played, how it healed, what the service believes.

Rule 1: a field that an older writer did not know is read as if it had said nothing.
"""

from collections.abc import Mapping
from typing import Any

from onecharge.history.case import CAPABILITIES, Convergence, Run
from onecharge.history.records import Record
from onecharge.history.story import Belief


def run_in(value: Mapping[str, Any]) -> Run:
    """Return what the run was meant to be."""
    return Run(
        scenario=value.get("scenario", ""),
        seed=value.get("seed"),
        fair=value.get("fair", True),
        absent=_absent(value.get("capabilities")),
        rules=tuple(str(rule["name"]) for rule in value.get("plan", ()) if "name" in rule),
        claims=frozenset(value.get("claims", ())),
        exercises=frozenset(value.get("exercises", ())),
        claimed=frozenset(value.get("claimed", ())),
    )


def convergence_in(record: Record) -> Convergence:
    """Return how healing went."""
    value = record.value
    return Convergence(
        index=record.index,
        after_s=value.get("after_s", 0.0),
        bound_s=value.get("bound_s", 0.0),
        missing=tuple(str(lack) for lack in value.get("missing", ())),
    )


def belief_in(record: Record) -> Belief:
    """Return what the service said of an order."""
    value = record.value
    return Belief(
        index=record.index,
        status=value.get("status"),
        charge=value.get("charge"),
        amount_minor=value.get("amount_minor"),
        effects=value.get("effects"),
        effects_minor=value.get("effects_minor"),
        refunds=value.get("refunds"),
        refunded_minor=value.get("refunded_minor"),
        effects_by_event=value.get("effects_by_event"),
    )


def _absent(capabilities: Any) -> frozenset[str]:
    """Read a table of yes and no, or a list of what is there; nothing said, all is there."""
    match capabilities:
        case None:
            return frozenset()
        case Mapping():
            return frozenset(name for name, present in capabilities.items() if not present)
        case _:
            return CAPABILITIES.difference(capabilities)
