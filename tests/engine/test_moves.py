"""What can go wrong with an event instead of its release, on toys, a real gate and a provider."""

import asyncio
from collections.abc import Iterator

import psycopg
import pytest
from aiohttp import ClientError, ClientSession
from psycopg import AsyncConnection

from onecharge.engine.boundaries import ParkedCall, ProviderGate
from onecharge.engine.course import Course, Operation
from onecharge.engine.gates.postgres_gate import PostgresGate
from onecharge.engine.gates.statements import changes
from onecharge.engine.moves import Move, dying, faults, hanging_up
from onecharge.engine.parking import Parked, Parking
from onecharge.engine.patience import Patience
from onecharge.engine.scheduler import Scheduler
from onecharge.engine.tapes.chooser import FAULT, KILL, Boring, Replay, Taping
from onecharge.engine.tapes.tape import Choice, Tape
from simulator.server import Simulator
from tests.engine.conftest import arrival
from tests.engine.toys import Toy

LOOK, INSERT = "client:1 SELECT FROM keys #1", "client:1 INSERT INTO keys #1"
PATIENT = Patience(20.0, 20.0)  # never waited for in full


class Clumsy(Toy):
    """A toy whose statements can be cut off, whose customer can leave, and who can die."""

    def __init__(self) -> None:
        super().__init__()
        self.cut: set[str] = set()
        self.left = asyncio.Event()

    def moves(self, event: Parked) -> Iterator[Move]:
        if event.standing == "under way":
            yield Move(FAULT, "is cut off", lambda: self.break_off(event))
            yield hanging_up(self.left.set)
            yield dying(self.parking.forsake)

    def break_off(self, event: Parked) -> None:
        self.cut.add(event.place.what)
        event.release()

    async def charge(self) -> None:
        for what in ("SELECT FROM keys", "INSERT INTO keys"):
            await self.statement(1, what)
            if what in self.cut:
                return
        self.charges.append("by 1")

    async def press(self) -> None:
        charging, leaving = (
            asyncio.create_task(self.charge()),
            asyncio.create_task(self.left.wait()),
        )
        await asyncio.wait({charging, leaving}, return_when=asyncio.FIRST_COMPLETED)
        leaving.cancel()

    async def run(self, *choices: Choice) -> tuple[Course, Taping]:
        taping = Taping(Replay(Tape(choices)))
        scheduler = Scheduler(self.parking, taping, patience=PATIENT, moves=self.moves)
        course = await scheduler.run([Operation("client:1", "POST", self.press)])
        assert course.died == bool(course.left_behind)
        return course, taping


async def test_what_can_go_wrong_is_asked_for_after_the_release_and_by_its_kind() -> None:
    toy = Clumsy()
    course, taping = await toy.run()

    assert course.releases == ["client:1 POST #1", LOOK, INSERT]
    assert toy.charges == ["by 1"]
    assert [asked.kind for asked in taping.asked] == ["release"] + ["release", FAULT, KILL] * 2
    assert taping.asked[2].alternatives == (
        f"{LOOK} goes on",
        f"{LOOK} is cut off",
        f"{LOOK} waits, and its customer hangs up",
    )


async def test_a_fault_takes_the_place_of_the_release() -> None:
    toy = Clumsy()
    course, _ = await toy.run(Choice(), Choice(), Choice(FAULT, 1, f"{LOOK} is cut off"))

    assert course.releases == ["client:1 POST #1", f"{LOOK} is cut off"]
    assert toy.charges == []


async def test_who_hangs_up_leaves_an_event_that_goes_on_all_the_same() -> None:
    toy = Clumsy()
    hangs_up = f"{LOOK} waits, and its customer hangs up"
    course, _ = await toy.run(Choice(), Choice(), Choice(FAULT, 2, hangs_up))

    assert course.releases == ["client:1 POST #1", hangs_up, LOOK, INSERT]
    assert toy.charges == ["by 1"]


async def test_who_dies_ends_the_run_and_is_left_as_they_are() -> None:
    toy = Clumsy()
    dies = Choice(KILL, 1, f"{LOOK} waits, and the service dies")
    course, _ = await toy.run(Choice(), Choice(), Choice(), dies)

    assert course.releases == ["client:1 POST #1", f"{LOOK} waits, and the service dies"]
    assert [str(event.place) for event in toy.parking.forsaken] == [LOOK]
    assert not toy.parking.parked()

    (event,) = toy.parking.forsaken
    event.release()
    await asyncio.gather(*course.left_behind)
    assert not toy.parking.forsaken
    assert toy.charges == ["by 1"]


