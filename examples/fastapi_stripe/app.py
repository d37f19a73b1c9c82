"""Payments of a small shop: FastAPI, PostgreSQL, and Stripe by its official library.

A payment is a row before Stripe hears of it. Its id makes Stripe's idempotency key, so that every
attempt at it, by whoever, is the same request to Stripe. What is not known for sure stays
``processing`` until Stripe has told us: by its answer, by its event, or when we ask.
"""

import asyncio
import hashlib
import json
import os
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import stripe
from fastapi import FastAPI, Header, HTTPException, Request, Response
from pydantic import BaseModel, Field
from sqlalchemy import DateTime, ForeignKey, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

OUTCOMES = {"succeeded": "paid", "requires_payment_method": "declined"}
LEASE = timedelta(seconds=4)  # longer than one call to Stripe may take, with the library's retries

engine = create_async_engine(os.environ["DATABASE_URL"], pool_size=10, max_overflow=10)
session = async_sessionmaker(engine, expire_on_commit=False)
shop = stripe.StripeClient(
    os.environ["STRIPE_API_KEY"],
    base_addresses={"api": os.environ["STRIPE_API_BASE"]},
    http_client=stripe.HTTPXClient(timeout=1.0),
    max_network_retries=1,
)


class Base(DeclarativeBase):
    pass


class Payment(Base):
    __tablename__ = "payments"

    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, default=uuid.uuid4)
    key: Mapped[str] = mapped_column(unique=True)
    fingerprint: Mapped[str]
    order: Mapped[str] = mapped_column(index=True)
    customer: Mapped[str]
    amount: Mapped[int]  # in minor units
    currency: Mapped[str]
    status: Mapped[str] = mapped_column(default="processing")
    intent: Mapped[str | None] = mapped_column(unique=True)
    round: Mapped[int] = mapped_column(default=1)
    owned_until: Mapped[datetime] = mapped_column(DateTime(timezone=True))


class Credit(Base):
    __tablename__ = "credits"

    payment_id: Mapped[uuid.UUID] = mapped_column(ForeignKey("payments.id"), primary_key=True)
    amount: Mapped[int]


class Event(Base):
    __tablename__ = "events"

    id: Mapped[str] = mapped_column(primary_key=True)


class Purchase(BaseModel):
    order: str = Field(min_length=1, max_length=64)
    customer: str = Field(min_length=1, max_length=64)
    amount: int = Field(gt=0, le=99_999_999)
    currency: str = Field(pattern="^[A-Za-z]{3}$")

    def fingerprint(self) -> str:
        return hashlib.sha256(json.dumps(self.model_dump(), sort_keys=True).encode()).hexdigest()


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    reconciling = asyncio.create_task(reconcile_for_ever())
    yield
    reconciling.cancel()
    with suppress(asyncio.CancelledError):
        await reconciling
    await engine.dispose()


app = FastAPI(lifespan=lifespan)


@app.post("/payments", status_code=201)
async def pay(
    purchase: Purchase,
    response: Response,
    idempotency_key: Annotated[str, Header(min_length=1, max_length=255)],
) -> dict[str, Any]:
    payment, mine = await reserve(purchase, idempotency_key)
    if payment.fingerprint != purchase.fingerprint():
        raise HTTPException(422, "this key was used for another purchase")
    if payment.status == "processing" and not mine:
        raise HTTPException(409, "this payment is being made", headers={"Retry-After": "1"})
    if payment.status == "processing":
        # A customer who hangs up does not stop a payment in the middle.
        payment = await asyncio.shield(settle(payment))
    if payment.status == "processing":
        raise HTTPException(503, "we do not know yet; try again", headers={"Retry-After": "1"})
    response.status_code = 201 if payment.status == "paid" else 402
    return shown(payment)


@app.get("/payments")
async def payments(order: str) -> list[dict[str, Any]]:
    async with session() as db:
        paid_first = select(Payment).filter_by(order=order).order_by(Payment.status != "paid")
        return [shown(payment) for payment in await db.scalars(paid_first)]


@app.get("/orders/{order}/credits")
async def credited(order: str) -> list[dict[str, int]]:
    async with session() as db:
        amounts = select(Credit.amount).join(Payment).where(Payment.order == order)
        return [{"amount": amount} for amount in await db.scalars(amounts)]


@app.post("/stripe/webhook")
async def hear(
    request: Request, stripe_signature: Annotated[str, Header()] = ""
) -> dict[str, bool]:
    try:
        event = stripe.Webhook.construct_event(
            await request.body(), stripe_signature, os.environ["STRIPE_WEBHOOK_SECRET"]
        )
    except (ValueError, stripe.SignatureVerificationError) as error:
        raise HTTPException(400, "not an event of Stripe's") from error
    if event.type == "payment_intent.succeeded":
        intent = event.data.object
        async with session.begin() as db:
            new = insert(Event).values(id=event.id).on_conflict_do_nothing().returning(Event.id)
            if await db.scalar(new) and "payment_id" in intent.metadata:
                await mark_paid(db, uuid.UUID(intent.metadata["payment_id"]), intent.id)
    return {"received": True}


