import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from signal import SIGKILL, SIGTERM
from typing import Any

import psutil
import pytest

from onecharge.world import supervising
from onecharge.world.supervisor import SpawnError, Supervisor, SupervisorGone

FOREVER = ["sleep", "1000"]
DEADLINE_S = 60.0
ROOT = Path(__file__).parents[2]

Spawn = Callable[..., Any]


def eventually(is_true: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + DEADLINE_S
    while not is_true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def all_gone(processes: Iterable[int]) -> bool:
    return eventually(lambda: not any(map(lives, processes)))


def number_in(path: Path) -> int:
    assert eventually(lambda: path.exists() and path.read_text().endswith("\n"))
    return int(path.read_text())


@pytest.fixture
def spawn(tmp_path: Path) -> Spawn:
    async def spawn(supervisor: Supervisor, name: str, argv: list[str], **options: Any) -> int:
        options = {"env": dict(os.environ), "cwd": tmp_path, "log": tmp_path / name, **options}
        return await supervisor.spawn(name, argv, **options)

    return spawn


@pytest.fixture
async def own_supervisor() -> AsyncIterator[Supervisor]:
    async with await Supervisor.start() as own_supervisor:
        yield own_supervisor


async def test_a_process_leads_a_group_of_its_own_and_is_running(
    supervisor: Supervisor, spawn: Spawn
) -> None:
    pid = await spawn(supervisor, "leader", FOREVER)

    assert os.getpgid(pid) == os.getsid(pid) == pid
    assert supervisor.running("leader")
    assert await supervisor.stop("leader") == -SIGTERM
    assert not supervisor.running("leader")


async def test_a_kill_takes_the_whole_group_and_reports_the_signal(
    supervisor: Supervisor, spawn: Spawn, tmp_path: Path
) -> None:
    pid = await spawn(supervisor, "family", ["sh", "-c", "sleep 1000 & echo $! > child; wait"])
    child = number_in(tmp_path / "child")

    supervisor.kill("family")

    assert await supervisor.exited("family") == -SIGKILL
    assert not lives(pid)
    assert not lives(child)


async def test_a_daemon_that_left_the_group_is_gone_when_its_founder_has_exited(
    supervisor: Supervisor, spawn: Spawn, tmp_path: Path
) -> None:
    script = "setsid sleep 1000 & echo $! > daemon; exec sleep 1000"
    await spawn(supervisor, "founder", ["sh", "-c", script])
    daemon = number_in(tmp_path / "daemon")
    assert eventually(lambda: os.getsid(daemon) == daemon)

    supervisor.kill("founder")

    assert await supervisor.exited("founder") == -SIGKILL
    assert not lives(daemon)


async def test_workers_do_not_survive_a_leader_that_ended_by_itself(
    supervisor: Supervisor, spawn: Spawn, tmp_path: Path
) -> None:
    await spawn(supervisor, "deserter", ["sh", "-c", "sleep 1000 & echo $! > worker; exit 7"])

    assert await supervisor.exited("deserter") == 7
    assert not lives(number_in(tmp_path / "worker"))


async def test_who_ignores_a_gentle_stop_is_killed_after_the_grace(
    supervisor: Supervisor, spawn: Spawn, tmp_path: Path
) -> None:
    script = "trap '' TERM; echo 1 > ready; while true; do sleep 1000; done"
    await spawn(supervisor, "stubborn", ["sh", "-c", script])
    number_in(tmp_path / "ready")

    assert await supervisor.stop("stubborn", grace_s=0.05) == -SIGKILL


async def test_what_a_stopped_leader_started_may_finish_within_the_grace(
    supervisor: Supervisor, spawn: Spawn, tmp_path: Path
) -> None:
    worker = "trap 'echo 1 > finished; exit' TERM; echo 1 > ready; while true; do sleep 0.01; done"
    await spawn(supervisor, "shop", ["sh", "-c", f'sh -c "{worker}" & wait'])
    number_in(tmp_path / "ready")

    await supervisor.stop("shop", grace_s=DEADLINE_S)

    assert number_in(tmp_path / "finished") == 1


async def test_stop_can_send_another_signal(supervisor: Supervisor, spawn: Spawn) -> None:
    await spawn(supervisor, "interrupted", FOREVER)

    assert await supervisor.stop("interrupted", signal=signal.SIGINT) == -signal.SIGINT


async def test_a_name_can_be_started_again_after_its_exit(
    supervisor: Supervisor, spawn: Spawn
) -> None:
    first = await spawn(supervisor, "phoenix", FOREVER)
    supervisor.kill("phoenix")
    await supervisor.exited("phoenix")

    second = await spawn(supervisor, "phoenix", FOREVER)

    assert second != first
    assert supervisor.running("phoenix")
    await supervisor.stop("phoenix")


async def test_a_kill_of_the_dead_is_no_error(supervisor: Supervisor, spawn: Spawn) -> None:
    await spawn(supervisor, "brief", ["true"])
    assert await supervisor.exited("brief") == 0

    supervisor.kill("brief")

    assert await supervisor.stop("brief") == 0


async def test_output_of_both_kinds_is_appended_to_the_log_and_input_is_empty(
    supervisor: Supervisor, spawn: Spawn, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    log.write_text("earlier\n")
    script = "echo out; echo err >&2; read line || echo no input"

    await spawn(supervisor, "talker", ["sh", "-c", script], log=log)
    await supervisor.exited("talker")

    assert log.read_text() == "earlier\nout\nerr\nno input\n"


async def test_the_environment_is_the_one_given(
    supervisor: Supervisor, spawn: Spawn, tmp_path: Path
) -> None:
    env = {"PATH": os.defpath, "PROVIDER_URL": "http://127.0.0.1:1"}

    await spawn(supervisor, "env", ["env"], env=env)
    await supervisor.exited("env")

    lines = (tmp_path / "env").read_text().splitlines()
    assert {line.partition("=")[0] for line in lines} - {"_", "PWD", "SHLVL"} == {
        *env,
        supervising.MARK,
    }


@pytest.fixture
def programs(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("no program")
    for name, text in {"binary": "\x7f\x00", "orphaned": "#!/no/such/interpreter\n"}.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)


@pytest.mark.usefixtures("programs")
@pytest.mark.parametrize(
    "argv,options,reason",
    [
        ([], {}, "the command is empty"),
        (["no-such-command"], {}, "command not found: no-such-command"),
        (["./plain"], {}, "not executable, or not to be reached: ./plain"),
        (["./binary"], {}, 'not a program (a script begins with "#!"): ./binary'),
        (["./orphaned"], {}, "the interpreter that ./orphaned names in its first line"),
        (FOREVER, {"cwd": Path("/no/such")}, "no such folder: /no/such"),
        (FOREVER, {"log": Path("/no/such/log")}, "cannot write the log /no/such/log"),
        (["sleep", "\0"], {}, "null byte"),
    ],
)
async def test_what_cannot_be_started_says_why(
    supervisor: Supervisor, spawn: Spawn, argv: list[str], options: dict[str, Any], reason: str
) -> None:
    with pytest.raises(SpawnError) as caught:
        await spawn(supervisor, "hopeless", argv, **options)

    assert str(caught.value).startswith("hopeless: ")
    assert reason in caught.value.reason
    assert not supervisor.running("hopeless")


async def test_closing_ends_everything_in_reverse_order_of_the_first_start(
    spawn: Spawn, tmp_path: Path
) -> None:
    order = tmp_path / "order"
    supervisor = await Supervisor.start()
    script = "trap 'echo $0 >> order; exit' TERM; touch ready-$0; while true; do sleep 0.01; done"
    for name in ("database", "service", "worker"):
        await spawn(supervisor, name, ["sh", "-c", script, name])
    supervisor.kill("database")
    await supervisor.exited("database")
    (tmp_path / "ready-database").unlink(missing_ok=True)
    await spawn(supervisor, "database", ["sh", "-c", script, "database"])
    for name in ("database", "service", "worker"):
        assert eventually((tmp_path / f"ready-{name}").exists)

    await supervisor.close()

    assert order.read_text().split() == ["worker", "service", "database"]
    assert not supervisor.running("database")


async def test_closing_removes_owned_folders_and_can_be_repeated(tmp_path: Path) -> None:
    folder = tmp_path / "owned"
    (folder / "deep").mkdir(parents=True)
    supervisor = await Supervisor.start()
    await supervisor.own_folder(folder)

    await supervisor.close()
    await supervisor.close()

    assert not folder.exists()
    with pytest.raises(SupervisorGone):
        await supervisor.own_folder(folder)


async def test_if_the_supervisor_is_killed_the_harness_ends_what_it_owned(
    own_supervisor: Supervisor, spawn: Spawn
) -> None:
    pid = await spawn(own_supervisor, "left", FOREVER)
    parent = psutil.Process(pid).ppid()

    os.kill(parent, SIGKILL)

    with pytest.raises(SupervisorGone):
        await own_supervisor.exited("left")
    assert all_gone([pid])


async def test_a_terminated_supervisor_ends_everything_in_order(
    own_supervisor: Supervisor, spawn: Spawn
) -> None:
    pid = await spawn(own_supervisor, "left", FOREVER)

    os.kill(psutil.Process(pid).ppid(), SIGTERM)

    assert await own_supervisor.exited("left") == -SIGTERM


async def test_an_interrupt_from_the_terminal_does_not_reach_the_supervisor(
    own_supervisor: Supervisor, spawn: Spawn
) -> None:
    pid = await spawn(own_supervisor, "left", FOREVER)
    parent = psutil.Process(pid).ppid()

    assert os.getsid(parent) == parent != os.getsid(0)
    os.kill(parent, signal.SIGINT)
    assert await own_supervisor.stop("left") == -SIGTERM


def run_script(harness: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-P", supervising.__file__, str(harness)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def test_it_still_cleans_up_when_nobody_reads_its_news(tmp_path: Path) -> None:
    order = {"order": "spawn", "number": 1, "name": "unheard", "argv": FOREVER}
    order |= {"env": dict(os.environ), "cwd": str(tmp_path), "log": str(tmp_path / "log")}
    order |= {"user": None, "farewell": [[SIGTERM, 5.0]]}
    with run_script(os.getpid()) as script:
        assert script.stdin is not None
        assert script.stdout is not None
        script.stdin.write(json.dumps(order).encode() + b"\n")
        script.stdin.flush()
        pid = json.loads(script.stdout.readline())["pid"]

        script.stdout.close()
        script.stdin.close()

        assert script.wait(DEADLINE_S) == 0
        assert not lives(pid)


def test_it_notices_the_death_of_a_harness_whose_pipe_somebody_else_holds_open() -> None:
    somebody_else = 1 << 30  # no process: the harness we are told of is not our parent
    with run_script(somebody_else) as script:
        assert script.wait(DEADLINE_S) == 0


def test_a_harness_killed_outright_leaves_no_process_and_no_folder(tmp_path: Path) -> None:
    with subprocess.Popen(  # noqa: S603
        [sys.executable, Path(__file__).with_name("harness_to_kill.py"), tmp_path],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
    ) as harness:
        assert harness.stdout is not None
        said = json.loads(harness.stdout.readline())
        descendants = psutil.Process(harness.pid).children(recursive=True)
        pids = {process.pid for process in descendants}
        commands = [command_of(process) for process in descendants]
        folders = [Path(said["owned"]), *folders_of_postgres(commands)]

        harness.kill()

    assert {Path(argv[0]).name for argv in commands} >= {"postgres", "sleep", "sh"}
    assert len(folders) == 2
    assert all_gone(pids)
    assert not any(folder.exists() for folder in folders)


def command_of(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline() or ["gone"]
    except psutil.NoSuchProcess:  # a server process whose client has just left
        return ["gone"]


def folders_of_postgres(commands: list[list[str]]) -> list[Path]:
    return [Path(argv[argv.index("-D") + 1]).parent for argv in commands if "-D" in argv]
