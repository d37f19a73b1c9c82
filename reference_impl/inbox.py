"""Where the provider's events come in.

Rule 1: the signature is verified over the raw body, before a byte of it is parsed.
Rule 2: an event is acknowledged only once its id and its effect are durable, together. The
        effect of an ``invoice.due`` is a reservation; its charge follows, and needs no event.
Rule 3: a duplicate is acknowledged as well, or the provider would go on sending it.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import ValidationError

from reference_impl.answers import Reply, answer, problem
from reference_impl.charging import Charging
from reference_impl.event import Event, Invoice
from reference_impl.operation import Operation
from reference_impl.reservation import Owned, Reservation
from reference_impl.store import TakenIn
from reference_impl.webhooks import Webhooks

log = logging.getLogger(__name__)

REDELIVER_AFTER_S: Final = 1


@dataclass(frozen=True, slots=True)
class Sender:
    """Whom we believe, and how what they write is read.

    ``bills_for`` is the tenant whose customers its invoices are for; without one there are none.
    """

    webhooks: Webhooks
    bills_for: str | None = None


class Inbox:
    """Verifies events and takes them in."""

    def __init__(self, charging: Charging, sender: Sender) -> None:
        self.charging = charging
        self.store = charging.store
        self.clock = charging.surroundings.clock
        self.sender = sender
        self._charges: set[asyncio.Task[Operation]] = set()

    async def receive(self, headers: Mapping[str, str], body: bytes) -> Reply:
        """Answer one delivery."""
        if not self.authentic(headers, body):
            return problem(401, "bad_signature", "this was not signed with our secret, lately")
        try:
            event = self.sender.webhooks.read(headers, body)
        except ValidationError:
            return problem(400, "bad_event", "the body is not an event")
        if event.invoice is not None and self.sender.bills_for is None:
            return problem(503, "no_billing", "INVOICE_TOKEN does not say whose invoices these are")
        taken = await self.take_in(event)
        self.charging.metrics.events.labels(taken.value).inc()
        log.info("event", extra={"event": event.id, "type": event.type, "taken": taken.value})
        if taken is TakenIn.TOO_EARLY:
            detail = "money moved for a charge that is not here yet; deliver this again"
            return problem(503, "too_early", detail, retry_after_s=REDELIVER_AFTER_S)
        return answer(200, {"event": event.id, "taken": taken.value})

    def authentic(self, headers: Mapping[str, str], body: bytes) -> bool:
        """Say whether the provider wrote this, lately."""
        return self.sender.webhooks.authentic(headers, body, self.clock())

    async def take_in(self, event: Event) -> TakenIn:
        if event.invoice is None:
            return await self.store.take_in(event, self.clock())
        new = self.invoice_reservation(event.id, event.invoice)
        taken = await self.store.take_in_invoice(event, new, self.charging.lease(self.clock()))
        if isinstance(taken, Owned):
            self._pursue(taken.operation)
            return TakenIn.APPLIED
        return taken

    def invoice_reservation(self, event_id: str, invoice: Invoice) -> Reservation:
        """Say what an invoice makes us charge: its key is the event's id, in a scope of its own."""
        assert self.sender.bills_for is not None, "asked for a tenant before"
        return self.charging.reservation(
            "invoice", self.sender.bills_for, event_id, invoice.intent(), invoice.id
        )

    async def drain(self) -> None:
        """Wait for the charges that go on behind acknowledged events."""
        await asyncio.gather(*self._charges, return_exceptions=True)

    def _pursue(self, operation: Operation) -> None:
        # Killed from here on, we leave a reservation that the reconciler pursues.
        task = asyncio.create_task(self.charging.pursue(operation))
        self._charges.add(task)
        task.add_done_callback(self._charges.discard)
