"""Requests in every dialect, more and less broken: answered, never by a 5xx, and it goes on.

The corpus is made of what the dialect itself would ask, mutated by a seeded chance: in its
fields, its headers, its path, and at last in its bytes. So half of it is understood and executed,
and the other half is nonsense of every degree.
"""

import asyncio
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Final
from urllib.parse import quote, urlencode

import pytest

from simulator.catalogue import dialects
from simulator.core.calls import (
    CancelCharge,
    CaptureCharge,
    ChargeParams,
    CreateCharge,
    EventParams,
    ListCharges,
    ListEvents,
    ReadCharge,
    ReadEvent,
    RefundCharge,
    ResendEvent,
)
from simulator.core.dialect import Dialect
from simulator.core.journal import Entry
from simulator.core.messages import HttpRequest
from simulator.server import Simulator

AT_ONCE: Final = 24
ROUND: Final = 5_000  # then the provider begins again: who lists everything grows with everything
PATIENCE_S: Final = 2.0  # only what is cut short is waited for so long

HOSTILE_TEXTS: Final = (
    "", " ", "\x00", "\t\r\n", "é", "\u202e", "\U0001f4b8", "\ud800", "a" * 300, "x" * 70_000,
    "null", "-1", "1e309", "'; DROP TABLE charges; --", "../../etc/passwd", "%00", "%ud800", "{}",
    "ch_1", "evt_1", "true", "💶" * 200, "\ufeff", "\u2028",
)  # fmt: skip
HOSTILE_VALUES: Final[tuple[Any, ...]] = (
    *HOSTILE_TEXTS, None, True, False, 0, -1, 1, 10**12, 10**30, 10**5_000, 1.5, float("nan"),
    float("inf"), -0.0, [], {}, [[]], {"": None}, {"a": {"b": ["c"]}}, ["a"] * 1_000,
)  # fmt: skip
METHODS: Final = (
    "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "BREW", "get", "CONNECT",
)  # fmt: skip
CHAINS: Final = (
    "decline", "hold until=elapsed amount=1", "redeliver copies=3", "hodl", ";;", '"',
    "hold " * 900,
    "error_before_commit status=409 code=x", "lookup_lags lag_ms=60000; lookup_lies lie=declined",
    "forget_keys", "in_flight", "key_mismatch", "ignore_keys",
)  # fmt: skip
CONTENT_TYPES: Final = (
    "application/json", "application/x-www-form-urlencoded", "text/plain", "application/json;x=é",
    "multipart/form-data; boundary=x", "application/json; charset=utf-16", "", "/", "\x7f",
)  # fmt: skip


@dataclass
class Corpus:
    """What is sent, one request after the other, always the same from one seed."""

    dialect: Dialect
    chance: Random

    def next(self) -> tuple[bytes, bool]:
        """Return the bytes of a request, and whether they are a whole HTTP request."""
        request = None
        while request is None:  # not every dialect has a call for everything
            request = self.dialect.ask(self._params(), self._account(), self._key())
        if self.chance.random() < 0.7:
            for _ in range(self.chance.randint(1, 3)):
                request = self.chance.choice(self._mutations)(request)
        sent = _on_the_wire(request)
        if self.chance.random() < 0.1:
            return self._bytes(sent), False
        return sent, True

    @property
    def _mutations(self) -> tuple[Callable[[HttpRequest], HttpRequest], ...]:
        fields = (self._fields,) * 4
        return (*fields, self._headers, self._headers, self._path, self._query, self._method)

    def _params(self) -> ChargeParams | EventParams:
        pick = self.chance
        kind = pick.choice(("ch", "pi"))  # what it is made of is known by another id, if by any
        charge, event = f"{kind}_{pick.randint(1, 40)}", f"evt_{pick.randint(1, 40)}"
        part = pick.choice((None, 1, 100, 500, 501))
        return pick.choice(
            (
                CreateCharge(
                    pick.choice((1, 500, 999)),
                    "EUR",
                    f"ord-{pick.randint(1, 200)}",
                    pick.choice((None, "cus-1")),
                    pick.random() < 0.7,
                    {"a": "b"} if pick.random() < 0.2 else {},
                ),
                CaptureCharge(charge, part),
                CancelCharge(charge),
                RefundCharge(charge, part),
                ReadCharge(charge),
                ListCharges(pick.choice((None, "ord-1"))),
                ListEvents(pick.choice((None, True, False))),
                ReadEvent(event),
                ResendEvent(event),
            )
        )

    def _account(self) -> str:
        return self.chance.choice(("sk_test_shop", "sk_test_other"))

    def _key(self) -> str | None:
        return None if self.chance.random() < 0.1 else f"key-{self.chance.randint(1, 300)}"

    def _fields(self, request: HttpRequest) -> HttpRequest:
        """Change what a body says: a field of it, or the whole of it."""
        content_type = request.headers.get("content-type", "")
        try:
            fields = json.loads(request.body) if "json" in content_type else None
        except (ValueError, RecursionError):
            fields = None
        if not isinstance(fields, dict):
            return replace(request, body=self._bytes(request.body or b"a=b"))
        name = self.chance.choice([*fields, *HOSTILE_TEXTS[:12]])
        match self.chance.randrange(4):
            case 0:
                fields.pop(name, None)
            case 1:
                return replace(request, body=_nested(self.chance.choice((5, 500, 20_000))))
            case _:
                fields[name] = self.chance.choice(HOSTILE_VALUES)
        return replace(request, body=_as_json(fields))

    def _headers(self, request: HttpRequest) -> HttpRequest:
        headers = dict(request.headers)
        name = self.chance.choice([*headers, "idempotency-key", "content-type", "x", "cookie"])
        match self.chance.randrange(6):
            case 0:
                headers.pop(name, None)
            case 1:
                headers["onecharge-faults"] = self.chance.choice(CHAINS)
            case 2:
                headers["content-type"] = self.chance.choice(CONTENT_TYPES)
            case 3:
                headers |= {f"x-{number}": "y" * 50 for number in range(80)}
            case _:
                headers[name] = self.chance.choice(HOSTILE_TEXTS)
        return replace(request, headers=headers)

    def _path(self, request: HttpRequest) -> HttpRequest:
        steps = request.path.split("/")
        steps[self.chance.randrange(len(steps))] = self.chance.choice(HOSTILE_TEXTS)
        return replace(request, path="/".join(steps) or "/")

    def _query(self, request: HttpRequest) -> HttpRequest:
        text = self.chance.choice(HOSTILE_TEXTS), self.chance.choice(HOSTILE_TEXTS)
        return replace(request, query=(*request.query, text))

    def _method(self, request: HttpRequest) -> HttpRequest:
        return replace(request, method=self.chance.choice(METHODS))

    def _bytes(self, sent: bytes) -> bytes:
        """Change some bytes: turn, take away, put in, double."""
        for _ in range(self.chance.randint(1, 4)):
            place = self.chance.randrange(len(sent) + 1)
            match self.chance.randrange(4):
                case 0:
                    sent = sent[:place] + bytes([self.chance.randrange(256)]) + sent[place + 1 :]
                case 1:
                    sent = sent[:place] + sent[place + self.chance.randint(1, 9) :]
                case 2:
                    sent = sent[:place] + self.chance.randbytes(3) + sent[place:]
                case _:
                    sent = sent[:place] + sent[max(0, place - 20) : place] + sent[place:]
        return sent


