"""What every invariant has in common; and that a correct story is never flagged."""

import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onecharge.invariants import Invariant, invariants
from onecharge.verdict import judge_scenario

if TYPE_CHECKING:
    from tests.judge.conftest import Asked, Tale

NAMES = (
    "answers_tell_the_truth",
    "every_order_settles",
    "one_charge_per_key",
    "one_effect_per_event",
)


def test_they_are_found_by_looking_into_the_folder() -> None:
    assert {invariant.name for invariant in invariants()} >= set(NAMES)


@pytest.mark.parametrize("invariant", invariants(), ids=lambda invariant: invariant.name)
def test_each_claims_one_sentence_and_says_unknown_of_an_empty_history(
    invariant: Invariant, tell: type["Tale"]
) -> None:
    assert invariant.claim.endswith(".")
    assert invariant.claim.count(". ") == 0
    assert invariant.judge(tell(announced=False).case()).verdict == "unknown"


@st.composite
def plans(draw: st.DrawFn) -> list[list[str]]:
    """Draw for each order what happens to its requests before one of them succeeds."""
    step = st.sampled_from(["lost reply", "in flight", "declined", "looked up", "killed"])
    return draw(st.lists(st.lists(step, max_size=4), min_size=1, max_size=4))


class Purchase:
    """One order at a service that is right: one provider key until a definite decline."""

    def __init__(self, tale: "Tale", order: str, plan: list[str]) -> None:
        self.tale, self.order = tale, order
        self.plan = list(plan)
        self.charge: str | None = None
        self.declines = 0

    @property
    def key(self) -> str:
        return f"up-{self.order}-{self.declines}"

    def step(self) -> bool:
        """Let one thing happen; False when the order is paid."""
        asked = self.tale.asks(self.order)
        step = self.plan.pop(0) if self.plan else "paid"
        if step == "in flight":
            self.tale.told(asked, "in_flight")
        elif step == "declined" and self.charge is None:
            call = self.tale.calls(self.order, self.key)
            self.tale.replies(call, 402, charge=self.tale.declines(call))
            self.tale.told(asked, "declined")
            self.declines += 1
        elif step == "looked up":
            self.tale.replies(self.tale.calls(self.order, operation="charge.list"), 200)
            self.tale.told(asked, "pending")
        else:
            self._execute(step, asked)
        return step != "paid"

    def _execute(self, step: str, asked: "Asked") -> None:
        call = self.tale.calls(self.order, self.key)
        if self.charge is None:
            self.charge = self.tale.captures(call)
        if step == "paid":
            self.tale.replies(call, charge=self.charge)
            self.tale.told(asked, provider_charge=self.charge, charge=f"s-{self.order}")
        else:
            if step == "killed":
                self.tale.kills()
            self.tale.drops(call)
            self.tale.told(asked, "unknown", error="reset")


@given(plan=plans(), chance=st.randoms(use_true_random=False), copies=st.integers(1, 3))
def test_a_correct_story_told_in_any_order_is_never_flagged(
    plan: list[list[str]], chance: random.Random, copies: int, tell: type["Tale"]
) -> None:
    orders = [f"ord-{number}" for number in range(len(plan))]
    tale = tell(*orders)
    open_ones = [Purchase(tale, order, steps) for order, steps in zip(orders, plan, strict=True)]
    paid: list[Purchase] = []
    while open_ones:
        one = chance.choice(open_ones)
        if not one.step():
            open_ones.remove(one)
            paid.append(one)
    for purchase in paid:
        assert purchase.charge
        tale.hears(purchase.charge, times=copies)
    tale.ends_well(*orders)

    scenario = judge_scenario(tale.records, repeat="")

    assert scenario.verdict == "holds", scenario.reasons
    assert scenario.violations == []
    assert scenario.advice == ()


@given(plan=plans(), cut=st.integers(min_value=0, max_value=200))
def test_a_correct_story_cut_off_anywhere_is_never_flagged(
    plan: list[list[str]], cut: int, tell: type["Tale"]
) -> None:
    orders = [f"ord-{number}" for number in range(len(plan))]
    tale = tell(*orders)
    for order, steps in zip(orders, plan, strict=True):
        purchase = Purchase(tale, order, steps)
        while purchase.step():
            pass
        assert purchase.charge
        tale.hears(purchase.charge)
    tale.ends_well(*orders)

    scenario = judge_scenario(tale.records[:cut], repeat="")

    assert scenario.violations == []
    assert (
        cut >= len(tale.records)
        or scenario.verdict == "unknown"
        or len(tale.records) - cut < len(orders)
    )


def test_a_thousand_orders_are_judged_in_one_go(tell: type["Tale"]) -> None:
    orders = [f"ord-{number}" for number in range(1_000)]
    tale = tell(*orders)
    for order in orders:
        tale.hears(tale.pays(order))
    tale.ends_well(*orders)

    assert judge_scenario(tale.records, repeat="").verdict == "holds"
