"""Four services that no plain request can judge: by queue, by webhook, behind a login, at prices.

Each holds as it is, and is violated with a mistake put in.
"""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.error import URLError

import pytest

pytestmark = [pytest.mark.examples, pytest.mark.timeout(600)]

Example = Callable[[str], Path]
Verify = Callable[..., "subprocess.CompletedProcess[str]"]

MISTAKES = {
    "behind_login": ("retries_with_a_new_key", "lost_replies", "one_charge_per_key"),
    "price_list": ("looks_before_it_charges", "parallel_same_key", "one_charge_per_key"),
    "webhook_first": (
        "believes_every_event",
        "duplicate_events_at_once",
        "one_effect_per_event",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_service_that_is_right_holds(
    name: str, example: Example, verify: Verify, at_every_boundary: list[str]
) -> None:
    service = quick(example(name))

    ended = verify(service, *at_every_boundary)

    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.parametrize("name, mistake", [(n, MISTAKES[n]) for n in MISTAKES])
def test_a_mistake_is_found(
    name: str, mistake: tuple[str, str, str], example: Example, verify: Verify
) -> None:
    service = quick(example(name))
    what, scenario, invariant = mistake

    ended = verify(service, "--scenario", scenario, mistake=what)

    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert f"{invariant} · {scenario}" in ended.stdout


def test_a_queue_that_runs_already_holds(
    example: Example, verify: Verify, at_every_boundary: list[str]
) -> None:
    with running(example("queue_202")) as service:
        ended = verify(service, *at_every_boundary)

    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_a_queue_that_charges_a_job_twice_is_found(example: Example, verify: Verify) -> None:
    with running(example("queue_202"), mistake="takes_jobs_twice") as service:
        ended = verify(service, "--scenario", "lost_replies")

    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "one_charge_per_key · lost_replies" in ended.stdout


def test_the_examples_are_documented(example: Example) -> None:
    for name in (*MISTAKES, "queue_202"):
        readme = (example(name).parent / "README.md").read_text()
        assert f"onecharge verify --service examples/{name}/onecharge.toml" in readme


def quick(service: Path) -> Path:
    """Have what is booked later be booked soon: seconds are the service's, not ours to wait."""
    text = service.read_text()
    for slow, soon in (
        ('BOOKS_AFTER_S = "5"', 'BOOKS_AFTER_S = "0.3"'),
        ("books_within_s = 6", "books_within_s = 0.8"),
        ("settles_within_s = 15", "settles_within_s = 6"),
        ("within_s = 8", "within_s = 2"),
    ):
        text = text.replace(slow, soon)
    service.write_text(text)
    return service


@contextmanager
def running(service: Path, mistake: str = "") -> Iterator[Path]:
    """Run the queue by itself, as in a container, at addresses nobody else has."""
    port, provider = free_port(), free_port()
    text = service.read_text().replace("127.0.0.1:8202", f"127.0.0.1:{port}")
    service.write_text(text.replace("127.0.0.1:12202", f"127.0.0.1:{provider}"))
    env = {"PORT": str(port), "PROVIDER_URL": f"http://127.0.0.1:{provider}", "MISTAKE": mistake}
    with subprocess.Popen(
        [sys.executable, "service.py"], cwd=service.parent, env={**os.environ, **env}
    ) as process:
        try:
            until_ready(f"http://127.0.0.1:{port}/healthz", process)
            yield service
        finally:
            process.send_signal(signal.SIGTERM)


def until_ready(url: str, process: "subprocess.Popen[bytes]") -> None:
    while process.poll() is None:
        with suppress(URLError), urllib.request.urlopen(url):  # noqa: S310 - our own example
            return
        time.sleep(0.05)
    raise AssertionError(f"it ended with code {process.returncode}")


def free_port() -> int:
    with closing(socket.socket()) as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
