"""Go on with the purchases whose owner has left them: for a cron job, every minute or so."""

from django.core.management.base import BaseCommand
from django.utils import timezone

from shop import payments
from shop.models import Purchase


class Command(BaseCommand):
    help = "Settle what is still processing, although nobody works on it."

    def handle(self, **options):
        now = timezone.now()
        for purchase in Purchase.objects.filter(
            status=Purchase.Status.PROCESSING, owned_until__lt=now
        ):
            if payments.take_over(purchase, now):
                payments.settle(purchase)
