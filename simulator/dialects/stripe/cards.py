"""The test cards and test bank accounts: how each looks, and what the bank says to it.

Rule 1: a card is one row of ``CARDS``; its token, its test payment method and its number are
        three names for it: ``tok_visa``, ``pm_card_visa``, 4242 4242 4242 4242.
Rule 2: a bank account is answered later, in ``SETTLES_S`` seconds of virtual time. How long that
        takes in reality is not promised anywhere, so nothing should depend on it.
"""

import hashlib
from typing import Final

from simulator.core.customers import Face

SETTLES_S: Final = 60.0

CARDS: Final[tuple[tuple[str, str, str, str, str | None], ...]] = (
    # name, number, brand, funding, what the bank says when it says no
    ("visa", "4242424242424242", "visa", "credit", None),
    ("visa_debit", "4000056655665556", "visa", "debit", None),
    ("mastercard", "5555555555554444", "mastercard", "credit", None),
    ("mastercard_debit", "5200828282828210", "mastercard", "debit", None),
    ("mastercard_prepaid", "5105105105105100", "mastercard", "prepaid", None),
    ("amex", "378282246310005", "amex", "credit", None),
    ("discover", "6011111111111117", "discover", "credit", None),
    ("diners", "3056930009020004", "diners", "credit", None),
    ("jcb", "3566002020360505", "jcb", "credit", None),
    ("unionpay", "6200000000000005", "unionpay", "credit", None),
    ("chargeDeclined", "4000000000000002", "visa", "credit", "generic_decline"),
    (
        "chargeDeclinedInsufficientFunds",
        "4000000000009995",
        "visa",
        "credit",
        "insufficient_funds",
    ),
    ("chargeDeclinedLostCard", "4000000000009987", "visa", "credit", "lost_card"),
    ("chargeDeclinedStolenCard", "4000000000009979", "visa", "credit", "stolen_card"),
    ("chargeDeclinedExpiredCard", "4000000000000069", "visa", "credit", "expired_card"),
    ("chargeDeclinedIncorrectCvc", "4000000000000127", "visa", "credit", "incorrect_cvc"),
    ("chargeDeclinedProcessingError", "4000000000000119", "visa", "credit", "processing_error"),
    ("chargeDeclinedFraudulent", "4100000000000019", "visa", "credit", "fraudulent"),
    (
        "chargeDeclinedVelocityLimitExceeded",
        "4000000000006975",
        "visa",
        "credit",
        "card_velocity_exceeded",
    ),
    ("chargeCustomerFail", "4000000000000341", "visa", "credit", "generic_decline"),
    # What a customer has to approve cannot be approved here: no browser is asked.
    ("authenticationRequired", "4000002500003155", "visa", "credit", "authentication_required"),
)

BANK_ACCOUNTS: Final[dict[str, str | None]] = {
    "success": None,
    "accountClosed": "account_closed",
    "noAccount": "no_account",
    "insufficientFunds": "insufficient_funds",
    "debitNotAuthorized": "debit_not_authorized",
    "invalidCurrency": "invalid_currency",
}

_CLINGS: Final = "chargeCustomerFail"  # the one that only a charge finds out about


def _card(name: str, number: str, brand: str, funding: str, declines: str | None) -> Face:
    looks = {
        "brand": brand,
        "checks": {
            "address_line1_check": None,
            "address_postal_code_check": None,
            "cvc_check": "fail" if declines == "incorrect_cvc" else "pass",
        },
        "country": "US",
        "display_brand": brand,
        "exp_month": 12,
        "exp_year": 2034,
        "fingerprint": hashlib.sha256(number.encode()).hexdigest()[:16],
        "funding": funding,
        "generated_from": None,
        "last4": number[-4:],
        "networks": {"available": [brand], "preferred": None},
        "three_d_secure_usage": {"supported": True},
        "wallet": None,
    }
    return Face("card", looks, declines, clings=declines is None or name == _CLINGS)


def _bank_account(declines: str | None) -> Face:
    looks = {
        "account_holder_type": "individual",
        "account_type": "checking",
        "bank_name": "TEST BANK",
        "fingerprint": "0123456789abcdef",
        "last4": "6789",
        "routing_number": "110000000",
        "status_details": {},
    }
    return Face("us_bank_account", looks, declines, settles_s=SETTLES_S)


def _named(prefix: str) -> dict[str, Face]:
    """Return every card by its name; those that decline are also called ``visa_…``."""
    return {
        f"{prefix}{name}": _card(*row)
        for row in CARDS
        for name in ((row[0], f"visa_{row[0]}") if row[4] else (row[0],))
    }


TOKENS: Final[dict[str, Face]] = _named("tok_")
NUMBERS: Final[dict[str, Face]] = {row[1]: _card(*row) for row in CARDS}
TEST_METHODS: Final[dict[str, Face]] = {
    **_named("pm_card_"),
    **{f"pm_usBankAccount_{name}": _bank_account(code) for name, code in BANK_ACCOUNTS.items()},
}
