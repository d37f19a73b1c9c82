"""An event of the provider: a fact, told at least once and in any order.

Rule 1: what an event means is read off the charge it shows, never off its type: types have
        aliases and arrive in any order, the charge says what is the case.
"""

from dataclasses import dataclass

from pydantic import BaseModel

from reference_impl.charge import Charge
from reference_impl.outcomes import Outcome, ProviderCharge, told


class ProviderRefund(BaseModel):
    """The provider's refund."""

    id: str
    amount_minor: int


class _Data(BaseModel):
    charge: ProviderCharge | None = None
    refund: ProviderRefund | None = None


class _Message(BaseModel):
    type: str
    data: _Data = _Data()


@dataclass(frozen=True, slots=True)
class Event:
    """One event. The id comes from the signed header, the rest from the signed body."""

    id: str
    type: str
    charge: ProviderCharge | None
    refund: ProviderRefund | None

    @property
    def provider_charge(self) -> str | None:
        return None if self.charge is None else self.charge.id

    @property
    def moved_money(self) -> bool:
        return self.charge is not None and self.charge.status in {"captured", "refunded"}

    def outcome(self, charge: Charge) -> Outcome:
        """Say what this event proves about ``charge``."""
        assert self.charge is not None, "an event without a charge proves nothing about one"
        return told(self.charge, charge)


def read_event(event_id: str, body: bytes) -> Event:
    """Return the event in a verified body; raise pydantic's ``ValidationError`` if it is none."""
    message = _Message.model_validate_json(body)
    return Event(event_id, message.type, message.data.charge, message.data.refund)
