"""The bank behind the API: it executes what a call asks, or refuses, and says what changed.

Rule 1: one execution is one step; it changes everything or nothing.
Rule 2: it knows calls and charges, nothing of keys, faults, events or HTTP.
Rule 3: a foreign charge is an absent charge: accounts never see each other's.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, assert_never

from simulator.core.calls import (
    APPROVED,
    CancelCharge,
    CaptureCharge,
    ChargeParams,
    CreateCharge,
    Decision,
    ListCharges,
    ReadCharge,
    RefundCharge,
)
from simulator.core.charges import (
    TRANSITIONS,
    Action,
    Charge,
    IllegalTransition,
    Impossible,
    Refund,
    Status,
)
from simulator.core.ledger import Ledger
from simulator.core.results import (
    ChargeDeclined,
    ChargeMade,
    ChargeShown,
    ChargesListed,
    Problem,
    RefundMade,
    Result,
)
from simulator.core.values import value


@value(frozen=True, slots=True)
class Change:
    """A charge took a step. ``fact`` names it, for example ``charge.captured``."""

    fact: str
    charge: Charge
    amount_minor: int
    refund: Refund | None = None


Outcome = tuple[Result, Change | None]
"""What an execution came to. No change means that no money moved and nothing else did."""

_DECIDED: Final = {
    "charge.declined": TRANSITIONS[Status.PENDING, Action.DECLINE],
    "charge.captured": TRANSITIONS[Status.PENDING, Action.CAPTURE],
    "charge.authorised": TRANSITIONS[Status.PENDING, Action.AUTHORISE],
}
"""What becomes of a charge that was pending, by the fact that the bank's decision is."""


