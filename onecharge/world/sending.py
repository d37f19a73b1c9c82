"""One request over HTTP, and what came back: an error is an answer as well."""

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

import aiohttp

from onecharge.history.outcomes import LEFT, REFUSED
from onecharge.press import Heard, Prepared

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from onecharge.engine.last_byte import LastByte


async def send(
    session: aiohttp.ClientSession,
    url: str,
    request: Prepared,
    timeout_s: float,
    *,
    leave: asyncio.Event | None = None,
    last_byte: "LastByte | None" = None,
) -> Heard:
    """Send a request and return what came back.

    Whoever has no answer after ``timeout_s``, or when ``leave`` is set, closes the connection.
    A ``last_byte`` is kept back until those beside it are on their way.
    """
    if leave is None:
        return await _send(session, url, request, timeout_s, last_byte)
    sending = asyncio.create_task(_send(session, url, request, timeout_s, last_byte))
    leaving = asyncio.create_task(leave.wait())
    try:
        await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return sending.result() if sending.done() else Heard(error=LEFT)
    finally:
        for task in (sending, leaving):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def _send(
    session: aiohttp.ClientSession,
    url: str,
    request: Prepared,
    timeout_s: float,
    last_byte: "LastByte | None",
) -> Heard:
    headers = request.headers
    data: str | AsyncIterator[bytes] | None = request.body
    if last_byte is not None and request.body:
        whole = request.body.encode()
        headers = headers | {"Content-Length": str(len(whole))}
        data = last_byte.body(whole)
    elif last_byte is not None:
        await last_byte.wait()
    try:
        async with session.request(
            request.method,
            url + request.path,
            data=data,
            headers=headers,
            timeout=aiohttp.ClientTimeout(total=timeout_s),
            allow_redirects=False,
        ) as answer:
            raw = await answer.read()
    except TimeoutError:
        return Heard(error=f"no answer within {timeout_s:g} s")
    except aiohttp.ClientConnectorError:
        return Heard(error=REFUSED)
    except (aiohttp.ClientError, ConnectionError) as error:
        return Heard(error=str(error) or type(error).__name__)
    return Heard(
        status=answer.status,
        text=raw.decode("utf-8", errors="replace"),
        retry_after="Retry-After" in answer.headers,
        headers={name.lower(): text for name, text in answer.headers.items()},
        cookies={
            name: "" if morsel["max-age"] == "0" else morsel.value
            for name, morsel in answer.cookies.items()
        },
    )
