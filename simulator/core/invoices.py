"""Invoices: what the provider's billing wants to have charged. No money moves by one.

Rule 1: an invoice that is due asks the merchant to charge it; whether and how often it is charged
        is the merchant's doing.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from simulator.core.values import value

INVOICE_DUE: Final = "invoice.due"


@value(frozen=True, slots=True)
class Invoice:
    """An order that nobody pays for by hand: it is to be charged when it is due."""

    id: str
    account: str
    reference: str
    amount_minor: int
    currency: str
    customer: str
    metadata: Mapping[str, str] = field(default_factory=dict)
