"""What may be wrong is said in one sentence, from what was seen alone."""

from pathlib import Path
from typing import Any

import pytest

from onecharge import diagnosis
from onecharge.history import Record
from onecharge.press import Order
from onecharge.service_file import ServiceFile, read_service_file
from onecharge.world.read_back import Belief

FILE = """
[service]
name = "shop"
command = ["shop"]
env = { PAY_AT = "{provider_url}" }

[provider]
dialect = "stripe"

[charge]
path = "/pay"

[webhook]
path = "/news"

[capabilities]
read_back = false
effects = false
"""


@pytest.fixture
def file(tmp_path: Path) -> ServiceFile:
    (tmp_path / "onecharge.toml").write_text(FILE)
    return read_service_file(tmp_path / "onecharge.toml")


@pytest.fixture
def order() -> Order:
    return Order(1, "ord-1", "key-1", 1001, "EUR", "cus-1", "shop", "token")


def record(lane: str, kind: Any, **value: object) -> Record:
    return Record(0, 0, lane, kind, value)


@pytest.mark.parametrize(
    "told, says",
    [
        ({"status": 401}, "(last: HTTP 401); its signature may be refused"),
        ({"status": 405}, "(last: HTTP 405); is this the path where the service takes events?"),
        ({"status": 301}, "(last: HTTP 301); providers follow no redirects: does the path need"),
        ({"status": 503}, "(last: HTTP 503); the service failed at it; its log may say why"),
        ({"status": 418}, "(last: HTTP 418); expected a 2xx"),
        ({"error": "refused"}, "(last: refused); does the service listen there?"),
    ],
)
def test_an_event_without_acknowledgement_is_explained(
    told: dict[str, object], says: str, file: ServiceFile
) -> None:
    kind = "fail" if "status" in told else "unknown"
    told_of = [record("webhook", "send", what="attempt"), record("webhook", kind, **told)]
    assert says in diagnosis.of_the_webhook(file, told_of)


def test_no_event_at_all_is_said(file: ServiceFile) -> None:
    assert diagnosis.of_the_webhook(file, []).endswith("at /news (no event was sent)")


@pytest.mark.parametrize(
    "belief, says",
    [
        (Belief(), None),
        (Belief("succeeded", "c", 1001, 1, 1001), None),
        (Belief("unreadable", error="HTTP 500"), "HTTP 500"),
        (Belief("absent"), "[read] finds the order absent, although it was paid"),
        (Belief("succeeded", amount_minor=10), "[read] amount_minor finds 10, expected 1001: is"),
        (Belief(effects=2), "[effects] finds 2 effects of one plain order, expected 1"),
        (Belief(effects=1, effects_minor=10), "[effects] amount_minor finds 10, expected 1001"),
    ],
)
def test_a_belief_that_disagrees_is_explained(
    belief: Belief, says: str | None, order: Order
) -> None:
    said = diagnosis.of_the_belief(order, belief)
    assert (said is None) if says is None else (said or "").startswith(says)


def test_the_variable_that_names_the_provider_is_named(file: ServiceFile) -> None:
    assert diagnosis.of_no_charge(file, []).endswith("never called the provider; is PAY_AT read?")


def test_a_service_that_is_told_of_no_provider_is_asked_how_it_knows(file: ServiceFile) -> None:
    service = file.service.model_copy(update={"env": {}})
    file = file.model_copy(update={"service": service})
    assert "no variable of [service.env] has {provider_url}" in diagnosis.of_no_charge(file, [])


def test_calls_that_charge_nothing_are_counted(file: ServiceFile) -> None:
    calls = [
        record(
            "provider",
            "receive",
            what="call",
            call="call-1",
            operation="charge.list",
            method="GET",
            path="/",
        )
    ]
    assert diagnosis.of_no_charge(file, calls).endswith(
        "it was called 1 time(s), by no charge that was captured"
    )


@pytest.mark.parametrize("error, says", [("refused", "the connection was refused"), ("x", ": x")])
def test_no_answer_is_explained(error: str, says: str, file: ServiceFile) -> None:
    asked, answer = record("client:1", "invoke"), record("c", "fail", status=None, error=error)
    assert says in diagnosis.of_the_answer(file, asked, answer, [])


@pytest.mark.parametrize(
    "carries, rule",
    [
        ({"reference": "ord-1"}, "reference"),
        ({"customer": "cus-1"}, "customer"),
        ({"amount_minor": 1001}, "amount"),
        ({}, None),
    ],
)
def test_a_charge_is_tied_by_what_it_carries(
    carries: dict[str, object], rule: str | None, file: ServiceFile, order: Order
) -> None:
    charge = record(
        "provider", "effect", **{"charge": "ch", "amount_minor": 5, "currency": "eur", **carries}
    )
    assert diagnosis.tie_of(file, order, charge) == rule
    assert (
        "as metadata order_id, order or reference, or give every"
        in diagnosis.of_an_untied_charge(file, charge)
    )
