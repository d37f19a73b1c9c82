"""Who is blocked, of those who wait for a lock: not whoever waits for what just passes."""

from collections.abc import Collection, Mapping

import pytest

from onecharge.engine.locks import blocked

CLIENT, OTHER, RENEWAL, HELD = 1, 2, 3, 9


@pytest.mark.parametrize(
    "waits_for, passing, expected",
    [
        pytest.param({CLIENT: [HELD]}, [], {CLIENT}, id="for somebody who is held"),
        pytest.param({CLIENT: [RENEWAL]}, [RENEWAL], set(), id="for what passes"),
        pytest.param({CLIENT: [RENEWAL, HELD]}, [RENEWAL], {CLIENT}, id="for both"),
        pytest.param(
            {CLIENT: [RENEWAL], RENEWAL: [HELD]},
            [RENEWAL],
            {CLIENT, RENEWAL},
            id="for what would pass and waits itself",
        ),
        pytest.param(
            {OTHER: [CLIENT], CLIENT: [RENEWAL]}, [RENEWAL], set(), id="for who waits for it"
        ),
        pytest.param({CLIENT: [OTHER], OTHER: [CLIENT]}, [], {CLIENT, OTHER}, id="in a ring"),
    ],
)
def test_who_waits_for_what_passes_is_not_blocked(
    waits_for: Mapping[int, Collection[int]], passing: Collection[int], expected: set[int]
) -> None:
    assert blocked(waits_for, passing) == expected
