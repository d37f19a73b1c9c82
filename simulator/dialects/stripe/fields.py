"""What a parameter may be: readers that take a form's value and return ours, or refuse it.

Rule 1: a reader either returns a sound value or raises ``Invalid``, which names the parameter.
Rule 2: what an endpoint does not know is refused by name: a typo beside money must not pass.
"""

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from simulator.core.results import Problem
from simulator.dialects.stripe.forms import Fields, Form

Reader = Callable[[Form, str], Any]
Schema = Mapping[str, Reader]

LARGEST_MINOR: Final = 99_999_999
SMALLEST_MINOR: Final = {"USD": 50, "EUR": 50, "GBP": 30}
"""The least that may be charged; other currencies have limits of their own, here 1."""


class Invalid(Exception):  # an answer, caught where it is turned into one
    """A parameter that will not do."""

    def __init__(self, code: str, detail: str, param: str | None = None) -> None:
        super().__init__(detail)
        self.problem = Problem(code, detail, field=param)


def read(fields: Fields, schema: Schema, required: Collection[str] = ()) -> dict[str, Any]:
    """Read all fields by the readers of the schema."""
    for name in fields:
        if name not in schema:
            raise Invalid("parameter_unknown", f"unknown parameter {name[:100]}", name[:100])
    for name in required:
        if name not in fields:
            raise Invalid("parameter_missing", f"missing parameter {name}", name)
    return {name: schema[name](value, name) for name, value in fields.items()}


def text(value: Form, name: str, *, most: int = 5_000) -> str:
    """Text that is not empty."""
    if not isinstance(value, str):
        raise Invalid("invalid_value", f"{name} must be a string", name)
    if not value:
        raise Invalid("parameter_invalid_empty", f"{name} must not be empty", name)
    if len(value) > most:
        raise Invalid("invalid_value", f"{name} has at most {most} characters", name)
    return value


def words(value: Form, name: str) -> str | None:
    """Text that may be emptied, which takes it away."""
    return None if value == "" else text(value, name)


def whole(value: Form, name: str) -> int:
    """An integer of sensible length."""
    if not isinstance(value, str) or re.fullmatch(r"-?[0-9]{1,15}", value) is None:
        raise Invalid("parameter_invalid_integer", f"{name} must be an integer", name)
    return int(value)


def amount(value: Form, name: str) -> int:
    """An amount of money in minor units."""
    amount_minor = whole(value, name)
    if amount_minor < 1:
        raise Invalid("parameter_invalid_integer", f"{name} must be at least 1", name)
    if amount_minor > LARGEST_MINOR:
        raise Invalid("amount_too_large", f"{name} must be at most {LARGEST_MINOR}", name)
    return amount_minor


def currency(value: Form, name: str) -> str:
    """A currency, three letters; ours are capital."""
    if not isinstance(value, str) or re.fullmatch(r"[A-Za-z]{3}", value) is None:
        raise Invalid("invalid_value", f"{name} must be a currency of three letters", name)
    return value.upper()


def large_enough(amount_minor: int, of: str) -> int:
    """Return an amount if it is not below what its currency demands."""
    least_minor = SMALLEST_MINOR.get(of, 1)
    if amount_minor < least_minor:
        raise Invalid("amount_too_small", f"at least {least_minor} in {of}", "amount")
    return amount_minor


def flag(value: Form, name: str) -> bool:
    """A boolean."""
    if value not in ("true", "false"):
        raise Invalid("invalid_value", f"{name} must be true or false", name)
    return value == "true"


def one_of(*choices: str) -> Reader:
    """One of a few words."""

    def read_choice(value: Form, name: str) -> str:
        if value not in choices:
            raise Invalid("invalid_value", f"{name} must be one of {', '.join(choices)}", name)
        assert isinstance(value, str)
        return value

    return read_choice


def anything(value: Form, name: str) -> Any:  # noqa: ARG001  # every reader is told the name
    """Whatever it is, it is repeated and not looked into."""
    return value


def hash_of(schema: Schema) -> Reader:
    """A hash with known keys."""

    def read_hash(value: Form, name: str) -> dict[str, Any]:
        fields = _hash(value, name)
        for key in fields:
            if key not in schema:
                full = f"{name}[{key[:100]}]"
                raise Invalid("parameter_unknown", f"unknown parameter {full}", full)
        return {key: schema[key](inner, f"{name}[{key}]") for key, inner in fields.items()}

    return read_hash


def loose_hash(value: Form, name: str) -> Any:
    """A hash that is repeated and not looked into; emptied, it goes away."""
    return None if value == "" else _hash(value, name)


def list_of(reader: Reader) -> Reader:
    """A list, in the order in which its items were sent."""

    def read_list(value: Form, name: str) -> tuple[Any, ...]:
        if not isinstance(value, dict) or not all(re.fullmatch(r"[0-9]+", key) for key in value):
            raise Invalid("invalid_value", f"{name} must be an array", name)
        return tuple(reader(item, f"{name}[{key}]") for key, item in value.items())

    return read_list


def metadata(value: Form, name: str) -> dict[str, str] | None:
    """At most 50 keys of 40 characters, values of 500; emptied, all of it goes away."""
    if value == "":
        return None
    fields = _hash(value, name)
    if len(fields) > 50:
        raise Invalid("invalid_value", f"{name} has at most 50 keys", name)
    for key, inner in fields.items():
        full = f"{name}[{key[:40]}]"
        if not isinstance(inner, str) or len(key) > 40 or len(inner) > 500:
            raise Invalid("invalid_value", f"{full}: a key of 40, a value of 500 characters", full)
    return {key: str(inner) for key, inner in fields.items()}


def instant_range(value: Form, name: str) -> tuple[float, float]:
    """One second, or bounds by ``gt``, ``gte``, ``lt``, ``lte``: from, and until before."""
    if isinstance(value, str):
        second = whole(value, name)
        return second, second + 1
    since, before = float("-inf"), float("inf")
    for key, inner in value.items():
        second = whole(inner, f"{name}[{key}]")
        match key:
            case "gt":
                since = max(since, second + 1)
            case "gte":
                since = max(since, second)
            case "lt":
                before = min(before, second)
            case "lte":
                before = min(before, second + 1)
            case _:
                full = f"{name}[{key[:100]}]"
                raise Invalid("parameter_unknown", f"unknown parameter {full}", full)
    return since, before


def _hash(value: Form, name: str) -> Fields:
    if not isinstance(value, dict):
        raise Invalid("invalid_value", f"{name} must be a hash", name)
    return value
