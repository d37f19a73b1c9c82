"""Virtual time."""

import pytest

from simulator.clock import VirtualClock


class RealTime:
    now_s = 1_000.0

    def __call__(self) -> float:
        return self.now_s


def test_virtual_time_is_scaled_real_time_plus_advances() -> None:
    real = RealTime()
    clock = VirtualClock(10.0, real_now=real)
    assert clock.now() == 0.0

    real.now_s += 2.0
    clock.advance(100.0)

    assert clock.now() == 120.0
    assert clock.real_seconds_until(150.0) == 3.0
    assert clock.real_seconds_until(5.0) == 0.0


def test_a_clock_can_begin_again() -> None:
    real = RealTime()
    clock = VirtualClock(real_now=real)
    real.now_s += 2.0
    clock.advance(1.0)

    clock.restart()

    assert clock.now() == 0.0


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf")])
def test_time_goes_forward_only(seconds: float) -> None:
    with pytest.raises(ValueError, match="forward only"):
        VirtualClock().advance(seconds)


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf")])
def test_a_scale_is_a_positive_number(scale: float) -> None:
    with pytest.raises(ValueError, match="positive"):
        VirtualClock(scale)
