"""The fuzz tests at length: so many requests in every dialect, none answered by an unasked 5xx.

python benchmarks/fuzz.py [--requests 200000] [--seed 0] [--json FILE]
"""

import argparse
import ast
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
LINE = re.compile(r"^(?P<what>\S+( \w+)?): (?P<seen>\{[^}]*\})", re.MULTILINE)


def main() -> int:
    """Run the tests, print what was answered, and return their exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    settings = {
        "ONECHARGE_FUZZ_REQUESTS": str(asked.requests),
        "ONECHARGE_FUZZ_SEED": str(asked.seed),
    }
    argv = [sys.executable, "-m", "pytest", "-m", "fuzz", "-s", "-q", "tests/fuzz"]
    began_s = time.monotonic()
    done = subprocess.run(  # noqa: S603  # our own tests
        argv, cwd=ROOT, env=os.environ | settings, capture_output=True, text=True, check=False
    )
    took_s = time.monotonic() - began_s
    figures: dict[str, float] = {"seconds": round(took_s, 1), "failed": float(done.returncode)}
    print(f"{'what':<22}{'2xx':>10}{'4xx':>10}{'no answer':>12}")
    for found in LINE.finditer(done.stdout):
        seen = ast.literal_eval(found["seen"])
        answers = [seen.get(kind, 0) for kind in ("2xx", "4xx", "no answer")]
        print(f"{found['what']:<22}{answers[0]:>10}{answers[1]:>10}{answers[2]:>12}")
        figures[f"requests {found['what']}"] = sum(seen.values())
    print(f"{took_s:.0f} s, {'no 5xx that was not asked for' if not done.returncode else 'FAILED'}")
    if done.returncode:
        print(done.stdout[-5_000:], done.stderr[-2_000:])
    if asked.json:
        asked.json.write_text(json.dumps({"figures": figures}, indent=2) + "\n")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
