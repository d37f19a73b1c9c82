"""From a plan that breaks a service to the smallest one nearby that still does.

Rule 1: whoever asks says what counts as broken. It should be the same claim throughout, or a
        double charge shrinks into a stuck key.
Rule 2: whole steps in the domain's order, large ones first: nothing goes wrong at all, fewer
        orders, no death, one strike less, fewer presses, plainer timing, plainer strikes.
        A generic shrinker tries hundreds of equals, and every try plays real processes.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from onecharge.plans import Death, Plan, Strike


def shrunk(plan: Plan, breaks: Callable[[Plan], bool]) -> Plan:
    """Return a plan that still breaks the service while nothing one step simpler does.

    ``plan`` is known to break it. No plan is tried twice.
    """
    tried = {plan}
    while True:
        for simpler in simplified(plan):
            if simpler not in tried:
                tried.add(simpler)
                if breaks(simpler):
                    plan = simpler
                    break
        else:
            return plan


def simplified(plan: Plan) -> Iterator[Plan]:
    """Yield what is one step simpler than ``plan``, the largest steps first."""
    plain = Plan()
    yield replace(plan, strikes=(), death=None)
    for orders in range(1, plan.orders):
        yield _with_orders(plan, orders)
    yield replace(plan, death=None)
    for strike in plan.strikes:
        yield replace(plan, strikes=tuple(one for one in plan.strikes if one is not strike))
    for presses in range(1, plan.presses):
        yield replace(plan, presses=presses)
    patient = replace(plan, timeout_ms=plain.timeout_ms, pause_ms=plain.pause_ms)
    yield replace(patient, attempts=plain.attempts)
    yield patient
    yield replace(plan, attempts=plain.attempts)
    for place, strike in enumerate(plan.strikes):
        for plainer in _plainer(strike):
            strikes = (*plan.strikes[:place], plainer, *plan.strikes[place + 1 :])
            yield replace(plan, strikes=strikes)
    if plan.death is not None:
        yield replace(plan, death=Death(plan.death.at))


def _with_orders(plan: Plan, orders: int) -> Plan:
    """Return the plan for fewer orders; what was meant for one that is gone strikes the last."""
    death = plan.death
    return replace(
        plan,
        orders=orders,
        strikes=tuple(
            replace(strike, order=_at_most(strike.order, orders)) for strike in plan.strikes
        ),
        death=death and replace(death, order=_at_most(death.order, orders)),
    )


def _at_most(order: int | None, orders: int) -> int | None:
    return None if order is None else min(order, orders)


def _plainer(strike: Strike) -> Iterator[Strike]:
    yield Strike(strike.fault, strike.operation)
    yield replace(strike, nth=None)
    yield replace(strike, order=None)
    yield replace(strike, times=1)
