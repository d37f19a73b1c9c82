"""What a service believes is read by its file's own words, and nonsense is said to be nonsense."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from aiohttp import ClientSession, web

from onecharge.service_file import ServiceFile
from onecharge.world.orders import orders_of
from onecharge.world.read_back import Belief, ReadBack

FILE: dict[str, Any] = {
    "service": {"name": "shop", "command": ["none"]},
    "provider": {"dialect": "generic"},
    "charge": {"path": "/charges"},
    "read": {"path": "/orders/{order}", "amount_minor": "$.amount"},
    "effects": {"path": "/ledger", "each": "$.entries[?@.order == '{order}']"},
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
                entries = [{"order": order.reference, "amount_minor": n} for n in ledger_answer]
                answers["ledger"] = {"entries": [*entries, {"order": "other", "amount_minor": 7}]}
            return await ReadBack(service_file, [url], session).of(order)

        yield of
    await runner.cleanup()


async def test_a_paid_order_and_its_one_credit(ask: Ask) -> None:
    belief = await ask({"status": "succeeded", "id": "c-1", "amount": 1001}, [1001])
    assert belief == Belief("succeeded", "c-1", 1001, effects=1, effects_minor=1001)


@pytest.mark.parametrize(
    "word, status", [("failed", "failed"), ("pending", "pending"), ("processing", "pending")]
)
async def test_words_are_those_of_the_service_file(ask: Ask, word: str, status: str) -> None:
    assert (await ask({"status": word}, [])).status == status


async def test_every_credit_counts(ask: Ask) -> None:
    belief = await ask({"status": "succeeded"}, [1001, 1001])
    assert (belief.effects, belief.effects_minor) == (2, 2002)


@pytest.mark.parametrize("nothing", [404, {}])
async def test_an_order_nobody_knows_is_absent(ask: Ask, nothing: Any) -> None:
    assert (await ask(nothing, 404)) == Belief("absent", effects=0, effects_minor=0)


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
