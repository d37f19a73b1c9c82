"""What is taken for rest where nothing else can tell it: that nothing was heard for a while.

Rule 1: how long depends on the machine, and is learnt from how long it is from a release to what
        follows.
Rule 2: a while is so many looks as well as so many seconds. Where everything stands still at
        times, as on a machine that has others to serve, seconds pass and nobody has moved.
Rule 3: who was silent before, as behind a lock in a service's memory, is waited for less.
"""

from typing import Final

SILENCE_S: Final = 0.03
"""For so long is waited to begin with."""
WHERE_LOCKS_ARE_SEEN_S: Final = 0.5
"""The same where locks can be asked for: silence then tells of little else."""
LITTLE_S: Final = 0.05
"""For so long is waited for who was silent before, and what a service does for nobody any more."""

_LONGEST_S: Final = 0.25
_GAPS: Final = 4
_A_LOOK_S: Final = 0.002
"""So long a look takes at most, where nothing stands still."""


class Silence:
    """How long nothing must be heard. It adapts: whoever makes the next run may go on with it."""

    def __init__(self, seconds: float = SILENCE_S) -> None:
        self.seconds = seconds
        self._gaps_s = 0.0

    def __repr__(self) -> str:
        return f"<Silence of {self.seconds:g} s>"

    def learn(self, gap_s: float) -> None:
        """Take in how long it was from a release to what followed."""
        self._gaps_s = max(self._gaps_s, min(_LONGEST_S, _GAPS * gap_s))
        self.seconds = max(self.seconds, self._gaps_s)

    def is_rest(self, seconds: float, looks: int, *, little: bool) -> bool:
        """Tell whether nothing moves any more, after so long and so many looks.

        ``little`` says that it is only waited for who was silent before.
        """
        enough_s = max(LITTLE_S, self._gaps_s) if little else self.seconds
        return seconds >= enough_s and looks * _A_LOOK_S >= enough_s
