"""Five services as their communities write them, judged as a reader of their README judges them.

Three are right and hold; two have real mistakes, and the report names the boundary that is open.
"""

import json
import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import subprocess

pytestmark = [pytest.mark.examples, pytest.mark.timeout(600)]

EXAMPLES = Path(__file__).parents[2] / "examples"

Example = Callable[[str], Path]
Verify = Callable[..., "subprocess.CompletedProcess[str]"]

CLIENT, PROVIDER, RECEIVER = (
    "client → API",
    "API → provider",
    "provider → webhook receiver",
)

needs_node = pytest.mark.skipif(
    shutil.which("node") is None or not (EXAMPLES / "node_modules").is_dir(),
    reason="Node or its packages are not here; `make examples` installs what it can",
)


def needs(module: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(
        find_spec(module) is None, reason=f"{module} is not here; `make examples` installs it"
    )


RIGHT = [
    pytest.param("fastapi_stripe", marks=needs("fastapi")),
    pytest.param("django_orm", marks=needs("gunicorn")),
    pytest.param("express_stripe", marks=needs_node),
]


@pytest.mark.parametrize("name", RIGHT)
def test_a_careful_shop_holds(
    name: str, example: Example, verify: Verify, at_every_boundary: list[str]
) -> None:
    ended = verify(service_file(name, example), *at_every_boundary)

    assert ended.returncode == 0, ended.stdout + ended.stderr


@needs("flask")
def test_the_donation_box_forgets_its_key_and_credits_every_delivery(
    example: Example, verify: Verify, tmp_path: Path
) -> None:
    found = violations(
        verify(
            service_file("flask_sqlite", example),
            *("--scenario", "lost_replies", "--scenario", "duplicate_events_one_by_one"),
            *("--json", str(tmp_path / "verdict.json")),
        ),
        tmp_path / "verdict.json",
    )

    assert ("one_charge_per_key", PROVIDER) in found
    assert ("one_effect_per_event", RECEIVER) in found
    assert CLIENT not in {boundary for _, boundary in found}


@needs_node
def test_a_wallet_that_remembers_events_in_memory_credits_them_again(
    example: Example, verify: Verify, tmp_path: Path
) -> None:
    found = violations(
        verify(
            service_file("express_memory_events", example),
            *("--scenario", "lost_replies", "--scenario", "duplicate_events_one_by_one"),
            *("--json", str(tmp_path / "verdict.json")),
        ),
        tmp_path / "verdict.json",
    )

    assert ("one_effect_per_event", RECEIVER) in found
    assert {boundary for _, boundary in found} == {RECEIVER}


def test_every_shop_says_how_it_is_judged() -> None:
    for folder in (path.parent for path in EXAMPLES.glob("*/onecharge.toml")):
        assert "onecharge verify --service" in (folder / "README.md").read_text(), folder
        assert f"`{folder.name}`" in (EXAMPLES / "README.md").read_text(), folder


def service_file(name: str, example: Example) -> Path:
    """Return a copy's file, or where Node must find its packages the one in its place."""
    place = EXAMPLES / name / "onecharge.toml"
    return place if (place.parent / "server.js").exists() else example(name)


def violations(ended: "subprocess.CompletedProcess[str]", verdict: Path) -> set[tuple[str, str]]:
    """Return the invariants that were violated, each with the boundary found open."""
    assert ended.returncode == 1, ended.stdout + ended.stderr
    return {
        (invariant["name"], violation["boundary"])
        for invariant in json.loads(verdict.read_text())["invariants"]
        for violation in invariant["violations"]
    }
