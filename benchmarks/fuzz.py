"""Fuzzing at length: every dialect and the control interface, and no 5xx that nobody asked for.

    python benchmarks/fuzz.py [--requests 200000] [--seed 0] [--json FILE]
    python benchmarks/fuzz.py --surface stripe --seed 0 --round 7 --requests 2500

Exit code 1 on the first answer that is none: the request is printed, kept in a file, sent once
more to a provider that knows nothing, and the command that repeats its round is said.
"""

import asyncio
import sys
import time
from pathlib import Path
from typing import Final

from figures import Figures, arguments

sys.path.insert(0, str(Path(__file__).parents[1]))
from onecharge.loops import new_event_loop
from tests.fuzz.barrage import ROUND, Barrage, Unasked
from tests.fuzz.corpus import SURFACES, Surface

SHARES: Final = {"generic": 0.35, "stripe": 0.5, "control": 0.15}
FOUND: Final = Path("fuzz-found.bin")


def main() -> int:
    """Fire all rounds, and return 1 if something was answered that should not be."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--requests", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--surface", choices=SURFACES, action="append")
    parser.add_argument("--round", type=int, default=0, help="the first round to fire")
    asked = parser.parse_args()
    names = asked.surface or list(SURFACES)
    whole = sum(SHARES[name] for name in names)
    requests = asked.requests // 10 if asked.quick else asked.requests
    figures = Figures("fuzzing, every route of every surface")
    for name in names:
        count = round(requests * SHARES[name] / whole)
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            if not runner.run(fuzz(SURFACES[name], asked.seed, asked.round, count, figures)):
                return 1
    figures.show()
    if asked.json:
        figures.write(asked.json)
    return 0


async def fuzz(surface: Surface, seed: int, first: int, count: int, figures: Figures) -> bool:
    """Fire so many requests at a surface; tell whether all of them were answered as they should."""
    barrage = Barrage(surface)
    await barrage.start()
    began_s = time.monotonic()
    try:
        for number in range(first, first + -(-count // ROUND)):
            left = count - (number - first) * ROUND
            try:
                await barrage.fire(f"{surface.name} {seed} {number}", min(ROUND, left))
            except Unasked as found:
                await report(barrage, found, seed, number)
                return False
            took_s = time.monotonic() - began_s
            print(f"{surface.name:<8} {line_of(barrage, count, took_s)}", flush=True)
        if not await barrage.is_still_right():
            print(f"{surface.name}: a plain charge is no longer made, or not once")
            return False
    finally:
        await barrage.stop()
    never = barrage.seen.never(surface)
    if never:
        print(f"{surface.name}: never answered by a 2xx: {never}")
        return False
    for class_, seen in sorted(barrage.seen.classes.items()):
        figures.add(f"{surface.name}, {class_}", seen, "requests")
    figures.add(f"{surface.name}, 5xx", 0, "requests", "0")
    figures.add(f"{surface.name}, routes answered by a 2xx", len(surface.routes), "routes")
    figures.add(f"{surface.name}, seconds", time.monotonic() - began_s, "s")
    return True


def line_of(barrage: Barrage, count: int, took_s: float) -> str:
    """Return how far it is, and what has been answered so far."""
    seen = barrage.seen
    classes = " · ".join(f"{class_} {number:,}" for class_, number in sorted(seen.classes.items()))
    return f"{seen.requests:>8,} of {count:,} · {classes} · {seen.requests / took_s:,.0f}/s"


async def report(barrage: Barrage, found: Unasked, seed: int, number: int) -> None:
    """Say what was found, and how to see it again."""
    FOUND.write_bytes(found.sent.data)
    again = await barrage.again(found.sent)
    alone = "no answer" if again is None else f"{again.status} {again.body[:200]!r}"
    print(f"UNASKED  {found}")
    print(f"kept in  {FOUND} ({len(found.sent.data):,} bytes)")
    print(f"alone    a provider that knows nothing answers: {alone}")
    name = barrage.surface.name
    print(
        f"repeat   python benchmarks/fuzz.py --surface {name} --seed {seed} --round {number}"
        f" --requests {ROUND}"
    )


if __name__ == "__main__":
    sys.exit(main())
