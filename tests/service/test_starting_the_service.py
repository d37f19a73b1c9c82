import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from reference_impl.settings import Settings, SettingsError, read_settings

if TYPE_CHECKING:
    from tests.service.conftest import Shop

ROOT = Path(__file__).parents[2]
GOOD = {
    "DATABASE_URL": "postgresql://user:hunter2@127.0.0.1:1/shop",
    "PROVIDER_URL": "http://127.0.0.1:1/",
    "PROVIDER_API_KEY": "sk_test_hunter2",
    "WEBHOOK_SECRET": "whsec_aHVudGVyMg==",
}


def test_what_is_not_set_has_its_default() -> None:
    settings = read_settings(GOOD | {"REFERENCE_MUTANT": "", "PATH": "/bin"})

    assert (settings.host, settings.port) == ("127.0.0.1", 8000)
    assert (settings.provider_timeout_s, settings.lease_s, settings.reconcile_every_s) == (5, 15, 5)
    assert settings.provider_url == "http://127.0.0.1:1"
    assert settings.database.drivername == "postgresql+psycopg"
    assert "hunter2" not in repr(settings)


def test_every_setting_has_its_place_in_the_readme() -> None:
    readme = (ROOT / "reference_impl" / "README.md").read_text()

    missing = {name for name in Settings.model_fields if f"`{name.upper()}`" not in readme}
    assert missing == set()


@pytest.mark.parametrize(
    "change, sentence",
    [
        ({"DATABASE_URL": ""}, "DATABASE_URL is not set"),
        ({"DATABASE_URL": "hunter2"}, "DATABASE_URL: expected postgresql://user:password@"),
        ({"DATABASE_URL": "mysql://u:hunter2@h/d"}, "DATABASE_URL: expected a URL that begins"),
        ({"PROVIDER_URL": "ftp://h"}, "PROVIDER_URL: expected a URL that begins with http://"),
        ({"PROVIDER_API_KEY": ""}, "PROVIDER_API_KEY is not set"),
        ({"WEBHOOK_SECRET": "whsec_"}, "WEBHOOK_SECRET: expected whsec_ and base64"),
        ({"WEBHOOK_SECRET": "whsec_a"}, "WEBHOOK_SECRET: expected whsec_ and base64"),
        ({"PORT": "http"}, "PORT: Input should be a valid integer"),
        ({"PORT": "70000"}, "PORT: Input should be less than or equal to 65535"),
        ({"PROVIDER_TIMEOUT_S": "0"}, "PROVIDER_TIMEOUT_S: Input should be greater than 0"),
        ({"WEBHOOK_TOLERANCE_S": "301"}, "WEBHOOK_TOLERANCE_S: Input should be less than or"),
        ({"WORKERS": "0"}, "WORKERS: Input should be greater than or equal to 1"),
        (
            {"PROVIDER_KEY_RETENTION_S": "5"},
            "PROVIDER_KEY_RETENTION_S must exceed PROVIDER_TIMEOUT_S",
        ),
    ],
)
def test_a_wrong_setting_is_one_line_that_names_it_and_no_secret(
    change: dict[str, str], sentence: str
) -> None:
    with pytest.raises(SettingsError) as wrong:
        read_settings(GOOD | change)

    assert str(wrong.value).startswith(sentence)
    assert "\n" not in str(wrong.value)
    assert "hunter2" not in str(wrong.value)


def _started(environment: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "reference_impl"],
        env={"PATH": os.defpath, "PYTHONPATH": str(ROOT)} | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    "change, sentence",
    [
        ({"LEASE_S": "soon"}, "reference_impl: LEASE_S: Input should be a valid number"),
        ({"REFERENCE_MUTANT": "nobody"}, "reference_impl: REFERENCE_MUTANT: no mutant 'nobody'"),
    ],
)
def test_a_wrong_start_is_exit_2_and_one_line(change: dict[str, str], sentence: str) -> None:
    ended = _started(GOOD | change)

    assert ended.returncode == 2
    assert ended.stderr.startswith(sentence)
    assert ended.stderr.count("\n") == 1


def test_a_port_that_is_taken_is_exit_1_and_one_line(shared_database: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = _started(GOOD | {"DATABASE_URL": shared_database, "PORT": str(port)})

    assert ended.returncode == 1
    assert ended.stderr.startswith(f"reference_impl: cannot listen on 127.0.0.1:{port}")
    assert ended.stderr.count("\n") == 1


async def test_it_logs_what_it_does_without_secrets_keys_or_bodies(shop: "Shop") -> None:
    name = await shop.spawn()
    await shop.pay(tenant="hunter2", key="my-secret-key")

    await shop.supervisor.stop(name, signal=signal.SIGTERM)

    log = (shop.folder / f"{name}.log").read_text()
    lines = [json.loads(line) for line in log.splitlines()]
    assert [line["says"] for line in lines] == ["listening", "outcome"]
    assert lines[1]["outcome"] == "Captured(provider_charge='ch_1', amount_minor=500)"
    for secret in ("hunter2", "my-secret-key", "sk_test", "whsec", "cus-1"):
        assert secret not in log
