"""What can be explored is found by a look into its folder, and says what a service must have."""

from pathlib import Path

import pytest

from onecharge.engine.scopes import SCOPES
from onecharge.service_file import ServiceFile, read_service_file

FILE = Path(__file__).parent / "services" / "onecharge.toml"


def shop(**provider: float) -> ServiceFile:
    file = read_service_file(FILE)
    return file.model_copy(update={"provider": file.provider.model_copy(update=provider)})


@pytest.mark.parametrize("name", sorted(SCOPES))
def test_a_scope_is_called_by_its_file_and_says_what_it_is_about(name: str) -> None:
    scope = SCOPES[name]

    assert scope.name == name
    assert scope.what
    assert scope.presses >= 1
    assert scope.why_not(shop(lease_s=2.0)) in {
        None,
        "the service takes no webhooks",
        "its store has a gate, where requests are held at every step",
    }


def test_how_quick_a_store_is_can_be_chosen_where_it_has_a_gate() -> None:
    scope = SCOPES["quick-and-slow"]

    assert scope.why_not(shop()) is None
    assert scope.why_not(shop().model_copy(update={"database": None})) == (
        "its store has no gate, so how quick it is cannot be chosen"
    )


def test_the_smallest_comes_first() -> None:
    sizes = [scope.size for scope in SCOPES.values()]

    assert sizes == sorted(sizes)


def test_a_lease_that_is_not_declared_or_too_long_cannot_run_out() -> None:
    scope = SCOPES["lease-runs-out"]

    assert scope.why_not(shop()) == "the service file declares no provider.lease_s"
    assert scope.why_not(shop(lease_s=2.0)) is None
    assert scope.why_not(shop(lease_s=20.0)) == (
        "the lease is not shorter than the time after which calls are given up"
    )
    assert [scope.waits_s(press, shop(lease_s=2.0)) for press in (1, 2)] == [0.0, 2.4]


def test_copies_of_a_webhook_are_a_rule_about_the_orders_of_the_batch() -> None:
    (rule,) = SCOPES["webhook-copies"].rules(["ord-1", "ord-2"])

    assert (rule.operation, rule.orders) == ("delivery", ("ord-1", "ord-2"))
    assert SCOPES["own-webhook"].rules(["ord-1"]) == []
