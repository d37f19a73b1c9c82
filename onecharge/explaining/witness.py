"""A witness: one order that is wrong, and what is to be seen around it.

Who was waiting, which calls were under way, what anybody had been told by then. The pattern says
more than the boundary: whether two requests looked at once, or one came when the claim had gone
and the result was not there yet.

Rule 1: what is seen is a sentence that names its records; what is not seen is None.
Rule 2: nothing is concluded here; what usually makes it so stands in ``causes.py``.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from onecharge.history.case import Case
from onecharge.history.outcomes import LEFT
from onecharge.history.records import Record
from onecharge.history.story import Attempt, Call, Charge, Delivering, OrderStory


@dataclass(frozen=True)
class Witness:
    """One order, and what was going on around it.

    ``course`` are the boundary events in the order of their release, where an explorer chose it.
    ``lease_s`` is the lease that the service declares.
    """

    case: Case
    story: OrderStory
    records: Mapping[int, Record] = field(default_factory=dict, repr=False)
    course: Sequence[str] = ()
    lease_s: float | None = None

    @cached_property
    def calls(self) -> tuple[Call, Call] | None:
        """The calls that made the first two real charges, the earlier first."""
        charges = self.story.real_charges[:2]
        made = [self.case.calls[c.call] for c in charges if c.call in self.case.calls]
        if len(made) < 2:
            return None
        first, second = sorted(made, key=lambda call: call.received)
        return first, second

    @property
    def charges(self) -> tuple[Charge, Charge]:
        """The first two real charges."""
        first, second = self.story.real_charges[:2]
        return first, second

    @cached_property
    def asked(self) -> list[Attempt]:
        """The requests that had left before the second call was made."""
        assert self.calls is not None
        return [a for a in self.story.attempts if a.invoked < self.calls[1].received]

    @property
    def deliveries(self) -> list[Delivering]:
        """Every delivery of the order's events, as they were sent."""
        sent = (attempt for event in self.story.events for attempt in event.attempts)
        return sorted(sent, key=lambda attempt: attempt.sent)

    @property
    def overlap(self) -> bool:
        """Whether the two calls were under way at once."""
        assert self.calls is not None
        first, second = self.calls
        return first.under_way_at(second.received)

    def instances(self, attempts: Sequence[Attempt]) -> str:
        """Say so if requests went to different instances."""
        served = {self._instance(attempt) for attempt in attempts} - {None}
        return f"; they went to {len(served)} instances" if len(served) > 1 else ""

    def apart_s(self, earlier: int, later: int) -> float:
        """Return how long after one record another was written; 0 if that is not known."""
        one, two = self.records.get(earlier), self.records.get(later)
        return 0.0 if one is None or two is None else (two.time_ns - one.time_ns) / 1e9

    def source(self, call: Call) -> str | None:
        """Return which process of the service made a call, if that is known."""
        record = self.records.get(call.received)
        return None if record is None else record.value.get("source")

    def _instance(self, attempt: Attempt) -> object:
        record = self.records.get(attempt.invoked)
        return None if record is None else record.value.get("instance")


def during_a_delivery(witness: Witness) -> str | None:
    began = _second(witness)
    if began is None or any(attempt.in_flight_at(began) for attempt in witness.story.attempts):
        return None
    for delivery in witness.deliveries:
        if delivery.under_way_at(began):
            return f"{delivery.event} was being delivered (#{delivery.sent}) when #{began} began"
    return None


def under_one_key(witness: Witness) -> str | None:
    first, second = witness.charges
    if first.key is None or first.key != second.key:
        return None
    return f"both calls carried the provider key {first.key} (#{first.created}, #{second.created})"


def told_before_a_crash(witness: Witness) -> str | None:
    if witness.calls is None:
        return None
    first, second = witness.calls
    for crash in witness.case.crashes:
        told = _known_by(witness, crash)
        if told and first.received < crash < second.received:
            return (
                f"a customer had been told of the charge (#{told}), and the service was killed "
                f"(#{crash}) before the second call (#{second.received})"
            )
    return None


def after_a_crash(witness: Witness) -> str | None:
    if witness.calls is None:
        return None
    first, second = witness.calls
    for crash in witness.case.crashes:
        if first.received < crash < second.received:
            return f"the service was killed (#{crash}) between #{first.received} and its next call"
    return None


def _by_itself(witness: Witness) -> tuple[Call, Call] | None:
    """Return the two calls if only one request was there to make them."""
    if witness.calls is None or len(witness.asked) != 1:
        return None
    return witness.calls


def again_after_a_commit(witness: Witness) -> str | None:
    if _by_itself(witness) is None:
        return None
    for step in witness.course:
        if "COMMIT" in step and ("cut" in step or "lost" in step):
            return f"one request made both calls, and the connection was lost at a COMMIT: {step}"
    return None


def again_without_knowing(witness: Witness) -> str | None:
    if (calls := _by_itself(witness)) is None or calls[0].answered:
        return None
    first, second = calls
    how = first.dropped or ("not answered yet" if first.ended is None else f"HTTP {first.status}")
    return (
        f"one request made both calls; the first (#{first.received}) had no usable answer "
        f"({how.replace('_', ' ')}) when the second (#{second.received}) was made"
    )


def again_all_of_it(witness: Witness) -> str | None:
    if (calls := _by_itself(witness)) is None:
        return None
    first, second = calls
    return (
        f"one request made both calls, the second (#{second.received}) although the first "
        f"(#{first.received}) had been answered (#{first.ended})"
    )


