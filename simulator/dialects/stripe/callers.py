"""Who is calling: a server with its secret key, or a customer's browser with a publishable one.

Rule 1: the account is the secret key; ``pk_test_x`` speaks for the account of ``sk_test_x``, and
        ``Stripe-Account`` for a connected one.
Rule 2: a live key is refused: whoever sends one here has made a mistake.
"""

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from simulator.dialects.stripe.fields import Invalid
from simulator.dialects.stripe.forms import Fields

_KEY: Final = re.compile(r"(sk|rk|pk)_test_([A-Za-z0-9_]{1,200})").fullmatch
_CONNECTED: Final = re.compile(r"acct_[A-Za-z0-9_]{1,200}").fullmatch

BROWSER_FIELDS: Final = frozenset(
    {
        "_stripe_version",
        "client_attribution_metadata",
        "expected_payment_method_type",
        "guid",
        "key",
        "muid",
        "payment_user_agent",
        "referrer",
        "sid",
        "time_on_page",
    }
)
"""What the script in a browser adds of its own and what says nothing about money."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The account a request speaks for. ``public`` callers may do little."""

    account: str
    public: bool = False


def caller_of(headers: Mapping[str, str], fields: Fields) -> Caller:
    """Return who is calling. A browser may send its key as a field."""
    shown = _shown(headers.get("authorization", ""))
    if not shown and isinstance(key := fields.get("key"), str) and key.startswith("pk_"):
        shown = key
    if not shown:
        raise Invalid("unauthorised", "send Authorization: Bearer and a test key")
    key_read = _KEY(shown)
    if key_read is None:
        raise Invalid("unauthorised", "this is no test key; live keys have no business here")
    connected = headers.get("stripe-account")
    if connected is not None and _CONNECTED(connected) is None:
        raise Invalid("unauthorised", "Stripe-Account names no account")
    return Caller(connected or f"sk_test_{key_read[2]}", public=key_read[1] == "pk")


def _shown(authorization: str) -> str:
    """Return the key of a header: a bearer's, or the user's name of ``curl -u``."""
    scheme, _, rest = authorization.partition(" ")
    match scheme.lower():
        case "bearer":
            return rest.strip()
        case "basic":
            try:
                return base64.b64decode(rest, validate=True).decode().partition(":")[0]
            except (binascii.Error, UnicodeDecodeError, ValueError):
                return ""
        case _:
            return ""
