"""Plans drawn by Hypothesis: which there are, and which are simpler.

Rule 1: only fair faults are drawn, so that whatever a plan shows is the service's own doing.
        A fault is found by the catalogue; one whose parameters are not listed here is drawn
        with its defaults.
Rule 2: what comes first in a choice is what a plan shrinks towards.
Rule 3: Hypothesis prefers the ends of a choice; what is to be rare, a kill, stands inside.
Rule 4: holds are short: their conditions, not their length, make the races.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, get_args

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from onecharge.plans import Death, Plan, Strike
from simulator.catalogue import faults
from simulator.core.faults import Fault
from simulator.core.messages import Seam
from simulator.core.rules import DELIVERY

LONGEST_HOLD_MS: Final = 250

CREATE: Final = "charge.create"
CAPTURED: Final = f"{DELIVERY}.charge.captured"

_OPERATIONS: Final = (CREATE, CREATE, CREATE, CREATE, "*", "charge.list")
"""Where faults of calls strike: what moves money first, and sometimes the look-up after it."""

_SEAMS: Final[tuple[Seam, ...]] = ("before_commit", "after_commit", "on_receive")

_HOLDS: Final = st.sampled_from(
    [
        ("elapsed", 30),
        ("elapsed", 150),
        ("arrived", 2),
        ("delivered", 0),
        ("quiet", 30),
        ("caller_gone", 0),
    ]
)

_GARBAGE: Final = st.sampled_from(
    [
        ("text/html", "<html><body>Please log in to the network</body></html>"),
        ("application/json", "{}"),
        ("application/json", '{"status": "captured"}'),
        ("application/json", "[]"),
    ]
)

_PARAMETERS: Final[Mapping[str, SearchStrategy[Mapping[str, Any]]]] = {
    "deliver_before_reply": st.just({"at_most_ms": LONGEST_HOLD_MS}),
    "error_after_commit": st.fixed_dictionaries(
        {"status": st.sampled_from([500, 502, 503, 504]), "stored": st.booleans()}
    ),
    "error_before_commit": st.fixed_dictionaries(
        {"status": st.sampled_from([503, 500, 429]), "stored": st.booleans()}
    ),
    "garbage_reply": _GARBAGE.map(lambda it: {"content_type": it[0], "body": it[1]}),
    "hold": st.builds(
        lambda seam, hold: {
            "seam": seam,
            "until": hold[0],
            "amount": hold[1],
            "at_most_ms": LONGEST_HOLD_MS,
        },
        st.sampled_from(_SEAMS),
        _HOLDS,
    ),
    "rate_limit": st.fixed_dictionaries({"retry_after_s": st.sampled_from([1, 0])}),
    "redeliver": st.fixed_dictionaries(
        {"copies": st.sampled_from([2, 3]), "mode": st.sampled_from(["sequential", "concurrent"])}
    ),
    "wrong_signature": st.fixed_dictionaries({"attempts": st.sampled_from([1, 2])}),
}


def fair_faults() -> dict[str, type[Fault]]:
    """Return the faults that a provider which keeps its promises can have, by name."""
    return {name: kind for name, kind in faults().items() if kind.fair}


def plans(
    *, most_orders: int = 3, most_strikes: int = 2, deaths: bool = True
) -> SearchStrategy[Plan]:
    """Draw plans: a few orders, at most so many strikes, at most one death."""
    return st.integers(1, most_orders).flatmap(
        lambda orders: st.builds(
            Plan,
            orders=st.just(orders),
            presses=st.sampled_from([1, 2, 3]),
            attempts=st.sampled_from([3, 1, 2]),
            timeout_ms=st.sampled_from([2_000, 400, 100]),
            pause_ms=st.sampled_from([20, 0, 100]),
            strikes=_several(strikes(orders), most_strikes),
            death=st.one_of(st.none(), st.none(), _deaths(orders), st.none(), st.none())
            if deaths
            else st.none(),
        )
    )


def strikes(orders: int) -> SearchStrategy[Strike]:
    """Draw one fault, with its parameters, and a place where it makes sense.

    Many strike an event: there are few such faults, and they find as much.
    """
    at_calls = [kind for kind in fair_faults().values() if not kind.bends("on_delivery")]
    at_events = [kind for kind in fair_faults().values() if kind.bends("on_delivery")]
    calls = st.sampled_from(at_calls)
    events = st.sampled_from(at_events)
    return st.one_of(calls, events, calls, calls).flatmap(lambda kind: _strikes_of(kind, orders))


def one_of_each(orders: int = 2) -> list[Plan]:
    """Return plans that together contain every fair fault and a death, as simple as they come.

    Each fault strikes an order of its own.
    """
    placed = [Strike(kind(), _places(kind)[0]) for kind in fair_faults().values()]
    return [
        Plan(
            orders=orders,
            strikes=tuple(
                replace(strike, order=serial)
                for serial, strike in enumerate(placed[first : first + orders], start=1)
            ),
        )
        for first in range(0, len(placed), orders)
    ] + [Plan(death=Death("after_commit"))]


def _several(strike: SearchStrategy[Strike], most: int) -> SearchStrategy[tuple[Strike, ...]]:
    """Draw seldom none and often the most: a plan in which nothing goes wrong shows little."""
    sizes = [st.lists(strike, min_size=size, max_size=size) for size in range(most + 1)]
    return st.one_of(sizes).map(tuple)


def _strikes_of(kind: type[Fault], orders: int) -> SearchStrategy[Strike]:
    parameters = _PARAMETERS.get(kind.name, st.just({}))
    return st.builds(
        Strike,
        fault=parameters.map(lambda chosen: kind(**chosen)),
        operation=st.sampled_from(_places(kind)),
        order=st.none() | st.integers(1, orders),
        nth=st.sampled_from([None, None, None, 1, 2]),
        times=st.sampled_from([1, 2, 4]),
    )


def _deaths(orders: int) -> SearchStrategy[Death]:
    return st.builds(
        Death,
        at=st.sampled_from([seam for seam in get_args(Seam) if seam != "on_delivery"]),
        order=st.none() | st.integers(1, orders),
        nth=st.sampled_from([1, 1, 1, 2]),
        restart_after_ms=st.sampled_from([0, 200]),
    )


def _places(kind: type[Fault]) -> tuple[str, ...]:
    """Return the operations at which a fault of this kind has something to bend."""
    return (CAPTURED,) if kind.bends("on_delivery") else _OPERATIONS
