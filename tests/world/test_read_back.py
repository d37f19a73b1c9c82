"""What a service believes is read by its file's own words, and nonsense is said to be nonsense."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession, web

from onecharge.history.outcomes import Outcome
from onecharge.press import Order
from onecharge.service_file import ServiceFile
from onecharge.world.commands import Commands
from onecharge.world.orders import orders_of
from onecharge.world.read_back import AT_ONCE, Belief, ReadBack

FILE: dict[str, Any] = {
    "service": {"name": "shop", "command": ["none"]},
    "provider": {"dialect": "generic"},
    "charge": {"path": "/charges"},
    "read": {"path": "/orders/{order}", "amount_minor": "$.amount"},
    "effects": {
        "path": "/ledger",
        "each": "$.entries[?@.order == '{order}']",
        "event": "$.event",
    },
    "webhook": {"path": "/hooks"},
}

Ask = Callable[[Any, Any], Any]


@pytest.fixture
async def ask() -> AsyncIterator[Ask]:
    """Ask a service that answers this for the order and that for its ledger."""
    answers: dict[str, Any] = {}

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        said = answers["ledger" if request.path == "/ledger" else "order"]
        return web.Response(status=said) if isinstance(said, int) else web.json_response(said)

    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    service_file = ServiceFile.model_validate(FILE)
    [order] = orders_of(service_file, "reading", 1, seed=1)

    async with ClientSession() as session:

        async def of(order_answer: Any, ledger_answer: Any) -> Belief:
            answers.update(order=order_answer, ledger=ledger_answer)
            if isinstance(ledger_answer, list):
                entries = [
                    {"order": order.reference, "amount_minor": n, "event": "evt_1"}
                    for n in ledger_answer
                ]
                answers["ledger"] = {"entries": [*entries, {"order": "other", "amount_minor": 7}]}
            return await ReadBack(service_file, [url], session).of(order)

        yield of
    await runner.cleanup()


async def test_however_many_want_to_know_few_are_asked_for_at_once() -> None:
    asked, most_at_once, several = 0, 0, asyncio.Barrier(AT_ONCE["path"])

    async def answer(_: web.BaseRequest) -> web.StreamResponse:
        nonlocal asked, most_at_once
        asked += 1
        most_at_once = max(most_at_once, asked)
        await several.wait()
        asked -= 1
        return web.json_response({"status": "succeeded", "entries": []})

    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    service_file = ServiceFile.model_validate(FILE)
    orders = orders_of(service_file, "reading", 4 * AT_ONCE["path"], seed=1)
    async with ClientSession() as session:
        read_back = ReadBack(service_file, [url], session)
        beliefs = await asyncio.gather(*map(read_back.of, orders))
    await runner.cleanup()
    assert {belief.status for belief in beliefs} == {"succeeded"}
    assert most_at_once == AT_ONCE["path"]


async def test_a_paid_order_and_its_one_credit(ask: Ask) -> None:
    belief = await ask({"status": "succeeded", "id": "c-1", "amount": 1001}, [1001])
    assert belief == Belief(
        "succeeded", "c-1", 1001, effects=1, effects_minor=1001, effects_by_event={"evt_1": 1}
    )


@pytest.mark.parametrize(
    "word, status", [("failed", "failed"), ("pending", "pending"), ("processing", "pending")]
)
async def test_words_are_those_of_the_service_file(ask: Ask, word: str, status: str) -> None:
    assert (await ask({"status": word}, [])).status == status


async def test_every_credit_counts(ask: Ask) -> None:
    belief = await ask({"status": "succeeded"}, [1001, 1001])
    assert (belief.effects, belief.effects_minor) == (2, 2002)
    assert belief.effects_by_event == {"evt_1": 2}


@pytest.mark.parametrize("nothing", [404, {}])
async def test_an_order_nobody_knows_is_absent(ask: Ask, nothing: Any) -> None:
    assert (await ask(nothing, 404)) == Belief(
        "absent", effects=0, effects_minor=0, effects_by_event={}
    )


@pytest.mark.parametrize(
    "answer, error",
    [
        (500, "HTTP 500"),
        ({"status": "maybe"}, "status 'maybe' is no word of charge.answer"),
    ],
)
async def test_an_answer_that_makes_no_sense_is_unreadable(
    ask: Ask, answer: Any, error: str
) -> None:
    belief = await ask(answer, [])
    assert (belief.status, belief.error) == ("unreadable", error)


async def test_a_ledger_without_amounts_is_named(ask: Ask) -> None:
    belief = await ask({"status": "succeeded"}, ["ten"])
    assert belief.effects == 1
    assert belief.effects_minor is None
    assert belief.error == "effects: no integer at $.amount_minor"


async def test_a_ledger_that_fails_is_named(ask: Ask) -> None:
    belief = await ask({"status": "succeeded"}, 503)
    assert (belief.effects, belief.error) == (None, "effects: HTTP 503")


def test_orders_follow_from_name_and_seed_alone() -> None:
    service_file = ServiceFile.model_validate(FILE)

    def planted(name: str, seed: int) -> list[tuple[str, str, int]]:
        made = orders_of(service_file, name, 3, seed)
        return [(order.reference, order.key, order.amount_minor) for order in made]

    assert planted("a", 1) == planted("a", 1)
    assert len({*planted("a", 1), *planted("a", 2), *planted("b", 1)}) == 9


# By SQL and by command.


def has_files(folder: Path) -> bool:
    return any(folder.iterdir())


def asking(tmp_path: Path, **tables: Any) -> tuple[ReadBack, Order]:
    """Ask nobody over HTTP: a database or a command in this folder."""
    capabilities = {"effects": "effects" in tables, "read_back": "read" in tables}
    file = {name: table for name, table in FILE.items() if name not in {"read", "effects"}}
    service_file = ServiceFile.model_validate({**file, "capabilities": capabilities, **tables})
    [order] = orders_of(service_file, "reading", 1, seed=1)
    nobody: Any = None  # no request is made
    return ReadBack(service_file, ["http://nobody"], nobody, Commands(tmp_path)), order


@pytest.fixture
def books(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """Return a shop's own SQLite database, in the folder that its service runs in."""
    with closing(sqlite3.connect(tmp_path / "shop.db")) as db:
        db.execute("create table orders (ref text, state text, charge text, cents, back)")
        db.execute("create table credits (ref text, cents, evt text)")
        db.commit()
        yield db


