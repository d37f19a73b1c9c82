"""What the customers of a charge service may do: the first of its factors.

Rule 1: every press that differs in its own way (``Variant``) is here, or said otherwise.
Rule 2: some things only happen to those for whom a call stands still, is declined or is lost
        meanwhile: these bring that along.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, get_args

from onecharge.combinations.values import Call, Factor, Value
from onecharge.history.story import Variant
from onecharge.keys import PairName, SingleName
from onecharge.service_file import ServiceFile
from onecharge.steps import (
    Bill,
    BuyAgain,
    EdgeKeys,
    Forge,
    ForgedSignature,
    Leave,
    OtherTenant,
    Pay,
    PressAgain,
    PressLate,
    Refund,
    Wait,
)
from onecharge.variants import why_not
from simulator.catalogue import dialects
from simulator.core.rules import DELIVERY

HELD_MS: Final = 300
"""For so long a call stands still where the customer leaves, or something crashes, meanwhile."""

_BEYOND_MS: Final = 1_500
"""So long after it has given up a call, a service that looks after its calls has looked."""

_CROWD: Final = 16
"""So many pay at once where it is tried what they do to each other."""

_OFFSETS_MS: Final = (-10, 0, 10)
_PAY: Final = Pay(do="pay")
_PROMISED: Final = "bad_news_before_good_news"


def customers(file: ServiceFile, made: Sequence[Call]) -> Factor:
    """Return what the customers of a service may do that makes these calls to charge an order."""
    can = [Value("pays once"), *_patient(), *_impatient()]
    left_out = {}
    for value, why in (
        *_unlike(file),
        *_declined(file, made),
        *_slandered(file, made),
        *_misinformed(file, made),
        *_gone(file, made),
        *_for_others(file),
    ):
        if why is None:
            can.append(value)
        else:
            left_out[value.name] = why
    can += [
        Value(f"pays together with {_CROWD - 1} others", orders=_CROWD, lone=True, troubles=2),
        _edge_keys(),
    ]
    return Factor("customer", tuple(can), left_out)


def _unlike(file: ServiceFile) -> Iterator[tuple[Value, str | None]]:
    for variant, says in _WORDS.items():
        press = PressAgain(do="press", variant=variant)
        yield Value(says, (_PAY, press), variant=variant), why_not(variant, file)


_WORDS: Final[Mapping[Variant, str]] = {
    "other_amount": "presses again with another amount",
    "other_currency": "presses again with another currency",
    "other_customer": "presses again as another customer",
    "other_operation": "asks for the money back under the same key",
    "header_jitter": "presses again with other headers",
    "json_jitter": "presses again with the body written anew",
}

_SAID_OTHERWISE: Final[frozenset[Variant]] = frozenset({"other_tenant", "new_key"})
"""The variants that need more: an order of the other tenant, or a decline before, since no service
claims that an order is paid once under any number of keys."""

assert set(get_args(Variant)) == _WORDS.keys() | _SAID_OTHERWISE | {"same"}


def _patient() -> Iterator[Value]:
    yield Value("presses again after the answer", steps=(_PAY, PressAgain(do="press")))
    yield Value(
        "presses again around the end of the first request",
        steps=(PressLate(do="press_late", offsets_ms=_OFFSETS_MS),),
        orders=1 + len(_OFFSETS_MS),
        subject=2,
        paced=True,
    )


def _declined(file: ServiceFile, made: Sequence[Call]) -> Iterator[tuple[Value, str | None]]:
    for call in made[:1]:
        no = (_declining(call),)
        again, anew = PressAgain(do="press"), PressAgain(do="press", variant="new_key")
        yield Value("is declined and presses again", (_PAY, again), no, ends=True), None
        says = "is declined and presses again under a new key"
        value = Value(says, (_PAY, anew), no, ends=True, variant="new_key")
        yield value, why_not("new_key", file)


def _slandered(file: ServiceFile, made: Sequence[Call]) -> Iterator[tuple[Value, str | None]]:
    """Yield what strangers say of a declined order: nothing of it can be verified."""
    for call in made[:1]:
        no = (_declining(call),)
        stories = [Forge(do="forge", signature=each) for each in get_args(ForgedSignature)]
        says = "is declined, and strangers say that he paid"
        value = Value(says, (_PAY, *stories), no, ends=True, lone=True)
        yield value, None if file.capabilities.webhooks else "the service takes no events"


def _misinformed(file: ServiceFile, made: Sequence[Call]) -> Iterator[tuple[Value, str | None]]:
    """Yield what a provider may do that breaks its word, where a service claims to withstand it.

    Both events come before the reply, so that nobody can ask in between.
    """
    for call in made[:1]:
        before = {"fault": "deliver_before_reply", "operation": call.operation, "times": 1}
        lie = {"fault": "success_after_failure", "operation": DELIVERY, "times": 1}
        says = "waits while events say that he was declined, and then that he paid"
        value = Value(says, faults=(before, lie), lone=True, claimed=(_PROMISED,))
        withstood = _PROMISED in file.claims
        yield value, None if withstood else "the service does not claim to withstand it"


def _gone(file: ServiceFile, made: Sequence[Call]) -> Iterator[tuple[Value, str | None]]:
    """Yield what happens to those who come back late: the service has to find out by itself."""
    why = None if file.capabilities.reconciles else "the service finds out nothing by itself"
    beyond_ms = round(1_000 * file.provider.timeout_s) + _BEYOND_MS
    meanwhile = Wait(do="wait", ms=beyond_ms + HELD_MS)
    steps = (Leave(do="leave", after_ms=HELD_MS // 2), meanwhile, _PAY)
    late_news = {"fault": "delay_delivery", "operation": DELIVERY}
    news = (late_news,) if file.capabilities.webhooks else ()
    for call in made[:1]:
        at = {"operation": call.operation, "times": 1}
        lost = {"fault": "time_out_after_commit", **at}
        says = "leaves, the provider never answers, and comes back late"
        yield Value(says, steps, (lost,), lone=True, troubles=2), why
        held = {**standing("on_receive"), **at, "amount": beyond_ms}
        says = "leaves, comes back late, and the call was on its way for long"
        yield Value(says, steps, (held, *news), lone=True, troubles=2), why


def _impatient() -> Iterator[Value]:
    yield Value(
        "gives up early and presses again",
        steps=(Pay(do="pay", timeout_s=HELD_MS / 2_000), _PAY),
        faults=(standing("before_commit"),),
    )
    for seam, says in (
        ("on_receive", "hangs up while the call is on its way"),
        ("before_commit", "hangs up while the provider has the call"),
        ("after_commit", "hangs up once charged"),
    ):
        yield Value(
            says,
            steps=(Leave(do="leave", after_ms=HELD_MS // 2), _PAY),
            faults=(standing(seam),),
        )


def _declining(call: Call) -> dict[str, Any]:
    return {"fault": "decline", "operation": call.operation, "times": 1}


def standing(seam: str) -> dict[str, Any]:
    """Return the fault by which a call stands still for a while."""
    stands = {"fault": "hold", "seam": seam, "until": "elapsed", "amount": HELD_MS, "times": 1}
    return stands | {"operation": "*"}


def _for_others(file: ServiceFile) -> Iterator[tuple[Value, str | None]]:
    same_key = Value(
        "another tenant's customer pays under the same key",
        steps=(_PAY, OtherTenant(do="other_tenant")),
        variant="other_tenant",
    )
    yield same_key, why_not("other_tenant", file)
    yield Value("buys the same once more, and means it", steps=(BuyAgain(do="buy_again"),)), None
    refunds = file.refund is not None and file.capabilities.refunds
    no_refunds = None if refunds else "the service file says of no refunds"
    asks = Refund(do="refund", at_once=2)
    yield Value("asks twice at once for the money back", steps=(_PAY, asks)), no_refunds
    half, unheard = Refund(do="refund", part="half"), {"fault": "lose_reply", "times": 1}
    lost = Value(
        "asks for half of the money back, and the provider's answer to that is lost",
        steps=(_PAY, half),
        faults=(unheard | {"operation": "charge.refund"},),
    )
    yield lost, no_refunds
    bills = file.capabilities.invoices and dialects()[file.provider.dialect].bills
    for copies, says in ((1, "is billed, and presses nothing"), (2, "is billed by two events")):
        billed = Value(says, steps=(Bill(do="bill", copies=copies),))
        yield billed, None if bills else "the service charges for no invoices"


def _edge_keys() -> Value:
    keys = EdgeKeys(do="edge_keys", single=get_args(SingleName), pairs=get_args(PairName))
    return Value("has keys at the edge of what is allowed", (keys,), orders=keys.takes, lone=True)
