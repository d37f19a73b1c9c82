"""One sentence for each fault: what happened, and what the caller saw of it."""

from typing import TYPE_CHECKING, Any

import pytest

from simulator.core.faults import Fault
from simulator.core.messages import Held
from simulator.core.rules import Rule
from simulator.faults.cut_reply import CutReply
from simulator.faults.deliver_before_reply import DeliverBeforeReply
from simulator.faults.drop_delivery import DropDelivery
from simulator.faults.error_after_commit import ErrorAfterCommit
from simulator.faults.error_before_commit import ErrorBeforeCommit
from simulator.faults.forget_keys import ForgetKeys
from simulator.faults.garbage_reply import GarbageReply
from simulator.faults.hold import Hold
from simulator.faults.ignore_keys import IgnoreKeys
from simulator.faults.lose_reply import LoseReply
from simulator.faults.rate_limit import RateLimit
from simulator.faults.reset_before_commit import ResetBeforeCommit
from simulator.faults.time_out_after_commit import TimeOutAfterCommit
from simulator.faults.time_out_before_commit import TimeOutBeforeCommit
from simulator.faults.wrong_signature import WrongSignature

if TYPE_CHECKING:
    from .conftest import Build


@pytest.mark.parametrize(
    "fault,how,captured",
    [
        (LoseReply(), "reset", ["ch_1"]),
        (CutReply(), "cut", ["ch_1"]),
        (TimeOutAfterCommit(), "silence", ["ch_1"]),
        (ResetBeforeCommit(), "reset", []),
        (TimeOutBeforeCommit(), "silence", []),
    ],
    ids=lambda value: value.name if isinstance(value, Fault) else None,
)
def test_a_broken_connection_says_nothing_of_what_happened(
    provider: "Build", fault: Fault, how: str, captured: list[str]
) -> None:
    shop = provider(Rule(fault, "break", times=1))

    broken: Any = shop.charge()

    assert (broken.how, shop.captured()) == (how, captured)
    assert (broken.reply is not None) is bool(captured)
    assert shop.data(shop.charge())["id"] == "ch_1"
    assert shop.captured() == ["ch_1"]


def test_a_held_call_waits_for_its_condition(provider: "Build") -> None:
    shop = provider(Rule(Hold("before_commit", "arrived", amount=2, at_most_ms=50), "gate"))

    held = shop.charge()

    assert isinstance(held, Held)
    assert (held.until.condition, held.until.amount, held.until.at_most_ms) == ("arrived", 2, 50)


def test_the_answer_waits_for_the_news(provider: "Build") -> None:
    shop = provider(Rule(DeliverBeforeReply(at_most_ms=9), "early"))

    held = shop.charge()

    assert isinstance(held, Held)
    assert (held.seam, held.until.condition, held.until.at_most_ms) == (
        "after_commit",
        "delivered",
        9,
    )


def test_an_error_can_be_of_any_status_and_code(provider: "Build") -> None:
    shop = provider(Rule(ErrorAfterCommit(502, "bad_gateway"), "error"))

    failed = shop.charge()

    assert (shop.status(failed), shop.data(failed)["code"]) == (502, "bad_gateway")
    assert shop.data(failed)["title"] == "bad gateway"


def test_garbage_is_no_json(provider: "Build") -> None:
    shop = provider(Rule(GarbageReply(body="<html>"), "garbage"))

    with pytest.raises(ValueError, match="Expecting value"):
        shop.data(shop.charge())


def test_a_limit_is_met_by_every_account_alike(provider: "Build") -> None:
    shop = provider(Rule(RateLimit(), "limit", operation="charge.create"))

    assert shop.status(shop.charge(account="other")) == 429
    assert shop.status(shop.send("GET", "/v1/charges")) == 200


def test_wrong_signatures_end_so_that_the_event_arrives(provider: "Build") -> None:
    shop = provider(Rule(WrongSignature(attempts=2), "forge"))
    shop.listen()
    shop.charge()
    foreign = []
    for _ in range(3):
        foreign += [a.secret == shop.provider.dialect.foreign_secret for a in shop.news(401)]
        shop.provider.hasten(shop.now)

    assert foreign == [True, True, False]


def test_a_call_whose_key_was_forgotten_meanwhile_leaves_the_next_ones_alone(
    provider: "Build",
) -> None:
    shop = provider(
        Rule(Hold("before_commit"), "hold", times=1),
        Rule(ErrorBeforeCommit(), "error", times=1),
        Rule(ForgetKeys(), "forget", nth=2),
    )
    first = shop.charge()
    second = shop.charge()

    assert shop.status(second) == 503
    assert shop.status(shop.charge()) == 201
    assert shop.status(shop.resume(first)) == 201
    assert shop.captured() == ["ch_1", "ch_2"]
    assert shop.data(shop.charge())["id"] == "ch_1"


def test_a_failure_of_a_forgotten_call_sets_nobodys_key_free(provider: "Build") -> None:
    shop = provider(
        Rule(Hold("before_commit"), "hold", times=1),
        Rule(ErrorBeforeCommit(), "error", operation="charge.create", nth=1),
        Rule(ForgetKeys(), "forget", nth=2),
    )
    first = shop.charge()
    shop.status(shop.send("GET", "/v1/charges"))
    assert shop.status(shop.resume(first)) == 503

    assert shop.status(shop.charge()) == 201


@pytest.mark.parametrize("kind", [IgnoreKeys, DropDelivery])
def test_a_provider_that_breaks_its_word_is_not_fair(kind: type[Fault]) -> None:
    assert not kind.fair
