"""The world around a service under test: provider, database, processes, history.

Rule 1: the provider and the customers live in this process, on one clock; the service and its
        database are processes of the supervisor, which outlives nothing.
Rule 2: whose a record is, is for ``histories.py`` to find out; nobody here knows of scenarios.
Rule 3: whatever was started is stopped, in the opposite order, however the run ends.
"""

import sys
import zlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cached_property
from pathlib import Path
from typing import Final

import aiohttp

from onecharge.engine.gates.gate import Gate
from onecharge.engine.gates.postgres_gate import PostgresGate
from onecharge.engine.gates.redis_gate import RedisGate
from onecharge.engine.parking import Parking
from onecharge.history.recorder import Recorder
from onecharge.service_file import ServiceFile, exploring
from onecharge.templates import filled_text
from onecharge.world.attached import AttachedService
from onecharge.world.commands import Commands
from onecharge.world.histories import Histories
from onecharge.world.logs import redact_logs
from onecharge.world.ports import LOOPBACK
from onecharge.world.postgres import GivenServer, Postgres
from onecharge.world.processes import names_of
from onecharge.world.read_back import ReadBack
from onecharge.world.redis import redis_for
from onecharge.world.service import NotReady, ServiceProcesses, Services
from onecharge.world.supervisor import Supervisor
from simulator.core.journal import Entry
from simulator.server import Simulator

DELIVERY_TIMEOUT_S: Final = 5.0

ATTACHED: Final = "service"
"""The source of every provider call of a service that we did not start."""

BROWSER: Final = "browser"
"""The source of provider calls that a customer's browser makes, and no process of the service."""

Tell = Callable[[str], None]
"""Takes one line of progress."""


class World:
    """Everything a scenario is played in.

    ``values`` are what commands and URLs of the service file may name of the world, as
    ``{database_url}`` in the words of the service's driver; ``database_url`` is the same
    database in PostgreSQL's own words. Both gates park where ``parking`` says. ``mark`` is in every
    id that is made up here, if the service outlives the world and remembers those of others.
    """

    def __init__(
        self, service_file: ServiceFile, folder: Path, seed: int, *, mark: str = ""
    ) -> None:
        self.service_file = service_file
        self.mark = mark
        self.folder = folder
        self.histories = Histories(folder)
        self.simulator = Simulator(
            dialect=service_file.provider.dialect,
            seed=seed,
            sink=self.histories,
            together=self.histories.together,
            delivery_timeout_s=DELIVERY_TIMEOUT_S,
            token=service_file.provider.token,
            route=self._to_an_instance,
            namespace=f"{mark}x" if mark else "",
        )
        self.services: Services
        self.session: aiohttp.ClientSession
        self.values: Mapping[str, str] = {}
        self.database_url = ""
        self.postgres: Postgres | None = None  # the server, if it is ours
        self.parking = Parking()
        self.database_gate: PostgresGate | None = None  # if the service goes through one
        self.redis_url = ""
        self.redis_gate: RedisGate | None = None  # likewise

    def __repr__(self) -> str:
        return f"<World of {self.service_file.service.name} in {self.folder.name}>"

    @property
    def commands(self) -> Commands:
        """What runs the short commands that the service file names."""
        return Commands(self.service_file.service.folder, self.services.env, self.values)

    @cached_property
    def read_back(self) -> ReadBack:
        """What asks the service for what it believes."""
        return ReadBack(self.service_file, self.services.urls, self.session, self.commands)

    @property
    def gates(self) -> tuple[Gate, ...]:
        """The gates between the service and its stores."""
        return tuple(gate for gate in (self.database_gate, self.redis_gate) if gate is not None)

    @property
    def browser_url(self) -> str:
        """Where the browsers of customers find the provider: no address of the service's."""
        return self.simulator.url(BROWSER) if self.service_file.browser else ""

    @property
    def recorder(self) -> Recorder:
        """The history of what names no order; the only one, if only one is on."""
        return self.histories.apart

    def sink(self, entry: Entry) -> int:
        """Take an entry into the history that it belongs to."""
        return self.histories(entry)

    def begin_history(self, name: str) -> Recorder:
        """Write from now on to one new history, ``name.jsonl`` in the run's folder."""
        recorder = self.histories.begin(name)
        self._listen_for_events()
        return recorder

    def begin_histories(self, families: Mapping[str, str]) -> dict[str, Recorder]:
        """Write from now on to a new history for each scenario, by its name.

        ``families`` gives what the references of its orders have in common.
        """
        recorders = self.histories.begin_for(families)
        self._listen_for_events()
        return recorders

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
    gated: bool = False,
    tell: Tell = lambda _: None,
) -> AsyncIterator[World]:
    """Yield a world in which everything runs and is ready, and take it down afterwards.

    ``folder`` gets histories and logs. ``server_url`` names a PostgreSQL server to use instead of
    an embedded one. ``gated`` puts a gate between the service and its database and its Redis, as
    far as it has them: its processes find the gates in ``{database_url}`` and ``{redis_url}``;
    we, who read back, ask past them. Since that is done to try out orders, the environment is
    then the one of ``[explore]``. Raises ``NotReady``, ``PostgresError`` or ``SpawnError``, each
    with one clear sentence, when something cannot be started.
    """
    logs = folder / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    async with AsyncExitStack() as stack:
        stack.callback(redact_logs, logs)
        if gated:
            service_file = exploring(service_file)
        service = service_file.service
        mark = _mark_of(folder, gated=gated) if service.attached else ""
        world = World(service_file, folder, seed, mark=mark)
        names = [ATTACHED] if service.attached else names_of(service)
        await _listen(world, names)
        stack.push_async_callback(world.simulator.stop)
        stack.callback(world.histories.close)
        if service.attached:
            shared = _shared_values(world, mutant)
            world.services = AttachedService(service, filled_text(service.ready, shared))
        else:
            supervisor = await stack.enter_async_context(await Supervisor.start())
            if service_file.database is not None:
                world.database_url = await _database(stack, supervisor, world, server_url, tell)
                if gated:
                    world.database_gate = await _gate(stack, world)
            if service_file.redis is not None:
                redis = redis_for(service_file.redis.url, supervisor, logs)
                world.redis_url = await stack.enter_async_context(redis)
                tell("Redis ready")
                if gated:
                    world.redis_gate = await _redis_gate(stack, world)
            shared = _shared_values(world, mutant)
            world.services = ServiceProcesses(
                service,
                supervisor=supervisor,
                sink=world.histories,
                provider_urls={name: world.simulator.url(name) for name in names},
                values=shared | _by_way_of_the_gates(world),
                logs=logs,
            )
        world.values = {
            **shared,
            "provider_url": world.simulator.url(names[0]),
            "service_url": world.services.url,
        }
        world.session = await stack.enter_async_context(
            aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                cookie_jar=aiohttp.DummyCookieJar(),  # each customer keeps cookies of its own
            )
        )
        tell(f"provider simulator ({service_file.provider.dialect}) ready{_where(world)}")
        await world.services.start()
        stack.push_async_callback(world.services.stop)
        tell(
            f"service {service.name}: {len(service.urls)} address(es) ready"
            if service.attached
            else f"service {service.name}: {len(names)} process(es) ready"
        )
        yield world


