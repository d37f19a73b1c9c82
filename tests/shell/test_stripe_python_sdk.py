"""The official ``stripe`` library for Python, unmodified, against the dialect over real sockets."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest
import stripe
from aiohttp import ClientSession, web

from simulator.catalogue import rules_from
from simulator.server import Simulator
from simulator.timed_journal import TimedJournal

WISH: Any = {
    "amount": 500,
    "currency": "usd",
    "confirm": True,
    "payment_method": "pm_card_visa",
    "metadata": {"order_id": "ord-1"},
}


@dataclass
class Hook:
    """A webhook endpoint that keeps what it was sent."""

    url: str = ""
    sent: list[tuple[bytes, str]] = field(default_factory=list)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.sent.append((await request.read(), request.headers["Stripe-Signature"]))
        self.news.set()
        return web.Response()

    async def events(self, count: int, secret: str) -> list[stripe.Event]:
        """Wait for so many webhooks, and verify them as the library's users do."""
        async with asyncio.timeout(60):
            while len(self.sent) < count:
                self.news.clear()
                await self.news.wait()
        return [
            stripe.Webhook.construct_event(body, signature, secret) for body, signature in self.sent
        ]


@dataclass
class World:
    simulator: Simulator
    hook: Hook

    def client(self, **options: Any) -> Any:
        """Return a client of one test; its answers are read as their users read them: as Any."""
        addresses: Any = {"api": self.simulator.url()}
        return stripe.StripeClient("sk_test_shop", base_addresses=addresses, **options).v1

    def arm(self, *tables: dict[str, object]) -> None:
        self.simulator.arm(rules_from(tables))

    @property
    def charged(self) -> list[int]:
        ledger = self.simulator.provider.ledger
        return [posting.amount_minor for posting in ledger.real_charges()]


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with AsyncExitStack() as stack:
        simulator = Simulator(dialect="stripe")
        await simulator.start()
        stack.push_async_callback(simulator.stop)
        hook = Hook()
        runner = web.ServerRunner(web.Server(hook.handle), shutdown_timeout=0.1)
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        hook.url = f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
        yield World(simulator, hook)


async def shopping(work: Callable[[], Any]) -> Any:
    """Do what blocks in a thread of its own, while the simulator answers on the loop."""
    return await asyncio.to_thread(work)


async def test_it_holds_captures_and_refunds(world: World) -> None:
    v1 = world.client()

    def work() -> None:
        held = v1.payment_intents.create({**WISH, "capture_method": "manual"})
        assert held.status == "requires_capture"
        taken = v1.payment_intents.capture(held.id, {"amount_to_capture": 300})
        assert (taken.status, taken.amount_received) == ("succeeded", 300)
        refund = v1.refunds.create({"payment_intent": held.id, "amount": 100})
        assert (refund.object, refund.status, refund.amount) == ("refund", "succeeded", 100)
        shown = v1.payment_intents.retrieve(held.id, {"expand": ["latest_charge"]})
        assert shown.latest_charge.amount_refunded == 100
        assert shown.metadata["order_id"] == "ord-1"
        assert shown.last_response.request_id.startswith("req_")

    await shopping(work)
    assert world.charged == [300]


async def test_it_creates_first_and_confirms_then(world: World) -> None:
    v1 = world.client()

    def work() -> None:
        customer = v1.customers.create({"email": "ada@shop.test", "metadata": {"vip": "yes"}})
        card = v1.payment_methods.attach("pm_card_visa", {"customer": customer.id})
        made = v1.payment_intents.create(
            {
                "amount": 500,
                "currency": "eur",
                "customer": customer.id,
                "automatic_payment_methods": {"enabled": True, "allow_redirects": "never"},
            }
        )
        updated = v1.payment_intents.update(made.id, {"metadata": {"order_id": "ord-2"}})
        assert updated.status == "requires_payment_method"
        paid = v1.payment_intents.confirm(made.id, {"payment_method": card.id})
        assert (paid.status, paid.payment_method) == ("succeeded", card.id)
        cancelled = v1.payment_intents.cancel(
            v1.payment_intents.create({"amount": 500, "currency": "eur"}).id
        )
        assert cancelled.status == "canceled"
        assert v1.customers.delete(customer.id).deleted

    await shopping(work)
    assert world.charged == [500]
    [capture] = world.simulator.provider.ledger.real_charges("ord-2")
    assert capture.amount_minor == 500


