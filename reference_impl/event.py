"""An event of the provider: a fact, told at least once and in any order.

Rule 1: these are values; how they are read off a provider's webhook is the business of
        ``webhooks_generic.py`` and ``webhooks_stripe.py``.
"""

from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from reference_impl.operation import Intent, Operation
from reference_impl.outcomes import Outcome, ProviderCharge, ProviderRefund, told

Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
Amount = Annotated[int, Field(gt=0, le=10**12)]
Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$")]


class Invoice(BaseModel):
    """What the provider's billing asks us to charge."""

    model_config = ConfigDict(strict=True)

    id: Name
    order: Name
    amount_minor: Amount
    currency: Currency
    customer: Name

    def intent(self) -> Intent:
        return Intent(self.order, self.amount_minor, self.currency, self.customer)


@dataclass(frozen=True, slots=True)
class Event:
    """One event, with what it shows: a charge, a refund, or both; or an invoice to be charged."""

    id: str
    type: str
    charge: ProviderCharge | None = None
    refund: ProviderRefund | None = None
    invoice: Invoice | None = None

    @property
    def provider_charge(self) -> str | None:
        if self.charge is not None:
            return self.charge.id
        return None if self.refund is None else self.refund.charge

    @property
    def moved_money(self) -> bool:
        return self.charge is not None and self.charge.status in {"captured", "refunded"}

    def outcome(self, charge: Operation) -> Outcome:
        """Say what this event proves about ``charge``."""
        assert self.charge is not None, "an event without a charge proves nothing about one"
        return told(self.charge, charge)
