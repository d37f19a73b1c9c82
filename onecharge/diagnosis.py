"""What may be wrong when the clean control fails, and where to look. No I/O.

Rule 1: nobody is blamed: no fault was on, so what does not fit is most likely the service file.
Rule 2: a diagnosis says what was done, what came back, what was expected, and what to look at.
Rule 3: the most particular explanation speaks; what the provider saw of it stands behind it.
"""

from collections.abc import Iterator, Sequence
from typing import Final, Literal

from onecharge.history.attribution import Clues, Planted, TieRule, attribute
from onecharge.history.records import Record
from onecharge.misread import misread
from onecharge.press import Order, missing
from onecharge.service_file import Request, ServiceFile
from onecharge.world.read_back import Belief
from simulator.catalogue import dialects

_SHOWN: Final = 200
CAPTURED_BEFORE: Final = (
    "; the charge had been captured before anybody asked: then leave the table [capture] out"
)


def of_the_answer(
    file: ServiceFile, asked: Record, answer: Record, records: Sequence[Record]
) -> str:
    """Say why an answer to a plain charge, or to the question after it, is no success."""
    value = answer.value
    request = f"[charge]: {request_of(file.charge)}"
    if asked.what == "read" and file.charge.poll is not None:
        request = f"[charge.poll]: {request_of(file.charge.poll)}"
    says = misread(file, "charge", value)
    trouble = _trouble_of(file, records)
    return f"{request} {says}" + (f"; the service {trouble}" if trouble else "")


def of_no_charge(file: ServiceFile, records: Sequence[Record]) -> str:
    """Say why the provider has no charge although the service says that it charged."""
    says = "the service says it charged, and the provider has no charge: "
    calls = list(_calls(records))
    if not calls:
        variables = ", ".join(
            name for name, text in file.service.env.items() if "{provider_url}" in text
        )
        if file.service.attached:
            where = f"does it call {file.provider.listen}, and nobody else (provider.listen)?"
        elif variables:
            where = f"is {variables} read?"
        else:
            where = "no variable of [service.env] has {provider_url}; how does it know where?"
        return f"{says}your service never called the provider; {where}"
    if trouble := _trouble_of(file, records):
        return f"{says}it {trouble}"
    authorised = any(r.what == "charge.authorised" for r in records)
    if authorised:
        return (
            f"{says}it was authorised and not captured; if your service captures later, "
            "say by which request in a table [capture]"
        )
    return f"{says}it was called {len(calls)} time(s), by no charge that was captured"


def of_a_late_charge(file: ServiceFile, after_s: float) -> str:
    """Say that the provider was called after the answer, which the file does not allow."""
    return (
        f"[timing]: the provider was called {after_s:.1f} s after the service had answered; "
        f"expected within calls_provider_within_s = {file.timing.calls_provider_within_s:g}. "
        "If a worker charges, say how long it may take"
    )


def of_several_charges(charges: Sequence[Record]) -> str:
    """Say that one press made more than one charge."""
    names = ", ".join(str(r.value["charge"]) for r in charges)
    return (
        f"one plain order made {len(charges)} real charges: {names}. No fault was on; "
        "look at [charge] first: does one press send one order?"
    )


def of_the_amount(file: ServiceFile, order: Order, charge: Record) -> str | None:
    """Say that another amount or currency was charged than ordered, or None."""
    amount, currency = charge.value["amount_minor"], str(charge.value["currency"])
    if amount != order.amount_minor:
        fixed = "" if file.orders.amounts else "; has it a price list? then say [orders] amounts"
        return (
            f"[charge]: ordered {order.amount_minor} minor units, charged {amount}: "
            "does the template send {amount_minor}, or {amount_decimal}, in the unit that the "
            f"service expects{fixed}?"
        )
    if currency.upper() != order.currency:
        return (
            f"[orders]: ordered in {order.currency}, charged in {currency.upper()}: "
            "does the template send {currency}, or is orders.currency another?"
        )
    return None