def _as_json(fields: dict[str, Any]) -> bytes:
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        return json.dumps(fields).encode()
    finally:
        sys.set_int_max_str_digits(limit)


def _nested(depth: int) -> bytes:
    return b'{"a":' * depth + b"1" + b"}" * depth


def _on_the_wire(request: HttpRequest) -> bytes:
    """Write a request down; its texts are anything, its lines are whole."""
    path = quote(request.path, safe="/*%", errors="surrogatepass")
    query = urlencode(request.query, errors="surrogatepass")
    lines = [f"{request.method} {path}{'?' if query else ''}{query} HTTP/1.1", "host: x"]
    lines += [f"{name}: {_one_line(value)}" for name, value in request.headers.items()]
    lines += [f"content-length: {len(request.body)}", "connection: close", "", ""]
    return "\r\n".join(lines).encode("utf-8", "surrogatepass") + request.body


def _one_line(value: str) -> str:
    return value.translate({10: None, 13: None, 0: None})


@dataclass
class Writing:
    """A journal that only proves that everything can be written down."""

    entries: int = 0
    operations: Counter[str] = field(default_factory=Counter)

    def __call__(self, entry: Entry) -> int:
        said = [entry.lane, entry.kind, entry.order, entry.tenant, entry.key, dict(entry.value)]
        json.dumps(said, ensure_ascii=False).encode()
        if entry.kind == "receive":
            self.operations[entry.value["operation"]] += 1
        self.entries += 1
        return self.entries - 1


async def answer_to(sent: bytes, port: int) -> tuple[int, bytes] | None:
    """Send bytes, and return status and body, or nothing where there was no answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.timeout(PATIENCE_S):
            writer.write(sent)
            answer = await reader.read(-1)
    except (TimeoutError, ConnectionError):
        return None
    finally:
        writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    length = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
    # Broken bytes may be two requests to the server, and then there is a second answer behind.
    whole = body[: int(length[1])] if length else body
    return (int(head.split()[1]), whole) if head else None


@pytest.mark.fuzz
@pytest.mark.timeout(0)
@pytest.mark.parametrize("name", dialects())
async def test_whatever_is_sent_is_answered_and_never_by_a_5xx(
    name: str, requests_to_send: int, fuzz_seed: int
) -> None:
    dialect, journal, seen = dialects()[name], Writing(), Counter[str]()
    simulator = Simulator(dialect=name, seed=fuzz_seed, sink=journal)
    await simulator.start()
    port = int(simulator.url().rpartition(":")[2])
    corpus = Corpus(dialect, Random(f"{name} {fuzz_seed}"))
    to_send = requests_to_send // len(dialects())

    async def caller(left: Iterator[int]) -> None:
        for _ in left:
            sent, whole = corpus.next()
            answer = await answer_to(sent, port)
            if answer is None:
                seen["no answer"] += 1
                assert not whole, sent[:2_000]
                continue
            status, body = answer
            seen[f"{status // 100}xx"] += 1
            assert 200 <= status < 500, (status, sent[:2_000])
            if status >= 400 and body:
                assert isinstance(json.loads(body), dict), (body, sent[:2_000])

    try:
        for sent_before in range(0, to_send, ROUND):
            await simulator.reset()
            left = iter(range(min(ROUND, to_send - sent_before)))
            async with asyncio.TaskGroup() as callers:
                for _ in range(AT_ONCE):
                    callers.create_task(caller(left))
            assert simulator.provider.ledger.discrepancies() == []
        plain = dialect.ask(CreateCharge(500, "EUR", "at-last", "cus-1"), "sk_test_shop", "at-last")
        assert plain is not None
        last = await answer_to(_on_the_wire(plain), port)
        assert last is not None
        assert last[0] // 100 == 2
        assert len(simulator.real_charges("at-last")) == 1
    finally:
        await simulator.stop()
    print(f"\n{name}: {dict(sorted(seen.items()))} · {dict(journal.operations)}")  # noqa: T201
    assert seen["2xx"] > to_send // 10
    assert len(journal.operations) >= 9