async def test_a_decline_is_a_card_error(world: World) -> None:
    v1 = world.client()

    def work() -> None:
        with pytest.raises(stripe.CardError) as caught:
            v1.payment_intents.create(
                {**WISH, "payment_method": "pm_card_chargeDeclinedInsufficientFunds"}
            )
        error: Any = caught.value
        assert (error.http_status, error.code) == (402, "card_declined")
        assert error.error.decline_code == "insufficient_funds"
        assert error.error.payment_intent.status == "requires_payment_method"
        assert error.request_id.startswith("req_")
        with pytest.raises(stripe.CardError) as expired:
            v1.payment_intents.create(
                {**WISH, "payment_method": "pm_card_chargeDeclinedExpiredCard"}
            )
        assert expired.value.code == "expired_card"

    await shopping(work)
    assert world.charged == []


async def test_every_mistake_is_an_exception_of_its_kind(world: World) -> None:
    v1 = world.client()
    addresses: Any = {"api": world.simulator.url()}

    def work() -> None:
        with pytest.raises(stripe.InvalidRequestError) as unknown:
            v1.payment_intents.create({**WISH, "amonut": 1})
        assert (unknown.value.code, unknown.value.param) == ("parameter_unknown", "amonut")
        with pytest.raises(stripe.InvalidRequestError) as missing:
            v1.payment_intents.retrieve("pi_404")
        assert (missing.value.http_status, missing.value.code) == (404, "resource_missing")
        stranger = stripe.StripeClient("sk_nonsense", base_addresses=addresses)
        with pytest.raises(stripe.AuthenticationError):
            stranger.v1.payment_intents.list()
        v1.payment_intents.create(WISH, {"idempotency_key": "k1"})
        with pytest.raises(stripe.IdempotencyError):
            v1.payment_intents.create({**WISH, "amount": 600}, {"idempotency_key": "k1"})

    await shopping(work)
    assert world.charged == [500]


async def test_the_limit_on_requests_is_a_rate_limit_error(world: World) -> None:
    world.arm({"fault": "rate_limit", "operation": "charge.create", "times": 1})
    v1 = world.client()

    def work() -> None:
        with pytest.raises(stripe.RateLimitError):
            v1.payment_intents.create(WISH)

    await shopping(work)


@pytest.mark.parametrize("fault", ["lose_reply", "reset_before_commit"])
async def test_lost_replies_are_retried_under_one_key_and_charge_once(
    world: World, fault: str
) -> None:
    world.arm({"fault": fault, "operation": "charge.create", "times": 2})
    v1 = world.client(max_network_retries=2)

    paid = await shopping(lambda: v1.payment_intents.create(WISH))

    assert paid.status == "succeeded"
    assert world.charged == [500]
    assert world.simulator.fired() == {fault: 2}
    journal = world.simulator.journal
    assert isinstance(journal, TimedJournal)
    receipts = [line for line in journal.lines(0) if line["kind"] == "receive"]
    assert len(receipts) == 3
    assert len({line["key"] for line in receipts}) == 1


async def test_a_request_in_flight_is_tried_again_until_it_is_done(world: World) -> None:
    world.arm(
        {
            "fault": "hold",
            "operation": "charge.create",
            "until": "arrived",
            "amount": 2,
            "times": 1,
        }
    )
    v1 = world.client(max_network_retries=2)
    options: Any = {"idempotency_key": "k1"}

    both = await asyncio.gather(
        *(shopping(lambda: v1.payment_intents.create(WISH, options)) for _ in range(2))
    )

    assert {each.id for each in both} == {"pi_1"}
    assert world.charged == [500]


async def test_a_stored_500_stays_one_and_a_lookup_tells_the_truth(world: World) -> None:
    world.arm({"fault": "error_after_commit", "operation": "charge.create", "times": 1})
    v1 = world.client(max_network_retries=2)

    def work() -> None:
        with pytest.raises(stripe.APIError) as caught:
            v1.payment_intents.create(WISH)
        error: Any = caught.value
        assert error.http_status == 500
        assert error.headers["Idempotent-Replayed"] == "true"
        [found] = v1.payment_intents.list().data
        assert (found.status, found.metadata["order_id"]) == ("succeeded", "ord-1")

    await shopping(work)
    assert world.charged == [500]


async def test_it_pages_through_all_by_itself(world: World) -> None:
    v1 = world.client()

    def work() -> None:
        made = [v1.payment_intents.create(WISH).id for _ in range(5)]
        listed = [each.id for each in v1.payment_intents.list({"limit": 2}).auto_paging_iter()]
        assert listed == made[::-1]
        charges = v1.charges.list({"limit": 2}).auto_paging_iter()
        assert len([each.id for each in charges]) == 5
        since = v1.payment_intents.list({"created": {"gte": 0}})
        assert len(since.data) == 5

    await shopping(work)


