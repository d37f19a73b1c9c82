"""The official ``stripe`` package from npm, unmodified, against the dialect over real sockets.

It is installed into a temporary folder, once; without Node there is nothing to be tested.
"""

import asyncio
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from simulator.catalogue import rules_from
from simulator.server import Simulator

HERE = Path(__file__).parent / "node"
NODE, NPM = shutil.which("node"), shutil.which("npm")

pytestmark = [
    pytest.mark.skipif(NODE is None or NPM is None, reason="Node is not installed"),
    pytest.mark.timeout(300),  # the package comes over the network
]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which the script finds the package."""
    folder = tmp_path_factory.mktemp("node")
    for name in ("package.json", "shopping.mjs"):
        shutil.copy(HERE / name, folder)
    assert NPM is not None
    command = [NPM, "install", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
    return folder


async def shop(folder: Path, url: str) -> Any:
    """Run the script, and return what it met."""
    assert NODE is not None
    process = await asyncio.create_subprocess_exec(
        NODE,
        "shopping.mjs",
        url,
        cwd=folder,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    said, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    return json.loads(said)


async def test_node_shops_as_at_the_real_one(folder: Path) -> None:
    simulator = Simulator(dialect="stripe")
    await simulator.start()
    try:
        rule = {"fault": "lose_reply", "operation": "charge.create", "times": 2}
        simulator.arm(rules_from([rule]))
        met = await shop(folder, simulator.url())
        fired = simulator.fired()
        charged = [each.amount_minor for each in simulator.provider.ledger.real_charges()]
    finally:
        await simulator.stop()

    assert met["charge"] == {"status": "succeeded", "brand": "visa", "requestId": "req_3"}
    assert fired == {"lose_reply": 2}
    assert met["hold"] == {"held": "requires_capture", "received": 200, "refund": "succeeded"}
    assert met["decline"] == {
        "kind": "StripeCardError",
        "status": 402,
        "code": "card_declined",
        "decline_code": "insufficient_funds",
        "param": None,
        "intent": "requires_payment_method",
    }
    assert (met["mismatch"]["kind"], met["mismatch"]["status"]) == ("StripeIdempotencyError", 400)
    assert (met["unknown"]["kind"], met["unknown"]["code"], met["unknown"]["param"]) == (
        "StripeInvalidRequestError",
        "parameter_unknown",
        "amonut",
    )
    assert met["page"] == 3
    assert met["webhook"] == {
        "type": "payment_intent.succeeded",
        "order": "ord-1",
        "key": "k2",
        "forged": "StripeSignatureVerificationError",
    }
    assert charged == [500, 200, 500]
