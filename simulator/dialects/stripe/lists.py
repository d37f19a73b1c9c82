"""Lists and single objects: what may be asked of each kind.

Rule 1: a list is a page, newest first: ``limit`` 1 to 100, a cursor, and filters as a table.
Rule 2: an unknown filter is refused like any other unknown parameter.
"""

from dataclasses import dataclass
from typing import Any, Final

from simulator.core.desk_calls import (
    DeskCall,
    ListCustomers,
    ListEndpoints,
    ListFacts,
    ListIntentCharges,
    ListIntents,
    ListMethods,
    ListRefunds,
    ListThings,
    ReadCustomer,
    ReadEndpoint,
    ReadFact,
    ReadIntentCharge,
    ReadMethod,
    ReadRefund,
    ReadThing,
)
from simulator.core.shelf import Page
from simulator.dialects.stripe.asks import Ask
from simulator.dialects.stripe.clock import EPOCH_S
from simulator.dialects.stripe.fields import (
    Invalid,
    Schema,
    flag,
    instant_range,
    list_of,
    read,
    text,
    whole,
)

_PAGE: Final[Schema] = {
    "created": instant_range,
    "ending_before": text,
    "expand": list_of(text),
    "limit": whole,
    "starting_after": text,
}
LISTS: Final[dict[type[ListThings], tuple[Schema, dict[str, str]]]] = {
    # What may be asked besides a page, and the field of ours that each filter means.
    ListIntents: ({"customer": text}, {"customer": "customer"}),
    ListIntentCharges: (
        {"customer": text, "payment_intent": text, "transfer_group": text},
        {"customer": "customer", "payment_intent": "intent"},
    ),
    ListRefunds: (
        {"charge": text, "payment_intent": text},
        {"charge": "charge", "payment_intent": "intent"},
    ),
    ListCustomers: ({"email": text}, {"email": "email"}),
    ListMethods: (
        {"allow_redisplay": text, "customer": text, "type": text},
        {"customer": "customer", "type": "kind"},
    ),
    ListEndpoints: ({}, {}),
    ListFacts: (
        {"delivery_success": flag, "type": text, "types": list_of(text)},
        {"delivery_success": "delivered", "type": "type", "types": "type"},
    ),
}


@dataclass(frozen=True, slots=True)
class Lists:
    """The list of one kind. ``within`` names the filter that the path already gives."""

    kind: type[ListThings]
    within: str | None = None

    def __call__(self, ask: Ask) -> DeskCall:
        """Read which page of what is wanted."""
        filters, meaning = LISTS[self.kind]
        said = read(ask.fields, {**_PAGE, **filters})
        if self.within is not None:
            said[self.within] = ask.named
        since_s, before_s = said.get("created", (float("-inf"), float("inf")))
        wanted = {meaning[name]: _values(said[name]) for name in meaning if name in said}
        if self.kind is ListCustomers:
            wanted["deleted"] = frozenset({False})
        return self.kind(
            page=_page(said),
            wanted=wanted,
            since_s=since_s - EPOCH_S,
            before_s=before_s - EPOCH_S,
            expand=said.get("expand", ()),
        )


@dataclass(frozen=True, slots=True)
class Reads:
    """One thing of one kind."""

    kind: type[ReadThing]

    def __call__(self, ask: Ask) -> DeskCall:
        """Read which one is wanted."""
        said = read(ask.fields, {"expand": list_of(text)})
        return self.kind(id=ask.named, expand=said.get("expand", ()))


READ_CHARGE: Final = Reads(ReadIntentCharge)
READ_REFUND: Final = Reads(ReadRefund)
READ_CUSTOMER: Final = Reads(ReadCustomer)
READ_METHOD: Final = Reads(ReadMethod)
READ_ENDPOINT: Final = Reads(ReadEndpoint)
READ_EVENT: Final = Reads(ReadFact)


def _page(said: dict[str, Any]) -> Page:
    limit = said.get("limit", 10)
    if not 1 <= limit <= 100:
        raise Invalid("parameter_invalid_integer", "limit must be 1 to 100", "limit")
    after, before = said.get("starting_after"), said.get("ending_before")
    if after is not None and before is not None:
        raise Invalid("invalid_value", "starting_after or ending_before, not both", "ending_before")
    return Page(limit, after, before)


def _values(said: Any) -> frozenset[Any]:
    return frozenset(said) if isinstance(said, tuple) else frozenset({said})
