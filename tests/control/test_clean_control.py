"""The clean control says step by step what it sees, and at the first that fails, why it may be.

A service in a few lines runs beside the control and is attached to; one thing is wrong with it,
or with its file.
"""

from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from onecharge.control import ControlFailed
from tests.control.tiny import (
    LATER,
    POLL,
    PRICES,
    TOKEN,
    Change,
    Sale,
    Tiny,
    all_told,
    answers,
    authorised,
    booked,
    control,
    succeeded,
    unmarked,
)


async def test_every_step_that_goes_well_is_told_with_what_was_seen(tmp_path: Path) -> None:
    assert await control(tmp_path, Tiny()) == [
        "POST /pay → 201, read as ok",
        (
            "the provider was called once: ch_1, 10.01 EUR, key k-0; tied to the "
            "order by its reference"
        ),
        "webhook: POST /news → 200, acknowledged",
        "read back: succeeded, 1 effect(s)",
    ]


async def test_preparing_polling_and_charging_later_are_steps_as_well(tmp_path: Path) -> None:
    tiny = Tiny(answers=answers(202, {"status": "pending", "id": "pay-1"}), behind=True)
    prepare = ("[charge]", '[[prepare]]\nmethod = "GET"\npath = "/"\n\n[charge]')

    steps = await control(tmp_path, tiny, POLL, LATER, prepare)

    assert steps[0] == "prepare: GET / → 200"
    assert steps[1].startswith("POST /pay → 202, read as pending, then ")
    assert steps[1].endswith(" 201, read as ok")
    assert "the provider was called once" in steps[2]


async def test_without_a_status_page_the_outcome_is_learnt_by_pressing_again(
    tmp_path: Path,
) -> None:
    said = iter([answers(202, {"status": "pending", "id": "pay-1"})])

    def says(sale: Sale) -> web.Response:
        return next(said, succeeded)(sale)

    steps = await control(tmp_path, Tiny(answers=says))

    assert steps[0] == "POST /pay → 202, read as pending, then 201, read as ok"


async def test_a_charge_that_does_not_name_its_order_is_pointed_out(tmp_path: Path) -> None:
    nameless = Tiny(passes_on=lambda sale: all_told(sale) | {"reference": None})

    steps = await control(tmp_path, nameless)

    assert steps[1].endswith("tied to the order by its customer")
    assert steps[2].startswith("it does not name its order to the provider, as reference: ")


async def test_every_tenant_is_let_in(tmp_path: Path) -> None:
    tenants = ("[timing]", '[tenants]\nshop = "shop"\nother = "other"\n\n[timing]')

    steps = await control(tmp_path, Tiny(), tenants, TOKEN)

    assert steps[0] == "POST /pay → 201, read as ok (tenant other)"
    assert steps[-1] == "POST /pay → 201, read as ok (tenant shop)"


UNTOLD: dict[str, Any] = {"amount_minor": 500, "currency": "EUR"}

WAITS = {
    "read in the wrong place",
    "pending for ever",
    "asked in the wrong place",
    "event refused",
    "not believed",
}
"""Misfits that may yet mend themselves, so that the control waits for as long as it may."""

