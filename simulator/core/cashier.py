"""What is done to intents, and what the bank's decisions do to them.

Rule 1: the intent's table is asked before the bank is, so no charge is ever made in vain.
Rule 2: an intent follows its charge: whatever the bank did, at once or later, ``follow`` steps
        the intent and says what is news.
Rule 3: the ledger stays the truth about money; nothing here posts to it.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from simulator.core.bank import Bank, Change
from simulator.core.calls import (
    CancelCharge,
    CaptureCharge,
    ChargeParams,
    CreateCharge,
    Decision,
    RefundCharge,
)
from simulator.core.charges import Status
from simulator.core.customers import Method
from simulator.core.desk_calls import (
    CancelIntent,
    CaptureIntent,
    ConfirmIntent,
    CreateAndConfirmIntent,
    CreateIntent,
    MethodChoice,
    OfIntent,
    ReadIntent,
    RefundIntentCharge,
    UpdateIntent,
)
from simulator.core.desk_results import (
    DeskResult,
    IntentCharge,
    IntentDeclined,
    IntentRefund,
    Notice,
    ThingShown,
    View,
)
from simulator.core.intents import Failure, IllegalStep, Intent, IntentStatus, Step
from simulator.core.results import Problem
from simulator.core.shelves import Shelves, Unacceptable
from simulator.core.values import value


@value(frozen=True, slots=True)
class Visit:
    """Who asks, when, and what the bank would say."""

    account: str
    now: float
    decision: Decision


@value(frozen=True, slots=True)
class Handled:
    """What a call to the desk came to.

    ``awaited`` is what the bank will say later of the charge that was made; ``capture``, whether
    it is to take the money then.
    """

    result: DeskResult | Problem
    change: Change | None = None
    notices: tuple[Notice, ...] = ()
    awaited: Decision | None = None
    capture: bool = True

    @property
    def charge(self) -> str | None:
        """The charge that the answer is about, if it is about one."""
        if self.change is not None:
            return self.change.charge.id
        match self.result:
            case ThingShown(Intent(charge=charge)):
                return charge
            case ThingShown(IntentCharge() as made):
                return made.id
            case _:
                return None


NEWS: Final[dict[tuple[str, bool], tuple[str, str]]] = {
    # What the bank did, and whether the money had been authorised: news of the intent, the charge.
    ("charge.pending", False): ("intent.processing", "charge.pending"),
    ("charge.authorised", False): ("intent.capturable", "charge.approved"),
    ("charge.captured", False): ("intent.succeeded", "charge.approved"),
    ("charge.captured", True): ("intent.succeeded", "charge.captured"),
    ("charge.declined", False): ("intent.failed", "charge.failed"),
    ("charge.declined", True): ("intent.failed", "charge.failed"),
    ("charge.cancelled", True): ("intent.cancelled", "charge.released"),
}

IN_WORDS: Final = {fact: names for (fact, authorised), names in reversed(NEWS.items())}
"""What the bank did, at once where it can be: news of the intent, the charge."""

TOLD: Final[dict[str, tuple[str, ...]]] = {**IN_WORDS, "charge.refunded": ("charge.refunded",)}
"""By which news a desk tells of anything that happens to a charge."""

INTENT_NEWS: Final = frozenset({"intent.created", *(of_intent for of_intent, _ in NEWS.values())})
"""What is news of an intent, not of its charge."""

_PAID_BY: Final = {
    "charge.pending": Step.AWAIT,
    "charge.authorised": Step.AUTHORISE,
    "charge.captured": Step.SUCCEED,
}


class Cashier:
    """Takes intents from their creation to their end."""

    def __init__(self, bank: Bank, shelves: Shelves) -> None:
        self._bank = bank
        self._shelves = shelves

    def create(self, wish: CreateIntent, visit: Visit) -> Handled:
        """Open an intent and, if it was so wished, charge for it."""
        shelves, account = self._shelves, visit.account
        if wish.customer is not None:
            shelves.living_customer(wish.customer, account)
        confirmed = isinstance(wish, CreateAndConfirmIntent)
        if confirmed and wish.method is None:
            raise Unacceptable("method_missing", "confirm needs a method", "payment_method")
        method = self._chosen(wish.method, visit)
        intent = Intent(
            shelves.intents.new_id(),
            account,
            wish.amount_minor,
            wish.currency,
            wish.reference,
            wish.customer,
            wish.capture,
            wish.metadata,
            wish.terms,
            visit.now,
        )
        opened = (Notice("intent.created", intent),)
        if method is not None:
            intent = intent.prepared(method)
        shelves.intents.put(intent)
        if confirmed:
            return self._charge(intent, wish.expand, visit, opened)
        shown = ThingShown(intent, shelves.view(account, wish.expand), fresh=True)
        return Handled(shown, notices=opened)

    def confirm(self, wish: ConfirmIntent, visit: Visit) -> Handled:
        """Charge for an intent."""
        intent = self._intent_of(wish, visit)
        intent.after(Step.SUCCEED)
        method = self._chosen(wish.method, visit)
        if method is not None:
            intent = intent.prepared(method)
        capture = intent.capture if wish.capture is None else wish.capture
        intent = replace(intent, capture=capture, terms={**intent.terms, **wish.terms})
        self._shelves.intents.put(intent)
        return self._charge(intent, wish.expand, visit, public=wish.public)

    def capture(self, wish: CaptureIntent, visit: Visit) -> Handled:
        """Take the money that was authorised for an intent, or a part of it."""
        intent = self._intent_of(wish, visit)
        intent.after(Step.CAPTURE)
        amount_minor = wish.amount_minor or intent.amount_minor
        if amount_minor > intent.amount_minor:
            detail = f"{amount_minor} is more than the {intent.amount_minor} authorised"
            raise Unacceptable("too_much", detail, "amount_to_capture")
        metadata = merged(intent.metadata, wish.metadata)
        self._shelves.intents.put(replace(intent, metadata=metadata))
        change = self._at_bank(CaptureCharge(_charge_of(intent), amount_minor), visit)
        return self._followed(change, wish, visit)

    def cancel(self, wish: CancelIntent, visit: Visit) -> Handled:
        """Give an intent up, and the money that was authorised for it."""
        intent = self._intent_of(wish, visit)
        cancelled = intent.cancelled(visit.now, wish.reason)
        if intent.status is IntentStatus.REQUIRES_CAPTURE:
            change = self._at_bank(CancelCharge(_charge_of(intent)), visit)
            self._shelves.intents.put(replace(intent, cancelled_because=wish.reason))
            return self._followed(change, wish, visit)
        self._shelves.intents.put(cancelled)
        shown = ThingShown(cancelled, self._shelves.view(visit.account, wish.expand))
        return Handled(shown, notices=(Notice("intent.cancelled", cancelled),))

    def update(self, wish: UpdateIntent, visit: Visit) -> Handled:
        """Change what an intent says; once it is confirmed, only its words."""
        intent = self._intent_of(wish, visit)
        if wish.customer is not None:
            self._shelves.living_customer(wish.customer, visit.account)
        changes = {
            "amount_minor": wish.amount_minor,
            "currency": wish.currency,
            "customer": wish.customer,
            "capture": wish.capture,
        }
        weighty: Any = {name: value for name, value in changes.items() if value is not None}
        if weighty or wish.method is not None:
            intent.after(Step.CHANGE)
        method = self._chosen(wish.method, visit)
        if method is not None:
            intent = intent.prepared(method)
        intent = replace(
            intent,
            **weighty,
            reference=wish.reference or intent.reference,
            metadata=merged(intent.metadata, wish.metadata),
            terms={**intent.terms, **wish.terms},
        )
        self._shelves.intents.put(intent)
        return Handled(ThingShown(intent, self._shelves.view(visit.account, wish.expand)))

    def read(self, wish: ReadIntent, visit: Visit) -> Handled:
        """Show an intent as it now is."""
        intent = self._intent_of(wish, visit)
        view = self._shelves.view(visit.account, wish.expand, public=wish.public)
        return Handled(ThingShown(intent, view))

    def refund(self, wish: RefundIntentCharge, visit: Visit) -> Handled:
        """Give money back."""
        charge = self._refundable(wish, visit)
        params = RefundCharge(charge.id, wish.amount_minor)
        change = self._at_bank(params, visit)
        assert change.refund is not None
        of = replace(charge, charge=change.charge)
        refund = IntentRefund(change.refund, of, visit.now, wish.reason, wish.metadata)
        self._shelves.charges.put(of)
        self._shelves.refunds.put(refund)
        view = self._shelves.view(visit.account, wish.expand)
        notices = (
            Notice("charge.refunded", of, change),
            Notice("refund.created", refund, change),
        )
        return Handled(ThingShown(refund, view, fresh=True), change, notices)

    def follow(self, change: Change, now: float) -> tuple[Notice, ...]:
        """Let an intent go where its charge has gone, and tell the news of both.

        A charge that was made for no intent is none of its business.
        """
        charge = change.charge
        made = self._shelves.charges.seek(charge.id, charge.account)
        if made is None:
            return ()
        made = replace(made, charge=charge)
        intent = self._shelves.intents.find(made.intent, charge.account)
        authorised = intent.status is IntentStatus.REQUIRES_CAPTURE
        about_intent, about_charge = NEWS[change.fact, authorised]
        match change.fact:
            case "charge.declined":
                code = charge.decline_code or "generic_decline"
                intent = intent.failed(Failure(charge.id, code, made.method))
            case "charge.cancelled":
                intent = intent.cancelled(now, intent.cancelled_because)
            case "charge.captured" if authorised:
                intent = intent.captured(change.amount_minor)
            case fact:
                intent = intent.paid_by(_PAID_BY[fact], made.method, charge.id)
        self._shelves.charges.put(made)
        self._shelves.intents.put(intent)
        return (Notice(about_intent, intent, change), Notice(about_charge, made, change))

    def _charge(
        self,
        intent: Intent,
        expand: tuple[str, ...],
        visit: Visit,
        before: tuple[Notice, ...] = (),
        *,
        public: bool = False,
    ) -> Handled:
        """Ask the bank for the money of a confirmed intent."""
        shelves, method = self._shelves, intent.method
        if method is None:
            raise IllegalStep("cannot confirm an intent that has no payment method")
        decision = _weighed(visit.decision, method)
        wish = CreateCharge(
            intent.amount_minor,
            intent.currency,
            intent.reference,
            intent.customer,
            intent.capture,
            intent.metadata,
        )
        change = self._at_bank(wish, replace(visit, decision=decision))
        shelves.charges.put(IntentCharge(change.charge, intent.id, method, intent.terms))
        notices = before + self.follow(change, visit.now)
        result = self._told(change, intent.id, shelves.view(visit.account, expand, public=public))
        awaited = decision if change.fact == "charge.pending" else None
        return Handled(result, change, notices, awaited, intent.capture)

    def _followed(
        self, change: Change, wish: CaptureIntent | CancelIntent, visit: Visit
    ) -> Handled:
        """Return what the bank's step has made of the intent."""
        notices = self.follow(change, visit.now)
        view = self._shelves.view(visit.account, wish.expand)
        return Handled(self._told(change, wish.intent, view), change, notices)

    def _told(self, change: Change, intent_id: str, view: View) -> DeskResult:
        intent = self._shelves.intents.find(intent_id, change.charge.account)
        if change.fact == "charge.declined":
            return IntentDeclined(intent, view)
        return ThingShown(intent, view)

    def _at_bank(self, params: ChargeParams, visit: Visit) -> Change:
        """Let the bank do it; what it refuses is unacceptable."""
        result, change = self._bank.execute(params, visit.account, visit.now, visit.decision)
        if isinstance(result, Problem):
            raise Unacceptable(result.code, result.detail)
        assert change is not None
        return change

    def _intent_of(self, wish: OfIntent, visit: Visit) -> Intent:
        """Return the intent that a call is about, if its caller may speak of it."""
        intent = self._shelves.intents.find(wish.intent, visit.account)
        if wish.secret is not None and wish.secret != intent.client_secret:
            raise Unacceptable("wrong_client_secret", "not its client secret", "client_secret")
        return intent

    def _chosen(self, choice: MethodChoice | None, visit: Visit) -> Method | None:
        return None if choice is None else self._shelves.chosen(choice, visit.account, visit.now)

    def _refundable(self, wish: RefundIntentCharge, visit: Visit) -> IntentCharge:
        """Return the charge that a refund is about, if any money of it is left."""
        shelves, account = self._shelves, visit.account
        charge_id = wish.charge
        if charge_id is None:
            intent = shelves.intents.find(wish.intent or "", account)
            charge_id = intent.charge or ""
            if not intent.captured_minor:
                raise Unacceptable("nothing_to_refund", f"{intent.id} has taken no money")
        charge = shelves.charges.find(charge_id, account)
        if charge.charge.status is Status.REFUNDED:
            raise Unacceptable("charge_already_refunded", f"{charge.id} has been refunded")
        if charge.charge.status is not Status.CAPTURED:
            raise Unacceptable("nothing_to_refund", f"{charge.id} has taken no money")
        return charge


def merged(old: Mapping[str, str], changes: Mapping[str, str] | None) -> dict[str, str]:
    """Return metadata after a change: an empty value takes its key away, None takes all."""
    if changes is None:
        return {}
    return {name: value for name, value in {**old, **changes}.items() if value}


def _weighed(decision: Decision, method: Method) -> Decision:
    """Return what the bank says to this method; a fault is heard before the method is."""
    decline = method.face.declines if decision.decline is None else decision.decline
    after_s = method.face.settles_s if decision.after_s is None else decision.after_s
    return Decision(decline, after_s)


def _charge_of(intent: Intent) -> str:
    assert intent.charge is not None  # there is money on hold
    return intent.charge
