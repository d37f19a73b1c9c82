"""Payment methods as parameters: a test token, a test method, a card's number, or an id.

Rule 1: what is a test token becomes a method of its own, with an id of its own.
Rule 2: a number that is no test card's is refused, and never repeated.
"""

from typing import Any, Final

from simulator.core.customers import Face
from simulator.core.desk_calls import KnownMethod, MethodChoice, NewMethod
from simulator.dialects.stripe.cards import NUMBERS, TEST_METHODS, TOKENS
from simulator.dialects.stripe.fields import (
    Invalid,
    Schema,
    anything,
    hash_of,
    loose_hash,
    metadata,
    one_of,
    text,
    whole,
)

CARD: Final[Schema] = {
    "cvc": text,
    "exp_month": whole,
    "exp_year": whole,
    "networks": anything,
    "number": text,
    "token": text,
}
METHOD_DATA: Final[Schema] = {
    "allow_redisplay": one_of("always", "limited", "unspecified"),
    "billing_details": loose_hash,
    "card": hash_of(CARD),
    "client_attribution_metadata": anything,
    "guid": anything,
    "metadata": metadata,
    "muid": anything,
    "pasted_fields": anything,
    "payment_user_agent": anything,
    "radar_options": anything,
    "referrer": anything,
    "sid": anything,
    "time_on_page": anything,
    "type": one_of("card", "us_bank_account"),
    "us_bank_account": anything,
}


def chosen(said: dict[str, Any]) -> MethodChoice | None:
    """Return the method that a call names or describes, if it does."""
    name = said.get("payment_method")
    if name is not None:
        return named(name)
    data = said.get("payment_method_data")
    return None if data is None else new_method(data, "payment_method_data")


def named(name: str) -> MethodChoice:
    """Return the method of this id; ``pm_card_visa`` and its like are new ones."""
    face = TEST_METHODS.get(name)
    return KnownMethod(name) if face is None else NewMethod(face)


def new_method(data: dict[str, Any], within: str = "") -> NewMethod:
    """Return the method that is described."""
    kind = data.get("type")
    if kind is None:
        param = f"{within}[type]" if within else "type"
        raise Invalid("parameter_missing", f"missing parameter {param}", param)
    if kind == "us_bank_account":
        face = TEST_METHODS["pm_usBankAccount_success"]
    else:
        face = _card(data.get("card") or {}, f"{within}[card]" if within else "card")
    return NewMethod(face, data.get("billing_details") or {}, data.get("metadata") or {})


def _card(card: dict[str, Any], within: str) -> Face:
    if "token" in card:
        face = TOKENS.get(card["token"])
        if face is None:
            param = f"{within}[token]"
            raise Invalid("unknown_reference", f"no such token: {card['token'][:100]!r}", param)
        return face
    param = f"{within}[number]"
    if "number" not in card:
        raise Invalid("parameter_missing", f"missing parameter {param}", param)
    face = NUMBERS.get(card["number"].replace(" ", ""))
    if face is None:
        raise Invalid("incorrect_number", "this is not the number of a test card", param)
    return face
