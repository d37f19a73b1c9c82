"""The words that templates of a service file may use, and the checks that its fields share."""

from functools import lru_cache
from typing import Annotated, Any

import jsonpath
from pydantic import Field

from onecharge.templates import filled_text, placeholders

ORDER_VALUES = {
    "key",
    "order",
    "amount_minor",
    "amount_decimal",
    "currency",
    "customer",
    "tenant",
    "token",
}
"""What every template about an order may name. ``{amount_decimal}`` is in major units: 19.99."""

WORLD_VALUES = {
    "python",
    "host",
    "port",
    "instance",
    "database_url",
    "provider_url",
    "redis_url",
    "provider_key",
    "service_url",
    "webhook_secret",
    "mutant",
}
"""What the command and the environment of a service may name."""

Seconds = Annotated[float, Field(gt=0)]
SomeSeconds = Annotated[float, Field(ge=0)]
Status = Annotated[int, Field(ge=100, le=599)]
Words = tuple[str, ...]


def found(path: str, body: Any) -> Any:
    """Return the first node that a JSONPath finds in a body, or None."""
    return next(iter(_compiled(path).findall(body)), None)


@lru_cache(maxsize=4096)
def _compiled(path: str) -> jsonpath.JSONPath | jsonpath.CompoundJSONPath:
    """Compile a path once: the same few are asked of every answer."""
    return jsonpath.compile(path)


def only(template: Any, known: set[str]) -> Any:
    for name in placeholders(template):
        if name not in known:
            raise ValueError(f"unknown placeholder {{{name}}}; known here: {_listed(known)}")
    return template


def a_jsonpath(path: str | None) -> str | None:
    if path is not None:
        example = filled_text(path, dict.fromkeys(placeholders(path), "x"))
        try:
            jsonpath.compile(example)
        except jsonpath.JSONPathError as error:
            raise ValueError(f"expected a JSONPath, found {path!r}: {error}") from None
    return path


def _listed(names: set[str]) -> str:
    return " ".join(f"{{{name}}}" for name in sorted(names))
