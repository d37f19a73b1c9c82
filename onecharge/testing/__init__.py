"""For a team's own tests: a provider that goes wrong on request, and the money it took.

The pytest plug-in (``onecharge.pytest_plugin``) makes these as fixtures; they also stand alone,
in any test framework, as context managers.
"""

from onecharge.testing.money import Charged, WronglyCharged
from onecharge.testing.provider import (
    FaultNotReached,
    NotSettled,
    RunningProvider,
    running_provider,
)
from onecharge.testing.service import RunningService, running_service

__all__ = [
    "Charged",
    "FaultNotReached",
    "NotSettled",
    "RunningProvider",
    "RunningService",
    "WronglyCharged",
    "running_provider",
    "running_service",
]
