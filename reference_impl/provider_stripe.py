"""Stripe by its official library, answering in the words of ``outcomes.py``.

Rule 1: the library's own retry is on, under our one key. It fits into our patience, so that there
        is time left to look when Stripe repeats an error that it keeps under the key.
Rule 2: a charge of ours is a payment intent, so the intent's id is the provider's charge.
Rule 3: whatever the library raises is an answer with a status, or it was lost.
"""

import json
from types import TracebackType
from typing import Any, Final, Self, assert_never

import stripe

from reference_impl.operation import Operation
from reference_impl.outcomes import Answer, Lost
from reference_impl.stripe_objects import UNDONE, charge_shown, metadata_of

RETRIES: Final = 1
PAGES: Final = 10
PAGE: Final = 100


class StripeProvider:
    """Payment intents that are created and confirmed in one call."""

    def __init__(self, url: str, api_key: str, timeout_s: float, payment_method: str) -> None:
        self._http = stripe.AIOHTTPClient(timeout=timeout_s / (1 + RETRIES))
        self._payment_method = payment_method
        client = stripe.StripeClient(
            api_key,
            base_addresses={"api": url},
            max_network_retries=RETRIES,
            http_client=self._http,
        )
        self._api: Any = client.v1  # its parameters are dictionaries typed one by one

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._http.close_async()  # type: ignore[no-untyped-call]

    async def call(self, operation: Operation, upstream_key: str) -> Answer | Lost:
        """Ask for the operation under ``upstream_key``."""
        try:
            return await self._call(operation, {"idempotency_key": upstream_key})
        except stripe.StripeError as error:
            return _answer_in(error)

    async def look(self, operation: Operation) -> Answer | Lost:
        """Ask for the intent of a capture or refund, or look for that of a charge.

        Stripe's search lags behind by up to a minute, so it cannot prove that nothing is there;
        the list can. An intent beyond its first thousand is not found, and stays unknown.
        """
        try:
            if operation.provider_charge is not None:
                params: Any = {"expand": ["latest_charge"]}
                intent = await self._api.payment_intents.retrieve_async(
                    operation.provider_charge, params
                )
                return Answer(200, _listed([intent.to_dict()]))
            return await self._search(operation)
        except stripe.StripeError as error:
            return _answer_in(error)

    async def _call(self, operation: Operation, options: Any) -> Answer:
        intent = operation.intent
        match operation.kind:
            case "charge" | "invoice":
                made = await self._api.payment_intents.create_async(
                    {
                        "amount": intent.amount_minor,
                        "currency": intent.currency.lower(),
                        "confirm": True,
                        "capture_method": "automatic" if intent.capture else "manual",
                        "payment_method": self._payment_method,
                        "metadata": {
                            "order_id": intent.order,
                            "charge_id": operation.id,
                            "customer": intent.customer,
                        },
                    },
                    options,
                )
                return Answer(201, _charge(made.to_dict()), _replayed(made))
            case "capture":
                made = await self._api.payment_intents.capture_async(
                    operation.provider_charge, {"amount_to_capture": intent.amount_minor}, options
                )
                return Answer(200, _charge(made.to_dict()), _replayed(made))
            case "refund":
                made = await self._api.refunds.create_async(
                    {"payment_intent": operation.provider_charge, "amount": intent.amount_minor},
                    options,
                )
                if made.status in UNDONE:  # accepted and undone: nothing goes back
                    body = json.dumps({"code": f"refund_{made.status}"}).encode()
                    return Answer(422, body, _replayed(made))
                refund = {"id": made.id, "charge": made.payment_intent}
                body = json.dumps(refund | {"amount_minor": made.amount}).encode()
                return Answer(201, body, _replayed(made))
        assert_never(operation.kind)

    async def _search(self, operation: Operation) -> Answer | Lost:
        page: Any = {"limit": PAGE, "expand": ["data.latest_charge"]}
        for _ in range(PAGES):
            intents = await self._api.payment_intents.list_async(page)
            ours = [
                intent.to_dict()
                for intent in intents.data
                if metadata_of(intent.to_dict()).get("charge_id") == operation.id
            ]
            if ours or not intents.has_more:
                return Answer(200, _listed(ours))
            page = page | {"starting_after": intents.data[-1].id}
        return Lost("unreachable")


def _answer_in(error: stripe.StripeError) -> Answer | Lost:
    """Say what an exception of the library is: an answer of Stripe's, or none."""
    status = error.http_status
    if isinstance(error, stripe.APIConnectionError) or status is None:
        return Lost("reset")
    headers = {name.lower(): value for name, value in dict(error.headers or {}).items()}
    replayed = headers.get("idempotent-replayed") == "true"
    if isinstance(error, stripe.CardError):
        body: Any = error.json_body
        if intent := body["error"].get("payment_intent"):
            return Answer(402, b'{"charge":' + _charge(intent) + b"}", replayed)
    code = "key" if isinstance(error, stripe.IdempotencyError) else error.code or "refused"
    return Answer(status, json.dumps({"code": code}).encode(), replayed)


def _listed(intents: list[dict[str, Any]]) -> bytes:
    return b'{"data":[' + b",".join(_charge(intent) for intent in intents) + b"]}"


def _charge(intent: dict[str, Any]) -> bytes:
    return json.dumps(charge_shown(intent)).encode()


def _replayed(made: Any) -> bool:
    response = getattr(made, "last_response", None)
    headers = {} if response is None else dict(response.headers)
    return {name.lower(): value for name, value in headers.items()}.get(
        "idempotent-replayed"
    ) == "true"
