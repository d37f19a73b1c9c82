"""What is sent: good requests to every route, and what a seeded chance makes of them.

Rule 1: one seed, one corpus: the same requests in the same order.
Rule 2: a third stays as it is, so that there is something to break; the rest is changed in its
        fields, its headers, its path or its method, and a few at last in their bytes.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Final
from urllib.parse import parse_qsl

from simulator.core.messages import HttpRequest
from tests.fuzz import templates, walks
from tests.fuzz.templates import Route
from tests.fuzz.walks import Walk
from tests.fuzz.written import FORM, JSON, Pairs, as_form, as_json, on_the_wire

HOSTILE_TEXTS: Final = (
    "", " ", "\x00", "\t\r\n", "é", "\u202e", "\U0001f4b8", "\ud800", "a" * 300, "x" * 70_000,
    "null", "-1", "1e309", "'; DROP TABLE charges; --", "../../etc/passwd", "%00", "%ud800", "{}",
    "ch_1", "evt_1", "true", "💶" * 200, "\ufeff", "\u2028", "9" * 5_000, "-0", "1_000", "٣",
    "https://\x00", "[]", "a[b]", "NaN", "pm_card_visa", "0x10", "1.5", "data.data.data",
)  # fmt: skip
HOSTILE_VALUES: Final[tuple[Any, ...]] = (
    *HOSTILE_TEXTS, None, True, False, 0, -1, 1, 10**12, 10**30, 10**5_000, 1.5, float("nan"),
    float("inf"), -0.0, [], {}, [[]], {"": None}, {"a": {"b": ["c"]}}, ["a"] * 1_000,
)  # fmt: skip
HOSTILE_NAMES: Final = (
    "", "[]", "a", "amount[", "amount]", "amount[]", "[amount]", "metadata[]", "metadata[a][b]",
    "expand[0][x]", "expand", "created[gt][lt]", "key", "a[b][c][d]", "é[\u202e]", "\ud800",
    "card[number][x]", "__proto__", "metadata[" + "k" * 41 + "]", "a" * 9_000,
)  # fmt: skip
METHODS: Final = (
    "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "BREW", "get", "CONNECT",
)  # fmt: skip
CHAINS: Final = (
    "decline", "hold until=elapsed amount=1", "redeliver copies=3", "hodl", ";;", '"',
    "hold " * 900,
    "error_before_commit status=409 code=x", "lookup_lags lag_ms=60000; lookup_lies lie=declined",
    "forget_keys", "in_flight", "key_mismatch", "ignore_keys", "stay_pending for_ms=1",
)  # fmt: skip
CONTENT_TYPES: Final = (
    JSON, FORM, "text/plain", "application/json;x=é", "multipart/form-data; boundary=x",
    "application/json; charset=utf-16", "", "/", "\x7f",
)  # fmt: skip
DEPTHS: Final = (5, 17, 500, 20_000)


@dataclass(frozen=True, slots=True)
class Surface:
    """Something that takes requests: its routes, and how a good request to each is made.

    ``makers`` are the routes that others need something of.
    """

    name: str
    dialect: str
    routes: tuple[Route, ...]
    makers: tuple[Route, ...]
    good: Callable[[Route, Random], HttpRequest]
    walk: Callable[[], Walk]


SURFACES: Final = {
    surface.name: surface
    for surface in (
        Surface(
            "generic",
            "generic",
            templates.GENERIC,
            (("POST", "charges"),),
            templates.generic,
            walks.generic,
        ),
        Surface(
            "stripe",
            "stripe",
            templates.STRIPE,
            (
                ("POST", "payment_intents"),
                ("POST", "payment_intents"),
                ("POST", "customers"),
                ("POST", "payment_methods"),
            ),
            templates.stripe,
            walks.stripe,
        ),
        Surface(
            "control",
            "generic",
            templates.CONTROL,
            (("POST", "/_sim/held"), ("POST", "/_sim/endpoints")),
            templates.control,
            walks.control,
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Sent:
    """One request of a corpus. ``whole`` says that it is HTTP, whatever else it may be."""

    route: Route
    data: bytes
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Corpus:
    """An endless row of requests to one surface."""

    surface: Surface
    pick: Random

    def __iter__(self) -> Iterator[Sent]:
        while True:
            yield self._next()

    def _next(self) -> Sent:
        pick, surface = self.pick, self.surface
        makes = pick.random() < 0.25  # or there is nothing to be asked about
        route = pick.choice(surface.makers if makes else surface.routes)
        request = surface.good(route, pick)
        if pick.random() < 0.35:
            return Sent(route, on_the_wire(request, last=False))
        for _ in range(pick.choice((1, 1, 2, 3))):
            request = pick.choice(self._changes)(request)
        ordinary = request.method in ("GET", "POST", "DELETE")
        data = on_the_wire(request, last=not ordinary)
        if pick.random() < 0.08:
            return Sent(route, self._broken(data), whole=False)
        return Sent(route, data)

    @property
    def _changes(self) -> tuple[Callable[[HttpRequest], HttpRequest], ...]:
        fields = (self._fields,) * 6
        return (*fields, self._headers, self._headers, self._path, self._query, self._method)

    def _fields(self, request: HttpRequest) -> HttpRequest:
        """Change what a request says: in its form, its JSON, or its query."""
        content_type = request.headers.get("content-type", "")
        if content_type == FORM:
            pairs = parse_qsl(request.body.decode(errors="replace"), keep_blank_values=True)
            return replace(request, body=self._form(pairs))
        if content_type == JSON:
            return replace(request, body=self._json(request.body))
        return replace(request, query=tuple(self._pairs(list(request.query))))

    def _form(self, pairs: Pairs) -> bytes:
        if self.pick.random() < 0.05:
            return self._broken(as_form(pairs))
        return as_form(self._pairs(pairs))

    def _pairs(self, pairs: Pairs) -> Pairs:
        """Take a field away, double it, bend it, bury it, or put in another one."""
        pick = self.pick
        place = pick.randrange(len(pairs)) if pairs else 0
        name, value = pairs[place] if pairs else (pick.choice(HOSTILE_NAMES), "1")
        match pick.randrange(8):
            case 0:
                changed = []
            case 1:
                changed = [(name, value), (name, pick.choice(HOSTILE_TEXTS))]
            case 2:
                changed = [(f"{name}[{pick.choice(('', '0', 'x', '999999'))}]", value)]
            case 3:
                changed = [(name.partition("[")[0], value)]
            case 4:
                changed = [(name + "[a]" * pick.choice(DEPTHS[:3]), value)]
            case 5:
                changed = [(name, value), (pick.choice(HOSTILE_NAMES), value)]
            case 6:
                base, short = name.partition("[")[0][:40], value[:20]  # there are many of them
                many = pick.choice((3, 60, 1_001))
                changed = [(f"{base}[k{number}]", short) for number in range(many)]
            case _:
                changed = [(name, pick.choice(HOSTILE_TEXTS))]
        return [*pairs[:place], *changed, *pairs[place + 1 :]]

    def _json(self, body: bytes) -> bytes:
        """Put something hostile somewhere into a document, or make it another one."""
        pick = self.pick
        try:
            document = json.loads(body or b"{}")
        except (ValueError, RecursionError):
            return self._broken(body)
        match pick.randrange(8):
            case 0:
                return _nested(pick.choice(DEPTHS), pick.choice(("object", "array")))
            case 1:
                return body[:-1] + b',"amount_minor":1,"amount_minor":"2"}'
            case 2:
                return as_json(pick.choice(HOSTILE_VALUES))
            case _:
                return as_json(self._bent(document))

    def _bent(self, document: Any) -> Any:
        """Return a document in which one value, at any depth, is another or is gone."""
        pick = self.pick
        if not (isinstance(document, dict | list) and document) or pick.random() < 0.1:
            return pick.choice(HOSTILE_VALUES)
        if isinstance(document, list):
            place = pick.randrange(len(document))
            return [*document[:place], self._bent(document[place]), *document[place + 1 :]]
        name = pick.choice([*document, *document, pick.choice(HOSTILE_TEXTS)])
        kept = {each: value for each, value in document.items() if each != name}
        if name in document and pick.random() < 0.2:
            return kept
        inner = document.get(name)
        deeper = isinstance(inner, dict | list) and pick.random() < 0.8
        return kept | {name: self._bent(inner) if deeper else pick.choice(HOSTILE_VALUES)}

    def _headers(self, request: HttpRequest) -> HttpRequest:
        pick, headers = self.pick, dict(request.headers)
        name = pick.choice(
            [*headers, "idempotency-key", "content-type", "stripe-account", "x", "cookie"]
        )
        match pick.randrange(6):
            case 0:
                headers.pop(name, None)
            case 1:
                headers["onecharge-faults"] = pick.choice(CHAINS)
            case 2:
                headers["content-type"] = pick.choice(CONTENT_TYPES)
            case 3:
                headers |= {f"x-{number}": "y" * 50 for number in range(80)}
            case _:
                headers[name] = pick.choice(HOSTILE_TEXTS)
        return replace(request, headers=headers)

    def _path(self, request: HttpRequest) -> HttpRequest:
        steps = request.path.split("/")
        steps[self.pick.randrange(len(steps))] = self.pick.choice(HOSTILE_TEXTS)
        return replace(request, path="/".join(steps) or "/")

    def _query(self, request: HttpRequest) -> HttpRequest:
        text = self.pick.choice(HOSTILE_TEXTS), self.pick.choice(HOSTILE_TEXTS)
        return replace(request, query=(*request.query, text))

    def _method(self, request: HttpRequest) -> HttpRequest:
        return replace(request, method=self.pick.choice(METHODS))

    def _broken(self, sent: bytes) -> bytes:
        """Change some bytes: turn, take away, put in, double."""
        pick = self.pick
        for _ in range(pick.randint(1, 4)):
            place = pick.randrange(len(sent) + 1)
            match pick.randrange(4):
                case 0:
                    sent = sent[:place] + bytes([pick.randrange(256)]) + sent[place + 1 :]
                case 1:
                    sent = sent[:place] + sent[place + pick.randint(1, 9) :]
                case 2:
                    sent = sent[:place] + pick.randbytes(3) + sent[place:]
                case _:
                    sent = sent[:place] + sent[max(0, place - 20) : place] + sent[place:]
        return sent


def _nested(depth: int, of: str) -> bytes:
    opening, closing = (b'{"a":', b"}") if of == "object" else (b"[", b"]")
    return opening * depth + b"1" + closing * depth
