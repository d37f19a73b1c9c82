"""The world around a service under test: provider, database, processes, history.

Rule 1: the provider and the customers live in this process, on one clock; the service and its
        database are processes of the supervisor, which outlives nothing.
Rule 2: one history at a time; whoever writes, writes to the current one.
Rule 3: whatever was started is stopped, in the opposite order, however the run ends.
"""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

import aiohttp

from onecharge.history.recorder import Recorder
from onecharge.service_file import ServiceFile
from onecharge.world.commands import Commands
from onecharge.world.postgres import GivenServer, Postgres
from onecharge.world.service import ServiceProcesses
from onecharge.world.supervisor import Supervisor
from simulator.core.journal import Entry
from simulator.server import Simulator

DELIVERY_TIMEOUT_S: Final = 5.0

BROWSER: Final = "browser"
"""The source of provider calls that a customer's browser makes, and no process of the service."""

Tell = Callable[[str], None]
"""Takes one line of progress."""


class World:
    """Everything a scenario is played in."""

    def __init__(self, service_file: ServiceFile, folder: Path, seed: int) -> None:
        self.service_file = service_file
        self.folder = folder
        self.recorder = Recorder()
        self.simulator = Simulator(
            dialect=service_file.provider.dialect,
            seed=seed,
            sink=self.sink,
            together=lambda: self.recorder.together(),  # noqa: PLW0108  # of the current one
            delivery_timeout_s=DELIVERY_TIMEOUT_S,
            route=self._to_an_instance,
        )
        self.services: ServiceProcesses
        self.session: aiohttp.ClientSession

    def __repr__(self) -> str:
        return f"<World of {self.service_file.service.name} in {self.folder.name}>"

    @property
    def commands(self) -> Commands:
        """What runs the short commands that the service file names."""
        return self.services.commands

    @property
    def browser_url(self) -> str:
        """Where the browsers of customers find the provider: no address of the service's."""
        return self.simulator.url(BROWSER) if self.service_file.browser else ""

    def sink(self, entry: Entry) -> int:
        """Take an entry into the current history."""
        return self.recorder(entry)

    def close_history(self) -> None:
        """Close the current history's file, whichever it now is."""
        self.recorder.close()

    def phase(self, name: str) -> None:
        """Announce a phase in the history."""
        self.sink(Entry("judge", "invoke", {"what": "phase", "phase": name}))

    def silent_for(self, seconds: float) -> bool:
        """Tell whether nothing has been written for so long."""
        return time.monotonic_ns() - self.recorder.last_ns >= seconds * 1e9

    def begin_history(self, name: str) -> Recorder:
        """Write from now on to a history of its own, ``name.jsonl`` in the run's folder."""
        self.recorder.close()
        self.recorder = Recorder(self.folder / f"{name}.jsonl")
        self._listen_for_events()
        return self.recorder

    def _listen_for_events(self) -> None:
        """Owe the service the events to come, and none of those of an earlier history."""
        self.simulator.clear_endpoints()
        webhook = self.service_file.webhook
        if webhook is not None:
            self.simulator.add_endpoint(self.services.url + webhook.path, webhook.secret)

    def _to_an_instance(self, url: str) -> str:
        """Spread deliveries over the instances that run, as a load balancer would."""
        return url.replace(self.services.url, self.services.next_url(), 1)


@asynccontextmanager
async def standing(
    service_file: ServiceFile,
    folder: Path,
    *,
    seed: int,
    mutant: str = "",
    server_url: str | None = None,
    tell: Tell = lambda _: None,
) -> AsyncIterator[World]:
    """Yield a world in which everything runs and is ready, and take it down afterwards.

    ``folder`` gets histories and logs. ``server_url`` names a PostgreSQL server to use instead of
    an embedded one. Raises ``NotReady``, ``PostgresError`` or ``SpawnError``, each with one clear
    sentence, when something cannot be started.
    """
    logs = folder / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    async with AsyncExitStack() as stack:
        supervisor = await stack.enter_async_context(await Supervisor.start())
        database_url = ""
        if service_file.database is not None:
            database_url = await _database(stack, supervisor, folder, server_url, tell)
        world = World(service_file, folder, seed)
        names = [f"service-{n}" for n in range(1, service_file.service.instances + 1)]
        callers = [*names, BROWSER] if service_file.browser else names
        await world.simulator.start(ports=dict.fromkeys(callers, 0))
        stack.push_async_callback(world.simulator.stop)
        stack.callback(world.close_history)
        world.services = ServiceProcesses(
            service_file,
            supervisor=supervisor,
            sink=world.sink,
            provider_urls={name: world.simulator.url(name) for name in names},
            values={
                "database_url": database_url,
                "provider_key": service_file.provider.key,
                "webhook_secret": service_file.webhook.secret if service_file.webhook else "",
                "mutant": mutant,
            },
            logs=logs,
        )
        world.session = await stack.enter_async_context(
            aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                cookie_jar=aiohttp.DummyCookieJar(),  # each customer keeps cookies of its own
            )
        )
        tell(f"provider simulator ({service_file.provider.dialect}) ready")
        await world.services.start()
        stack.push_async_callback(world.services.stop)
        tell(f"service {service_file.service.name}: {len(names)} process(es) ready")
        yield world


async def _database(
    stack: AsyncExitStack, supervisor: Supervisor, folder: Path, server_url: str | None, tell: Tell
) -> str:
    """Return the URL of a fresh database, on an embedded server or on the one that was given."""
    name = f"onecharge_{folder.name.replace('-', '_')}".lower()
    if server_url is not None:
        given = await GivenServer.connect(server_url)
        url = await given.create_database(name)
        stack.push_async_callback(given.drop_database, name)
        tell("database on the given PostgreSQL server ready")
        return url
    postgres = await Postgres.start(supervisor, folder / "logs")
    tell(f"PostgreSQL {postgres.version} ready")
    return await postgres.create_database(name)
