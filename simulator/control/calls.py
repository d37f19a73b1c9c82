"""Calls that are under way: to hold them, to see what is held, and to let it go on."""

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from simulator.catalogue import PlanError, rule_from
from simulator.control.asks import Asked, Told, Trouble, invalid
from simulator.gates import HeldCall

if TYPE_CHECKING:
    from simulator.control.bodies import HoldBody
    from simulator.server import Simulator


async def hold(simulator: "Simulator", asked: Asked) -> Told:
    """Hold the calls to come, beside the plan in force, until they are released."""
    body: HoldBody = asked.body
    try:
        rule = rule_from({"fault": "hold", "until": "released", **body.model_dump()})
    except PlanError as error:
        raise invalid(error.field, error.expected, error.found, str(error)) from None
    return Told({"rule": simulator.arm_also(rule)}, 201)


async def held(simulator: "Simulator", _: Asked) -> Told:
    """Show the calls that are held, longest first."""
    now_s = asyncio.get_running_loop().time()
    return Told({"held": [_held_object(held, now_s) for held in simulator.gates.held()]})


async def release(simulator: "Simulator", asked: Asked) -> Told:
    """Let one held call go on."""
    [call] = asked.names
    if not simulator.gates.release(call, "control"):
        raise Trouble(404, "Not held", f"No call {call!r} is held now.")
    return Told({"call": call, "released": True})


async def release_all(simulator: "Simulator", _: Asked) -> Told:
    """Let every held call go on, longest held first."""
    return Told({"released": simulator.gates.release_all("control")})


async def in_flight(simulator: "Simulator", asked: Asked) -> Told:
    """Show what is under way: calls held, connections kept silent, attempts."""
    return Told(
        {
            "calls": (await held(simulator, asked)).data["held"],
            "silences": simulator.silences,
            "attempts": [
                {
                    "attempt": attempt,
                    "delivery": turn.delivery.id,
                    "event": turn.delivery.event.id,
                    "url": turn.delivery.endpoint.url,
                    "copy": turn.copy,
                }
                for attempt, turn in simulator.provider.deliveries.attempts_in_flight().items()
            ],
        }
    )


def _held_object(held: HeldCall, now_s: float) -> dict[str, Any]:
    return {
        "call": held.call,
        "operation": held.operation,
        "account": held.account,
        "order": held.order,
        "source": held.source,
        "seam": held.seam,
        "until": asdict(held.until),
        "held_ms": round((now_s - held.parked_at_s) * 1000),
        "caller_gone": held.caller_gone,
    }
