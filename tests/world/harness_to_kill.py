"""A harness that starts what a run starts, says so in one line, and waits to be killed."""

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path

from onecharge.world.postgres import Postgres
from onecharge.world.supervisor import Supervisor

STUBBORN = "trap '' TERM; while true; do sleep 1000; done"


async def main(folder: Path) -> None:
    supervisor = await Supervisor.start()
    owned = Path(tempfile.mkdtemp(dir=folder))
    await supervisor.own_folder(owned)
    postgres = await Postgres.start(supervisor, folder)
    for name, argv in {
        "service": ["sleep", "1000"],
        "stubborn": ["sh", "-c", STUBBORN],
        "daemon": ["sh", "-c", "setsid sleep 1000 & exec sleep 1000"],
    }.items():
        await supervisor.spawn(name, argv, env=dict(os.environ), cwd=folder, log=folder / name)
    url = await postgres.create_database("orders")
    sys.stdout.write(json.dumps({"owned": str(owned), "url": url}) + "\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


asyncio.run(main(Path(sys.argv[1])))
