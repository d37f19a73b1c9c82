"""What the generic dialect writes is what it reads."""

import pytest

from simulator.core.calls import (
    CancelCharge,
    CaptureCharge,
    ChargeParams,
    CreateCharge,
    EventParams,
    ListCharges,
    ListEvents,
    Operation,
    ReadCharge,
    ReadEvent,
    RefundCharge,
    ResendEvent,
)
from simulator.dialects.generic import Generic


@pytest.mark.parametrize(
    "params",
    [
        CreateCharge(500, "EUR"),
        CreateCharge(500, "EUR", "ord-1", "cus-1", capture=False, metadata={"a": "b"}),
        CaptureCharge("ch_1"),
        CaptureCharge("ch_1", 100),
        CancelCharge("ch_1"),
        RefundCharge("ch_1", 100),
        ReadCharge("ch_1"),
        ListCharges(),
        ListCharges("ord 1/é"),
        ListEvents(),
        ListEvents(delivered=True),
        ListEvents(delivered=False),
        ReadEvent("evt_1"),
        ResendEvent("evt_1"),
    ],
    ids=str,
)
@pytest.mark.parametrize("key", ["key-1", None])
def test_what_is_written_is_read_as_the_same(
    params: ChargeParams | EventParams, key: str | None
) -> None:
    read = Generic().read(Generic().ask(params, "shop", key))

    assert isinstance(read, Operation)
    assert (read.params, read.account, read.key) == (params, "shop", key)