@app.get("/health")
async def health() -> dict[str, bool]:
    async with session() as db:
        await db.execute(select(1))
    return {"ok": True}


async def reserve(purchase: Purchase, key: str) -> tuple[Payment, bool]:
    """Return the payment of this key, and whether it is ours to make now."""
    async with session.begin() as db:
        now = datetime.now(UTC)
        row = {**purchase.model_dump(), "key": key, "fingerprint": purchase.fingerprint()}
        new = insert(Payment).values(**row, owned_until=now + LEASE)
        if await db.scalar(new.on_conflict_do_nothing().returning(Payment.id)):
            return await db.scalar(select(Payment).filter_by(key=key)), True
        payment = await db.scalar(select(Payment).filter_by(key=key))
        return payment, payment.status == "processing" and await take_over(db, payment, now)


async def take_over(db: Any, payment: Payment, now: datetime) -> bool:
    """Become the owner of a payment whose owner has been silent for too long."""
    taken = (
        update(Payment)
        .where(Payment.id == payment.id, Payment.status == "processing", Payment.owned_until < now)
        .values(owned_until=now + LEASE)
        .returning(Payment.id)
    )
    return await db.scalar(taken) is not None


async def settle(payment: Payment) -> Payment:
    """Ask Stripe for the money and write down what came of it, if anything definite did."""
    outcome, intent = await charge(payment)
    async with session.begin() as db:
        if outcome == "paid":
            await mark_paid(db, payment.id, intent)
        elif outcome == "declined":
            await db.execute(
                update(Payment)
                .where(Payment.id == payment.id, Payment.status == "processing")
                .values(status="declined", intent=intent)
            )
        else:  # whoever asks next may go on at once, with a new key if this one is spent
            await db.execute(
                update(Payment)
                .where(Payment.id == payment.id, Payment.round == payment.round)
                .values(
                    round=payment.round + (outcome == "nothing happened"),
                    owned_until=datetime.now(UTC),
                )
            )
        return await db.get_one(Payment, payment.id)


async def charge(payment: Payment) -> tuple[str, str | None]:
    try:
        intent = await shop.v1.payment_intents.create_async(
            {
                "amount": payment.amount,
                "currency": payment.currency.lower(),
                "confirm": True,
                "payment_method": "pm_card_visa",
                "automatic_payment_methods": {"enabled": True, "allow_redirects": "never"},
                "metadata": {"payment_id": str(payment.id), "order": payment.order},
            },
            {"idempotency_key": f"payment-{payment.id}-{payment.round}"},
        )
        if intent.status == "processing":  # under this key Stripe says so for ever
            intent = await shop.v1.payment_intents.retrieve_async(intent.id)
    except stripe.CardError as error:
        failed = getattr(error.error, "payment_intent", None)
        return "declined", failed["id"] if failed else None
    except stripe.StripeError as error:
        replayed = (error.headers or {}).get("Idempotent-Replayed") == "true"
        return await find_out(payment, spent=replayed)
    return OUTCOMES.get(intent.status, "unknown"), intent.id


async def find_out(payment: Payment, *, spent: bool) -> tuple[str, str | None]:
    """Look for the intent of a payment whose request had no good answer.

    Stripe keeps an answer of 5xx under the key, so that asking again would never end. A kept
    answer is the end of its request: if there is no intent now, there never will be one.
    """
    try:
        page = await shop.v1.payment_intents.list_async({"limit": 100})
        async for intent in page.auto_paging_iter():
            if intent.metadata.to_dict().get("payment_id") == str(payment.id):
                return OUTCOMES.get(intent.status, "unknown"), intent.id
    except stripe.StripeError:
        return "unknown", None
    return ("nothing happened" if spent else "unknown"), None


async def mark_paid(db: Any, payment_id: uuid.UUID, intent: str | None) -> None:
    """Book a payment, whoever learns of it first; the second one changes nothing."""
    amount = await db.scalar(
        update(Payment)
        .where(Payment.id == payment_id)
        .values(status="paid", intent=intent)
        .returning(Payment.amount)
    )
    if amount is not None:
        credit = insert(Credit).values(payment_id=payment_id, amount=amount)
        await db.execute(credit.on_conflict_do_nothing())


async def reconcile_for_ever() -> None:
    while True:
        await asyncio.sleep(0.5)
        with suppress(Exception):  # the database may be away for a while
            await reconcile()


async def reconcile() -> None:
    """Go on with what its owner has left unfinished."""
    now = datetime.now(UTC)
    async with session() as db:
        left = await db.scalars(
            select(Payment).where(Payment.status == "processing", Payment.owned_until < now)
        )
    for payment in left.all():
        async with session.begin() as db:
            mine = await take_over(db, payment, now)
        if mine:
            await settle(payment)


def shown(payment: Payment) -> dict[str, Any]:
    return {
        "id": str(payment.id),
        "order": payment.order,
        "status": payment.status,
        "amount": payment.amount,
        "currency": payment.currency,
        "intent": payment.intent,
    }
