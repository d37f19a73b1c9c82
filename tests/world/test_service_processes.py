"""Set-up commands, instances and workers: run, killed, fallen, started again."""

import asyncio
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from onecharge.service_file import Service
from onecharge.world.processes import names_of
from onecharge.world.service import NotReady, ServiceProcesses
from onecharge.world.supervisor import Supervisor
from simulator.core.journal import Journal

TINY = Path(__file__).with_name("tiny_service.py")
SERVE = ("{python}", "tiny_service.py")
SLEEP = ("{python}", "-c", "import time, os; print(os.environ['WORD'], flush=True); time.sleep(99)")
NOTE = ("{python}", "-c", "import os; print(os.environ['WORD'], file=open('notes', 'a'))")


class Stand:
    """A service made of some fields of a service file, and what was recorded of it."""

    def __init__(self, supervisor: Supervisor, folder: Path, **fields: Any) -> None:
        shutil.copy(TINY, folder)
        fields = {"command": SERVE, "ready_within_s": 60, **fields}
        fields["env"] = {"PORT": "{port}", "WORD": "{instance}", **fields.get("env", {})}
        service = Service(name="tiny", folder=folder, **fields)
        self.folder = folder
        self.journal = Journal()
        self.services = ServiceProcesses(
            service,
            supervisor=supervisor,
            sink=self.journal,
            provider_urls={name: f"http://provider/{name}" for name in names_of(service)},
            values={"python": sys.executable, "database_url": "postgresql+psycopg://x"},
            logs=folder,
        )

    async def __aenter__(self) -> ServiceProcesses:
        await self.services.start()
        return self.services

    async def __aexit__(self, *_: object) -> None:
        await self.services.stop()

    @property
    def facts(self) -> list[tuple[str, str]]:
        return [(entry.lane, entry.kind) for entry in self.journal.entries]

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()


async def word_of(url: str) -> str:
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        return await answer.text()


async def until_logged(stand: Stand, name: str) -> str:
    async with asyncio.timeout(60):
        while not (text := stand.log(name)):
            await asyncio.sleep(0.02)
    return text


async def test_setup_commands_run_once_and_in_turn_before_the_first_start(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    stand = Stand(supervisor, tmp_path, setup=(NOTE, (*NOTE[:2], "open('notes', 'a').write('2')")))
    async with stand as services:
        assert (tmp_path / "notes").read_text() == "service-1\n2"
        services.kill("service-1")
        await services.restart("service-1")
        await services.start()

    assert (tmp_path / "notes").read_text() == "service-1\n2"
    assert stand.facts == [
        ("process:service-1", "restart"),
        ("process:service-1", "crash"),
        ("process:service-1", "restart"),
    ]


async def test_a_setup_command_that_fails_is_named_with_the_end_of_its_log(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    stand = Stand(supervisor, tmp_path, setup=(NOTE, (*SERVE, "--fail")))

    with pytest.raises(NotReady) as failed:
        await stand.services.start()

    assert str(failed.value) == (
        f"service.setup[2]: it ended with code 1; the end of {tmp_path}/setup-2.log:\n"
        "    no such table: [card number removed]"
    )
    assert stand.facts == [], "nothing was started"


async def test_a_setup_command_that_does_not_end_is_killed(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    stand = Stand(supervisor, tmp_path, setup=(SLEEP,), setup_within_s=0.1)

    with pytest.raises(NotReady, match=r"service.setup\[1\]: it had not ended after 0.1 s"):
        await stand.services.start()

    assert await supervisor.exited("setup-1") < 0


async def test_a_worker_runs_beside_the_instances_and_is_killed_and_restarted_like_them(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    worker = {
        "name": "outbox",
        "command": SLEEP,
        "instances": 2,
        "env": {"WORD": "I am {instance}"},
    }
    stand = Stand(supervisor, tmp_path, instances=2, workers=(worker,))
    async with stand as services:
        assert [await word_of(url) for url in services.urls] == ["service-1", "service-2"]
        assert [await until_logged(stand, f"outbox-{n}") for n in (1, 2)] == [
            "I am outbox-1\n",
            "I am outbox-2\n",
        ]
        assert services.next_url() in services.urls
        services.kill("outbox-2")
        await services.restart("outbox-2")
        assert services.fallen() is None

    assert stand.facts[4:] == [("process:outbox-2", "crash"), ("process:outbox-2", "restart")]


async def test_whoever_falls_is_named_and_started_again(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    stand = Stand(supervisor, tmp_path, workers=({"name": "outbox", "command": SLEEP},))
    async with stand as services:
        await until_logged(stand, "outbox-1")
        os.kill(services.process("outbox-1").pid, signal.SIGKILL)
        await supervisor.exited("outbox-1")

        assert services.fallen() == (
            f"service.workers.command: outbox-1 has ended; the end of {tmp_path}/outbox-1.log:\n"
            "    outbox-1"
        )

        await services.start()
        assert services.fallen() is None
    assert stand.facts[2:] == [("process:outbox-1", "crash"), ("process:outbox-1", "restart")]


async def test_every_process_knows_its_own_values(supervisor: Supervisor, tmp_path: Path) -> None:
    env = {"P": "{provider_url}", "S": "{service_url}", "D": "{database_url}"}
    worker = {"name": "outbox", "command": SLEEP}
    services = Stand(supervisor, tmp_path, env=env, workers=(worker,)).services

    instance, outbox = services.processes
    assert instance.env == services.env
    assert outbox.env["P"] == "http://provider/outbox-1"
    assert instance.env["P"] == "http://provider/service-1"
    assert instance.env["S"] == outbox.env["S"] == services.url == services.urls[0]
    assert instance.env["D"] == "postgresql+psycopg://x"


async def test_a_live_key_of_our_own_environment_is_not_handed_on(
    supervisor: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "PAY_KEY", "sk_live" + "_4eC39HqLyjWDarj")

    with pytest.raises(NotReady, match="would inherit PAY_KEY from your environment") as refused:
        await Stand(supervisor, tmp_path).services.start()
    assert "4eC39" not in str(refused.value)

    async with Stand(supervisor, tmp_path, env={"PAY_KEY": "sk_test_1"}) as services:
        assert services.env["PAY_KEY"] == "sk_test_1"


async def test_a_command_that_is_not_there_is_named_by_its_field(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    worker = {"name": "outbox", "command": ("no-such-program",)}
    stand = Stand(supervisor, tmp_path, workers=(worker,))

    with pytest.raises(NotReady) as refused:
        await stand.services.start()

    await stand.services.stop()
    assert str(refused.value) == (
        "service.workers.command: outbox-1: command not found: no-such-program"
    )