MISFITS: dict[str, tuple[Tiny, tuple[Change, ...], str]] = {
    "no such path": (
        Tiny(),
        (("/pay", "/nowhere"),),
        (
            "[charge]: POST /nowhere was answered HTTP 404, which reads as 'invalid' by "
            "charge.answer: has the service this path, with this method?"
        ),
    ),
    "not let in, and no token sent": (
        Tiny(answers=answers(401)),
        (),
        "it wants a credential, and no request names {token}; give one in [tenants] and send it",
    ),
    "not let in with the token": (
        Tiny(answers=answers(403)),
        (TOKEN,),
        "is the credential in [tenants] (shop) one that the service knows?",
    ),
    "not let in although logged in": (
        Tiny(answers=answers(401)),
        (("[charge]", '[[prepare]]\nmethod = "GET"\npath = "/"\n\n[charge]'),),
        "does [[prepare]] or headers_command log its customer in?",
    ),
    "preparing fails": (
        Tiny(),
        (("[charge]", '[[prepare]]\npath = "/login"\n\n[charge]'),),
        "[[prepare]] 1: POST /login was answered HTTP 404, expected a 2xx",
    ),
    "body not taken": (
        Tiny(answers=answers(400, {"error": "currency?"})),
        (),
        (
            "HTTP 400, which reads as 'invalid' by charge.answer: is its body what the service "
            """takes?; the answer began: '{"error": "currency?"}'"""
        ),
    ),
    "redirect": (
        Tiny(answers=answers(302, "", Location="https://pay.example/checkout")),
        (),
        (
            "was answered with a redirect, HTTP 302 to https://pay.example/checkout: redirect and "
            "hosted-checkout flows are not supported"
        ),
    ),
    "no JSON": (
        Tiny(answers=answers(200, "<h1>Thanks</h1>")),
        (),
        (
            "expected JSON; say charge.answer.succeeded_statuses if it has no body; the answer "
            "began: '<h1>Thanks</h1>'"
        ),
    ),
    "no word": (
        Tiny(answers=answers(200, {"state": "paid"})),
        (),
        "expected a word for its status at $.status, found nothing there",
    ),
    "another word": (
        Tiny(answers=answers(200, {"status": "PAID"})),
        (),
        (
            "its status 'PAID' is in none of charge.answer.succeeded, pending and failed "
            "(succeeded, pending, processing, failed)"
        ),
    ),
    "a word for a failure": (
        Tiny(answers=answers(200, {"status": "failed"})),
        (),
        "'failed' is one of charge.answer.failed, and no fault was on",
    ),
    "pending for ever": (
        Tiny(answers=answers(202, {"status": "pending"})),
        (),
        (
            "reads as 'pending' by charge.answer, and went on doing so; how does a customer learn "
            "the outcome? Say [charge.poll]"
        ),
    ),
    "asked in the wrong place": (
        Tiny(answers=answers(202, {"status": "pending"})),
        (POLL, ('"/status/', '"/nowhere/')),
        "[charge.poll]: GET /nowhere/{order} was answered HTTP 404",
    ),
    "provider unknown to the dialect": (
        Tiny(provider_path="/v1/foo", answers=answers(500, "sorry")),
        (),
        (
            "HTTP 500, which reads as 'unknown' by charge.answer; the answer began: 'sorry'; the "
            "service called the provider at POST /v1/foo, which the dialect 'generic' does not know"
        ),
    ),
    "refused by the provider": (
        Tiny(passes_on=lambda _: {}, answers=answers(500, "sorry")),
        (),
        "; the service was told HTTP 422 by the provider, at POST /v1/charges",
    ),
    "never called": (
        Tiny(charges=0),
        (),
        (
            "the provider has no charge: your service never called the provider; does it call "
            "127.0.0.1:"
        ),
    ),
    "charged elsewhere": (
        Tiny(provider_path="/v2/charges"),
        (),
        "the provider has no charge: it called the provider at POST /v2/charges, which the dialect",
    ),
    "authorised only": (
        Tiny(passes_on=authorised),
        (),
        "it was authorised and not captured; if your service captures later, say by which request",
    ),
    "charged twice": (
        Tiny(charges=2),
        (),
        "one plain order made 2 real charges: ch_1, ch_2. No fault was on; look at [charge] first",
    ),
    "another amount": (
        Tiny(passes_on=lambda sale: all_told(sale) | {"amount_minor": 7}),
        (),
        (
            "[charge]: ordered 1001 minor units, charged 7: does the template send {amount_minor}, "
            "or {amount_decimal}, in the unit that the service expects; has it a price list?"
        ),
    ),
    "another currency": (
        Tiny(passes_on=lambda sale: all_told(sale) | {"currency": "USD"}),
        (),
        "[orders]: ordered in EUR, charged in USD: does the template send {currency}",
    ),
    "tied by nothing": (
        Tiny(passes_on=lambda _: UNTOLD),
        (PRICES,),
        "ch_1 cannot be tied to its order: it carries neither {order} nor {customer}",
    ),
    "event refused": (
        Tiny(hears=401),
        (),
        "not acknowledged at /news (last: HTTP 401); its signature may be refused: is the secret",
    ),
    "not believed": (
        Tiny(books=lambda _: {"status": "pending"}),
        (),
        "[read] finds the order pending, although it was paid",
    ),
    "read in the wrong place": (
        Tiny(books=lambda sale: {"orders": [booked(sale)]}),
        (),
        (
            "[read] finds the order absent, although it was paid; a word for its status was looked "
            'for at $.status (read.status); what came back began: \'{"orders": [{"status": '
        ),
    ),
    "a reconciler that fails": (
        Tiny(),
        (("[timing]", '[tick]\npath = "/nowhere"\n\n[timing]'),),
        "[tick]: GET /nowhere: HTTP 404",
    ),
}


@pytest.mark.parametrize("misfit", MISFITS)
async def test_a_misfit_is_explained(misfit: str, tmp_path: Path) -> None:
    tiny, changes, says = MISFITS[misfit]

    with pytest.raises(ControlFailed) as failed:
        await control(tmp_path, tiny, *changes, within_s=1.5 if misfit in WAITS else 60)

    assert says in unmarked(str(failed.value))


async def test_a_charge_after_the_answer_must_be_declared(tmp_path: Path) -> None:
    tiny = Tiny(behind=True)
    with pytest.raises(ControlFailed) as failed:
        await control(tmp_path, tiny)

    assert "after the service had answered; expected within calls_provider_within_s = 0" in str(
        failed.value
    )
    (tmp_path / "again").mkdir()
    steps = await control(tmp_path / "again", Tiny(behind=True), LATER)
    assert "the provider was called once" in steps[1]


async def test_what_went_well_before_is_told_all_the_same(tmp_path: Path) -> None:
    heard: list[str] = []

    with pytest.raises(ControlFailed):
        await control(tmp_path, Tiny(charges=2), heard=heard)

    assert [step.partition(" ")[0] for step in heard] == ["POST"]
