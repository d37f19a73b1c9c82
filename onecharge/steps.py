"""What a scenario does, step by step: the models of ``[[steps]]``. Data only.

Rule 1: one step after the other, each for all orders at once; a step that goes on ``meanwhile``
        is only begun. All are over before healing begins.
Rule 2: what a service cannot do is a step's ``needs``: then the scenario does not apply to it.
Rule 3: without any steps, a scenario is one: all customers pay.
"""

from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from onecharge.history.story import Variant
from onecharge.keys import PairName, SingleName
from onecharge.toml_file import Section

Seconds = Annotated[float, Field(gt=0, le=600)]
Milliseconds = Annotated[int, Field(ge=0, le=600_000)]
Serial = Annotated[int, Field(ge=1, le=10_000)]


class _Step(Section):
    needs: ClassVar[frozenset[str]] = frozenset()
    alone: ClassVar[bool] = False
    """Whether nobody else can play beside it."""


class Act(_Step):
    """Something that is done to the service, or happens to it; it must, or all is unknown."""


class _ByCustomers(_Step):
    meanwhile: bool = False
    orders: tuple[Serial, ...] = ()
    timeout_s: Seconds | None = None


class Pay(_ByCustomers):
    """Customers press *Pay* as ``[customer]`` says, until a definite answer or resignation."""

    do: Literal["pay"]


class PressAgain(_ByCustomers):
    """Customers press once more, ``at_once`` and ``times`` over; ``variant`` is what differs."""

    do: Literal["press"]
    variant: Variant = "same"
    at_once: int = Field(default=1, ge=1, le=64)
    times: int = Field(default=1, ge=1, le=100)


class PressLate(_ByCustomers):
    """Customers press twice, the second time around the end of the first request.

    How long one takes is measured on the first order; the others follow one after the other, each
    with the next of ``offsets_ms`` from that end.
    """

    do: Literal["press_late"]
    offsets_ms: tuple[Annotated[int, Field(ge=-10_000, le=10_000)], ...] = (-20, -10, -5, 0, 5, 10)


class Leave(_ByCustomers):
    """Customers press and close the connection ``after_ms``, whatever is under way."""

    do: Literal["leave"]
    after_ms: Milliseconds = 100


class BuyAgain(_ByCustomers):
    """Customers buy the same once more, at the same moment, and mean it: another order and key."""

    do: Literal["buy_again"]


class OtherTenant(_ByCustomers):
    """Another tenant's customers pay for orders of their own, under the same keys."""

    do: Literal["other_tenant"]
    needs: ClassVar[frozenset[str]] = frozenset({"tenants"})


class Pry(_ByCustomers):
    """Another tenant asks how each order went, and for its money back."""

    do: Literal["pry"]
    needs: ClassVar[frozenset[str]] = frozenset({"tenants"})


class EdgeKeys(_ByCustomers):
    """Customers pay under keys at the edge of what is allowed, and press once more.

    Every order takes the next of ``single``; then two orders each the next of ``pairs``.
    """

    do: Literal["edge_keys"]
    single: tuple[SingleName, ...] = ()
    pairs: tuple[PairName, ...] = ()

    @property
    def takes(self) -> int:
        """How many orders it takes, one for each key."""
        return len(self.single) + 2 * len(self.pairs)


class Refund(_ByCustomers):
    """Customers ask for money back, ``at_once`` and ``times`` over, under one key or several."""

    do: Literal["refund"]
    part: Literal["all", "half"] = "all"
    keys: Literal["same", "each"] = "same"
    at_once: int = Field(default=1, ge=1, le=64)
    times: int = Field(default=1, ge=1, le=100)
    needs: ClassVar[frozenset[str]] = frozenset({"refunds"})


class Settle(_Step):
    """Wait until every customer so far knows how it ended, and nothing moves: no call, no delivery.

    Who has had no definite answer asks again, and events come sooner. It takes no longer than the
    service may take to settle.
    """

    do: Literal["settle"]


class Wait(_Step):
    """Let real time pass."""

    do: Literal["wait"]
    ms: Milliseconds


class Advance(Act):
    """Let hours pass for the provider: keys expire, and what falls due is sent."""

    do: Literal["advance"]
    hours: float = Field(gt=0, le=10_000)
    alone: ClassVar[bool] = True


ForgedSignature = Literal["wrong", "missing", "old", "foreign"]
"""How a story is signed that nobody can verify."""


class Forge(Act):
    """Somebody tells the service an untrue story of each order.

    It shows the order's charge, or one that never was, in another ``status``; ``type`` is what
    the provider is said to tell of, in the words of its dialect.
    """

    do: Literal["forge"]
    orders: tuple[Serial, ...] = ()
    type: Literal["charge.captured", "charge.declined", "charge.refunded"] = "charge.captured"
    status: Literal["captured", "declined", "refunded"] = "captured"
    signature: ForgedSignature = "wrong"
    copies: int = Field(default=1, ge=1, le=100)
    needs: ClassVar[frozenset[str]] = frozenset({"webhooks"})


class Bill(Act):
    """The provider's billing says that orders are due: nobody pays them by hand.

    Each is told by an event, ``copies`` times under ids of their own.
    """

    do: Literal["bill"]
    orders: tuple[Serial, ...] = ()
    copies: int = Field(default=1, ge=1, le=100)
    needs: ClassVar[frozenset[str]] = frozenset({"webhooks", "invoices"})


class Resend(Act):
    """The provider tells of each order's events again, as themselves or under new ids."""

    do: Literal["resend"]
    orders: tuple[Serial, ...] = ()
    copies: int = Field(default=1, ge=1, le=100)
    at_once: bool = False
    new_id: bool = False
    needs: ClassVar[frozenset[str]] = frozenset({"webhooks"})


class Restart(Act):
    """All processes of the service are killed at once, and started again."""

    do: Literal["restart"]
    meanwhile: bool = False
    down_ms: Milliseconds = 0
    needs: ClassVar[frozenset[str]] = frozenset({"restartable"})
    alone: ClassVar[bool] = True


class Replace(Act):
    """The processes of the service are replaced one by one, each asked to finish first."""

    do: Literal["replace"]
    meanwhile: bool = False
    needs: ClassVar[frozenset[str]] = frozenset({"restartable"})
    alone: ClassVar[bool] = True


class CrashDatabase(Act):
    """The database server crashes and comes back after a while, with all that was committed."""

    do: Literal["crash_database"]
    meanwhile: bool = False
    down_ms: Milliseconds = 0
    needs: ClassVar[frozenset[str]] = frozenset({"own_database"})
    alone: ClassVar[bool] = True


ByCustomers = (
    Pay | PressAgain | PressLate | Leave | BuyAgain | OtherTenant | Pry | EdgeKeys | Refund
)
ToTheService = Advance | Forge | Bill | Resend | Restart | Replace | CrashDatabase

Step = Annotated[ByCustomers | Settle | Wait | ToTheService, Field(discriminator="do")]

ONLY_PAY: Final = (Pay(do="pay"),)
