"""What a service should never have sent the provider is not shown by its control interface."""

import json
from typing import TYPE_CHECKING, Final

import pytest

from simulator.redaction import found_in

if TYPE_CHECKING:
    from .conftest import Answer, Start, World

# In pieces, so that nobody's scanner takes it for what it looks like.
KEY: Final = "sk" + "_live_" + "4eC39HqLyjWDarjtT1zdp7dc"
CARD: Final = "4539578763621486"


async def paid(start: "Start") -> "World":
    """Have a shop pay with its live key, and write somebody's card number wherever it can."""
    world = await start(sink=None)
    world.listen()
    answer = await world.call(
        "POST",
        "/v1/charges",
        {
            "amount_minor": 500,
            "currency": "EUR",
            "customer": CARD,
            "reference": f"paid by {CARD}",
            "metadata": {KEY: CARD},
        },
        {"Authorization": f"Bearer {KEY}", "Idempotency-Key": CARD},
    )
    assert answer.status == 201
    assert answer.data["customer"] == CARD  # it is the shop's own: the provider works as ever
    return world


@pytest.mark.parametrize("what", ["journal", "ledger", "deliveries", "events"])
async def test_what_is_shown_holds_no_secret(start: "Start", what: str) -> None:
    world = await paid(start)

    answer = await world.call("GET", f"/_sim/{what}")

    assert answer.status == 200
    assert secrets_in(answer) == []


async def test_an_error_that_repeats_what_was_asked_holds_none_either(start: "Start") -> None:
    world = await start()

    answer = await world.call("POST", "/_sim/endpoints", {"url": 7, KEY: CARD})

    assert answer.status == 422
    assert secrets_in(answer) == []


def secrets_in(answer: "Answer") -> list[str]:
    text = json.dumps(_without_times(answer.data))
    return [text[found.start : found.end] for found in found_in(text)]


def _without_times(data: object) -> object:
    if isinstance(data, dict):
        return {name: _without_times(it) for name, it in data.items() if name != "t"}
    return [_without_times(it) for it in data] if isinstance(data, list) else data
