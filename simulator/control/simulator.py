"""The simulator as a whole: whether it is ready, what it plays, and how it begins again."""

import json
from importlib import resources
from typing import TYPE_CHECKING

from simulator.control.asks import Asked, Told

if TYPE_CHECKING:
    from simulator.server import Simulator


async def ready(simulator: "Simulator", _: Asked) -> Told:
    """Tell that calls are answered, and where."""
    return Told(
        {
            "ready": True,
            "dialect": simulator.dialect,
            "seed": simulator.seed,
            "urls": dict(simulator.urls),
            "now_s": simulator.clock.now(),
        }
    )


async def profile(simulator: "Simulator", _: Asked) -> Told:
    """Show which provider is played, and whether it honours keys."""
    return Told(
        {
            "dialect": simulator.dialect,
            "keys": simulator.keys,
            "known_keys": simulator.provider.known_keys,
        }
    )


async def change_profile(simulator: "Simulator", asked: Asked) -> Told:
    """Let the provider honour keys or ignore them, from now on and after every reset."""
    simulator.keys = asked.body.keys
    return await profile(simulator, asked)


async def reseed(simulator: "Simulator", asked: Asked) -> Told:
    """Let chance begin anew; nothing else changes."""
    simulator.reseed(asked.body.seed)
    return Told({"seed": simulator.seed})


async def reset(simulator: "Simulator", asked: Asked) -> Told:
    """Begin again: no charges, no plan, no endpoints, time 0."""
    await simulator.reset(asked.body.seed)
    return Told({"seed": simulator.seed})


async def openapi(simulator: "Simulator", _: Asked) -> Told:  # noqa: ARG001  # all are asked alike
    """Describe all of this to machines."""
    return Told(json.loads((resources.files("simulator") / "openapi.json").read_text()))
