"""A sender that hangs up finds what nobody finds who waits: work that stops in the middle."""

from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.shops import Shop, judged, played

TWICE: dict[str, Any] = {"fault": "redeliver", "operation": "delivery.charge.captured"}
UNHEARD: dict[str, Any] = {
    "fault": "lose_acknowledgement",
    "operation": "delivery.charge.captured",
    "after_ms": 200,  # a busy shop has come to read it by then
}


@pytest.mark.parametrize(
    "fault, marks_first, expected",
    [
        (TWICE, True, "holds"),
        (UNHEARD, True, "violated"),
        (UNHEARD, False, "holds"),
    ],
)
async def test_an_event_that_was_marked_and_cut_off_is_missed(
    fault: dict[str, Any], *, marks_first: bool, expected: str, tmp_path: Path
) -> None:
    shop = Shop(hears_first=True, marks_first=marks_first, thinks_s=60 * (fault is UNHEARD))

    bound_s = 6.0 if expected == "holds" else 0.5  # what is lost is waited for five times as long
    async with played(shop, tmp_path, bound_s=bound_s, faults=[fault]) as (play, _):
        verdict = judged(play)

    assert verdict.verdict == expected, verdict.reasons
    assert verdict.not_reached == ()
