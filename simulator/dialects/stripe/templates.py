"""What every object of the API has when nobody has said anything: nulls, mostly.

Rule 1: a template has every field that the SDKs' types promise and that we know nothing of.
"""

from typing import Any, Final

from simulator.core.charges import Status

Json = dict[str, Any]

API_VERSION: Final = "2026-10-28.endive"

INTENT: Final[Json] = {
    "application": None,
    "application_fee_amount": None,
    "automatic_payment_methods": None,
    "capture_method": "automatic_async",
    "confirmation_method": "automatic",
    "description": None,
    "last_payment_error": None,
    "latest_charge": None,
    "livemode": False,
    "next_action": None,
    "on_behalf_of": None,
    "payment_method_configuration_details": None,
    "payment_method_options": {},
    "payment_method_types": ["card", "us_bank_account"],
    "processing": None,
    "receipt_email": None,
    "review": None,
    "setup_future_usage": None,
    "shipping": None,
    "source": None,
    "statement_descriptor": None,
    "statement_descriptor_suffix": None,
    "transfer_data": None,
    "transfer_group": None,
}
CHARGE: Final[Json] = {
    "application": None,
    "application_fee": None,
    "application_fee_amount": None,
    "balance_transaction": None,
    "calculated_statement_descriptor": None,
    "description": None,
    "disputed": False,
    "failure_balance_transaction": None,
    "fraud_details": {},
    "livemode": False,
    "on_behalf_of": None,
    "radar_options": {},
    "receipt_email": None,
    "receipt_number": None,
    "receipt_url": None,
    "review": None,
    "shipping": None,
    "source_transfer": None,
    "statement_descriptor": None,
    "statement_descriptor_suffix": None,
    "transfer_data": None,
    "transfer_group": None,
}
CUSTOMER: Final[Json] = {
    "address": None,
    "balance": 0,
    "currency": None,
    "default_source": None,
    "delinquent": False,
    "description": None,
    "discount": None,
    "invoice_prefix": None,
    "invoice_settings": {
        "custom_fields": None,
        "default_payment_method": None,
        "footer": None,
        "rendering_options": None,
    },
    "livemode": False,
    "name": None,
    "next_invoice_sequence": 1,
    "phone": None,
    "preferred_locales": [],
    "shipping": None,
    "tax_exempt": "none",
    "test_clock": None,
}
BILLING: Final[Json] = {
    "address": {
        "city": None,
        "country": None,
        "line1": None,
        "line2": None,
        "postal_code": None,
        "state": None,
    },
    "email": None,
    "name": None,
    "phone": None,
    "tax_id": None,
}
CHARGE_STATUS: Final = {
    Status.PENDING: "pending",
    Status.AUTHORISED: "succeeded",
    Status.CAPTURED: "succeeded",
    Status.REFUNDED: "succeeded",
    Status.CANCELLED: "succeeded",
    Status.DECLINED: "failed",
}
PUBLIC_FIELDS: Final = (
    "id", "object", "amount", "amount_details", "automatic_payment_methods", "canceled_at",
    "cancellation_reason", "capture_method", "client_secret", "confirmation_method", "created",
    "currency", "description", "last_payment_error", "livemode", "next_action", "payment_method",
    "payment_method_configuration_details", "payment_method_types", "processing",
    "receipt_email", "setup_future_usage", "shipping", "source", "status",
)  # fmt: skip
"""What a browser gets to see of an intent."""

LIST_URLS: Final = {
    "intent": "/v1/payment_intents",
    "charge": "/v1/charges",
    "refund": "/v1/refunds",
    "customer": "/v1/customers",
    "method": "/v1/payment_methods",
    "endpoint": "/v1/webhook_endpoints",
    "event": "/v1/events",
}
OBJECTS: Final = {
    "customer": "customer",
    "endpoint": "webhook_endpoint",
}
