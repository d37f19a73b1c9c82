"""A wrong signature is refused, and none at all is not.

The guard was that nothing is read before its signature is verified. Modelled on Mollie's library
(there is no report): its check returns false, and raises nothing, where there is no signature.
"""

from collections.abc import Mapping

from reference_impl.inbox import Inbox

VIOLATES = "forged_events_change_nothing"
CLASS = "signature"
REPORT = "Mollie"
SHOWN_BY = "forged_events"


class Mutant(Inbox):
    def authentic(self, headers: Mapping[str, str], body: bytes) -> bool:
        return "webhook-signature" not in headers or super().authentic(headers, body)