ENDLESS = """
with recursive n(i) as (select 1 union all select i + 1 from n) select max(i) as status from n
"""
SQL_READ = {
    "url": "sqlite:///shop.db",
    "sql": "select state as status, charge, cents as amount_minor, back as refunded_minor "
    "from orders where ref = :order",
}
SQL_EFFECTS = {
    "url": "sqlite:///shop.db",
    "sql": "select cents as amount_minor, evt as event from credits where ref = :order",
}


async def test_a_database_is_asked_by_parameters(tmp_path: Path, books: sqlite3.Connection) -> None:
    reading, order = asking(tmp_path, read=SQL_READ, effects=SQL_EFFECTS)
    paid = (order.reference, "SUCCEEDED", 7, 1001, 500)
    books.execute("insert into orders values (?, ?, ?, ?, ?)", paid)
    for event in ("evt_1", "evt_2", "evt_1", None):
        books.execute("insert into credits values (?, 1001, ?)", (order.reference, event))
    books.commit()

    assert await reading.of(order) == Belief(
        status="succeeded",
        charge="7",
        amount_minor=1001,
        refunded_minor=500,
        effects=4,
        effects_minor=4004,
        effects_by_event={"evt_1": 2, "evt_2": 1},
    )


@pytest.mark.usefixtures("books")
async def test_a_database_without_the_order_says_that_it_is_absent(tmp_path: Path) -> None:
    reading, order = asking(tmp_path, read=SQL_READ, effects=SQL_EFFECTS)
    assert await reading.of(order) == Belief("absent", effects=0, effects_minor=0)