def _mark_of(folder: Path, *, gated: bool) -> str:
    """Return what tells the ids of a run from those of all runs before it: it has its folder."""
    return f"{zlib.crc32(f'{folder.resolve().name}/{gated}'.encode()):08x}"


async def _listen(world: World, names: Sequence[str]) -> None:
    """Have the provider listen: for processes of ours one socket each, else where it is said."""
    host, port = world.service_file.provider.address
    ports = dict.fromkeys(names, port)
    if world.service_file.browser:
        ports[BROWSER] = 0
    try:
        await world.simulator.start(host, ports)
    except OSError as error:
        raise NotReady(
            f"provider.listen: the provider cannot listen at {host}:{port}: "
            f"{error.strerror or error}"
        ) from None


def _shared_values(world: World, mutant: str) -> dict[str, str]:
    """Return what all processes and commands of the service file know of the world."""
    service_file = world.service_file
    database, webhook = service_file.database, service_file.webhook
    return {
        "python": sys.executable,
        "host": LOOPBACK,
        "database_url": database.url(world.database_url) if database else "",
        "redis_url": world.redis_url,
        "provider_key": service_file.provider.key,
        "webhook_secret": webhook.secret if webhook else "",
        "mutant": mutant,
    }


def _where(world: World) -> str:
    listen = world.service_file.provider.listen
    return f" at {world.simulator.url(ATTACHED)}" if listen else ""


async def _gate(stack: AsyncExitStack, world: World) -> PostgresGate:
    """Return an open gate before the server of the database."""
    try:
        gate = PostgresGate(world.database_url, world.parking)
    except ValueError as problem:
        raise NotReady(f"the gate before the database: {problem}") from None
    await gate.open()
    stack.push_async_callback(gate.close)
    return gate


async def _redis_gate(stack: AsyncExitStack, world: World) -> RedisGate:
    """Return an open gate before the Redis."""
    gate = RedisGate(world.redis_url, world.parking)
    await gate.open()
    stack.push_async_callback(gate.close)
    return gate


def _by_way_of_the_gates(world: World) -> dict[str, str]:
    """Return what the service knows in other words than we do: where its stores are."""
    known, database = {}, world.service_file.database
    if database is not None and world.database_gate is not None:
        known["database_url"] = database.url(world.database_gate.url(world.database_url))
    if world.redis_gate is not None:
        known["redis_url"] = world.redis_gate.url(world.redis_url)
    return known


async def _database(
    stack: AsyncExitStack, supervisor: Supervisor, world: World, server_url: str | None, tell: Tell
) -> str:
    """Return the URL of a fresh database, on an embedded server or on the one that was given."""
    name = f"onecharge_{world.folder.name.replace('-', '_')}".lower()
    if server_url is not None:
        given = await GivenServer.connect(server_url)
        url = await given.create_database(name)
        stack.push_async_callback(given.drop_database, name)
        tell("database on the given PostgreSQL server ready")
        return url
    postgres = world.postgres = await Postgres.start(supervisor, world.folder / "logs")
    tell(f"PostgreSQL {postgres.version} ready")
    return await postgres.create_database(name)
