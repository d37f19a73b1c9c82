"""What the shop answers."""

import json

import stripe
from django.conf import settings
from django.http import HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST

from shop import payments
from shop.models import Credit, Purchase

FIELDS = {"order": str, "customer": str, "amount": int, "currency": str}


@csrf_exempt
@require_POST
def pay(request):
    key = request.headers.get("Idempotency-Key", "")
    wanted = read(request.body)
    if not 1 <= len(key) <= 255 or wanted is None:
        return problem(400, "an Idempotency-Key and order, customer, amount, currency are needed")
    try:
        purchase, ours = payments.reserve(key, wanted)
    except payments.KeyReused:
        return problem(422, "this key was used for another purchase")
    if purchase.status == Purchase.Status.PROCESSING:
        if not ours:
            return problem(409, "this purchase is being paid", retry=True)
        payments.settle(purchase)
    if purchase.status == Purchase.Status.PROCESSING:
        return problem(503, "we do not know yet", retry=True)
    paid = purchase.status == Purchase.Status.PAID
    return JsonResponse(purchase.as_json(), status=201 if paid else 402)


@require_GET
def order(request, order):
    purchases = Purchase.objects.filter(order=order)
    paid_first = sorted(purchases, key=lambda each: each.status != Purchase.Status.PAID)
    credited = Credit.objects.filter(purchase__order=order)
    return JsonResponse(
        {
            "purchases": [purchase.as_json() for purchase in paid_first],
            "credits": [{"amount": credit.amount} for credit in credited],
        }
    )


@csrf_exempt
@require_POST
def hear(request):
    try:
        event = stripe.Webhook.construct_event(
            request.body,
            request.headers.get("Stripe-Signature", ""),
            settings.STRIPE_WEBHOOK_SECRET,
        )
    except (ValueError, stripe.SignatureVerificationError):
        return problem(400, "not an event of Stripe's")
    payments.take_in(event)
    return HttpResponse(status=204)


@require_GET
def health(_request):
    Purchase.objects.exists()
    return HttpResponse("ok")


def read(body):
    """Return the purchase that a body describes, or None."""
    try:
        wanted = json.loads(body)
        sound = all(isinstance(wanted[name], kind) for name, kind in FIELDS.items())
    except (ValueError, KeyError, TypeError):
        return None
    return {name: wanted[name] for name in FIELDS} if sound and wanted["amount"] > 0 else None


def problem(status, says, *, retry=False):
    answer = JsonResponse({"error": says}, status=status)
    if retry:
        answer["Retry-After"] = "1"
    return answer
