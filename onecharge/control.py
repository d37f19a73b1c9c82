"""The clean control: one plain charge and its event, before anything is broken.

Rule 1: a control that fails blames nobody; it says what is misconfigured and where to look.
Rule 2: it checks one step after the other and stops at the first that fails, since what comes
        after would fail for the same reason.
"""

import asyncio
import time
from dataclasses import dataclass

from onecharge.history.records import Record
from onecharge.press import Order
from onecharge.world.customers import Customers
from onecharge.world.orders import orders_of
from onecharge.world.read_back import ReadBack
from onecharge.world.ticking import ticking
from onecharge.world.world import World

NAME = "control"
_LOOK_AGAIN_S = 0.05
_PRESS_AGAIN_S = 0.2
_BOUND_FACTOR = 10
_LEAST_BOUND_S = 2.0


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


async def clean_control(world: World, seed: int) -> Passed:
    """Play one plain charge and its event; raise ``ControlFailed`` at the first wrong step."""
    began_s = time.monotonic()
    recorder = world.begin_history(NAME)
    control = _Control(world, orders_of(world.service_file, NAME, 1, seed)[0])
    async with ticking(world):
        await control.the_charge_succeeds()
        control.the_provider_was_called(recorder.records)
        await control.the_event_is_acknowledged(recorder.records)
        await control.the_service_believes_it()
    return Passed(time.monotonic() - began_s, tied=control.order_is_named(recorder.records))


class _Control:
    def __init__(self, world: World, order: Order) -> None:
        self._world = world
        self._order = order
        self._file = world.service_file
        self._customers = Customers.in_world(world, world.sink)
        self._read_back = ReadBack.in_world(world)
        self._within_s = self._file.timing.answers_within_s

    async def the_charge_succeeds(self) -> None:
        """One press must end well; an answer of 202 is followed up by asking again."""
        deadline_s = time.monotonic() + self._within_s
        while True:
            await self._customers.press(self._order, self._within_s)
            if self._order.trouble is not None:
                raise ControlFailed(self._order.trouble)
            if self._order.outcome == "ok":
                return
            open_still = self._order.outcome in {"pending", "in_flight"}
            if not open_still or time.monotonic() > deadline_s:
                raise ControlFailed(self._refused(self._world.recorder.records[-1]))
            await asyncio.sleep(_PRESS_AGAIN_S)

    def _refused(self, answer: Record) -> str:
        request = f"{self._file.charge.method} {self._file.charge.path}"
        if answer.value["error"]:
            return f"[charge]: {request} got no answer: {answer.value['error']}"
        status, outcome = answer.value["status"], answer.value["outcome"]
        unread = _calls_to_nowhere(self._world.recorder.records)
        hint = (
            f"; the service called the provider at {unread}, which it does not know"
            if unread
            else ""
        )
        return (
            f"[charge]: {request} was answered HTTP {status}, which reads as {outcome!r} "
            f"by charge.answer{hint}; the answer began: {answer.value['body'][:200]!r}"
        )

    def the_provider_was_called(self, records: list[Record]) -> None:
        """The charge must have reached our provider, once, and be tied to the order."""
        charges = [r for r in records if r.what == "charge.captured"]
        if not charges:
            calls = [r for r in records if (r.lane, r.kind) == ("provider", "receive")]
            variables = ", ".join(
                name for name, text in self._file.service.env.items() if "{provider_url}" in text
            )
            raise ControlFailed(
                "the service says it charged, and the provider has no charge: "
                + (
                    f"it was called {len(calls)} time(s), by no charge that was captured"
                    if calls
                    else "your service never called the provider; is "
                    f"{variables or 'the variable with {provider_url} in [service.env]'} read?"
                )
            )
        if len(charges) > 1:
            raise ControlFailed(
                f"one plain order made {len(charges)} real charges: "
                f"{', '.join(str(r.value['charge']) for r in charges)}. No fault was on; "
                "look at [charge] first: does one press send one order?"
            )
        amount = charges[0].value["amount_minor"]
        if amount != self._order.amount_minor:
            raise ControlFailed(
                f"[charge]: ordered {self._order.amount_minor} minor units, charged {amount}: "
                "does the template send {amount_minor} in the unit that the service expects?"
            )

    def order_is_named(self, records: list[Record]) -> bool:
        """Tell whether every charge and every call that could make one names the order."""
        charges = [r for r in records if r.what.startswith("charge.")]
        return all(r.order == self._order.reference for r in charges)

    async def the_event_is_acknowledged(self, records: list[Record]) -> None:
        """The webhook for the charge must be answered as the provider demands."""
        if self._file.webhook is None or not self._file.capabilities.webhooks:
            return
        deadline_s = time.monotonic() + self._within_s
        while time.monotonic() < deadline_s:
            if any(r.lane == "webhook" and r.kind == "ok" for r in records):
                return
            await asyncio.sleep(_LOOK_AGAIN_S)
            self._world.simulator.hasten_deliveries()
        raise ControlFailed(
            "[webhook]: the event of a plain charge was not acknowledged at "
            f"{self._file.webhook.path} ({_last_try(records)}); "
            "are path and secret the ones that the service uses?"
        )

    async def the_service_believes_it(self) -> None:
        """What is read back must agree with the provider before anything is broken."""
        deadline_s = time.monotonic() + self._within_s
        while True:
            belief = await self._read_back.of(self._order)
            wrong = None
            if belief.error:
                wrong = belief.error
            elif belief.status not in {None, "succeeded"}:
                wrong = f"[read] finds the order {belief.status}, although it was paid"
            elif belief.effects not in {None, 1}:
                wrong = f"[effects] finds {belief.effects} effects of one plain order, expected 1"
            if wrong is None:
                return
            if time.monotonic() > deadline_s:
                raise ControlFailed(wrong)
            await asyncio.sleep(_LOOK_AGAIN_S)


def _calls_to_nowhere(records: list[Record]) -> str | None:
    """Return the first provider call that its dialect does not know, as method and path."""
    for record in records:
        if record.lane == "provider" and record.value.get("operation") == "unknown":
            return f"{record.value['method']} {record.value['path']}"
    return None


def _last_try(records: list[Record]) -> str:
    """Say what became of the last attempt at telling the service of an event."""
    for record in reversed(records):
        if record.lane == "webhook" and record.kind in {"fail", "unknown"}:
            error = record.value.get("error")
            return f"last: {error or 'HTTP ' + str(record.value.get('status'))}"
    return "no event was sent"
