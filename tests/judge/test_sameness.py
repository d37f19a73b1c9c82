"""What happened twice is told in the same words, and what happened otherwise is not."""

from onecharge.history.records import Record
from onecharge.history.sameness import retold


def run(order: str, *, charge: str, told: str, amount_minor: int, port: int) -> list[Record]:
    sent = {"what": "charge", "amount_minor": amount_minor, "instance": f"http://127.0.0.1:{port}"}
    sent["customer"] = f"cus-{order}"
    body = f'{{"id": "{told}", "amount": {amount_minor}, "at": "2026-11-30T01:02:03.5Z"}}'
    return [
        Record(1, 5, "client:1", "invoke", sent, order, "shop", f"key-{order}"),
        Record(2, 6, "provider", "effect", {"charge": charge, "reference": order}, order),
        Record(3, 7, "client:1", "ok", {"charge": told, "body": body}, order, "shop", cause=1),
        Record(4, 8, "client:9", "invoke", {"what": "charge"}, "ord-other"),
    ]


FIRST = run("ord-a-1", charge="ch_7", told="ch_7", amount_minor=1007, port=4242)


def test_the_same_is_told_in_the_same_words() -> None:
    again = run("ord-b-23", charge="ch_9", told="ch_9", amount_minor=1023, port=1717)

    assert retold(FIRST, "ord-a-1") == retold(again, "ord-b-23")
    assert retold(FIRST, "ord-a-1")[1] == (
        'provider effect {"charge": "<ch 1>", "reference": "<order>"}'
    )


def test_another_charge_than_the_one_that_was_made_is_told_otherwise() -> None:
    otherwise = run("ord-b-23", charge="ch_9", told="ch_8", amount_minor=1023, port=1717)

    assert retold(FIRST, "ord-a-1") != retold(otherwise, "ord-b-23")


def test_another_order_of_events_is_another_run() -> None:
    invoked, effect, answered, other = FIRST

    assert retold(FIRST, "ord-a-1") != retold([invoked, answered, effect, other], "ord-a-1")


def test_ids_of_any_kind_are_told_by_their_place() -> None:
    ids = {"a": "pay_87cf5bc0ef0940c099bf66f9c75b1ddd", "b": "evt_34"}
    ids["c"] = ids["a"]
    ids["d"] = "0b0f3a52-0c1e-4b9f-8a52-6f0f3c1c2d3e"

    (line,) = retold([Record(0, 0, "provider", "effect", ids, "ord-a-1")], "ord-a-1")

    assert line == (
        'provider effect {"a": "<pay 1>", "b": "<evt 1>", "c": "<pay 1>", "d": "<id 1>"}'
    )
