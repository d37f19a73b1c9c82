"""Where the provider's events come in.

Rule 1: the signature is verified over the raw body, before a byte of it is parsed.
Rule 2: an event is acknowledged only once its id and its effect are durable, together.
Rule 3: a duplicate is acknowledged as well, or the provider would go on sending it.
"""

import logging
from collections.abc import Callable, Mapping
from datetime import datetime

from pydantic import ValidationError
from standardwebhooks import Webhook

from reference_impl.charge import Reply, answer, problem
from reference_impl.event import Event, read_event
from reference_impl.store import Store, TakenIn

log = logging.getLogger(__name__)

REDELIVER_AFTER_S = 1


class Inbox:
    """Verifies events and takes them in."""

    def __init__(self, store: Store, secret: str, clock: Callable[[], datetime]) -> None:
        self.store = store
        self.clock = clock
        self._webhook = Webhook(secret)

    async def receive(self, headers: Mapping[str, str], body: bytes) -> Reply:
        """Answer one delivery."""
        if not self.authentic(headers, body):
            return problem(401, "bad_signature", "this was not signed with our secret")
        try:
            event = read_event(headers["webhook-id"], body)
        except ValidationError:
            return problem(400, "bad_event", "the body is not an event")
        taken = await self.take_in(event)
        log.info("event", extra={"event": event.id, "type": event.type, "taken": taken.value})
        if taken is TakenIn.TOO_EARLY:
            detail = "money moved for a charge that is not here yet; deliver this again"
            return problem(503, "too_early", detail, retry_after_s=REDELIVER_AFTER_S)
        return answer(200, {"event": event.id, "taken": taken.value})

    def authentic(self, headers: Mapping[str, str], body: bytes) -> bool:
        """Say whether the provider wrote this, lately."""
        try:
            self._webhook.verify(body, dict(headers), json_parse=False)
        except Exception:  # noqa: BLE001 - garbled headers raise ValueError, binascii.Error and more
            return False
        return True

    async def take_in(self, event: Event) -> TakenIn:
        return await self.store.take_in(event, self.clock())
