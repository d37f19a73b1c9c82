"""The provider as seen from here: two calls, and no exception for what the network does.

Rule 1: every call returns an ``Answer`` or says how it was ``Lost``; deciding what that proves
        is the business of ``outcomes.py``.
Rule 2: a POST is never resent behind our back (aiohttp resends reads only): to repeat a call
        is a decision of ``charging.py``.
Rule 3: every attempt at one charge sends the same bytes, or the provider would refuse the key.
"""

import json
from types import TracebackType
from typing import Self

import aiohttp

from reference_impl.charge import Charge
from reference_impl.outcomes import Answer, Lost


class Provider:
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

    async def charge(self, charge: Charge, upstream_key: str) -> Answer | Lost:
        """Ask for the charge under ``upstream_key``."""
        intent = charge.intent
        body = {
            "amount_minor": intent.amount_minor,
            "currency": intent.currency,
            "reference": intent.order,
            "customer": intent.customer,
            "capture": True,
            "metadata": {"charge_id": charge.id},  # so that look-ups and events name our row
        }
        return await self._send(
            "POST", "/v1/charges", body=body, headers={"Idempotency-Key": upstream_key}
        )

    async def look(self, order: str) -> Answer | Lost:
        """Ask for every charge with this reference."""
        return await self._send("GET", "/v1/charges", query={"reference": order})

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
