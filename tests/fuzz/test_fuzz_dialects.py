"""Requests to every route, more and less broken: answered, never by a 5xx, and it goes on.

``benchmarks/fuzz.py`` does the same at length.
"""

from itertools import count

import pytest

from tests.fuzz.barrage import ROUND, Barrage
from tests.fuzz.corpus import SURFACES

SHARES = {"generic": 0.3, "stripe": 0.5, "control": 0.2}
"""Which part of the requests goes where."""


@pytest.mark.fuzz
@pytest.mark.timeout(0)
@pytest.mark.parametrize("name", SURFACES)
async def test_whatever_is_sent_is_answered_and_never_by_a_5xx(
    name: str, requests_to_send: int, fuzz_seed: int
) -> None:
    surface, left = SURFACES[name], int(requests_to_send * SHARES[name])
    barrage = Barrage(surface)
    await barrage.start()
    try:
        for number in count():
            if left <= 0:
                break
            await barrage.fire(f"{name} {fuzz_seed} {number}", min(ROUND, left))
            left -= ROUND
        assert await barrage.is_still_right()
    finally:
        await barrage.stop()
    seen = barrage.seen
    print(f"\n{name}: {dict(sorted(seen.classes.items()))}")  # noqa: T201
    assert seen.never(surface) == []
    assert seen.classes["2xx"] > seen.requests // 5
    assert seen.classes["4xx"] > seen.requests // 5
