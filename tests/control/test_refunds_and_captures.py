"""Where the file says how to refund and to capture, the clean control does each once.

What would be an alarm or a riddle later is said before anything is broken.
"""

from pathlib import Path

import pytest

from onecharge.control import ControlFailed
from tests.control.tiny import (
    CAPTURES,
    GIVEN,
    REFUNDS,
    Change,
    Sale,
    Tiny,
    answers,
    authorised,
    booked,
    control,
    unmarked,
)


def netted(sale: Sale) -> Sale:
    """Book what is given back as another entry among the credits."""
    back = [{"cents": -sale["given"]}] if sale["given"] else []
    return booked(sale) | {"credits": [{"cents": sale["cents"]}, *back]}


async def test_a_plain_refund_is_made_and_read_back(tmp_path: Path) -> None:
    steps = await control(tmp_path, Tiny(), REFUNDS, GIVEN)

    assert steps[-2:] == [
        "POST /sales/{order}/refund → 201, read as ok",
        "read back after it: succeeded, 1 effect(s), 10.01 EUR given back",
    ]


async def test_a_charge_that_is_then_called_refunded_went_through(tmp_path: Path) -> None:
    def books(sale: Sale) -> Sale:
        return booked(sale) | ({"status": "refunded"} if sale["given"] else {})

    steps = await control(tmp_path, Tiny(books=books), REFUNDS)

    assert steps[-1] == "read back after it: refunded, 1 effect(s)"


async def test_who_credits_a_refund_again_is_left_to_the_judge(tmp_path: Path) -> None:
    def books(sale: Sale) -> Sale:
        credit = {"cents": sale["cents"]}
        return booked(sale) | {"credits": [credit, credit] if sale["given"] else [credit]}

    steps = await control(tmp_path, Tiny(books=books), REFUNDS)

    assert steps[-1] == "read back after it: succeeded, 2 effect(s)"


async def test_what_was_authorised_is_captured(tmp_path: Path) -> None:
    steps = await control(tmp_path, Tiny(passes_on=authorised), CAPTURES)

    assert steps[:2] == [
        "POST /pay → 201, read as ok",
        "POST /sales/{order}/capture → 201, read as ok",
    ]
    assert "the provider was called once: ch_1" in steps[2]


WAITS = {"told to come again", "netted", "another word", "not given back"}

MISFITS: dict[str, tuple[Tiny, tuple[Change, ...], str]] = {
    "no such path": (
        Tiny(),
        (REFUNDS, ("/refund", "/nowhere")),
        (
            "[refund]: POST /sales/{order}/nowhere was answered HTTP 404, which reads as 'invalid' "
            "by refund.answer: has the service this path, with this method?"
        ),
    ),
    "an id that nobody gives": (
        Tiny(answers=answers(201, {"status": "succeeded"})),
        (REFUNDS, ("{order}/refund", "{charge}/refund")),
        (
            "[refund]: POST /sales/{charge}/refund names {charge}, and no answer said what that "
            "is: expected the charge at $.id (charge.answer.charge)"
        ),
    ),
    "told to come again": (
        Tiny(operates=answers(202, {"status": "pending"})),
        (REFUNDS,),
        (
            "which reads as 'pending' by refund.answer, and went on doing so when it was asked "
            "again with the same key; or the words in refund.answer.succeeded"
        ),
    ),
    "another word for it": (
        Tiny(operates=answers(200, {"status": "returned"})),
        (REFUNDS,),
        "its status 'returned' is in none of refund.answer.succeeded, pending and failed",
    ),
    "never made": (
        Tiny(gives_back=lambda _: []),
        (REFUNDS,),
        "the provider has no refund: your service never asked for one",
    ),
    "in another unit": (
        Tiny(gives_back=lambda cents: [cents // 100]),
        (REFUNDS,),
        "[refund]: 1001 minor units were asked back, 10 were given: does the template send",
    ),
    "in two parts": (
        Tiny(gives_back=lambda cents: [1, cents - 1]),
        (REFUNDS,),
        "[refund]: one plain refund was made 2 times",
    ),
    "netted": (
        Tiny(books=netted),
        (REFUNDS,),
        (
            "[effects] finds 2 effect(s) of one plain order once its money was given back, worth "
            "0; expected the credit alone, as before"
        ),
    ),
    "another word": (
        Tiny(books=lambda sale: booked(sale) | ({"status": "void"} if sale["given"] else {})),
        (REFUNDS,),
        "once its money was given back, status 'void' is no word of charge.answer",
    ),
    "not given back": (
        Tiny(books=lambda sale: booked(sale) | {"given": -sale["given"]}),
        (REFUNDS, GIVEN),
        "[read] refunded_minor finds -1001 once its money was given back, expected 1001",
    ),
    "a capture that fails": (
        Tiny(passes_on=authorised, operates=answers(500, "sorry")),
        (CAPTURES,),
        (
            "[capture]: POST /sales/{order}/capture was answered HTTP 500, which reads as "
            "'unknown' by capture.answer; the answer began: 'sorry'"
        ),
    ),
    "a capture that nobody needs": (
        Tiny(operates=answers(400, {"error": "captured"})),
        (CAPTURES,),
        "captured before anybody asked: then leave the table [capture] out",
    ),
}


@pytest.mark.parametrize("misfit", MISFITS)
async def test_a_misfit_of_refunds_and_captures_is_explained(misfit: str, tmp_path: Path) -> None:
    tiny, changes, says = MISFITS[misfit]
    brief = misfit in WAITS or "capture" in misfit

    with pytest.raises(ControlFailed) as failed:
        await control(tmp_path, tiny, *changes, within_s=1.5 if brief else 60)

    assert says in unmarked(str(failed.value))
