"""Requests off the wire and answers onto it, the broken ones too.

Rule 1: reading never raises for what a stranger sent; it returns what is wrong.
Rule 2: an answer leaves in one piece: head and body, one write.
Rule 3: a broken answer is broken on purpose and exactly: RST before the first byte, or after
        the head and half of the body.
"""

import contextlib
import re
import socket
import struct
import sys
from enum import Enum
from functools import lru_cache
from http import HTTPStatus
from typing import Final

from aiohttp import ClientPayloadError, HttpVersion11, web
from aiohttp.helpers import rfc822_formatted_time
from aiohttp.http import SERVER_SOFTWARE
from aiohttp.http_exceptions import HttpProcessingError
from multidict import CIMultiDict

from simulator.core.messages import HttpReply, HttpRequest

BODY_LIMIT_BYTES: Final = 1024 * 1024

# On, for 0 seconds: close() sends RST, not FIN. Windows has a struct of its own.
_LINGER_ZERO: Final = struct.pack("hh" if sys.platform == "win32" else "ii", 1, 0)


class Unread(Enum):
    """Why a request could not be read to its end."""

    TOO_LARGE = "too large"
    NO_HTTP = "no HTTP"  # or more of it than anybody reads: endless lines and headers
    BROKEN = "broken"  # gone, or garbled below HTTP: nobody sensible waits for an answer


async def read(request: web.BaseRequest, source: str) -> HttpRequest | Unread:
    """Read a request to its end."""
    body = b""
    if request.body_exists:
        if request.headers.get("Expect", "").lower() == "100-continue":
            await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        content = request.content
        try:
            # What came together with its head is here already: no need to wait as for a stranger.
            body = content.read_nowait() if content.is_eof() else await request.read()
        except web.HTTPRequestEntityTooLarge:
            return Unread.TOO_LARGE
        except (ClientPayloadError, HttpProcessingError, web.HTTPException, OSError):
            return Unread.BROKEN
        if len(body) > BODY_LIMIT_BYTES:
            return Unread.TOO_LARGE
    url = request.rel_url
    query = tuple(url.query.items()) if url.raw_query_string else ()
    headers = _plain_headers(request)
    return HttpRequest(request.method, url.path_safe, query, headers, body, source)


def response(reply: HttpReply) -> web.Response:
    """Return ``reply`` in aiohttp's form."""
    return web.Response(status=reply.status, headers=CIMultiDict(reply.headers), body=reply.body)


async def answer(request: web.BaseRequest, reply: HttpReply) -> web.StreamResponse:
    """Answer, and return what aiohttp is still to send.

    An ordinary answer is written here, byte for byte as aiohttp would: its own way leads through
    a multidict of headers and eight calls, a fifth of all that a bare handler costs. Connections
    and statuses with rules of their own are left to it.
    """
    head = _head(reply.status, reply.headers)
    ordinary = request.keep_alive and request.version == HttpVersion11 and request.method != "HEAD"
    if head is None or not ordinary:
        return response(reply)
    tail = (
        f"Content-Length: {len(reply.body)}\r\nDate: {rfc822_formatted_time()}\r\n"
        f"Server: {SERVER_SOFTWARE}\r\n\r\n"
    )
    with contextlib.suppress(ConnectionError):  # the caller was quicker
        await request.writer.write(head + tail.encode() + reply.body)
    return _WRITTEN


def is_gone(request: web.BaseRequest) -> bool:
    """Tell whether the caller has closed its connection."""
    return request.transport is None or request.transport.is_closing()


def reset(request: web.BaseRequest) -> web.StreamResponse:
    """Close the connection with RST; what is returned is never sent."""
    transport = request.transport
    if transport is not None:
        transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_ZERO
        )
        transport.abort()
    return web.StreamResponse()


async def cut(request: web.BaseRequest, reply: HttpReply) -> web.StreamResponse:
    """Send the head and half of the body, then RST."""
    stream = web.StreamResponse(status=reply.status, headers=CIMultiDict(reply.headers))
    stream.content_length = len(reply.body)
    try:
        await stream.prepare(request)
        await stream.write(reply.body[: len(reply.body) // 2])
        if request.transport is not None:
            request.transport.set_write_buffer_limits(0)
            await request.writer.drain()  # RST throws away what has not left yet
    except ConnectionError:
        pass  # the caller was quicker
    return reset(request)


def _plain_headers(request: web.BaseRequest) -> dict[str, str]:
    """Return lower-case names; a repeated header is one list, as RFC 9110 has it."""
    sent = request.headers
    headers = {name.lower(): value for name, value in sent.items()}
    if len(headers) == len(sent) and "".join(headers.values()).isascii():
        return headers  # as nearly always
    headers = {}
    for name, value in request.headers.items():
        plain = name.lower()
        text = value if value.isascii() else _readable(value)
        headers[plain] = f"{headers[plain]}, {text}" if plain in headers else text
    return headers


def _readable(value: str) -> str:
    """Replace bytes that are no UTF-8: a journal has to be able to hold them."""
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


class _Written(web.StreamResponse):
    """An answer of which nothing is left to send; the connection lives on."""

    @property
    def keep_alive(self) -> bool:
        return True

    async def prepare(self, request: web.BaseRequest) -> None:
        pass

    async def write_eof(self, data: bytes = b"") -> None:
        pass


_WRITTEN: Final = _Written()
_PHRASES: Final = {status.value: status.phrase for status in HTTPStatus}
_NOT_A_TEXT: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]").search  # RFC 9110, 5.5
_OURS: Final = {"content-length", "connection", "date", "server", "transfer-encoding"}


@lru_cache(256)
def _head(status: int, headers: tuple[tuple[str, str], ...]) -> bytes | None:
    """Return the head of an answer, as far as it does not change, if it is an ordinary one."""
    names = {name.lower() for name, _ in headers}
    lines = [f"{name}: {value}" for name, value in headers]
    if status < 200 or status in {204, 304} or "content-type" not in names or names & _OURS:
        return None
    if _NOT_A_TEXT("".join(lines)):
        return None
    first = f"HTTP/1.1 {status} {_PHRASES.get(status, '')}"
    return "".join(f"{line}\r\n" for line in (first, *lines)).encode()
