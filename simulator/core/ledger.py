"""The truth about money: an append-only book of double entries.

Rule 1: nothing is ever changed or taken out of it.
Rule 2: every posting takes from one book account what it gives to another.
Rule 3: balances are derived, never stored.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Literal

from simulator.core.values import value


@value(frozen=True, slots=True)
class Posting:
    """Money moved from one book account to another: a double entry, balanced by its form."""

    number: int
    kind: Literal["capture", "refund"]
    charge: str
    account: str
    reference: str | None
    customer: str | None
    amount_minor: int
    currency: str

    @property
    def debit(self) -> str:
        """The book account that gives."""
        return self._payer if self.kind == "capture" else self._payee

    @property
    def credit(self) -> str:
        """The book account that receives."""
        return self._payee if self.kind == "capture" else self._payer

    @property
    def lines(self) -> tuple[tuple[str, int], tuple[str, int]]:
        """Both sides, signed: what was taken and what was given."""
        return (self.debit, -self.amount_minor), (self.credit, self.amount_minor)

    @property
    def _payer(self) -> str:
        return f"customer:{self.customer or ''}"

    @property
    def _payee(self) -> str:
        return f"merchant:{self.account}"


class Ledger:
    """Every movement of money there was. A *real charge* is a capture found here."""

    def __init__(self) -> None:
        self._postings: list[Posting] = []
        self._captures_by_reference: dict[str, list[Posting]] = {}

    def __iter__(self) -> Iterator[Posting]:
        return iter(self._postings)

    def __len__(self) -> int:
        return len(self._postings)

    def real_charges(self, reference: str | None = None) -> list[Posting]:
        """Return every capture, or those of one order, oldest first."""
        if reference is None:
            return [posting for posting in self._postings if posting.kind == "capture"]
        return list(self._captures_by_reference.get(reference, ()))

    def balance_minor(self, book_account: str, currency: str) -> int:
        """Return what a book account has received less what it has given."""
        return sum(
            signed_minor
            for posting in self._postings
            if posting.currency == currency
            for name, signed_minor in posting.lines
            if name == book_account
        )

    def post(
        self,
        kind: Literal["capture", "refund"],
        *,
        charge: str,
        account: str,
        reference: str | None,
        customer: str | None,
        amount_minor: int,
        currency: str,
    ) -> Posting:
        """Write down that money moved."""
        assert amount_minor > 0
        posting = Posting(
            len(self._postings) + 1,
            kind,
            charge,
            account,
            reference,
            customer,
            amount_minor,
            currency,
        )
        self._postings.append(posting)
        if kind == "capture" and reference is not None:
            self._captures_by_reference.setdefault(reference, []).append(posting)
        return posting

    def discrepancies(self) -> list[str]:
        """Go through all postings and say what does not add up: nothing, ever."""
        left: Counter[str] = Counter()
        found = []
        for place, posting in enumerate(self._postings, start=1):
            if posting.number != place:
                found.append(f"posting {posting.number} stands in place {place}")
            refund = posting.kind == "refund"
            left[posting.charge] += -posting.amount_minor if refund else posting.amount_minor
            if left[posting.charge] < 0:
                found.append(f"{posting.charge} was refunded more than it captured")
        return found
