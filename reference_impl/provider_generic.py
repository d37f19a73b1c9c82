"""The generic provider over aiohttp, with no exception for what the network does.

Rule 1: a POST is never resent behind our back (aiohttp resends reads only): to repeat a call
        is a decision of ``charging.py``.
"""

import json
from types import TracebackType
from typing import Self, assert_never

import aiohttp

from reference_impl.operation import Operation
from reference_impl.outcomes import Answer, Lost


class GenericProvider:
    """The generic provider's HTTP API."""

    def __init__(self, url: str, api_key: str, timeout_s: float) -> None:
        self._url = url
        self._headers = {"Authorization": f"Bearer {api_key}"}
        self._timeout = aiohttp.ClientTimeout(total=timeout_s)
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            headers=self._headers,
            timeout=self._timeout,
            connector=aiohttp.TCPConnector(limit=0),  # the lease bounds a call, not a queue
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._session is not None, "entered before left"
        await self._session.close()

    async def call(self, operation: Operation, upstream_key: str) -> Answer | Lost:
        """Ask for the operation under ``upstream_key``."""
        path, body = _asked(operation)
        return await self._send("POST", path, body=body, headers={"Idempotency-Key": upstream_key})

    async def look(self, operation: Operation) -> Answer | Lost:
        """Ask for every charge with the operation's reference."""
        return await self._send("GET", "/v1/charges", query={"reference": operation.intent.order})

    async def _send(
        self,
        method: str,
        path: str,
        *,
        body: dict[str, object] | None = None,
        query: dict[str, str] | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer | Lost:
        assert self._session is not None, "used inside its async with"
        data = None if body is None else json.dumps(body).encode()
        all_headers = {**(headers or {}), "Content-Type": "application/json"}
        try:
            async with self._session.request(
                method,
                self._url + path,
                params=query,
                data=data,
                headers=all_headers,
                allow_redirects=False,
            ) as response:
                replayed = response.headers.get("Idempotent-Replayed") == "true"
                return Answer(response.status, await response.read(), replayed)
        except TimeoutError:
            return Lost("timeout")
        except aiohttp.ClientConnectorError:
            return Lost("unreachable")
        except (aiohttp.ClientError, OSError, ValueError):
            return Lost("reset")


def _asked(operation: Operation) -> tuple[str, dict[str, object]]:
    """Return where an operation is asked for, and the body."""
    intent = operation.intent
    match operation.kind:
        case "charge" | "invoice":
            return "/v1/charges", {
                "amount_minor": intent.amount_minor,
                "currency": intent.currency,
                "reference": intent.order,
                "customer": intent.customer,
                "capture": intent.capture,
                "metadata": {"charge_id": operation.id},  # so that look-ups and events name us
            }
        case "capture":
            path = f"/v1/charges/{operation.provider_charge}/capture"
            return path, {"amount_minor": intent.amount_minor}
        case "refund":
            path = f"/v1/charges/{operation.provider_charge}/refunds"
            return path, {"amount_minor": intent.amount_minor}
    assert_never(operation.kind)
