"""The neutral provider: IETF ``Idempotency-Key`` and Standard Webhooks, taken at their word.

Rule 1: the key is required wherever money may move; what began to execute is stored under it,
        success or error (draft-ietf-httpapi-idempotency-key-header-07).
Rule 2: every refusal is a problem document (RFC 9457), its status a row of ``PROBLEMS``.
Rule 3: a field this API does not know is refused: a typo beside money must not pass.
"""

import base64
from typing import ClassVar, Final

from simulator.core.calls import ChargeParams, EventParams, Operation, Unreadable
from simulator.core.events import Event
from simulator.core.idempotency import InBody, InHeader, KeyPolicy
from simulator.core.json_text import as_json
from simulator.core.messages import HttpReply, HttpRequest
from simulator.core.results import (
    ChargeDeclined,
    ChargeMade,
    ChargeShown,
    ChargesListed,
    EventResent,
    EventShown,
    EventsListed,
    Problem,
    RefundMade,
    Result,
)
from simulator.dialects.generic.clock import instant
from simulator.dialects.generic.reading import (
    ROUTES,
    Refused,
    account_of,
    body_of,
    reader_of,
    shape_of,
)
from simulator.dialects.generic.signing import secret_bytes, sign
from simulator.dialects.generic.words import (
    JSON,
    PROBLEMS,
    charge_object,
    charge_written,
    event_object,
    json_reply,
    news_of,
    problem_reply,
    refund_object,
)
from simulator.dialects.generic.writing import written

__all__ = ["IETF", "MONEY", "PROBLEMS", "ROUTES", "Generic", "instant", "sign"]

MONEY: Final = frozenset({"charge.create", "charge.capture", "charge.cancel", "charge.refund"})
IETF: Final = KeyPolicy(MONEY, required_for=MONEY, place=InHeader(quoted=True))


class Generic:
    """The dialect any charge service can adopt. Its ``keys`` may follow another policy."""

    name: ClassVar[str] = "generic"
    schedule_s: ClassVar[tuple[float, ...]] = (
        0, 5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400,
    )  # fmt: skip  # the example of the Standard Webhooks specification
    events_shown_s: ClassVar[float] = float("inf")
    bills: ClassVar[bool] = True
    named_as: ClassVar[str] = "reference"
    foreign_secret: ClassVar[str] = "whsec_" + base64.b64encode(b"nobody else has this").decode()

    def __init__(self, keys: KeyPolicy = IETF) -> None:
        self.keys = keys

    def read(self, request: HttpRequest) -> Operation | Unreadable:
        """Tell what a request asks for. Everything it may say is in its params."""
        shape, named = shape_of(request.path)
        methods = ROUTES.get(shape, {})
        operation, _ = methods.get(request.method, ("unknown", None))
        key = self.keys.key_in(request.headers, {})
        account: str | None = None
        try:
            reader = reader_of(methods, request.method)
            account = account_of(request.headers.get("authorization", ""))
            body = body_of(request.body) if request.method == "POST" else {}
            if isinstance(self.keys.place, InBody):
                key = self.keys.key_in({}, body)
                body.pop(self.keys.place.path[0], None)
            params = reader(named, body, dict(request.query))
        except Refused as refused:
            # A key that is none is not repeated: it may be anything at all.
            sound = self.keys.objection("charge.create", key) is None
            return Unreadable(refused.problem, operation, account, key if sound else None)
        return Operation(params, account, key)

    def ask(
        self, params: ChargeParams | EventParams, account: str, key: str | None = None
    ) -> HttpRequest:
        """Write the request that is read as this."""
        method, path, fields = written(params)
        headers = {"authorization": f"Bearer {account}"}
        if key is not None:
            headers["idempotency-key"] = key
        if method == "GET":
            query = tuple((name, str(value)) for name, value in fields.items())
            return HttpRequest(method, path, query, headers)
        headers["content-type"] = "application/json"
        return HttpRequest(method, path, (), headers, as_json(fields).encode())

    def answer(self, result: Result) -> HttpReply:  # noqa: PLR0911  # one row for each result
        """Put a result into words."""
        match result:
            case ChargeMade(charge):
                return HttpReply(201, JSON, charge_written(charge).encode())
            case ChargeShown(charge):
                return HttpReply(200, JSON, charge_written(charge).encode())
            case ChargeDeclined(charge):
                more = {"decline_code": charge.decline_code, "charge": charge_object(charge)}
                return problem_reply(Problem("declined"), more)
            case ChargesListed(charges):
                return json_reply(
                    200, {"object": "list", "data": [charge_object(each) for each in charges]}
                )
            case RefundMade(refund, charge):
                return json_reply(201, refund_object(refund, charge))
            case EventShown(event, delivered):
                return json_reply(200, event_object(event, delivered))
            case EventsListed(events):
                data = [event_object(each.event, each.delivered) for each in events]
                return json_reply(200, {"object": "list", "data": data})
            case EventResent(event, delivered):
                return json_reply(202, event_object(event, delivered))
            case Problem():
                return problem_reply(result, {})
            case _:  # the results of a desk, at which this dialect never asks
                raise AssertionError(f"there is no word for {result}")

    def addressed(self, reply: HttpReply, call: str) -> HttpReply:  # noqa: ARG002
        """Return a reply as it is: all callers are answered alike."""
        return reply

    def event_type(self, name: str) -> str:
        """Return the name itself: it is neutral already."""
        return name

    def told_as(self, fact: str) -> tuple[str, ...]:
        """Return the fact itself: each is one event."""
        return (fact,)

    def accepts_secret(self, secret: str) -> bool:
        """Tell whether a secret is ``whsec_`` and base64 of something."""
        try:
            return bool(secret_bytes(secret))
        except ValueError:  # no base64, or not even ASCII
            return False

    def message(
        self, event: Event, url: str, secrets: tuple[str, ...], wall_s: float
    ) -> HttpRequest:
        """Return the webhook, signed as Standard Webhooks 1.0.0 says: ``id.timestamp.body``.

        Two signatures, during a rotation, stand in one header with a space between them.
        """
        body = as_json(news_of(event)).encode()
        timestamp = int(wall_s)
        headers = {
            "content-type": "application/json",
            "webhook-id": event.id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": " ".join(
                sign(secret, event.id, timestamp, body) for secret in secrets
            ),
        }
        return HttpRequest("POST", url, headers=headers, body=body)

    def acknowledged(self, status: int, body: bytes) -> bool:  # noqa: ARG002  # 2xx is enough here
        """Tell whether an answer is a 2xx; a redirect is not."""
        return 200 <= status < 300
