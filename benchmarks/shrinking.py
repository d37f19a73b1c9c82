"""How many runs it takes to shrink a flaky failure: our delta debugging beside Hypothesis.

Both get the same first failing plan of up to 40 steps, of whose kinds three matter, and look 20
times at what seems clean. Seeds are fixed: what is counted are runs, whatever the machine.

``python benchmarks/shrinking.py [--quick] [--json FILE]``
"""

import asyncio
import random
from contextlib import suppress
from typing import Final

from figures import Figures, arguments
from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky

from onecharge.engine.tapes.shrinking import MOST_REPEATS, shrunk
from onecharge.engine.tapes.tape import Choice, Tape

TRIALS: Final = 12
MATTER: Final = frozenset({"release", "fault", "kill"})
KINDS: Final = ("fault", "release", "copies", "kill", "amount", "racers", "order", "key", "tenant")
DOUBLE: Final = "one_charge_per_key"

Step = tuple[str, int, int]

PLANS: Final = st.lists(
    st.tuples(st.sampled_from(KINDS), st.integers(1, 6), st.integers(1, 4)),
    max_size=40,
)


class Flaky3:
    """Breaks with probability ``p`` where every kind that matters is there; counts its runs."""

    def __init__(self, p: float, seed: int) -> None:
        self.runs = 0
        self._p = p
        self._chance = random.Random(seed)

    def breaks(self, kinds: set[str]) -> bool:
        self.runs += 1
        return kinds >= MATTER and self._chance.random() < self._p

    async def run(self, tape: Tape) -> str | None:
        kinds = {tape.choices[place].kind for place in tape.deviations}
        return DOUBLE if self.breaks(kinds) else None


def by_hypothesis(flaky: Flaky3, seed: int) -> tuple[list[Step], int, int]:
    """Return the first plan that fails, the runs from there on, and the length of the last."""
    failing: list[list[Step]] = []
    begun = 0

    def breaks(steps: list[Step]) -> bool:
        nonlocal begun
        kinds = {kind for kind, _, _ in steps}
        broken = any(flaky.breaks(kinds) for _ in range(MOST_REPEATS))
        if broken:
            begun = begun or flaky.runs
            failing.append(steps)
        return broken

    with suppress(Flaky):  # at the end it may fail to see again what it found
        find(
            PLANS,
            breaks,
            random=random.Random(seed),
            settings=settings(
                max_examples=2_000,
                phases=[Phase.generate, Phase.shrink],
                database=None,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
    return failing[0], flaky.runs - begun, len(failing[-1])


async def main() -> None:
    """Tell runs (mean) and how often exactly three steps were left, per probability."""
    chosen = arguments(__doc__ or "").parse_args()
    figures = Figures("shrinking what fails by chance: three steps of forty")
    trials = 2 if chosen.quick else TRIALS
    for p in (1.0, 0.5, 0.2, 0.05):
        ours, theirs, found, found_too = 0, 0, 0, 0
        for seed in range(trials):
            first, runs, left = by_hypothesis(Flaky3(p, seed), seed)
            theirs += runs
            found_too += left == len(MATTER)
            tape = Tape(tuple(Choice(k, 1, f"{k} {order} {nth}") for k, order, nth in first))
            result = await shrunk(tape, DOUBLE, Flaky3(p, seed).run)
            ours += result.runs
            found += len(result.tape.deviations) == len(MATTER)
        fails = f"failing {p:.0%} of the time"
        figures.add(f"{fails}: minimum found", found, f"of {trials}", f">= {trials - 1}")
        figures.add(f"{fails}: runs", ours / trials, "", f"< {theirs / trials:.0f}, Hypothesis'")
        figures.add(f"{fails}: minimum found by Hypothesis", found_too, f"of {trials}")
    figures.show()
    if chosen.json:
        figures.write(chosen.json)


if __name__ == "__main__":
    asyncio.run(main())
