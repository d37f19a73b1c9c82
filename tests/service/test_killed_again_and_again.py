"""The kill loop of ``benchmarks/kill_loop.py``, as short as CI can bear."""

import asyncio
import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


async def test_nothing_is_lost_or_doubled_however_often_processes_are_killed(
    tmp_path: Path,
) -> None:
    figures = tmp_path / "figures.json"
    loop = await asyncio.create_subprocess_exec(
        *(sys.executable, str(ROOT / "benchmarks" / "kill_loop.py")),
        *("--kills", "12", "--crashes", "1", "--json", str(figures)),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await loop.communicate()

    assert loop.returncode == 0, said.decode()
    counted = json.loads(figures.read_text())["figures"]
    assert counted["killed: kills"] == 12
    assert counted["killed: orders"] > 12
    for wrong in ("double charges", "double refunds", "lost", "unsettled", "ledger differences"):
        assert counted[f"killed: {wrong}"] == 0
