"""A purchase, what was credited for it, and the events of Stripe that have been taken in."""

import uuid

from django.db import models


class Purchase(models.Model):
    """One intent to pay once. It stays *processing* until Stripe has told us for sure."""

    class Status(models.TextChoices):
        PROCESSING = "processing"
        PAID = "paid"
        DECLINED = "declined"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    key = models.CharField(max_length=255, unique=True)
    fingerprint = models.CharField(max_length=64)
    order = models.CharField(max_length=64, db_index=True)
    customer = models.CharField(max_length=64)
    amount = models.PositiveIntegerField(help_text="in minor units")
    currency = models.CharField(max_length=3)
    status = models.CharField(max_length=10, choices=Status, default=Status.PROCESSING)
    intent = models.CharField(max_length=64, null=True, unique=True)
    attempt = models.PositiveIntegerField(default=1)
    owned_until = models.DateTimeField()

    class Meta:
        app_label = "shop"

    def as_json(self):
        return {
            "id": str(self.id),
            "order": self.order,
            "status": self.status,
            "amount": self.amount,
            "currency": self.currency,
            "intent": self.intent,
        }


class Credit(models.Model):
    """The money of a purchase on the shop's account; a purchase has at most one."""

    purchase = models.OneToOneField(Purchase, on_delete=models.PROTECT)
    amount = models.PositiveIntegerField()

    class Meta:
        app_label = "shop"


class Event(models.Model):
    """An event of Stripe whose effect is in the same transaction as this row."""

    id = models.CharField(primary_key=True, max_length=255)

    class Meta:
        app_label = "shop"
