"""A service that somebody else started: it is talked to, and nothing of it is started or killed."""

import asyncio
import itertools
from typing import NoReturn

from onecharge.service_file import Service
from onecharge.world.service import NotReady, until_answered


class AttachedService:
    """A service that runs already, at the addresses that its file gives."""

    def __init__(self, service: Service, ready: str) -> None:
        self._urls = list(service.urls)
        self._ready = ready
        self._within_s = service.ready_within_s
        self._turns = itertools.cycle(self._urls)

    def __repr__(self) -> str:
        return f"<AttachedService {', '.join(self._urls)}>"

    @property
    def url(self) -> str:
        """Where the service is said to listen: its first instance."""
        return self._urls[0]

    @property
    def urls(self) -> list[str]:
        """Where the instances listen, in order."""
        return list(self._urls)

    @property
    def env(self) -> dict[str, str]:
        """Nothing of its environment is ours."""
        return {}

    def next_url(self) -> str:
        """Return the instances in turn."""
        return next(self._turns)

    async def start(self) -> None:
        """Wait until every instance answers; raise ``NotReady`` if one does not."""
        await asyncio.gather(*(self._until_ready(url) for url in self._urls))

    def kill(self, name: str) -> NoReturn:
        """Nothing that we did not start is killed."""
        raise AssertionError(f"{name} is none of our processes: not restartable, never killed")

    async def restart(self, name: str) -> None:
        """Nothing was killed, so nothing has to come back."""

    async def stop(self) -> None:
        """It runs on."""

    def serving(self, source: str) -> str:
        """Return the caller's own name: which process it was cannot be told."""
        return source

    async def replace(self, name: str) -> NoReturn:
        """Nothing that we did not start is replaced."""
        raise AssertionError(f"{name} is none of our processes")

    @property
    def names(self) -> list[str]:
        """None of its processes is ours."""
        return []

    def listening_at(self, url: str) -> str:
        """Return the address: which process listens there cannot be told."""
        return url

    def fallen(self) -> None:
        """Nothing is known of its processes."""

    def last_words(self, url: str) -> str:  # noqa: ARG002 - as the protocol asks
        """Its logs are elsewhere."""
        return ""

    async def _until_ready(self, url: str) -> None:
        try:
            await until_answered(url + self._ready, self._within_s, still=lambda: True)
        except NotReady as reason:
            raise NotReady(f"service.urls: the service {reason}; does it run?") from None
