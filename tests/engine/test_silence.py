"""Silence is rest after so long, and so many looks; machines differ in how long that is."""

from onecharge.engine.silence import LITTLE_S, Silence


def test_seconds_in_which_nobody_could_move_are_no_silence() -> None:
    silence = Silence(0.5)

    assert not silence.is_rest(0.4, looks=400, little=False)
    assert silence.is_rest(0.5, looks=400, little=False)
    assert not silence.is_rest(5.0, looks=20, little=False)


def test_who_was_silent_before_is_waited_for_less() -> None:
    silence = Silence(0.5)

    assert silence.is_rest(LITTLE_S, looks=100, little=True)
    assert not silence.is_rest(LITTLE_S, looks=10, little=True)


def test_a_slow_machine_is_given_longer() -> None:
    silence = Silence()
    silence.learn(0.04)
    silence.learn(0.001)

    assert silence.seconds == 4 * 0.04
    assert not silence.is_rest(LITTLE_S, looks=1_000, little=True)
    assert silence.is_rest(silence.seconds, looks=1_000, little=True)
    silence.learn(9.0)
    assert silence.seconds == 0.25
