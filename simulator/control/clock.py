"""Virtual time: what it is, and how to move it."""

from typing import TYPE_CHECKING

from simulator.control.asks import Asked, Told

if TYPE_CHECKING:
    from simulator.server import Simulator


async def clock(simulator: "Simulator", _: Asked) -> Told:
    """Show virtual time, and when something will be due."""
    return Told(
        {
            "now_s": simulator.clock.now(),
            "time_scale": simulator.clock.time_scale,
            "next_wakeup_s": simulator.provider.next_wakeup(),
        }
    )


async def advance(simulator: "Simulator", asked: Asked) -> Told:
    """Move virtual time forward; what falls due is sent."""
    simulator.advance(asked.body.seconds)
    return Told({"now_s": simulator.clock.now()})
