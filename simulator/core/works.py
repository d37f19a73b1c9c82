"""The parts of one provider, as every call finds them."""

from dataclasses import dataclass
from typing import Any

from simulator.core.bank import Bank, Change
from simulator.core.calls import Call
from simulator.core.desk import Desk
from simulator.core.desk_results import Notice
from simulator.core.dialect import Dialect
from simulator.core.idempotency import KeyStore
from simulator.core.journal import PROVIDER, Entry, Sink
from simulator.core.news import News
from simulator.core.pending import Pending
from simulator.core.rules import Plan


@dataclass(frozen=True, slots=True)
class Works:
    """What all calls have in common."""

    dialect: Dialect
    bank: Bank
    desk: Desk
    keys: KeyStore
    news: News
    pending: Pending
    plan: Plan
    sink: Sink

    def write_down(
        self,
        change: Change,
        call: Call,
        now: float,
        *,
        key_honoured: bool,
        notices: tuple[Notice, ...] = (),
        asked: bool = True,
    ) -> None:
        """Tell journal and endpoints of a change, in the name of the call that asked for it.

        What a desk has to say of it (``notices``) takes the place of the change's own news.
        """
        charge = change.charge
        value: dict[str, Any] = {
            "what": change.fact,
            "charge": charge.id,
            "call": call.id,
            "operation": call.operation,
            "amount_minor": change.amount_minor,
            "currency": charge.currency,
            "customer": charge.customer,
            "reference": charge.reference,
            "key_honoured": key_honoured,
        }
        if intent := self.desk.intent_of(charge):
            value["intent"] = intent
        if charge.reference is None and (mentions := self.desk.texts_about(charge)):
            value["mentions"] = mentions  # the order may be named in one of them
        self.sink(
            Entry(PROVIDER, "effect", value, charge.reference, call.account, call.key, call.cause)
        )
        if not notices:
            self.news.born(change, call, now)
        for notice in notices:
            self.news.tell(notice, call, now, asked=asked)
