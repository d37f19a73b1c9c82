"""What is the case: money moved, things that happened, endpoints that were told."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from simulator.control.asks import Asked, Told, Trouble, invalid
from simulator.core.journal import Tally

if TYPE_CHECKING:
    from simulator.server import Simulator


async def ledger(simulator: "Simulator", _: Asked) -> Told:
    """Show every movement of money; a real charge is a capture found here."""
    ledger = simulator.provider.ledger
    return Told(
        {
            "postings": [asdict(posting) for posting in ledger],
            "discrepancies": ledger.discrepancies(),
        }
    )


async def journal(simulator: "Simulator", asked: Asked) -> Told:
    """Show what happened, from an index on; where it is only counted, the counts."""
    journal = simulator.journal
    if journal is None:
        raise Trouble(409, "No journal here", "Whoever embedded this simulator keeps it.")
    first = asked.query.get("from", "0")
    if not (first.isascii() and first.isdigit() and len(first) < 16):
        raise invalid("from", "an index, from 0", first)
    if isinstance(journal, Tally):
        return Told({"entries": [], "next": len(journal), "counts": dict(journal.counts)})
    return Told({"entries": journal.lines(int(first)), "next": len(journal)})


async def deliveries(simulator: "Simulator", _: Asked) -> Told:
    """Show every duty to tell an endpoint of an event, and how far it is."""
    deliveries = simulator.provider.deliveries
    return Told(
        {
            "unfinished": deliveries.unfinished,
            "deliveries": [
                {
                    "id": delivery.id,
                    "event": delivery.event.id,
                    "type": delivery.event.type,
                    "charge": delivery.event.charge_id,
                    "order": delivery.event.order,
                    "url": delivery.endpoint.url,
                    "attempts": delivery.attempts,
                    "acknowledged": delivery.acknowledged,
                    "withheld": delivery.withheld,
                }
                for delivery in deliveries.by_id.values()
            ],
        }
    )
