"""Faults that a request asks for itself: read, obeyed once, refused where strangers could ask."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import ClientError, ClientPayloadError

from simulator.catalogue import PlanError, faults
from simulator.chains import read_chain
from simulator.core.rules import Rule
from simulator.faults.hold import Hold
from simulator.faults.lose_reply import LoseReply
from simulator.faults.wrong_content_type import WrongContentType

from .conftest import SECRET

if TYPE_CHECKING:
    from .conftest import Answer, Start, World

BODY: dict[str, Any] = {"amount_minor": 500, "currency": "EUR", "reference": "ord-1"}


async def charge(
    world: "World", chain: str | None, key: str | None = "key-1", **fields: Any
) -> "Answer":
    headers = {"Authorization": "Bearer shop"}
    headers |= {} if chain is None else {"Onecharge-Faults": chain}
    headers |= {} if key is None else {"Idempotency-Key": key}
    return await world.call("POST", "/v1/charges", BODY | fields, headers)


async def test_a_call_asks_for_its_own_fault_and_the_retry_gets_through(world: "World") -> None:
    with pytest.raises(ClientError):
        await charge(world, "lose_reply")
    again = await charge(world, "lose_reply")

    assert (again.status, again.headers["Idempotent-Replayed"]) == (201, "true")
    assert world.charged == ["ord-1"]
    [fired] = world.journal.find("effect", what="fired")
    assert fired.value["rule"] == "asked:lose_reply"


async def test_it_strikes_as_often_as_it_was_asked_to(world: "World") -> None:
    for _ in range(2):
        with pytest.raises(ClientError):
            await charge(world, "reset_before_commit times=2")

    assert (await charge(world, "reset_before_commit times=2")).status == 201


async def test_another_key_is_another_chain(world: "World") -> None:
    for key in ("key-1", "key-2"):
        with pytest.raises(ClientError):
            await charge(world, "lose_reply", key, reference=key)

    assert world.charged == ["key-1", "key-2"]


async def test_a_call_without_a_key_is_on_its_own(world: "World") -> None:
    headers = {"Authorization": "Bearer shop", "Onecharge-Faults": "lookup_fails status=502"}

    for _ in range(2):
        assert (await world.call("GET", "/v1/charges", headers=headers)).status == 502


async def test_a_chain_is_one_thing_after_the_other(world: "World") -> None:
    with pytest.raises(ClientPayloadError):
        await charge(world, "hold seam=on_receive until=elapsed amount=1; cut_reply")

    assert [e.value["fault"] for e in world.journal.find("effect", what="fired")] == [
        "hold",
        "cut_reply",
    ]
    assert world.journal.find("release", reason="elapsed")


async def test_a_metadata_field_asks_as_well(world: "World") -> None:
    declined = await charge(world, None, metadata={"onecharge_faults": "decline code=stolen_card"})

    assert (declined.status, declined.data["decline_code"]) == (402, "stolen_card")


async def test_the_news_of_a_call_is_bent_too(world: "World") -> None:
    world.listen()

    await charge(world, "redeliver copies=3 mode=concurrent")

    await world.journal.seen("ok", count=3, what="attempt")
    assert world.shop.events == ["evt_1"] * 3


@pytest.mark.parametrize("chain", ["hodl", "hold amount=soon", "", ";", '"', "lose_reply order=x"])
async def test_nonsense_is_refused_in_the_dialects_words_and_nothing_happens(
    world: "World", chain: str
) -> None:
    answer = await charge(world, chain)

    assert (answer.status, answer.data["code"]) == (400, "bad_request")
    assert "faults" in answer.data["detail"]
    assert world.charged == []


async def test_where_it_is_not_allowed_it_is_refused_rather_than_ignored(start: "Start") -> None:
    world = await start(chains=False)

    answer = await charge(world, "lose_reply")

    assert (answer.status, world.charged) == (400, [])
    assert "takes no faults from requests" in answer.data["detail"]
    assert (await charge(world, None)).status == 201


async def test_a_plan_in_force_and_a_chain_strike_both(world: "World") -> None:
    world.simulator.add_endpoint(world.shop.url, SECRET)
    world.arm({"fault": "hold", "until": "elapsed", "amount": 1, "operation": "charge.create"})

    with pytest.raises(ClientError):
        await charge(world, "lose_reply")

    assert world.simulator.fired() == {"hold": 1}


@pytest.mark.parametrize(
    "text, rules",
    [
        ("lose_reply", [Rule(LoseReply(), "asked:lose_reply", times=1)]),
        (" lose_reply ; ", [Rule(LoseReply(), "asked:lose_reply", times=1)]),
        (
            "hold until=elapsed amount=200 times=3 probability=0.5;lose_reply",
            [
                Rule(Hold(until="elapsed", amount=200), "asked:hold", times=3, probability=0.5),
                Rule(LoseReply(), "asked:lose_reply", times=1),
            ],
        ),
        (
            'wrong_content_type content_type="text/html; charset=utf-8"',
            [
                Rule(
                    WrongContentType("text/html; charset=utf-8"),
                    "asked:wrong_content_type",
                    times=1,
                )
            ],
        ),
    ],
)
def test_a_line_is_read_as_faults(text: str, rules: list[Rule]) -> None:
    assert list(read_chain(text)) == rules


def test_true_is_a_truth_and_not_a_word() -> None:
    [rule] = read_chain("error_after_commit stored=true status=502")

    assert replace(rule.fault, status=500) == faults()["error_after_commit"]()  # type: ignore[type-var]


@pytest.mark.parametrize(
    "text, says",
    [
        ("hold amount=-1", r"faults\[0\].amount: expected greater than or equal to 0"),
        ("lose_reply; hodl", r"faults\[1\].fault: .*did you mean 'hold'"),
        ("hold name=x", r"faults\[0\]: expected name=value, of a parameter"),
        ("hold 3", r"faults\[0\]: expected name=value"),
        ("hold " * 500, "at most 2000 characters"),
        ("lose_reply;" * 17, "1 to 16 faults"),
        ("hold amount=1e3", r"amount: expected a valid integer"),
    ],
)
def test_what_nobody_can_follow_names_its_place(text: str, says: str) -> None:
    with pytest.raises(PlanError, match=says):
        read_chain(text)
