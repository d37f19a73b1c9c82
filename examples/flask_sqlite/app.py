"""A donation box: Flask, SQLite, and Stripe by its official library.

It looks careful: a unique index holds every key, and Stripe's signatures are verified. It has two
mistakes all the same, both of them seen in the field. Find them with onecharge, or read README.md.
"""

import os
import sqlite3
from contextlib import closing
from typing import Any

import stripe
from flask import Flask, Response, jsonify, request

DATABASE = "donations.db"

app = Flask(__name__)
stripe_client = stripe.StripeClient(
    os.environ["STRIPE_API_KEY"],
    base_addresses={"api": os.environ["STRIPE_API_BASE"]},
    http_client=stripe.RequestsClient(timeout=1),
    max_network_retries=1,
)


def database() -> sqlite3.Connection:
    connection = sqlite3.connect(DATABASE, timeout=5, isolation_level=None)
    connection.row_factory = sqlite3.Row
    return connection


@app.post("/donations")
def donate() -> tuple[Response, int]:
    key = request.headers.get("Idempotency-Key", "")
    donation = request.get_json()
    if not key:
        return jsonify(error="Idempotency-Key is required"), 400
    with closing(database()) as db:
        try:
            db.execute(
                "INSERT INTO donations (key, purpose, donor, amount) VALUES (?, ?, ?, ?)",
                (key, donation["purpose"], donation["donor"], donation["amount"]),
            )
        except sqlite3.IntegrityError:
            return answer(db, key)
        try:
            intent = stripe_client.v1.payment_intents.create(
                {
                    "amount": donation["amount"],
                    "currency": "eur",
                    "confirm": True,
                    "payment_method": "pm_card_visa",
                    "automatic_payment_methods": {"enabled": True, "allow_redirects": "never"},
                    "metadata": {"purpose": donation["purpose"]},
                }
            )
        except stripe.CardError:
            db.execute("UPDATE donations SET status = 'declined' WHERE key = ?", (key,))
            return answer(db, key)
        except stripe.StripeError:
            # It did not work, so let the donor try again.
            db.execute("DELETE FROM donations WHERE key = ?", (key,))
            return jsonify(error="please try again"), 503
        db.execute(
            "UPDATE donations SET status = 'received', intent = ? WHERE key = ?", (intent.id, key)
        )
        return answer(db, key)


@app.get("/")
def welcome() -> str:
    return "the donation box is open"


@app.get("/donations/<purpose>")
def donation(purpose: str) -> tuple[Response, int]:
    with closing(database()) as db:
        row = db.execute("SELECT * FROM donations WHERE purpose = ?", (purpose,)).fetchone()
    return (jsonify(dict(row)), 200) if row else (jsonify(error="no such donation"), 404)


@app.post("/stripe")
def hear() -> tuple[Response, int]:
    try:
        event = stripe.Webhook.construct_event(
            request.get_data(),
            request.headers.get("Stripe-Signature", ""),
            os.environ["STRIPE_WEBHOOK_SECRET"],
        )
    except (ValueError, stripe.SignatureVerificationError):
        return jsonify(error="not an event of Stripe's"), 400
    if event.type == "payment_intent.succeeded":
        thank(event.data.object)
    return jsonify(received=True), 200


def thank(intent: Any) -> None:
    """Put the money on the purpose's account, and the donor on the list of thanks."""
    with closing(database()) as db:
        db.execute(
            "INSERT INTO credits (purpose, amount) VALUES (?, ?)",
            (intent.metadata["purpose"], intent.amount_received),
        )


def answer(db: sqlite3.Connection, key: str) -> tuple[Response, int]:
    row = db.execute("SELECT * FROM donations WHERE key = ?", (key,)).fetchone()
    if row is None or row["status"] == "pending":
        return jsonify(error="this donation is being made"), 409
    return jsonify(dict(row)), 201 if row["status"] == "received" else 402


if __name__ == "__main__":
    app.run(host="127.0.0.1", port=int(os.environ["PORT"]), threaded=True)
