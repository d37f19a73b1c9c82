"""What control requests carry: every body is a model here, and in ``openapi.json``.

Rule 1: a field nobody knows is refused, and nothing is converted: ``"1"`` is no number.
Rule 2: numbers have bounds, so that no sum of them overflows.
"""

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from simulator.core.charges import Status
from simulator.core.provider import Keys

MOST_SECONDS: Final = 1_000_000_000  # about 32 years, at once


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


_Name = Annotated[str, Field(min_length=1, max_length=255)]


class PlanBody(Body):
    """The rules to put in force instead of the present ones; a seed renews their chance."""

    rules: list[dict[str, Any]]
    seed: int | None = None


class AdvanceBody(Body):
    """How far virtual time is to move."""

    seconds: Annotated[float, Field(ge=0, le=MOST_SECONDS)]


class ProfileBody(Body):
    """What becomes of idempotency keys: one provider honours them, another ignores them."""

    keys: Keys


class HoldBody(Body):
    """Which calls to hold, where, how many of them, and for how long at the most."""

    operation: str = "*"
    order: str | None = None
    seam: Literal["on_receive", "before_commit", "after_commit"] = "before_commit"
    times: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    at_most_ms: Annotated[int, Field(ge=0, le=600_000)] = 60_000


class EndpointBody(Body):
    """Who wants to be told of events, of one account or of all."""

    url: Annotated[str, Field(pattern=r"^https?://[^\s/]+")]
    secret: str
    account: str | None = None


class ResetBody(Body):
    """The seed to begin again with; without one, the present seed."""

    seed: int | None = None


class SeedBody(Body):
    """The seed with which chance begins anew."""

    seed: int


class RotateBody(Body):
    """The new secret of an endpoint; the old one signs beside it for so many virtual seconds."""

    url: str
    secret: str
    account: str | None = None
    keep_s: Annotated[float, Field(ge=0, le=MOST_SECONDS)] = 86_400


class DuplicateBody(Body):
    """How often an event is to come once more, and how: as itself or as new events."""

    copies: Annotated[int, Field(ge=1, le=1_000)] = 2
    mode: Literal["sequential", "concurrent"] = "sequential"
    new_id: bool = False


class ForgeBody(Body):
    """An event that is not true, of a charge that there is or is not."""

    type: _Name = "charge.captured"
    event: _Name | None = None
    charge: _Name = "ch_forged"
    status: Status = Field(Status.CAPTURED, strict=False)
    account: _Name = "shop"
    amount_minor: Annotated[int, Field(ge=1, le=999_999_999_999)] = 500
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")] = "EUR"
    reference: _Name | None = None
    customer: _Name | None = None
    signature: Literal["right", "wrong", "missing", "old", "foreign"] = "wrong"


class NoBody(Body):
    """Nothing, or an empty object."""