async def test_the_older_style_of_the_library_works_as_well(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stripe, "api_base", world.simulator.url())
    monkeypatch.setattr(stripe, "api_key", "sk_test_shop")
    world.arm({"fault": "lose_reply", "operation": "charge.create", "times": 1})

    def work() -> None:
        paid: Any = stripe.PaymentIntent.create(**WISH, expand=["latest_charge"])
        assert paid.latest_charge.payment_method_details.card.last4 == "4242"
        assert stripe.Charge.retrieve(paid.latest_charge.id).paid
        assert stripe.Refund.create(charge=paid.latest_charge.id).status == "succeeded"
        [refund] = stripe.Refund.list(payment_intent=paid.id).data
        assert refund.amount == 500

    await shopping(work)
    assert world.charged == [500]


async def test_webhooks_are_verified_by_the_secret_that_registering_told(world: World) -> None:
    v1 = world.client()

    def work() -> Any:
        endpoint = v1.webhook_endpoints.create(
            {"url": world.hook.url, "enabled_events": ["payment_intent.succeeded"]}
        )
        [listed] = v1.webhook_endpoints.list().data
        assert listed.id == endpoint.id
        v1.payment_intents.create(WISH, {"idempotency_key": "k1"})
        return endpoint

    endpoint = await shopping(work)
    [event] = await world.hook.events(1, endpoint.secret)

    told: Any = event
    assert told.type == "payment_intent.succeeded"
    assert told.data.object.metadata["order_id"] == "ord-1"
    assert told.request.idempotency_key == "k1"
    with pytest.raises(stripe.SignatureVerificationError):
        await world.hook.events(1, "whsec_of_somebody_else")

    def look_back() -> None:
        assert v1.events.retrieve(told.id).type == told.type
        assert v1.events.list({"type": told.type}).data[0].id == told.id
        assert v1.webhook_endpoints.delete(endpoint.id).deleted

    await shopping(look_back)


# The library gives httpx its form in a way that httpx no longer likes.
@pytest.mark.filterwarnings("ignore:Use 'content:DeprecationWarning")
async def test_awaited_it_does_the_same(world: World) -> None:
    world.arm({"fault": "lose_reply", "operation": "charge.create", "times": 1})
    client = stripe.HTTPXClient()
    v1 = world.client(max_network_retries=2, http_client=client)
    try:
        paid = await v1.payment_intents.create_async(WISH)
        assert paid.status == "succeeded"
        with pytest.raises(stripe.CardError) as declined:
            await v1.payment_intents.create_async(
                {**WISH, "payment_method": "pm_card_chargeDeclined"}
            )
        assert declined.value.code == "card_declined"
        refund = await v1.refunds.create_async({"payment_intent": paid.id})
        assert refund.status == "succeeded"
        listed = await v1.payment_intents.list_async({"limit": 1})
        assert len([each.id async for each in listed.auto_paging_iter()]) == 2
        options: Any = {"idempotency_key": "k1"}
        await v1.customers.create_async({"name": "Ada"}, options)
        with pytest.raises(stripe.IdempotencyError):
            await v1.customers.create_async({"name": "Bob"}, options)
    finally:
        await client.close_async()  # type: ignore[no-untyped-call]
    assert world.charged == [500]


async def test_a_bank_account_pays_when_its_time_has_come(world: World) -> None:
    v1 = world.client()
    paid = await shopping(
        lambda: v1.payment_intents.create({**WISH, "payment_method": "pm_usBankAccount_success"})
    )
    assert (paid.status, world.charged) == ("processing", [])

    world.simulator.advance(7 * 86_400)

    settled = await shopping(lambda: v1.payment_intents.retrieve(paid.id))
    assert settled.status == "succeeded"
    assert world.charged == [500]


@pytest.mark.parametrize("signature, believed", [("right", True), ("wrong", False)])
async def test_an_event_forged_by_control_is_believed_only_if_it_is_signed(
    world: World, signature: str, *, believed: bool
) -> None:
    secret = "whsec_of_the_shop"
    world.simulator.add_endpoint(world.hook.url, secret)
    lie = {
        "type": "payment_intent.succeeded",
        "account": "sk_test_shop",
        "reference": "ord-9",
        "signature": signature,
    }

    async with ClientSession() as http:
        url = f"{world.simulator.url()}/_sim/events/forge"
        async with http.post(url, json=lie) as answer:
            assert answer.status == 202

    if believed:
        [event] = await world.hook.events(1, secret)
        told: Any = event.data.object
        assert (event.type, told.object, told.status) == (
            lie["type"],
            "payment_intent",
            "succeeded",
        )
    else:
        with pytest.raises(stripe.SignatureVerificationError):
            await world.hook.events(1, secret)
    assert world.charged == []
