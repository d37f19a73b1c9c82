"""From a purchase to its money: reserve, ask Stripe, write down.

No transaction is open while Stripe is asked. Every attempt at a purchase carries the same key to
Stripe, so that whoever repeats it, a customer or ``manage.py reconcile``, repeats the same request.
"""

import hashlib
import json
from datetime import timedelta

import stripe
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from shop.models import Credit, Event, Purchase

LEASE = timedelta(seconds=4)  # longer than one call to Stripe may take, with the library's retries

api = stripe.StripeClient(
    settings.STRIPE_API_KEY,
    base_addresses={"api": settings.STRIPE_API_BASE},
    http_client=stripe.RequestsClient(timeout=1),
    max_network_retries=1,
).v1


class KeyReused(Exception):
    """The key belongs to another purchase."""


def fingerprint(wanted):
    return hashlib.sha256(json.dumps(wanted, sort_keys=True).encode()).hexdigest()


def reserve(key, wanted):
    """Return the purchase of this key, and whether it is ours to pay now."""
    now = timezone.now()
    purchase, created = Purchase.objects.get_or_create(
        key=key,
        defaults={**wanted, "fingerprint": fingerprint(wanted), "owned_until": now + LEASE},
    )
    if purchase.fingerprint != fingerprint(wanted):
        raise KeyReused
    return purchase, created or take_over(purchase, now)


def take_over(purchase, now):
    """Become the owner of a purchase whose owner has been silent for too long."""
    left = Purchase.objects.filter(
        pk=purchase.pk, status=Purchase.Status.PROCESSING, owned_until__lt=now
    )
    return left.update(owned_until=now + LEASE) == 1


def settle(purchase):
    """Ask Stripe for the money and write down what came of it, if anything definite did."""
    outcome, intent = ask(purchase)
    if outcome == Purchase.Status.PAID:
        mark_paid(purchase.pk, intent)
    elif outcome == Purchase.Status.DECLINED:
        Purchase.objects.filter(pk=purchase.pk, status=Purchase.Status.PROCESSING).update(
            status=outcome, intent=intent
        )
    else:  # whoever asks next may go on at once, with a new key if this one is spent
        Purchase.objects.filter(pk=purchase.pk, attempt=purchase.attempt).update(
            attempt=purchase.attempt + (outcome == "nothing happened"),
            owned_until=timezone.now(),
        )
    purchase.refresh_from_db()


def ask(purchase):
    try:
        intent = api.payment_intents.create(
            {
                "amount": purchase.amount,
                "currency": purchase.currency.lower(),
                "confirm": True,
                "payment_method": "pm_card_visa",
                "automatic_payment_methods": {"enabled": True, "allow_redirects": "never"},
                "metadata": {"purchase": str(purchase.pk), "order": purchase.order},
            },
            {"idempotency_key": f"purchase-{purchase.pk}-{purchase.attempt}"},
        )
        if intent.status == "processing":  # under this key Stripe says so for ever
            intent = api.payment_intents.retrieve(intent.id)
    except stripe.CardError as error:
        failed = getattr(error.error, "payment_intent", None)
        return Purchase.Status.DECLINED, failed["id"] if failed else None
    except stripe.StripeError as error:
        replayed = (error.headers or {}).get("Idempotent-Replayed") == "true"
        return look(purchase, spent=replayed)
    return OUTCOMES.get(intent.status), intent.id


def look(purchase, *, spent):
    """Look for the intent of a purchase when Stripe's answer was lost or no answer at all.

    Stripe keeps an answer of 5xx under the key, so that asking again would never end. A kept
    answer is the end of its request: if there is no intent now, there never will be one.
    """
    try:
        for intent in api.payment_intents.list({"limit": 100}).auto_paging_iter():
            if intent.metadata.to_dict().get("purchase") == str(purchase.pk):
                return OUTCOMES.get(intent.status), intent.id
    except stripe.StripeError:
        return None, None
    return ("nothing happened" if spent else None), None


OUTCOMES = {
    "succeeded": Purchase.Status.PAID,
    "requires_payment_method": Purchase.Status.DECLINED,
}


@transaction.atomic
def mark_paid(pk, intent):
    """Book a purchase, whoever learns of it first; the second one changes nothing."""
    purchase = Purchase.objects.select_for_update().filter(pk=pk).first()
    if purchase is not None:
        purchase.status, purchase.intent = Purchase.Status.PAID, intent
        purchase.save(update_fields=["status", "intent"])
        Credit.objects.get_or_create(purchase=purchase, defaults={"amount": purchase.amount})


@transaction.atomic
def take_in(event):
    """Let an event have its effect, once."""
    _, new = Event.objects.get_or_create(pk=event.id)
    if new and event.type == "payment_intent.succeeded":
        intent = event.data.object
        if "purchase" in intent.metadata:
            mark_paid(intent.metadata["purchase"], intent.id)
