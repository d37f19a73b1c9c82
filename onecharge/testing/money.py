"""What a test may claim of money: ``provider.charged("ord-1").once()``.

Rule 1: only the provider's ledger is asked, never an answer of the service.
Rule 2: a claim that fails shows every capture there was, since the surplus one is the news.
"""

from collections.abc import Iterable, Sequence

from onecharge.history.judgement import money
from simulator.core.ledger import Posting
from simulator.redaction import redacted


class WronglyCharged(AssertionError):
    """The ledger has more or fewer real charges than a test claimed."""


class Charged:
    """The real charges of one order, customer or amount, about which something is claimed.

    ``about`` says in words what was asked for. Every claim returns the captures it counted.
    """

    def __init__(self, about: str, captures: Sequence[Posting], ledger: Iterable[Posting]) -> None:
        self.captures = tuple(captures)
        self._about = about
        self._ledger = tuple(ledger)

    def __repr__(self) -> str:
        return f"<Charged {self._about}: {len(self.captures)}>"

    def __len__(self) -> int:
        return len(self.captures)

    def once(self, amount_minor: int | None = None) -> tuple[Posting, ...]:
        """Claim that there is exactly one real charge, of this amount if one is named."""
        return self.times(1, amount_minor)

    def never(self) -> tuple[Posting, ...]:
        """Claim that no money moved."""
        return self.times(0)

    def at_most_once(self) -> tuple[Posting, ...]:
        """Claim that money moved once, or not at all."""
        if len(self.captures) > 1:
            raise self._wrong("at most 1 real charge")
        return self.captures

    def times(self, count: int, amount_minor: int | None = None) -> tuple[Posting, ...]:
        """Claim that there are exactly so many real charges, each of the amount if one is named."""
        if len(self.captures) != count:
            raise self._wrong(f"{count} real charge{'s' * (count != 1)}")
        if any(amount_minor not in {None, capture.amount_minor} for capture in self.captures):
            raise self._wrong(f"{count} real charge{'s' * (count != 1)} of {amount_minor}")
        return self.captures

    def _wrong(self, expected: str) -> WronglyCharged:
        lines = [f"expected {expected} of {self._about}, found {len(self.captures)}"]
        lines += [f"  {_shown(posting)}" for posting in self.captures]
        others = [posting for posting in self._ledger if posting not in self.captures]
        if others and not self.captures:
            lines += ["the ledger has others:", *(f"  {_shown(posting)}" for posting in others)]
        return WronglyCharged(redacted("\n".join(lines)))


def _shown(posting: Posting) -> str:
    amount = money(posting.amount_minor, posting.currency)
    return (
        f"{posting.kind} {posting.charge} {amount}, reference {posting.reference}, "
        f"customer {posting.customer}, account {posting.account}"
    )