def tie_of(file: ServiceFile, order: Order, charge: Record) -> TieRule | None:
    """Return what ties the charge to its order beyond doubt, whoever else is about; or None."""
    value = charge.value
    references = (value.get("reference"), charge.order)
    clues = Clues(
        charge=str(value["charge"]),
        at=charge.index,
        amount_minor=value["amount_minor"],
        currency=str(value["currency"]).upper(),
        references=tuple(reference for reference in references if reference),
        customer=value.get("customer"),
    )
    # A price list makes many orders of one amount.
    amounts = frozenset() if file.orders.amounts else {(order.amount_minor, order.currency)}
    planted = Planted(order.reference, frozenset({order.customer}), frozenset(amounts))
    tie = attribute([clues], [planted]).ties.get(clues.charge)
    return tie.rule if tie else None


def of_a_nameless_charge(file: ServiceFile) -> str:
    """Say what is lost where a charge is tied to its order, and does not name it."""
    return (
        f"it does not name its order to the provider, as {_named_as(file)}: whoever "
        "resends events or strikes single orders will find none, and their scenarios stay unknown"
    )


def of_an_untied_charge(file: ServiceFile, charge: Record) -> str:
    """Say that nothing ties a charge to its order, and how to mend it."""
    return (
        f"{charge.value['charge']} cannot be tied to its order: it carries neither {{order}} nor "
        f"{{customer}}, and prices of a list fit many. Have the service pass {{order}} on to the "
        f"provider, as {_named_as(file)}, or give every order an amount of its own"
    )


def _named_as(file: ServiceFile) -> str:
    return dialects()[file.provider.dialect].named_as


def of_the_webhook(file: ServiceFile, records: Sequence[Record]) -> str:
    """Say why the event of a plain charge was not acknowledged."""
    assert file.webhook is not None
    tried = [r for r in records if r.lane == "webhook" and r.kind in {"fail", "unknown"}]
    says = f"[webhook]: the event of a plain charge was not acknowledged at {file.webhook.path}"
    if not tried:
        return f"{says} (no event was sent)"
    status = tried[-1].value.get("status")
    if status is None:
        return f"{says} (last: {tried[-1].value.get('error')}); does the service listen there?"
    match status:
        case 400 | 401 | 403:
            look = (
                "its signature may be refused: is the secret the one that the service uses "
                "({webhook_secret} in [service.env])?"
            )
        case 404 | 405:
            look = "is this the path where the service takes events?"
        case _ if 300 <= status < 400:
            look = "providers follow no redirects: does the path need its last slash?"
        case _ if status >= 500:
            look = "the service failed at it; its log may say why"
        case _:
            look = "expected a 2xx"
    return f"{says} (last: HTTP {status}); {look}"


def of_the_belief(order: Order, belief: Belief) -> str | None:
    """Say in what the service disagrees with the provider about a plain order, or None."""
    if belief.error:
        return belief.error
    if belief.status not in {None, "succeeded"}:
        return f"[read] finds the order {belief.status}, although it was paid"
    if belief.amount_minor not in {None, order.amount_minor}:
        return (
            f"[read] amount_minor finds {belief.amount_minor}, expected {order.amount_minor}: "
            "is it in minor units?"
        )
    if belief.effects not in {None, 1}:
        return f"[effects] finds {belief.effects} effects of one plain order, expected 1"
    if belief.effects_minor not in {None, order.amount_minor}:
        return (
            f"[effects] amount_minor finds {belief.effects_minor}, expected {order.amount_minor}: "
            "is it in minor units?"
        )
    return None


def of_an_operation(
    file: ServiceFile,
    what: Literal["capture", "refund"],
    answer: Record,
    records: Sequence[Record],
) -> str:
    """Say why an answer to a plain capture or refund is no success."""
    says = misread(file, what, answer.value)
    trouble = _trouble_of(file, records)
    request = f"[{what}]: {request_of(_table(file, what))}"
    return f"{request} {says}" + (f"; the service {trouble}" if trouble else "")


