"""Park and release: one run of some operations, with every boundary event released by choice.

The loop: wait until nothing moves, ask the chooser which parked event goes on, release it.

Rule 1: nothing moves when every operation under way is accounted for: one of its events is
        parked, or a statement of it waits for a lock. Where that cannot be told, silence is
        waited for (``silence.py``); how often is part of the course.
        Whoever was blocked and is woken moves next, alone and unasked, before anything is chosen.
        Once several were let go at once, whose an event is cannot be told: events are counted.
Rule 2: the boring choice goes on with what moved last, so that operations run one after the
        other, and a deviation is a change of who runs. Of events that came together, the lanes'
        names decide.
Rule 3: nothing is parked for longer than there is ``patience`` (``patience.py``). If it would be,
        everything is let go and the course is *hurried*: it counts as a sample.
        An operation that waits by choice (``waits_s``) is no part of that.
Rule 4: with what is chosen to go on, something may go wrong instead (``moves.py``): that is asked
        apart, and only where there is a choice. Whoever hangs up leaves a chain without an end
        that can be seen; whoever dies ends the run, and is left as they are.
Rule 5: *all at once* lets the machine decide what comes first. A course with it is a sample.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from typing import Final

from onecharge.engine.boundaries import WEBHOOK, stop
from onecharge.engine.course import Course, Operation, as_they_happened
from onecharge.engine.moves import Move
from onecharge.engine.parking import Parked, Parking, Place
from onecharge.engine.patience import Patience
from onecharge.engine.silence import LITTLE_S, Silence
from onecharge.engine.tapes.chooser import ALL_AT_ONCE, RELEASE, Chooser

_LOOK_AGAIN_S: Final = 0.001
ASKED_AGAIN: Final = 4
"""Whoever says the same thing more often than this is taken to wait for somebody else."""

GOES_ON: Final = "goes on"
"""The boring alternative to every move."""


async def _nobody() -> Collection[str]:
    return ()


class Scheduler:
    """Runs operations so that one boundary event happens at a time.

    ``blocked`` tells which chains have a statement that waits for a lock, ``busy`` how many
    deliveries were released and have not ended. ``offered`` tells which events may be chosen:
    others stay parked till the end. ``moves`` tells what can be done with one but to release it.
    ``crowded`` says that others stand in the way, as by holding all of a pool's connections:
    then a run that does not go on is not waited for.
    """

    def __init__(
        self,
        parking: Parking,
        chooser: Chooser,
        *,
        patience: Patience,
        blocked: Callable[[], Awaitable[Collection[str]]] = _nobody,
        busy: Callable[[], int] = lambda: 0,
        offered: Callable[[Parked], bool] = lambda _: True,
        moves: Callable[[Parked], Iterable[Move]] = lambda _: (),
        all_at_once: bool = False,
        silence: Silence | None = None,
        crowded: bool = False,
    ) -> None:
        self._parking = parking
        self._chooser = chooser
        self._patience = patience
        self._blocked = blocked
        self._busy = busy
        self._offered = offered
        self._moves = moves
        self._crowded = crowded
        self._all_at_once = all_at_once
        self._silence = silence or Silence()
        self._running: list[str] = []  # chains of operations that began and have not ended
        self._left: set[str] = set()  # of those, whose customer has hung up
        self._silent: set[str] = set()  # of those, who did not move when they were waited for
        self._waiting = 0  # of those, whoever waits by choice
        self._batch = 0
        self._let_go: list[list[Place]] = []  # what went on, and what with it
        self._seen: dict[int, tuple[Parked, int, float]] = {}  # with its batch and its arrival

    async def run(self, operations: Sequence[Operation]) -> Course:
        """Arm the parking, run the operations to their end, and let go of whatever is parked."""
        assert not self._running, "one run at a time"
        course = Course()
        self._parking.arm()
        tasks = [asyncio.create_task(self._operate(operation)) for operation in operations]
        try:
            await asyncio.sleep(0)  # each parks its beginning
            while self._goes_on(tasks) or await self._goes_on_alone(course):
                await self._until_still(course)
                self._parking.rest()
                if self._woke_one():
                    continue
                if not self._choosable():
                    if not await self._moved_after_all(tasks):
                        course.stuck = True
                        break
                    continue
                if self._out_of_patience():
                    course.hurried = True
                    break
                if move := self._release_one(course):
                    await self._settled(move)
                if course.died:
                    break
            if not (course.died or course.stuck or course.hurried):
                await self._to_the_end(tasks, course)
        finally:
            course.events = as_they_happened(self._let_go, self._parking.happened)
            self._parking.disarm()
            self._seen.clear()
            if course.died or (course.stuck and self._crowded):
                course.left_behind = tasks
            else:
                await _ended(tasks)
        return course

    async def _to_the_end(self, tasks: Sequence["asyncio.Task[None]"], course: Course) -> None:
        """Let what was not on offer go on as well, unasked, but one after the other."""
        self._offered = lambda _: True
        while self._goes_on(tasks):
            await self._until_still(course)
            self._parking.rest()
            if self._woke_one():
                continue
            if events := self._choosable():
                self._parking.release(events[0])
                self._batch += 1
            elif not await self._moved_after_all(tasks):
                return

    def _goes_on(self, tasks: Sequence["asyncio.Task[None]"]) -> bool:
        under_way = not all(task.done() for task in tasks)
        return under_way or bool(self._choosable()) or bool(self._busy())

    async def _goes_on_alone(self, course: Course) -> bool:
        """Wait for whoever goes on though their customer has left; tell if there is more to do."""
        if self._left:
            await self._until_still(course)
        return bool(self._choosable())

    async def _operate(self, operation: Operation) -> None:
        if operation.when is not None and not await operation.when():
            self._parking.stir()
            return
        try:
            await stop(
                self._parking,
                operation.lane,
                operation.what,
                operation.order,
                on_release=lambda: self._running.append(operation.lane),
            )
            if operation.waits_s:
                await self._let_pass(operation.waits_s)
            await operation.begin()
        finally:
            if operation.lane in self._running and operation.lane not in self._left:
                self._running.remove(operation.lane)
            self._parking.stir()

    async def _let_pass(self, seconds: float) -> None:
        """Have time pass for whatever is parked; who is parked has come anew afterwards."""
        self._waiting += 1
        try:
            await asyncio.sleep(seconds)
        finally:
            self._waiting -= 1
        now_s = asyncio.get_running_loop().time()
        self._seen = {key: (event, at, now_s) for key, (event, at, _) in self._seen.items()}
        self._parking.stir()

    def _woke_one(self) -> bool:
        """Let one go on that was blocked and is not any more, by name; tell if there was one."""
        woken = [event for event in self._parking.parked() if event.standing == "woken"]
        if woken:
            self._parking.release(min(woken, key=lambda event: str(event.place)))
        return bool(woken)

    def _release_one(self, course: Course) -> Move | None:
        """Have one chosen and let go on; or return the move that was made instead."""
        events = self._choosable()
        names = [str(event.place) for event in events]
        if self._all_at_once and len(events) > 1:
            names.append(ALL_AT_ONCE)
        index = self._chooser.choose(RELEASE, names)
        self._silent -= {event.place.lane for event in events[index : index + 1] or events}
        course.releases.append(names[index])
        self._batch += 1
        if names[index] != ALL_AT_ONCE:
            self._let_go.append([events[index].place])
            return self._go_on(events[index], course)
        self._let_go.append([event.place for event in events])
        for event in events:
            self._parking.release(event)
            self._seen.pop(id(event), None)
        return None

    def _go_on(self, event: Parked, course: Course) -> Move | None:
        """Let an event go on, unless a move is chosen: then make and return it."""
        offered = list(self._moves(event))
        for kind in dict.fromkeys(move.kind for move in offered):
            moves = [move for move in offered if move.kind == kind]
            names = [f"{event.place} {name}" for name in (GOES_ON, *(move.name for move in moves))]
            if index := self._chooser.choose(kind, names):
                move = moves[index - 1]
                course.releases[-1] = names[index]
                course.moves.append(names[index])
                course.died = move.ends
                self._parking.chains.moves(event.place.lane)
                if move.leaves:
                    self._left.add(event.place.lane)
                move.make()
                return move
        self._parking.release(event)
        self._seen.pop(id(event), None)
        return None

    async def _settled(self, move: Move) -> None:
        """Wait until a service has noticed that its customer has left."""
        seen = self._parking.changes
        while move.leaves:
            try:
                async with asyncio.timeout(LITTLE_S):
                    seen = await self._parking.changed(seen)
            except TimeoutError:
                return

    def _choosable(self) -> list[Parked]:
        """Return what may be released: the latest batch first, within it by name.

        Who asks again and again waits for somebody, as for a lock of Redis: others go first.
        """
        now_s = asyncio.get_running_loop().time()
        parked = self._parking.parked()
        known = {id(event): (event, self._batch, now_s) for event in parked}
        self._seen = {key: self._seen.get(key, new) for key, new in known.items()}
        return sorted(
            (event for event in parked if event.standing != "woken" and self._offered(event)),
            key=lambda event: (
                event.place.nth > ASKED_AGAIN,
                -self._seen[id(event)][1],
                str(event.place),
            ),
        )

    def _out_of_patience(self) -> bool:
        """Return whether an event was parked for too long that somebody waits for."""
        now_s = asyncio.get_running_loop().time()
        return any(
            now_s - at > self._patience.with_s(event)
            for event, _, at in self._seen.values()
            if event.standing != "beginning"
        )

    async def _until_still(self, course: Course) -> None:
        """Wait until nothing moves any more, by rule 1."""
        loop = asyncio.get_running_loop()
        released_at_s = moved_at_s = loop.time()
        seen, looks = self._parking.changes, 0
        blocked: Collection[str] | None = None
        while self._unaccounted(course) > 0:
            blocked, before = await self._blocked(), blocked
            if blocked == before and self._unaccounted(course, blocked) <= 0:
                return  # seen twice: who was just woken is no longer counted
            try:
                async with asyncio.timeout(_LOOK_AGAIN_S):
                    seen = await self._parking.changed(seen)
            except TimeoutError:
                looks += 1
                little = self._unaccounted(course, blocked) <= self._left_or_silent
                if self._waiting:
                    released_at_s = moved_at_s = loop.time()
                elif self._silence.is_rest(loop.time() - moved_at_s, looks, little=little):
                    course.silences += 1
                    self._take_for_ended(blocked)
                    self._silent = self._moving(blocked)
                    return
            else:
                moved_at_s, looks = loop.time(), 0
                self._silence.learn(moved_at_s - released_at_s)

    def _unaccounted(self, course: Course, blocked: Collection[str] = ()) -> int:
        """Return how many operations under way may still be moving."""
        parked = self._parking.parked()
        at_rest = [event.place.lane for event in parked if event.standing != "beginning"]
        at_rest += blocked
        if course.together:
            return len(self._running) + self._busy() - len(at_rest)
        chains = set(at_rest)
        told = sum(chain.startswith(f"{WEBHOOK}:") for chain in chains)
        return sum(chain not in chains for chain in self._running) + self._busy() - told

    def _take_for_ended(self, blocked: Collection[str]) -> None:
        """Count no more on whoever goes on for nobody, and was silent with nothing parked."""
        for chain in self._moving(blocked) & self._left:
            self._running.remove(chain)
            self._left.remove(chain)

    @property
    def _left_or_silent(self) -> int:
        """How many are under way for nobody, or were silent when they were waited for."""
        return sum(chain in self._left or chain in self._silent for chain in self._running)

    def _moving(self, blocked: Collection[str]) -> set[str]:
        """Return the chains under way of which nothing is parked or blocked."""
        at_rest = {event.place.lane for event in self._parking.parked()} | set(blocked)
        return {chain for chain in self._running if chain not in at_rest}

    async def _moved_after_all(self, tasks: Sequence["asyncio.Task[None]"]) -> bool:
        """Wait, with nothing to release, for something to happen; False if nothing does."""
        if all(task.done() for task in tasks) and not self._busy():
            return True
        seen = self._parking.changes
        if self._choosable():
            return True
        try:
            async with asyncio.timeout(
                self._silence.seconds if self._crowded else self._patience.others_s
            ):
                await self._parking.changed(seen)
        except TimeoutError:
            return False
        return True


async def _ended(tasks: Sequence["asyncio.Task[None]"]) -> None:
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
