"""The clean control: one plain charge, its event, its refund, before anything is broken.

Rule 1: a control that fails blames nobody; it says what is misconfigured and where to look.
Rule 2: it checks one step after the other and stops at the first that fails, since what comes
        after would fail for the same reason.
Rule 3: whoever listens hears of every step that went well, and what was seen.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from onecharge import diagnosis
from onecharge.history.judgement import money
from onecharge.history.records import Record
from onecharge.press import Operation, Order
from onecharge.stored_run import CONTROL
from onecharge.world.customers import Customers
from onecharge.world.orders import orders_of
from onecharge.world.read_back import Belief
from onecharge.world.ticking import ticking
from onecharge.world.world import World

_LOOK_AGAIN_S = 0.05
_PRESS_AGAIN_S = 0.2
_BOUND_FACTOR = 10
_LEAST_BOUND_S = 2.0
_OPEN: Final = frozenset({"pending", "in_flight"})
"""What a plain request may be told for a while."""

_LOOK_FOR_LATE_CALLS_S: Final = 1.0
"""How long a provider call is looked for that comes later than the service file says."""

Tell = Callable[[str], None]
"""Hears of a step that went well, in one line."""

Disagreement = Callable[[Order, Belief], str | None]
"""Says in what the service disagrees with the provider about an order, if it does."""


class ControlFailed(Exception):
    """The service cannot be judged as it is configured; the message says what to look at."""


@dataclass(frozen=True)
class Passed:
    """A control that went well, and how long it took.

    ``tied`` says whether the charge at the provider named its order.
    """

    took_s: float
    tied: bool

    def bound_s(self, declared_s: float | None) -> float:
        """Return how long a service may take to settle: its own word, or ten times the control."""
        return declared_s or max(_LEAST_BOUND_S, _BOUND_FACTOR * self.took_s)


async def clean_control(
    world: World, seed: int, tell: Tell = lambda _: None, name: str = CONTROL
) -> Passed:
    """Play one plain charge and its event; raise ``ControlFailed`` at the first wrong step.

    ``name`` is what its history is called, and decides the ids of its orders.
    """
    began_s = time.monotonic()
    recorder = world.begin_history(name)
    tenants = len(world.service_file.tenants)
    first, *others = orders_of(world.service_file, name, tenants, seed, mark=world.mark)
    control = _Control(world, first, tell, recorder.records)
    async with ticking(world):
        await control.the_charge_succeeds()
        await control.the_provider_was_called()
        await control.the_event_is_acknowledged()
        await control.the_service_believes_it()
        passed = Passed(time.monotonic() - began_s, tied=control.order_is_named())
        await control.the_money_comes_back()
        for order in others:
            await _Control(world, order, tell, recorder.records).the_charge_succeeds()
        control.the_reconciler_ran()
    return passed


class _Control:
    def __init__(self, world: World, order: Order, tell: Tell, records: Sequence[Record]) -> None:
        self._world = world
        self._order = order
        self._tell = tell
        self._records = records
        self._file = world.service_file
        self._customers = Customers.in_world(world, world.sink)
        self._read_back = world.read_back
        self._within_s = self._file.timing.answers_within_s

    async def the_charge_succeeds(self) -> None:
        """One press must end well; an answer of 202 is followed up by asking again."""
        deadline_s = time.monotonic() + self._within_s + self._file.timing.calls_provider_within_s
        while True:
            await self._customers.press(self._order, self._within_s)
            if self._order.trouble is not None:
                raise ControlFailed(self._order.trouble)
            if self._order.outcome == "ok":
                break
            if self._order.outcome not in _OPEN or time.monotonic() > deadline_s:
                raise ControlFailed(self._refused())
            await asyncio.sleep(_PRESS_AGAIN_S)
        for step in self._of_order("prepare"):
            if step.kind == "ok":
                prepare = self._file.prepare[step.value["step"] - 1]
                self._tell(f"prepare: {diagnosis.request_of(prepare)} → {step.value['status']}")
        self._tell(f"{diagnosis.request_of(self._file.charge)} → {self._answers('charge', 'read')}")

    def _refused(self) -> str:
        answer = self._of_order("answer")[-1]
        asked = next(r for r in self._records if r.index == answer.cause)
        says = diagnosis.of_the_answer(self._file, asked, answer, self._seen())
        if fallen := self._world.services.fallen():
            return f"{says}; {fallen}"
        if (answer.value["status"] or 0) >= 500:
            return says + self._world.services.last_words(asked.value["instance"])
        return says

    def _answers(self, *asked: str) -> str:
        """Say how the customer was answered, again and again if it took several answers."""
        questions = {r.index for r in self._records if r.kind == "invoke" and r.what in asked}
        answers = [a for a in self._of_order("answer") if a.cause in questions]
        told = [(a.value["status"], a.value["outcome"]) for a in answers]
        steps = [f"{status}, read as {outcome}" for status, outcome in dict.fromkeys(told)]
        tenants = f" (tenant {self._order.tenant})" if len(self._file.tenants) > 1 else ""
        return ", then ".join(steps) + tenants

    async def the_provider_was_called(self) -> None:
        """The charge must have reached our provider, once, and be tied to the order."""
        await self._capture()
        charges = await self._captured()
        if not charges:
            raise ControlFailed(diagnosis.of_no_charge(self._file, self._seen()))
        if len(charges) > 1:
            raise ControlFailed(diagnosis.of_several_charges(charges))
        charge = charges[0]
        if wrong := diagnosis.of_the_amount(self._file, self._order, charge):
            raise ControlFailed(wrong)
        tie = diagnosis.tie_of(self._file, self._order, charge)
        if tie is None:
            raise ControlFailed(diagnosis.of_an_untied_charge(self._file, charge))
        amount = money(charge.value["amount_minor"], charge.value["currency"].upper())
        key = f"key {charge.key}" if charge.key else "no idempotency key"
        self._tell(
            f"the provider was called once: {charge.value['charge']}, {amount}, {key}; "
            f"tied to the order by its {tie}"
        )
        if not self.order_is_named():
            self._tell(diagnosis.of_a_nameless_charge(self._file))

    async def _capture(self) -> None:
        """Have the money of an authorised charge taken, where that is a request of its own."""
        if self._file.capture is None:
            return
        captured_before = bool(self._real_charges())
        operation = await self._operate("capture", self._order.capture_key)
        if operation.outcome != "ok":
            before = diagnosis.CAPTURED_BEFORE if captured_before else ""
            raise ControlFailed(self._wrong_operation(operation) + before)
        self._tell(f"{diagnosis.request_of(self._file.capture)} → {self._answers('capture')}")

    async def the_money_comes_back(self) -> None:
        """A plain refund must be made once, and spoil nothing of what is read back."""
        if self._file.refund is None or not self._file.capabilities.refunds:
            return
        operation = await self._operate("refund", f"{self._order.key}-refund")
        if operation.outcome != "ok":
            raise ControlFailed(self._wrong_operation(operation))
        refunds = [r for r in self._records if r.what == "charge.refunded"]
        if wrong := diagnosis.of_the_refund(self._order, refunds, self._seen()):
            raise ControlFailed(wrong)
        self._tell(f"{diagnosis.request_of(self._file.refund)} → {self._answers('refund')}")
        await self._believed(diagnosis.of_the_belief_after_a_refund, "read back after it")

    async def _operate(self, what: Literal["capture", "refund"], key: str) -> Operation:
        """Ask for it under one key until there is a definite answer, or time is up."""
        deadline_s = time.monotonic() + self._within_s
        operation = Operation(what, key, self._order.amount_minor)
        while await self._customers.operate(self._order, self._within_s, operation):
            if operation.outcome not in _OPEN or time.monotonic() > deadline_s:
                return operation
            await asyncio.sleep(_PRESS_AGAIN_S)
        raise ControlFailed(diagnosis.of_what_is_missing(self._file, what, self._order))

    def _wrong_operation(self, operation: Operation) -> str:
        answer = self._of_order("answer")[-1]
        return diagnosis.of_an_operation(self._file, operation.what, answer, self._seen())

    def order_is_named(self) -> bool:
        """Tell whether every charge names the order."""
        charges = [r for r in self._records if r.what.startswith("charge.")]
        return all(r.order == self._order.reference for r in charges)

    async def _captured(self) -> list[Record]:
        """Return the real charges, when the service has had the time it asks for."""
        began_s = time.monotonic()
        declared_s = self._file.timing.calls_provider_within_s
        if not await self._charged_by(began_s + declared_s) and await self._charged_by(
            began_s + declared_s + _LOOK_FOR_LATE_CALLS_S
        ):
            after_s = time.monotonic() - began_s
            raise ControlFailed(diagnosis.of_a_late_charge(self._file, after_s))
        return self._real_charges()

    async def _charged_by(self, deadline_s: float) -> bool:
        while not self._real_charges() and time.monotonic() < deadline_s:
            await asyncio.sleep(_LOOK_AGAIN_S)
        return bool(self._real_charges())

    async def the_event_is_acknowledged(self) -> None:
        """The webhook for the charge must be answered as the provider demands."""
        if self._file.webhook is None or not self._file.capabilities.webhooks:
            return
        deadline_s = time.monotonic() + self._within_s
        while time.monotonic() < deadline_s:
            for record in self._records:
                if record.lane == "webhook" and record.kind == "ok":
                    status = record.value["status"]
                    self._tell(f"webhook: POST {self._file.webhook.path} → {status}, acknowledged")
                    return
            await asyncio.sleep(_LOOK_AGAIN_S)
            self._world.simulator.hasten_deliveries()
        raise ControlFailed(diagnosis.of_the_webhook(self._file, self._records))

    async def the_service_believes_it(self) -> None:
        """What is read back must agree with the provider before anything is broken."""
        await self._believed(diagnosis.of_the_belief, "read back")

    async def _believed(self, disagreement: Disagreement, asked: str) -> None:
        """Read back until it agrees, for as long as the service may take to book."""
        deadline_s = time.monotonic() + self._within_s + self._file.timing.books_within_s
        while True:
            belief = await self._read_back.of(self._order)
            wrong = disagreement(self._order, belief)
            if wrong is None:
                break
            if time.monotonic() > deadline_s:
                if belief.status == "absent":
                    found = await self._read_back.shown(self._order)
                    wrong = f"{wrong}; {diagnosis.of_nothing_found(self._file, found)}"
                raise ControlFailed(wrong)
            await asyncio.sleep(_LOOK_AGAIN_S)
        if seen := self._seen_of(belief):
            self._tell(f"{asked}: {seen}")

    def the_reconciler_ran(self) -> None:
        """What ``[tick]`` names must have gone well, or it heals nothing later."""
        if wrong := diagnosis.of_the_tick(self._records):
            raise ControlFailed(wrong)

    def _seen(self) -> list[Record]:
        """Return what was seen of this order, and of nobody's."""
        return [r for r in self._records if r.order in {None, self._order.reference}]

    def _of_order(self, what: str) -> list[Record]:
        return [
            r
            for r in self._records
            if r.what == what and r.kind != "invoke" and r.order == self._order.reference
        ]

    def _seen_of(self, belief: Belief) -> str:
        """Say what the service believes, as far as its file says how to ask."""
        parts = [] if belief.status is None else [str(belief.status)]
        if belief.effects is not None:
            parts.append(f"{belief.effects} effect(s)")
        if belief.refunded_minor:
            parts.append(f"{money(belief.refunded_minor, self._order.currency)} given back")
        return ", ".join(parts)

    def _real_charges(self) -> list[Record]:
        return [r for r in self._records if r.what == "charge.captured"]
