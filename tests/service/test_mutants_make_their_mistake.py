"""Each mutant passes the plain case; the first five show their mistake where its guard was."""

import ast
import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from reference_impl.parts import MUTANTS, NoSuchMutantError, mutants, parts

if TYPE_CHECKING:
    from tests.service.conftest import Shop

CREATE: dict[str, object] = {"operation": "charge.create"}
QUICK = {"PROVIDER_TIMEOUT_S": "0.5"}


@pytest.mark.parametrize("mutant", mutants())
async def test_a_mutant_passes_the_plain_case(shop: "Shop", mutant: str) -> None:
    await shop.open(mutant)

    paid = await shop.pay()
    told = await shop.tell(await shop.provider_charge())

    assert (paid.status, told.status) == (201, 200)
    assert await shop.status() == "succeeded"
    assert shop.real_charges() == ["ch_1"]
    assert await shop.credits_minor() == [500]


async def test_without_the_key_guard_two_at_once_charge_twice(shop: "Shop") -> None:
    await shop.open("no_client_key_guard")
    shop.go_wrong({"fault": "hold", "until": "arrived", "amount": 2, **CREATE})

    both = await asyncio.gather(shop.pay(), shop.pay())

    assert {seen.status for seen in both} == {201}
    assert len(set(shop.upstream_keys())) == 2
    assert len(shop.real_charges()) == 2


async def test_without_the_key_guard_retries_one_by_one_still_charge_once(
    shop: "Shop",
) -> None:
    await shop.open("no_client_key_guard", **QUICK)
    shop.go_wrong({"fault": "time_out_after_commit", "times": 1, **CREATE})

    assert [(await shop.pay()).status, (await shop.pay()).status] == [202, 201]
    assert shop.real_charges() == ["ch_1"]


async def test_with_a_key_per_attempt_a_lost_reply_charges_twice(shop: "Shop") -> None:
    await shop.open("upstream_key_per_attempt")
    shop.go_wrong({"fault": "lose_reply", "times": 1, **CREATE})

    paid = await shop.pay()

    assert paid.status == 201
    assert len(shop.real_charges()) == 2


async def test_without_event_dedupe_every_copy_credits(shop: "Shop") -> None:
    await shop.open("no_event_dedupe")
    await shop.pay()
    charge = await shop.provider_charge()

    one_by_one = [await shop.tell(charge) for _ in range(2)]
    at_once = await asyncio.gather(*(shop.tell(charge) for _ in range(2)))

    assert {seen.status for seen in (*one_by_one, *at_once)} == {200}
    assert await shop.credits_minor() == [500] * 4


async def test_without_event_dedupe_an_event_before_the_reply_credits_once(
    shop: "Shop",
) -> None:
    await shop.open("no_event_dedupe")
    shop.deliver_events()
    shop.go_wrong({"fault": "deliver_before_reply", **CREATE})

    assert (await shop.pay()).status == 201
    assert await shop.credits_minor() == [500]


@pytest.mark.parametrize("fault", ["time_out_after_commit", "lose_reply"])
async def test_an_unknown_that_is_recorded_as_failed_is_a_lie(shop: "Shop", fault: str) -> None:
    await shop.open("unknown_recorded_as_failed", **QUICK)
    shop.go_wrong({"fault": fault, "times": 1, **CREATE})

    told = await shop.pay()

    assert told.status == 402
    assert await shop.status() == "failed"
    assert shop.real_charges() == ["ch_1"]


@pytest.mark.parametrize("fault", ["time_out_after_commit", "lose_reply", "error_after_commit"])
async def test_a_call_that_is_rolled_back_is_made_again(shop: "Shop", fault: str) -> None:
    await shop.open("call_inside_transaction_rolled_back", **QUICK)
    shop.go_wrong({"fault": fault, "times": 1, **CREATE})

    unclear = await shop.pay()
    left_behind = await shop.rows("select 1 from operations")
    paid = await shop.pay()

    assert (unclear.status, left_behind, paid.status) == (500, [], 201)
    assert len(set(shop.upstream_keys())) == 2
    assert len(shop.real_charges()) == 2


@pytest.mark.parametrize("mutant", mutants())
def test_a_mutant_says_what_it_breaks_without_being_imported(mutant: str) -> None:
    tree = ast.parse((MUTANTS / f"{mutant}.py").read_text())
    said = {
        target.id: ast.literal_eval(statement.value)
        for statement in tree.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }

    assert said.keys() >= {"VIOLATES", "CLASS", "REPORT"}
    assert said["REPORT"] in (ast.get_docstring(tree) or "")


@pytest.mark.parametrize("mutant", mutants())
def test_a_mutant_shows_its_mistake_in_ten_lines(mutant: str) -> None:
    tree = ast.parse((MUTANTS / f"{mutant}.py").read_text())
    [one] = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    steps = [node for node in one.body if not isinstance(node, ast.Assign | ast.AnnAssign)]
    source = (MUTANTS / f"{mutant}.py").read_text().splitlines()
    lines = [
        line
        for step in steps
        for line in source[step.lineno - 1 : step.end_lineno]
        if line.strip() and not line.strip().startswith("#")
    ]

    assert one.name == "Mutant"
    assert len(lines) <= 10


@pytest.mark.parametrize("mutant", mutants())
def test_a_mutants_mistake_is_shown_by_a_test(mutant: str) -> None:
    shown = "".join(path.read_text() for path in Path(__file__).parent.glob("test_mutants_*.py"))

    assert f'"{mutant}"' in shown


def test_a_mutant_that_is_not_there_is_named() -> None:
    with pytest.raises(
        NoSuchMutantError, match="no mutant 'nobody'; there are aliases_credit_each, call_inside"
    ):
        parts("nobody")