def of_what_is_missing(file: ServiceFile, what: Literal["capture", "refund"], order: Order) -> str:
    """Say what a capture or refund names and nobody knows."""
    names = ", ".join(f"{{{name}}}" for name in missing(_table(file, what), order.values()))
    return (
        f"[{what}]: {request_of(_table(file, what))} names {names}, and no answer said what that "
        f"is: expected the charge at {file.charge.answer.charge} (charge.answer.charge)"
    )


def of_the_refund(order: Order, refunds: Sequence[Record], records: Sequence[Record]) -> str | None:
    """Say in what the provider's refund is not the one that was asked for, or None."""
    if not refunds:
        says = "[refund]: the service says it gave the money back, and the provider has no refund"
        calls = [call for call in _calls(records) if "refund" in str(call.value.get("operation"))]
        return says if calls else f"{says}: your service never asked for one"
    given = [record.value["amount_minor"] for record in refunds]
    if len(given) > 1:
        return f"[refund]: one plain refund was made {len(given)} times; does one press send one?"
    if given[0] != order.amount_minor:
        return (
            f"[refund]: {order.amount_minor} minor units were asked back, {given[0]} were given: "
            "does the template send {amount_minor}, or {amount_decimal}, in the unit that the "
            "service expects?"
        )
    return None


def of_nothing_found(file: ServiceFile, found: str) -> str:
    """Say what was looked for where ``[read]`` found nothing, and what there is."""
    assert file.read is not None
    where = f" at {file.read.status} (read.status)" if file.read.path is not None else ""
    return f"a word for its status was looked for{where}; what came back began: {found[:_SHOWN]!r}"


def of_the_belief_after_a_refund(order: Order, belief: Belief) -> str | None:
    """Say in what the service disagrees about an order whose money was given back, or None.

    Who books more than there was may well do so: that is for the judge, and no misunderstanding.
    """
    after = "once its money was given back"
    if belief.error:
        return f"{after}, {belief.error}"
    if belief.status not in {None, "succeeded", "refunded"}:
        return f"[read] finds the order {belief.status} {after}, expected succeeded or refunded"
    if belief.effects == 0 or _less(belief.effects_minor, order):
        return (
            f"[effects] finds {belief.effects} effect(s) of one plain order {after}, worth "
            f"{belief.effects_minor}; expected the credit alone, as before: say in each, or in "
            "sql, which entries are credits, and read what was given back by read.refunded_minor"
        )
    if _less(belief.refunded_minor, order):
        return (
            f"[read] refunded_minor finds {belief.refunded_minor} {after}, expected "
            f"{order.amount_minor}: is it in minor units, and positive?"
        )
    return None


def _less(minor: int | None, order: Order) -> bool:
    return minor is not None and minor < order.amount_minor


def of_the_tick(records: Sequence[Record]) -> str | None:
    """Say that the reconciler cannot be run, or None."""
    for record in records:
        if record.what == "tick":
            return f"[tick]: {record.value['error']}"
    return None


def request_of(request: Request) -> str:
    """Name a request as people do."""
    return f"{request.method} {request.path}"


def _table(file: ServiceFile, what: Literal["capture", "refund"]) -> Request:
    table = file.capture if what == "capture" else file.refund
    assert table is not None, "asked for only where the file has it"
    return table


def _trouble_of(file: ServiceFile, records: Sequence[Record]) -> str | None:
    for call in _calls(records):
        request = f"{call.value['method']} {call.value['path']}"
        if call.value.get("operation") == "unknown":
            return (
                f"called the provider at {request}, which the dialect {file.provider.dialect!r} "
                "does not know"
            )
    for call in _calls(records):
        status = _status_of(call, records)
        if status is not None and status >= 400:
            request = f"{call.value['method']} {call.value['path']}"
            return f"was told HTTP {status} by the provider, at {request}"
    return None


def _calls(records: Sequence[Record]) -> Iterator[Record]:
    return (r for r in records if (r.lane, r.kind) == ("provider", "receive"))


def _status_of(call: Record, records: Sequence[Record]) -> int | None:
    for record in records:
        if record.what == "reply" and record.value.get("call") == call.value["call"]:
            status: int | None = record.value.get("status")
            return status
    return None
