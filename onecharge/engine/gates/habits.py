"""What a service says to its store of its own accord: it looks for work, it renews a lease.

Rule 1: a habit is learnt by listening while nobody's request moves, and known by its words.
Rule 2: what is known passes unheld. It is no part of any request, and comes by the clock, so that
        a run in which it were held would not repeat.
Rule 3: only what begins a transaction, or is one, can be a habit: what a service does once it has
        found something is not, and is held as everything else.
"""


class Habits:
    """What is known of one service at one store, by its words without what differs each time."""

    def __init__(self) -> None:
        self.known: set[str] = set()
        self._heard: set[str] | None = None

    def __repr__(self) -> str:
        return f"<Habits: {', '.join(sorted(self.known)) or 'none'}>"

    @property
    def listening(self) -> bool:
        """Whether everything is a habit now, and only listened to."""
        return self._heard is not None

    def listen(self) -> None:
        """Take what is said from now on for habits, and forget what was heard so far."""
        self._heard = set()

    def learn(self) -> None:
        """Know what was heard, and listen no more."""
        self.known |= self._heard or set()
        self._heard = None

    def takes(self, words: str) -> bool:
        """Tell whether this is a habit, or is listened to as one."""
        if self._heard is not None:
            self._heard.add(words)
            return True
        return words in self.known
