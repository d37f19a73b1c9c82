"""Which template may name what: each may use what is known when it is sent, and nothing later.

Rule 1: an order's own values are known from the start; ``{charge}`` once the charge is answered.
Rule 2: what an answer is captured as is known to everything after it, and hides nothing.
Rule 3: a name that nothing fills is an error of the file, with its line and its field.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from onecharge.service_file.reading import Read, Source, Tick
from onecharge.service_file.requests import Answer, Keyed, Request, Template
from onecharge.service_file.words import ORDER_VALUES, WORLD_VALUES
from onecharge.templates import placeholders

if TYPE_CHECKING:
    from onecharge.service_file.file import ServiceFile

Place = tuple[str | int, ...]
Trouble = tuple[Place, str]
"""A place in the file, and what is wrong there."""

CHARGE = "charge"
_COMMAND_VALUES = {"python"}


def troubles(file: "ServiceFile") -> Iterator[Trouble]:
    """Yield what is wrong with the placeholders of a service file, in the order of use."""
    known = set(ORDER_VALUES)
    yield from _unknown(("headers_command",), file.headers_command, known | _COMMAND_VALUES)
    for number, step in enumerate(file.prepare):
        place: Place = ("prepare", number)
        yield from _request(place, step, known)
        for table in ("capture", "capture_headers", "capture_cookies", "capture_text"):
            yield from _shadows((*place, table), getattr(step, table))
        known |= set(step.captured)
    yield from _request(("charge",), file.charge, known)
    yield from _answer(("charge", "answer"), file.charge.answer, known)
    yield from _shadows(("charge", "answer", "capture"), file.charge.answer.capture)
    known |= {CHARGE, *file.charge.answer.capture}
    for number, act in enumerate(file.browser):
        yield from _request(("browser", number), act, known)
    if file.charge.poll is not None:
        yield from _request(("charge", "poll"), file.charge.poll, known)
    for name in ("refund", "capture"):
        keyed: Keyed | None = getattr(file, name)
        if keyed is not None:
            yield from _request((name,), keyed, known)
            yield from _answer((name, "answer"), keyed.answer, known)
    for name in ("read", "effects"):
        source: Source | None = getattr(file, name)
        if source is not None:
            yield from _source((name,), source, known, database=file.database is not None)
    if file.tick is not None:
        yield from _tick(file.tick)


def _request(place: Place, request: Request, known: set[str]) -> Iterator[Trouble]:
    yield from _unknown((*place, "path"), request.path, known)
    yield from _template(place, request, known)


def _template(place: Place, template: Template, known: set[str]) -> Iterator[Trouble]:
    for name, text in template.headers.items():
        yield from _unknown((*place, "headers", name), text, known)
    for field, body in (("json", template.json_body), ("form", template.form)):
        for name, value in (body or {}).items():
            yield from _unknown((*place, field, name), value, known)


def _answer(place: Place, answer: Answer, known: set[str]) -> Iterator[Trouble]:
    for name in ("status", "charge", "provider_charge", "error"):
        yield from _unknown((*place, name), getattr(answer, name), known)


def _source(place: Place, source: Source, known: set[str], *, database: bool) -> Iterator[Trouble]:
    yield from _unknown((*place, "path"), source.path, known)
    yield from _template(place, source, known)
    yield from _unknown((*place, "command"), source.command, known | _COMMAND_VALUES)
    yield from _unknown((*place, "url"), source.url, {"database_url"})
    for name in source.parameters:
        if name not in known:
            yield (
                (*place, "sql"),
                f"unknown parameter :{name}; known here: {_listed(known, ':{}')}",
            )
    if source.sql is not None and "{database_url}" in source.url and not database:
        says = "required, but missing: without a table [database] nobody knows which one to ask"
        yield (*place, "url"), says
    fields = Read.FIELDS if isinstance(source, Read) else ("each", "amount_minor", "event")
    for name in fields:
        yield from _unknown((*place, name), getattr(source, name), known)


def _tick(tick: Tick) -> Iterator[Trouble]:
    yield from _unknown(("tick", "path"), tick.path, set())
    yield from _unknown(("tick", "command"), tick.command, WORLD_VALUES - {"port", "instance"})
    yield from _template(("tick",), tick, set())


def _unknown(place: Place, template: Any, known: set[str]) -> Iterator[Trouble]:
    for name in placeholders(template):
        if name not in known:
            known_here = _listed(known, "{{{}}}") or "none"
            yield place, f"unknown placeholder {{{name}}}; known here: {known_here}"


def _shadows(place: Place, captures: Mapping[str, str]) -> Iterator[Trouble]:
    for name in captures:
        if name in ORDER_VALUES | {CHARGE}:
            yield (
                (*place, name),
                f"expected a name of its own, found {name!r}, which every order has already",
            )


def _listed(names: set[str], form: str) -> str:
    return " ".join(form.format(name) for name in sorted(names))
