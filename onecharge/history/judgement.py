"""The words a judge uses: verdicts, violations and the evidence for them.

Rule 1: a violation stands on evidence, and every piece names its record.
Rule 2: what could not be judged is *unknown* with a reason, never *holds*.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

Verdict = Literal["holds", "violated", "unknown", "not_applicable"]

Boundary = Literal["client → API", "API → provider", "provider → webhook receiver"]

CLIENT_TO_API: Final[Boundary] = "client → API"
API_TO_PROVIDER: Final[Boundary] = "API → provider"
PROVIDER_TO_RECEIVER: Final[Boundary] = "provider → webhook receiver"

GUARDS: Final[dict[Boundary, str]] = {
    CLIENT_TO_API: (
        "reserve the client's key in a unique index before charging, and bind the result to it"
    ),
    API_TO_PROVIDER: (
        "store one provider key for each order before the call, and send it with every attempt"
    ),
    PROVIDER_TO_RECEIVER: (
        "record the event id in the same transaction as its effect, under a unique index"
    ),
}
"""What usually closes each boundary."""

Side = Literal["client", "provider", "service"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """One thing that was seen: which record says it, on which side, and in words."""

    index: int
    side: Side
    says: str


@dataclass(frozen=True, slots=True)
class Violation:
    """Money or truth is wrong for one order; ``order`` is None where it is wrong for all.

    ``says`` is one sentence with ids and money, ``cause`` the likely cause, ``guard`` what
    usually closes the open ``boundary``. ``at_risk_minor`` is the money concerned.
    """

    order: str | None
    says: str
    evidence: tuple[Evidence, ...]
    boundary: Boundary
    guard: str
    cause: str
    at_risk_minor: int = 0
    currency: str = ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one invariant makes of one case. ``reasons`` say why something stayed unknown.

    Not ``exercised`` is what found nothing of its kind in the case: it knows nothing, and whether
    that counts depends on what the case was planned to show.
    """

    verdict: Verdict
    violations: tuple[Violation, ...] = ()
    advice: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    exercised: bool = True

    @classmethod
    def of(
        cls,
        *,
        judged: int,
        violations: Sequence[Violation] = (),
        reasons: Sequence[str] = (),
        advice: Sequence[str] = (),
    ) -> "Judgement":
        """Weigh what was found: a violation before a doubt, a doubt before *holds*.

        ``judged`` counts what there was to judge: with none of it the verdict is unknown.
        """
        if not judged and not violations and not reasons:
            return cls("unknown", (), tuple(advice), ("there was nothing to judge",), False)
        verdict: Verdict = "violated" if violations else "unknown" if reasons else "holds"
        return cls(verdict, tuple(violations), tuple(advice), tuple(reasons))


def worst(verdicts: Sequence[Verdict], *, none: Verdict) -> Verdict:
    """Return the verdict that goes before the others: violated, unknown, holds."""
    for verdict in ("violated", "unknown", "holds"):
        if verdict in verdicts:
            return verdict
    return none


def money(amount_minor: int, currency: str) -> str:
    """Return an amount as people read it: ``5.00 EUR``."""
    return f"{decimal(amount_minor, currency)} {currency}".rstrip()


def decimal(amount_minor: int, currency: str) -> str:
    """Return an amount in major units, with as many decimals as its currency has: ``5.00``."""
    exponent = _EXPONENTS.get(currency.upper(), 2)
    sign, digits = "-" * (amount_minor < 0), str(abs(amount_minor)).rjust(exponent + 1, "0")
    whole, part = digits[: len(digits) - exponent], digits[len(digits) - exponent :]
    return f"{sign}{whole}{'.' * bool(part)}{part}"


_EXPONENTS: Final = {
    **dict.fromkeys(
        (
            "BIF",
            "CLP",
            "DJF",
            "GNF",
            "ISK",
            "JPY",
            "KMF",
            "KRW",
            "PYG",
            "RWF",
            "UGX",
            "UYI",
            "VND",
            "VUV",
            "XAF",
            "XOF",
            "XPF",
        ),
        0,
    ),
    **dict.fromkeys(("BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"), 3),
}
"""ISO 4217: currencies whose minor unit is not a hundredth."""
