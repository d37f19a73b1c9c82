"""What the bank says when it says no, as this API tells it.

Rule 1: a few declines have an error code of their own; all others are ``card_declined``.
Rule 2: a bank account's refusals come later and are no errors of a card.
"""

from dataclasses import dataclass
from typing import Any, Final

OWN_CODES: Final = frozenset(
    {
        "authentication_required",
        "expired_card",
        "incorrect_cvc",
        "incorrect_number",
        "processing_error",
    }
)
MESSAGES: Final = {
    "authentication_required": "The bank wants the customer to approve this.",
    "card_velocity_exceeded": "The card has been used too often of late.",
    "expired_card": "The card has expired.",
    "generic_decline": "The card was declined.",
    "incorrect_cvc": "The security code is not that of the card.",
    "insufficient_funds": "There is not enough money for this.",
    "lost_card": "The card was declined.",
    "processing_error": "The card could not be processed; another attempt may succeed.",
    "stolen_card": "The card was declined.",
}


@dataclass(frozen=True, slots=True)
class DeclineTold:
    """One refusal in the API's words."""

    reason: str

    @property
    def code(self) -> str:
        """The code of the error: the reason itself where it has one."""
        return self.reason if self.reason in OWN_CODES else "card_declined"

    @property
    def message(self) -> str:
        return MESSAGES.get(self.reason, "The bank said no.")

    def error(self, kind: str) -> dict[str, Any]:
        """Return what an error or an intent says of it, for a card or another kind of method."""
        if kind != "card":
            return {"code": self.reason, "message": self.message, "type": "invalid_request_error"}
        return {
            "code": self.code,
            "decline_code": self.reason,
            "doc_url": doc_url(self.code),
            "message": self.message,
            "type": "card_error",
        }


def decline_of(reason: str) -> DeclineTold:
    """Return a refusal by the bank's own reason."""
    return DeclineTold(reason)


def doc_url(code: str) -> str:
    """Return where the real provider explains an error code."""
    return f"https://stripe.com/docs/error-codes/{code.replace('_', '-')}"