def after_hanging_up(witness: Witness) -> str | None:
    for attempt, later in _in_turn(witness):
        answer = attempt.answer
        if answer is not None and answer.error == LEFT:
            return (
                f"the first customer hung up (#{answer.index}), and the next request "
                f"(#{later.invoked}) was charged again"
            )
    return None


def after_not_knowing(witness: Witness) -> str | None:
    for attempt, later in _in_turn(witness):
        if attempt.answer is not None and attempt.open:
            return (
                f"the first request ended {attempt.outcome.replace('_', ' ')} "
                f"(#{attempt.answer.index}), and the next one (#{later.invoked}) was charged again"
            )
    return None


def _in_turn(witness: Witness) -> Iterator[tuple[Attempt, Attempt]]:
    """Yield requests that had ended with those that came next, all before the second call."""
    if witness.calls is not None:
        for one, two in zip(witness.asked, witness.asked[1:], strict=False):
            if one.ended < two.invoked:
                yield one, two


def beside_the_owner(witness: Witness) -> str | None:
    if (calls := _by_itself(witness)) is None or not (witness.overlap and calls[0].answered):
        return None
    first, second = calls
    one, two = (witness.source(call) for call in calls)
    who = f"; they came from {one} and {two}" if one != two else ""
    return (
        f"one request was there, and a second call (#{second.received}) was made while the first "
        f"(#{first.received}) was under way{who}"
    )


def after_the_lease(witness: Witness) -> str | None:
    if witness.calls is None or witness.lease_s is None or not witness.overlap:
        return None
    first, second = witness.calls
    apart_s = witness.apart_s(first.received, second.received)
    if apart_s < witness.lease_s:
        return None
    return (
        f"the second call (#{second.received}) was made {apart_s:.2g} s after the first "
        f"(#{first.received}), which was still under way; the lease is {witness.lease_s:g} s"
    )


def at_once(witness: Witness) -> str | None:
    if witness.calls is None or not witness.overlap:
        return None
    first, second = witness.calls
    return (
        f"the second call (#{second.received}) was made while the first (#{first.received}) was "
        f"under way{witness.instances(witness.asked)}"
    )


def after_the_claim_had_gone(witness: Witness) -> str | None:
    if witness.calls is None or len(witness.asked) < 2:
        return None
    first, _ = witness.calls
    last = witness.asked[-1]
    if first.ended is None or last.invoked < first.ended or _known_by(witness, last.invoked):
        return None
    return (
        f"the last request left (#{last.invoked}) after the first call had ended "
        f"(#{first.ended}) and before anybody was told of it{witness.instances(witness.asked)}"
    )


def on_an_old_look(witness: Witness) -> str | None:
    if witness.calls is None or len(witness.asked) < 2:
        return None
    first, second = witness.calls
    for attempt in witness.asked:
        before = first.ended is not None and attempt.invoked < first.ended
        if before and attempt.in_flight_at(second.received):
            return (
                f"a request that had left (#{attempt.invoked}) before the first call ended "
                f"(#{first.ended}) made a second one (#{second.received}) "
                f"afterwards{witness.instances(witness.asked)}"
            )
    return None


def after_the_answer(witness: Witness) -> str | None:
    if witness.calls is None or not (told := _known_by(witness, witness.asked[-1].invoked)):
        return None
    last = witness.asked[-1]
    return (
        f"the last request left (#{last.invoked}) when a customer had been told of the charge "
        f"(#{told}){witness.instances(witness.asked)}"
    )


def _known_by(witness: Witness, place: int) -> int | None:
    answers = (a.index for a in witness.story.answers if a.outcome == "ok" and a.index < place)
    return next(answers, None)


def _second(witness: Witness) -> int | None:
    return None if witness.calls is None else witness.calls[1].received


def copies_at_once(witness: Witness) -> str | None:
    for one, two in zip(witness.deliveries, witness.deliveries[1:], strict=False):
        if one.event == two.event and one.under_way_at(two.sent) and _booked_more(witness):
            return f"two copies of {one.event} were under way at once (#{one.sent}, #{two.sent})"
    return None


def copies_in_turn(witness: Witness) -> str | None:
    for one, two in zip(witness.deliveries, witness.deliveries[1:], strict=False):
        if one.event == two.event and _booked_more(witness):
            return f"{one.event} was delivered again (#{two.sent}) after its first delivery"
    return None


def by_both_paths(witness: Witness) -> str | None:
    told = [each for each in witness.deliveries if each.acknowledged]
    if len(told) != 1 or not _booked_more(witness):
        return None
    return f"{told[0].event} was delivered once (#{told[0].sent}), and more than once is booked"


def never_told(witness: Witness) -> str | None:
    acknowledged = next((each for each in witness.deliveries if each.acknowledged), None)
    belief = witness.story.belief
    if acknowledged is None or belief is None or belief.effects != 0:
        return None
    return f"{acknowledged.event} was acknowledged (#{acknowledged.sent}), and nothing is booked"


def _booked_more(witness: Witness) -> bool:
    belief = witness.story.belief
    booked = 0 if belief is None or belief.effects is None else belief.effects
    return booked > len(witness.story.real_charges)


def stuck_after_a_crash(witness: Witness) -> str | None:
    started = [a.invoked for a in witness.story.attempts]
    for crash in witness.case.crashes:
        if started and started[0] < crash:
            return f"the service was killed (#{crash}) after the first request (#{started[0]})"
    return None


def failed_without_knowing(witness: Witness) -> str | None:
    for call in witness.story.calls:
        if call.dropped is not None or (call.status or 0) >= 500:
            how = (call.dropped or f"HTTP {call.status}").replace("_", " ")
            return f"the call (#{call.received}) had no usable answer ({how})"
    return None