@pytest.mark.usefixtures("books")
@pytest.mark.parametrize(
    "sql, error",
    [
        ("select word from orders", "no such column: word"),
        ("delete from orders", "attempt to write a readonly database"),
        (ENDLESS, "interrupted"),
    ],
)
async def test_a_question_that_fails_writes_or_never_ends_is_unreadable(
    tmp_path: Path, sql: str, error: str
) -> None:
    timing = {"answers_within_s": 0.1}
    reading, order = asking(tmp_path, read={**SQL_READ, "sql": sql}, timing=timing)

    belief = await reading.of(order)

    assert (belief.status, belief.error) == ("unreadable", error)


async def test_a_database_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    reading, order = asking(tmp_path, read=SQL_READ)

    belief = await reading.of(order)

    assert (belief.status, belief.error) == ("unreadable", "unable to open database file")
    assert not has_files(tmp_path)


async def test_postgresql_is_asked_whatever_driver_the_service_has(
    tmp_path: Path, database_url: str
) -> None:
    url = database_url.replace("postgresql://", "postgresql+asyncpg://")
    sql = (
        "select 'succeeded'::text as status, 10.00::numeric * 100 as amount_minor where :order > ''"
    )
    reading, order = asking(tmp_path, read={"url": url, "sql": sql})

    assert await reading.of(order) == Belief("succeeded", amount_minor=1000)


@pytest.mark.parametrize(
    "sql, error",
    [
        ("create table mine (id int)", "cannot execute CREATE TABLE in a read-only transaction"),
        ("select pg_sleep(5)", "canceling statement due to statement timeout"),
    ],
)
async def test_postgresql_is_only_read_and_not_for_long(
    tmp_path: Path, database_url: str, sql: str, error: str
) -> None:
    timing = {"answers_within_s": 0.1}
    reading, order = asking(tmp_path, read={"url": database_url, "sql": sql}, timing=timing)

    assert (await reading.of(order)).error == error


def printing(program: str) -> dict[str, Any]:
    return {"command": ["{python}", "-c", program, "{order}"]}


async def test_a_command_prints_what_is_believed(tmp_path: Path) -> None:
    status = "import json, sys; print(json.dumps(dict(status='pending', charge=sys.argv[1])))"
    effects = 'print(\'[{"amount_minor": 5, "event": "evt_1"}]\')'
    reading, order = asking(tmp_path, read=printing(status), effects=printing(effects))

    assert await reading.of(order) == Belief(
        status="pending",
        charge=order.reference,
        effects=1,
        effects_minor=5,
        effects_by_event={"evt_1": 1},
    )


async def test_a_command_that_prints_nothing_knows_nothing(tmp_path: Path) -> None:
    reading, order = asking(tmp_path, read=printing(""), effects=printing("print('null')"))
    assert await reading.of(order) == Belief("absent", effects=0, effects_minor=0)


@pytest.mark.parametrize(
    "program, error",
    [
        ("print('x')", "expected JSON, the command printed 'x\\n'"),
        ("print('[]')", "expected a JSON object, the command printed '[]\\n'"),
        ("raise SystemExit('no books')", "ended with code 1: no books"),
        ("while True: pass", "did not end within 0.2 s"),
    ],
)
async def test_a_command_that_says_nothing_sensible_is_unreadable(
    tmp_path: Path, program: str, error: str
) -> None:
    timing = {"answers_within_s": 0.2 if "while" in program else 20}
    reading, order = asking(tmp_path, read=printing(program), timing=timing)

    belief = await reading.of(order)

    assert belief.status == "unreadable"
    assert error in str(belief.error)


async def test_effects_that_are_no_list_are_named(tmp_path: Path) -> None:
    reading, order = asking(tmp_path, effects=printing("print('[1]')"))
    assert (await reading.of(order)).error == "effects: expected a list of objects"


@pytest.mark.parametrize(
    "outcome, status", [("declined", "absent"), ("unknown", "unreadable"), ("ok", "unreadable")]
)
async def test_an_order_whose_name_nobody_was_told_cannot_be_asked_for(
    tmp_path: Path, outcome: Outcome, status: str
) -> None:
    reading, order = asking(tmp_path, read={"path": "/charges/{charge}"})
    order.outcome = outcome

    assert (await reading.of(order)).status == status