class Bank:
    """Charges, refunds and the ledger that is the truth about them."""

    def __init__(self, namespace: str = "") -> None:
        self.ledger = Ledger()
        self._charges: dict[str, Charge] = {}
        self._by_reference: dict[tuple[str, str], list[str]] = {}
        self._by_account: dict[str, list[str]] = {}
        self._refunds = 0
        self._namespace = namespace

    @property
    def charges(self) -> Mapping[str, Charge]:
        """Every charge by id, as it now is, oldest first."""
        return MappingProxyType(self._charges)

    def execute(  # noqa: PLR0911  # one row for each operation
        self, params: ChargeParams, account: str, now: float, decision: Decision = APPROVED
    ) -> Outcome:
        """Do what is asked, as far as the bank's ``decision`` lets it. Only creation can wait."""
        try:
            match params:
                case CreateCharge():
                    return self._create(params, account, now, decision)
                case CaptureCharge(charge_id, amount_minor):
                    charge = self._find(charge_id, account)
                    return self._capture(charge, amount_minor, decision.decline)
                case CancelCharge(charge_id):
                    return self._cancel(self._find(charge_id, account), decision.decline)
                case RefundCharge(charge_id, amount_minor):
                    charge = self._find(charge_id, account)
                    return self._refund(charge, amount_minor, decision.decline)
                case ReadCharge(charge_id):
                    return ChargeShown(self._find(charge_id, account)), None
                case ListCharges(reference):
                    return ChargesListed(self._listed(account, reference)), None
                case _:
                    assert_never(params)
        except Impossible as reason:
            return Problem(reason.code, str(reason)), None

    def settle(self, charge_id: str, *, capture: bool, decline: str | None) -> Change | None:
        """Decide on a pending charge; nothing changes if it was cancelled in the meantime."""
        charge = self._charges[charge_id]
        if charge.status is not Status.PENDING:
            return None
        if decline is not None:
            decided = charge.decline(decline)
        else:
            decided = charge.capture() if capture else charge.authorise()
        change = Change(_decided(capture=capture, decline=decline), decided, charge.amount_minor)
        self._record(change)
        return change

    def as_it_is_now(self, result: Result) -> Result:
        """Say again what was said of a charge, this time of its present state."""
        match result:
            case ChargeMade(charge):
                return ChargeMade(self._charges[charge.id])
            case ChargeDeclined(charge):
                return ChargeDeclined(self._charges[charge.id])
            case ChargeShown(charge):
                return ChargeShown(self._charges[charge.id])
            case RefundMade(refund, charge):
                return RefundMade(refund, self._charges[charge.id])
            case _:
                return result

    def as_decided(self, result: Result) -> Result:
        """Say of a charge that was made and left pending what the bank has decided by now."""
        now = self.as_it_is_now(result)
        if isinstance(now, ChargeMade) and now.charge.status is Status.DECLINED:
            return ChargeDeclined(now.charge)
        return now

    def standing_for(
        self, wish: CreateCharge, account: str, alike: tuple[str, ...]
    ) -> Charge | None:
        """Return the latest charge of the same order, and equal in some fields, that stands."""
        if wish.reference is None:
            return None
        return next(
            (
                charge
                for charge in reversed(self._listed(account, wish.reference))
                if charge.status not in (Status.DECLINED, Status.CANCELLED)
                and all(getattr(charge, field) == getattr(wish, field) for field in alike)
            ),
            None,
        )

    def order_of(self, charge_id: str, account: str) -> str | None:
        """Return the reference of a charge, if this account has it and it carries one."""
        charge = self._charges.get(charge_id)
        return charge.reference if charge and charge.account == account else None

    def _create(self, wish: CreateCharge, account: str, now: float, decision: Decision) -> Outcome:
        """Make a charge in the state in which the bank's decision leaves it: one, not two."""
        amount_minor, reference = wish.amount_minor, wish.reference
        if decision.after_s is not None:
            fact, status, decline = "charge.pending", Status.PENDING, None
        else:
            decline = decision.decline
            fact = _decided(capture=wish.capture, decline=decline)
            status = _DECIDED[fact]
        charge = Charge(
            f"ch_{self._namespace}{len(self._charges) + 1}",
            account,
            amount_minor,
            wish.currency,
            reference,
            wish.customer,
            wish.metadata,
            now,
            status,
            amount_minor if fact == "charge.captured" else 0,
            0,
            decline,
        )
        self._by_account.setdefault(account, []).append(charge.id)
        if reference is not None:
            self._by_reference.setdefault((account, reference), []).append(charge.id)
        change = Change(fact, charge, amount_minor)
        self._record(change)
        return ChargeMade(charge) if decline is None else ChargeDeclined(charge), change

    def _capture(self, charge: Charge, amount_minor: int | None, decline: str | None) -> Outcome:
        if charge.status is Status.PENDING:  # the bank's to capture, not yet the merchant's
            raise IllegalTransition("cannot capture a charge that is pending")
        if decline is not None:
            declined = charge.decline(decline)
            change = Change("charge.declined", declined, charge.amount_minor)
        else:
            captured = charge.capture(amount_minor)
            change = Change("charge.captured", captured, captured.captured_minor)
        self._record(change)
        shown = ChargeShown if decline is None else ChargeDeclined
        return shown(change.charge), change

    def _cancel(self, charge: Charge, decline: str | None) -> Outcome:
        cancelled = charge.cancel()
        if decline is not None:
            return Problem("cancel_declined", decline), None
        change = Change("charge.cancelled", cancelled, charge.amount_minor)
        self._record(change)
        return ChargeShown(cancelled), change

    def _refund(self, charge: Charge, amount_minor: int | None, decline: str | None) -> Outcome:
        left_minor = charge.captured_minor - charge.refunded_minor
        back_minor = left_minor if amount_minor is None else amount_minor
        refunded = charge.refund(back_minor)
        if decline is not None:
            return Problem("refund_declined", decline), None
        self._refunds += 1
        refund = Refund(f"re_{self._namespace}{self._refunds}", charge.id, back_minor)
        change = Change("charge.refunded", refunded, back_minor, refund)
        self._record(change)
        return RefundMade(refund, refunded), change

    def _record(self, change: Change) -> None:
        """Put the charge in its new state and, where money moved, post it."""
        charge = change.charge
        self._charges[charge.id] = charge
        if change.fact in ("charge.captured", "charge.refunded"):
            self.ledger.post(
                "capture" if change.fact == "charge.captured" else "refund",
                charge=charge.id,
                account=charge.account,
                reference=charge.reference,
                customer=charge.customer,
                amount_minor=change.amount_minor,
                currency=charge.currency,
            )

    def _find(self, charge_id: str, account: str) -> Charge:
        charge = self._charges.get(charge_id)
        if charge is None or charge.account != account:
            raise _NoSuchCharge(f"no charge {charge_id}")
        return charge

    def _listed(self, account: str, reference: str | None) -> tuple[Charge, ...]:
        if reference is None:
            ids = self._by_account.get(account, [])
        else:
            ids = self._by_reference.get((account, reference), [])
        return tuple(self._charges[id_] for id_ in ids)


def _decided(*, capture: bool, decline: str | None) -> str:
    """Name the fact that a decision of the bank is."""
    if decline is not None:
        return "charge.declined"
    return "charge.captured" if capture else "charge.authorised"


class _NoSuchCharge(Impossible):
    code = "not_found"
