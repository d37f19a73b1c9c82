"""A long run that keeps nothing but the money: the journal is counted, keys are forgotten."""

from dataclasses import replace

from simulator.core.journal import Entry, Tally
from simulator.core.messages import HttpRequest
from simulator.core.provider import Provider
from simulator.dialects.generic import IETF, Generic


def test_a_tally_counts_and_gives_every_entry_its_index() -> None:
    tally = Tally()

    indexes = [tally(Entry("provider", "send", {"what": what})) for what in ("a", "b", "a")]

    assert indexes == [0, 1, 2]
    assert tally.counts == {"a": 2, "b": 1}
    assert len(tally) == 3


def test_a_soak_keeps_the_ledger_exact_and_little_else() -> None:
    tally = Tally()
    provider = Provider(Generic(replace(IETF, retention_s=10)), sink=tally)
    body = b'{"amount_minor":500,"currency":"EUR"}'

    for number in range(100):
        headers = {"authorization": "Bearer shop", "idempotency-key": f"key-{number}"}
        provider.receive(HttpRequest("POST", "/v1/charges", (), headers, body), float(number))

    assert sum(posting.amount_minor for posting in provider.ledger) == 50_000
    assert provider.ledger.discrepancies() == []
    assert provider.known_keys == 10
    assert tally.counts["charge.captured"] == 100
