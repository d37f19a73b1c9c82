"""Where the explorer's runs are made: one world, a fresh order for every run, and the judge.

Rule 1: a run is a scope with an order of its own. Runs follow each other in one history, and the
        next begins when every event of the last is acknowledged.
Rule 2: that an order was charged twice is seen at once, in the provider's ledger, and where
        webhooks take part that its charge was booked twice. Everything else is judged when a
        batch of orders has healed; whoever needs to know it of every single run asks for batches
        of one.
Rule 3: nothing is parked for longer than half of the shortest time that the service file declares.
Rule 4: the judge is the one of every other run: it has the history and nothing else.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Hashable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Final, Self

from onecharge.engine.boundaries import CLIENT, WEBHOOK, ProviderGate, WebhookGate
from onecharge.engine.course import Course
from onecharge.engine.deaths import Deaths
from onecharge.engine.explorer import Coverage, Earlier, Ran
from onecharge.engine.gates.statements import head
from onecharge.engine.last_byte import Connections, Together, warm_connections
from onecharge.engine.late_probes import LateProbes
from onecharge.engine.listening import LISTEN_S, learn_habits
from onecharge.engine.locks import Locks
from onecharge.engine.parking import Parked
from onecharge.engine.patience import Patience
from onecharge.engine.presses import Presses
from onecharge.engine.scheduler import Scheduler
from onecharge.engine.scope import Scope
from onecharge.engine.scopes import SCOPES
from onecharge.engine.silence import SILENCE_S, WHERE_LOCKS_ARE_SEEN_S, Silence
from onecharge.engine.tapes.chooser import Chooser, Taping, lane_of
from onecharge.healing import LOOK_AGAIN_S, Healing, announce_phase, at_most, heal
from onecharge.history.recorder import Recorder
from onecharge.history.records import Record
from onecharge.history.sameness import retold
from onecharge.phases import announce
from onecharge.press import Order
from onecharge.templates import filled_text
from onecharge.verdict import ScenarioVerdict, judge_scenario
from onecharge.watch import Watch
from onecharge.world.customers import Customers
from onecharge.world.orders import family_of, orders_of
from onecharge.world.world import World

if TYPE_CHECKING:
    from onecharge.engine.tapes.tape import Tape

__all__ = ["BATCH", "BOOKED_TWICE", "CHARGED_TWICE", "SCOPES", "Locks", "Scope", "Stage", "kind_of"]

CHARGED_TWICE: Final = "one_charge_per_key"
BOOKED_TWICE: Final = "one_effect_per_event"

BATCH: Final = 25
"""After so many runs they are healed and judged together."""
_SOONER: Final = 0.9
"""Who is waited for goes on when so much of the time is over after which it would be given up."""


class Stage:
    """One scope in one world, run as often as it is asked for.

    ``verdicts`` are those on the batches so far, ``tapes`` what was chosen for each order, and
    ``courses`` how its run went.
    """

    def __init__(
        self,
        world: World,
        scope: Scope,
        locks: Locks,
        *,
        seed: int,
        bound_s: float,
        repeat: str,
        batch: int = BATCH,
    ) -> None:
        self.scope = scope
        self.batch = batch
        self.verdicts: list[ScenarioVerdict] = []
        self.tapes: dict[str, Tape] = {}
        self.courses: dict[str, Course] = {}
        gate = world.database_gate
        self._parking = world.parking
        self._deaths = Deaths(world, _SOONER * world.service_file.provider.timeout_s)
        self._silence = Silence(SILENCE_S if gate is None else WHERE_LOCKS_ARE_SEEN_S)
        self._observed = _observed_in(world)
        self._world = world
        self._locks = locks
        self._seed = seed
        self._bound_s = bound_s
        self._repeat = repeat
        self._webhooks = WebhookGate(world.simulator, self._parking)
        self._provider = ProviderGate(world.simulator, self._parking)
        self._patience = Patience.of(world.service_file, scope)
        self._probes = LateProbes(self._parking)
        if scope.paces:
            self._probes = LateProbes.beside_a_gate(self._parking, self._patience.calls_s)
        self._together: Together | None = None
        self._connections: Connections | None = None
        self._read_back = world.read_back
        self._batches = 0
        self._left: list[Order] = []
        self._played: list[Order] = []
        self._told: set[str] = set()  # the orders of which it was said that they are violated
        self._recorder = Recorder()
        self._watch = Watch()

    @classmethod
    @asynccontextmanager
    async def set_up(
        cls,
        world: World,
        scope: Scope,
        *,
        seed: int,
        bound_s: float,
        repeat: str,
        listen_s: float = LISTEN_S,
    ) -> AsyncIterator[Self]:
        """Yield a stage on which the gates are on duty as long as the context lasts.

        Before, it is listened for so long to what the service says to its stores unasked.
        """
        async with AsyncExitStack() as stack:
            locks = await stack.enter_async_context(Locks.of(world))
            stage = cls(world, scope, locks, seed=seed, bound_s=bound_s, repeat=repeat)
            stack.enter_context(stage._webhooks.on_duty())
            stack.enter_context(stage._provider.on_duty())
            ready = filled_text(world.service_file.service.ready, world.values)
            warm = warm_connections(world.services.urls, ready)
            stage._connections = await stack.enter_async_context(warm)
            if not world.gates:
                stage._together = Together(stage._connections.took_s)
            if world.gates and listen_s:
                await stage._listen(listen_s)
            yield stage

    def coverage(self) -> Coverage:
        """Return the record of what is covered, still empty."""
        known = [words for gate in self._world.gates for words in gate.habits.known]
        return Coverage(
            self.scope.what,
            self._observed,
            sorted({head(words) for words in known}),
            self._alike,
            self.scope.deviations,
        )

    @property
    def _alike(self) -> frozenset[str]:
        """The requests that differ in nothing: whoever comes first, it is the same."""
        file, presses = self._world.service_file, range(1, self.scope.presses + 1)
        if self.scope.sweeps or any(self.scope.waits_s(press, file) for press in presses):
            return frozenset()
        return frozenset(f"{CLIENT}:{press}" for press in presses)

    @property
    def violated(self) -> ScenarioVerdict | None:
        """The first verdict on a batch that found something wrong."""
        return next((each for each in self.verdicts if each.verdict == "violated"), None)

    @property
    def records(self) -> Sequence[Record]:
        """The history of the orders under way; once they are judged, of those judged last."""
        return self._recorder.records

    async def make(self, chooser: Chooser, all_at_once: bool) -> Ran:  # noqa: FBT001 - as ``Make``
        """Run the scope once with a fresh order."""
        while self.scope.sweeps and not self._probes.measured:
            order = self._next_order()
            await self._probes.measure(*self._presses(order).operations())
            await self._told_of_everything(order)
        order = self._next_order()
        presses = self._presses(order, all_at_once=all_at_once)
        taping = Taping(chooser)
        course = await self._course(presses, taping, all_at_once=all_at_once)
        self.tapes[order.reference], self.courses[order.reference] = taping.tape, course
        if course.died:
            self._deaths.staged(course.left_behind)
        elif course.left_behind:
            await self._deaths.make_room(course.left_behind)
        else:
            await self._told_of_everything(order)
            seen = self._charged_twice(order) or self._seen(order)
            if kind := seen or await self._booked_twice(order):
                self._told.add(order.reference)
                return Ran(kind, course)
        came_to = self._came_to(order, course)
        if len(self._played) >= self.batch and (verdict := await self.judged()):
            return self._worst(verdict, order.reference, course)
        if self._deaths.due:
            await self._deaths.strike()
        return Ran(None, course, came_to=came_to)

    def _came_to(self, order: Order, course: Course) -> Hashable:
        """Return what became of every chain, and of the order on every lane of the history."""
        lines = [*course.releases, *retold(self._recorder.records, order.reference)]
        chains: defaultdict[str, list[str]] = defaultdict(list)
        for line in lines:
            chains[lane_of(line)].append(line)
        return frozenset(map(tuple, chains.values()))

    def _worst(self, verdict: ScenarioVerdict, reference: str, course: Course) -> Ran:
        """Return the run with what a batch came to: what is violated, and was not told before."""
        for order, tape in reversed(self.tapes.items()):
            if order not in self._told and (kind := kind_of(verdict, order)):
                self._told.add(order)
                self.batch = 1  # from now on it is known of every run at once
                earlier = None if order == reference else Earlier(tape, self.courses[order])
                return Ran(kind, course, earlier)
        return Ran(None, course)

    async def _course(self, presses: Presses, chooser: Chooser, *, all_at_once: bool) -> Course:
        if self.scope.sweeps:
            first, second = presses.operations()
            return await self._probes.run(first, second, chooser)
        scheduler = Scheduler(
            self._parking,
            chooser,
            patience=self._patience,
            blocked=self._locks.blocked,
            busy=lambda: self._webhooks.moving,
            offered=self._offered,
            moves=presses.moves,
            all_at_once=all_at_once,
            silence=self._silence,
            crowded=bool(self._deaths.waiting),
        )
        return await scheduler.run(presses.operations())

    async def judged(self) -> ScenarioVerdict | None:
        """Heal what was run since the last time, judge it, and return the verdict, if any."""
        if not self._played:
            return None
        await self._deaths.strike()
        customers = Customers.in_world(self._world, self._recorder, lane="healer")
        played, self._played, self._left = self._played, [], []
        await heal(
            self._world, [Healing(self._world, self._recorder, customers, played, self._bound_s)]
        )
        verdict = judge_scenario(
            self._recorder.records, repeat=self._repeat, trouble=self._recorder.lost
        )
        self.verdicts.append(verdict)
        return verdict

    async def _listen(self, listen_s: float) -> None:
        """Learn what the service says to its stores of its own accord (``listening.py``)."""
        order, file = self._next_order(), self._world.service_file
        customers = Customers.in_world(self._world, self._recorder)
        await learn_habits(
            self._parking,
            self._world.gates,
            lambda: customers.press(order, file.timing.answers_within_s),
            listen_s=min(listen_s, _SOONER * file.provider.timeout_s),
            patience_s=self._patience.calls_s + file.timing.calls_provider_within_s,
        )
        await self._told_of_everything(order)

    def _next_order(self) -> Order:
        if not self._left:
            self._begin_batch()
        order = self._left.pop(0)
        self._played.append(order)
        return order

    def _begin_batch(self) -> None:
        self._batches += 1
        label = f"explore-{self.scope.name}-{self._batches}"
        world = self._world
        self._left = orders_of(world.service_file, label, self.batch, self._seed, mark=world.mark)
        family = family_of(self._left[0].reference)
        self._recorder = world.begin_histories({label: family})[label]
        self._watch = Watch()
        self._recorder.subscribe(self._watch.see)
        announce(
            self._recorder,
            world.service_file,
            self._left,
            scenario=label,
            title=f"Every order of {self.scope.what}",
            seed=self._seed,
            fair=True,
            plan=[],
            settles_within_s=self._bound_s,
            repeat=self._repeat,
        )
        announce_phase(self._recorder, "faults")
        references = [order.reference for order in self._left]
        rules = [*self._provider.rules(references), *self.scope.rules(references)]
        world.simulator.arm(rules, seed=self._seed)

    def _presses(self, order: Order, *, all_at_once: bool = False) -> Presses:
        customers = Customers.in_world(  # numbered anew in every run
            self._world, self._recorder, connections=self._connections
        )
        together = self._together if all_at_once else None
        return Presses(self._world, self.scope, customers, order, together)

    def _offered(self, event: Parked) -> bool:
        news = event.standing == "beginning" and event.place.lane.startswith(f"{WEBHOOK}:")
        return self.scope.webhooks or not news

    async def _told_of_everything(self, order: Order) -> None:
        """Wait until the service has heard of what became of the order."""
        async with at_most(self._bound_s):
            while self._world.simulator.undelivered([order.reference]):
                await asyncio.sleep(LOOK_AGAIN_S / 10)

    def _charged_twice(self, order: Order) -> str | None:
        return CHARGED_TWICE if len(self._real_charges(order)) > 1 else None

    def _seen(self, order: Order) -> str | None:
        """Return what was seen to go wrong while it happened."""
        seen = self._watch.seen.get(order.reference)
        return None if seen is None else seen.invariant

    async def _booked_twice(self, order: Order) -> str | None:
        """Ask the service what it has booked: more than was charged is wrong at any time."""
        if not self.scope.webhooks or self._world.service_file.effects is None:
            return None
        booked = (await self._read_back.of(order)).effects or 0
        return BOOKED_TWICE if booked > len(self._real_charges(order)) else None

    def _real_charges(self, order: Order) -> Sequence[object]:
        return self._world.simulator.real_charges(order.reference)


def _observed_in(world: World) -> str:
    """Say what is parked, for the sentences on coverage."""
    seen = ["statements"] * (world.database_gate is not None)
    seen += ["Redis commands"] * (world.redis_gate is not None)
    return " and ".join(filter(None, (", ".join(seen), "provider calls")))


def kind_of(verdict: ScenarioVerdict, order: str | None = None) -> str | None:
    """Return the name of the first invariant that is violated, for one order or for any."""
    for invariant in verdict.invariants:
        for violation in invariant.judgement.violations:
            if order is None or violation.order in {order, None}:
                return invariant.name
    return None
