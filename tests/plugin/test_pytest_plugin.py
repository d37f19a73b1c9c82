"""The plug-in as a project meets it: a folder of tests, run by pytest in a process of its own."""

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

SHOP = Path(__file__).parent.parent / "cli"

OTHERS = ("locust", "schemathesis", "hypothesispytest", "pytest_cov", "anyio")
"""Plug-ins that happen to be here, and take longer to import than ours."""

PAYING = """
import json
import urllib.error
import urllib.request

import aiohttp


def pay(url, order, key, token="sk_test_onecharge"):
    body = {"amount_minor": 500, "currency": "EUR", "reference": order}
    headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": key}
    headers["Content-Type"] = "application/json"
    asked = urllib.request.Request(f"{url}/v1/charges", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(asked) as answer:
        return json.load(answer)


async def pay_async(url, order, key):
    body = {"amount_minor": 500, "currency": "EUR", "reference": order}
    headers = {"Authorization": "Bearer sk_test_onecharge", "Idempotency-Key": key}
    async with aiohttp.ClientSession() as session:
        async with session.post(f"{url}/v1/charges", json=body, headers=headers) as answer:
            return await answer.json()
"""


PROVIDER_TESTS = """
import http.client

import pytest
import stripe

from paying import pay, pay_async


def test_sync(onecharge_provider):
    pay(onecharge_provider.url, "ord-1", "k-1")
    pay(onecharge_provider.url, "ord-1", "k-1")
    onecharge_provider.charged("ord-1").once(amount_minor=500)
    onecharge_provider.charged("ord-2").never()


async def test_async(onecharge_provider):
    await pay_async(onecharge_provider.url, "ord-1", "k-1")
    onecharge_provider.charged("ord-1").once()


def test_twice(onecharge_provider):
    pay(onecharge_provider.url, "ord-1", "k-1")
    pay(onecharge_provider.url, "ord-1", "k-2")
    onecharge_provider.charged("ord-1").once()


@pytest.mark.onecharge_fault("lose_reply", operation="charge.create", times=1)
def test_lost(onecharge_provider):
    with pytest.raises((http.client.HTTPException, OSError)):
        pay(onecharge_provider.url, "ord-1", "k-1")
    pay(onecharge_provider.url, "ord-1", "k-1")
    onecharge_provider.charged("ord-1").once()
    assert onecharge_provider.fired == {"lose_reply": 1}


@pytest.mark.onecharge_fault("lose_reply", operation="charge.refund")
def test_vain(onecharge_provider):
    pay(onecharge_provider.url, "ord-1", "k-1")


@pytest.mark.onecharge_fault("loose_reply")
def test_misspelt(onecharge_provider):
    pass


@pytest.mark.onecharge_provider(dialect="stripe")
def test_stripe(onecharge_provider):
    client = stripe.StripeClient(
        onecharge_provider.key, base_addresses={"api": onecharge_provider.url}
    )
    client.v1.payment_intents.create({
        "amount": 500, "currency": "eur", "confirm": True, "payment_method": "pm_card_visa",
        "automatic_payment_methods": {"enabled": True, "allow_redirects": "never"},
    })
    onecharge_provider.charged(amount_minor=500).once()


def test_deaf(onecharge_provider):
    onecharge_provider.tell("http://127.0.0.1:9/nobody", "whsec_dGVzdA==")
    pay(onecharge_provider.url, "ord-1", "k-1")
    onecharge_provider.settle(within_s=2)


def test_no_service_file(onecharge_service):
    pass
"""


def run(pytester: pytest.Pytester, tests: str, *options: str) -> pytest.RunResult:
    pytester.makeini(
        "[pytest]\nasyncio_mode = auto\nfilterwarnings = error\n"
        "asyncio_default_fixture_loop_scope = function"
    )
    pytester.makepyfile(paying=PAYING, test_it=tests)
    without = [f"-pno:{name}" for name in ("cacheprovider", *OTHERS)]
    return pytester.runpytest_subprocess(*without, "-v", *options)


def test_a_project_is_told_the_truth_about_its_provider(pytester: pytest.Pytester) -> None:
    result = run(pytester, PROVIDER_TESTS)

    outcomes = dict(
        line.split("::")[1].split()[:2]
        for line in result.outlines
        if line.startswith("test_it.py::")
    )
    assert outcomes == {
        "test_sync": "PASSED",
        "test_async": "PASSED",
        "test_twice": "FAILED",
        "test_lost": "PASSED",
        "test_vain": "ERROR",  # after it passed: its fault never fired
        "test_misspelt": "ERROR",
        "test_stripe": "PASSED",
        "test_deaf": "FAILED",
        "test_no_service_file": "ERROR",
    }
    result.assert_outcomes(passed=5, failed=2, errors=3)
    for line in (
        "*WronglyCharged: expected 1 real charge of reference ord-1, found 2*",
        "*capture ch_2 5.00 EUR*",
        "*FaultNotReached: never fired: lose_reply*",
        "*onecharge_fault: *did you mean 'lose_reply'*",
        "*NotSettled: never acknowledged: evt_1 (charge.captured)*",
        "*onecharge_service: *onecharge.toml*",
    ):
        result.stdout.fnmatch_lines([line])


def test_a_service_is_started_from_its_file_and_survives_a_kill(pytester: pytest.Pytester) -> None:
    file = SHOP / "onecharge.toml"
    result = run(
        pytester,
        """
import pytest

def test_a_plain_charge(onecharge_service, onecharge_provider):
    order = onecharge_service.order()
    [answer] = onecharge_service.pay(order)
    assert answer.value["outcome"] == "ok"
    onecharge_provider.charged(order.reference).once(order.amount_minor)
    onecharge_provider.settle()

@pytest.mark.onecharge_fault("lose_reply", operation="charge.create", times=1)
def test_a_lost_reply(onecharge_service):
    order = onecharge_service.order()
    onecharge_service.pay(order)
    onecharge_service.pay(order)
    onecharge_service.provider.charged(order.reference).once()

def test_a_kill(onecharge_service):
    onecharge_service.kill()
    onecharge_service.restart()
    order = onecharge_service.order()
    assert [a.value["outcome"] for a in onecharge_service.pay(order, presses=3)] == ["ok"] * 3
    onecharge_service.provider.charged(order.reference).once()
    history = onecharge_service.history
    assert [r.kind for r in history if r.what == "process"] == ["crash", "restart"]
""",
        "-o",
        f"onecharge_service_file={file}",
    )
    result.assert_outcomes(passed=3)