async def test_who_is_wanted_only_then_presses_only_then() -> None:
    toy = Clumsy()

    async def unwanted() -> bool:
        return False

    course = await Scheduler(toy.parking, Boring(), patience=PATIENT).run(
        [
            Operation("client:1", "POST", toy.press),
            Operation("client:2", "POST", toy.press, when=unwanted),
        ]
    )

    assert course.releases == ["client:1 POST #1", LOOK, INSERT]


async def named(gate: PostgresGate, what: str) -> list[str]:
    return [move.name for move in faults(await arrival(gate.parking, what), Simulator())]


@pytest.mark.usefixtures("direct")
async def test_what_can_go_wrong_with_a_statement_depends_on_what_it_is(
    gate: PostgresGate, url: str
) -> None:
    gate.parking.arm()
    async with (
        await AsyncConnection.connect(url) as transaction,
        await AsyncConnection.connect(url, autocommit=True) as alone,
    ):
        inserting = asyncio.create_task(transaction.execute("INSERT INTO charges VALUES (1, 1)"))
        inside = await named(gate, "INSERT INTO charges")
        gate.parking.release_all()
        await inserting
        committing = asyncio.create_task(transaction.commit())
        commit = await named(gate, "COMMIT")
        gate.parking.release_all()
        await committing
        deleting = asyncio.create_task(alone.execute("DELETE FROM charges"))
        by_itself = await named(gate, "DELETE FROM charges")
        gate.parking.release_all()
        await deleting
        looking = asyncio.create_task(alone.execute("SELECT id FROM charges"))
        look = await named(gate, "SELECT FROM charges")
        gate.parking.disarm()
        await looking

    cut, lost = "is cut off before it happens", "happens, and its acknowledgement is lost"
    assert look == [cut]
    assert inside == [cut, "is refused with 40001", "is refused with 40P01"]
    assert commit == [cut, lost, "is refused with 40001"]
    assert by_itself == [cut, lost, "is refused with 40001", "is refused with 40P01"]


async def test_a_lost_acknowledgement_is_of_a_commit_that_happened(
    gate: PostgresGate, url: str, direct: AsyncConnection
) -> None:
    gate.parking.arm()
    inserting = asyncio.create_task(_insert(url))
    event = await arrival(gate.parking, "INSERT INTO charges")
    (lost,) = (move for move in faults(event, Simulator()) if "acknowledgement" in move.name)
    lost.make()
    with pytest.raises(psycopg.OperationalError):
        await inserting

    row = await (await direct.execute("SELECT count(*) FROM charges")).fetchone()
    assert row == (1,)


async def _insert(url: str) -> None:
    async with await AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute("INSERT INTO charges VALUES (1, 500)")


def test_what_writes_or_locks_changes_something() -> None:
    assert all(
        map(
            changes,
            (
                "INSERT INTO a VALUES (1)",
                "SELECT 1 FROM a FOR UPDATE",
                "WITH b AS (DELETE FROM a RETURNING 1) SELECT * FROM b",
            ),
        )
    )
    assert not any(map(changes, ("SELECT 1 FROM a", "WITH b AS (SELECT 1) SELECT * FROM b")))


@pytest.mark.parametrize(
    "name, answer, real",
    [
        ("is blocked", None, 0),
        ("happens, and its answer is lost", None, 1),
        ("is answered with an error and has not happened", 503, 0),
        ("is answered with an error and has happened", 500, 1),
    ],
)
async def test_a_trouble_strikes_the_call_that_is_released_and_no_other(
    name: str, answer: int | None, real: int
) -> None:
    simulator, parking = Simulator(seed=1), Parking()
    await simulator.start()
    try:
        async with ClientSession() as http:

            async def pay(key: str) -> int | None:
                body = {"amount_minor": 5, "currency": "EUR", "reference": "o", "customer": "c"}
                headers = {"Authorization": "Bearer shop", "Idempotency-Key": key}
                url = f"{simulator.url()}/v1/charges"
                try:
                    async with http.post(url, json=body, headers=headers) as told:
                        return told.status
                except ClientError:
                    return None

            with ProviderGate(simulator, parking).on_duty():
                simulator.arm(ProviderGate.rules(["o"]))
                parking.arm()
                paying = asyncio.create_task(pay("a"))
                event = await arrival(parking, "charge.create on_receive")
                assert isinstance(event, ParkedCall)
                (move,) = (move for move in faults(event, simulator) if move.name == name)
                move.make()
                parking.disarm()
                told = await paying
                real_then = len(simulator.real_charges("o"))
                again = await pay("b")
    finally:
        await simulator.stop()

    assert (told, real_then) == (answer, real)
    assert again == 201
