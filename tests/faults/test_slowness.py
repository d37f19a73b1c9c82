"""How long a slow call takes: drawn at random, the same again from the same seed, in bounds."""

from random import Random
from statistics import mean, median
from typing import TYPE_CHECKING, Any

import pytest

from simulator.core.messages import Held
from simulator.core.rules import Rule
from simulator.faults.late_answer import LateAnswer
from simulator.faults.slow import Slow

if TYPE_CHECKING:
    from .conftest import Build


def drawn(count: int = 4_000, **how: Any) -> list[int]:
    slow, chance = Slow(**how), Random(1)
    return [slow.drawn_ms(chance) for _ in range(count)]


def test_uniform_is_even_between_its_bounds() -> None:
    times_ms = drawn(distribution="uniform", min_ms=100, max_ms=300)

    assert (min(times_ms), max(times_ms)) == (100, 300)
    assert mean(times_ms) == pytest.approx(200, rel=0.02)


def test_exponential_is_mostly_short() -> None:
    times_ms = drawn(distribution="exponential", min_ms=100, max_ms=1_100)

    assert min(times_ms) == 100
    assert max(times_ms) == 1_100
    assert mean(times_ms) == pytest.approx(300, rel=0.05)


def test_lognormal_has_its_median_between_and_a_long_tail() -> None:
    times_ms = drawn(distribution="lognormal", min_ms=10, max_ms=1_000)

    assert median(times_ms) == pytest.approx(100, rel=0.05)
    assert mean(times_ms) > median(times_ms)
    assert 10 <= min(times_ms) < max(times_ms) <= 1_000


def test_lognormal_may_begin_at_nothing() -> None:
    assert max(drawn(distribution="lognormal", min_ms=0, max_ms=0)) == 0


@pytest.mark.parametrize("seam", ["on_receive", "before_commit", "after_commit"])
def test_it_stands_at_its_seam_for_its_time(provider: "Build", seam: Any) -> None:
    times_ms = []
    for seed in (1, 1, 2):
        held = provider(Rule(Slow(seam=seam, seed=seed), "slow")).charge()
        assert isinstance(held, Held)
        assert (held.seam, held.until.condition) == (seam, "elapsed")
        assert held.until.amount < held.until.at_most_ms
        times_ms.append(held.until.amount)

    assert times_ms[0] == times_ms[1] != times_ms[2]


def test_bounds_must_be_in_order() -> None:
    with pytest.raises(ValueError, match="min_ms must be at most max_ms, not 2000"):
        Slow(min_ms=2_000)


def test_a_late_answer_is_late_after_the_charge(provider: "Build") -> None:
    shop = provider(Rule(LateAnswer(delay_ms=70), "late"))

    held = shop.charge()

    assert isinstance(held, Held)
    assert (held.seam, held.until.amount, shop.captured()) == ("after_commit", 70, ["ch_1"])
    assert shop.status(shop.resume(held)) == 201
