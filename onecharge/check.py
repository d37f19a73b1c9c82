"""``onecharge check``: only the clean control, told step by step.

It is what one runs while writing a service file: nothing is broken yet, and nobody is judged.
"""

from collections.abc import Callable
from pathlib import Path

from onecharge.control import ControlFailed, Passed, clean_control
from onecharge.targets import Target
from onecharge.world.service import NotReady
from onecharge.world.world import standing

Tell = Callable[[str], None]


async def check(
    target: Target,
    seed: int,
    *,
    folder: Path,
    ready: Tell,
    passed: Tell,
    server_url: str | None = None,
) -> Passed:
    """Stand the service up and play the clean control; each step that went well is told.

    What does not work raises ``ControlFailed`` or ``NotReady``, which name the service file, or
    what else ``standing`` raises.
    """
    try:
        async with standing(
            target.service_file,
            folder,
            seed=seed,
            mutant=target.mutant,
            server_url=server_url,
            tell=ready,
        ) as world:
            return await clean_control(world, seed, passed)
    except (ControlFailed, NotReady) as reason:
        raise type(reason)(f"{target.path}: {reason}") from None
