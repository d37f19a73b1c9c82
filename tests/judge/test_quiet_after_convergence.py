"""Calls that come when all is done."""

from typing import TYPE_CHECKING

from onecharge.invariants.quiet_after_convergence import STORM, judge

if TYPE_CHECKING:
    from tests.judge.conftest import Tale


def at_rest(tale: "Tale") -> None:
    tale.pays("ord-1")
    tale.settles()


def test_a_service_that_is_done_is_quiet(tale: "Tale") -> None:
    at_rest(tale)

    assert judge(tale.case()).verdict == "holds"


def test_a_late_call_and_any_number_of_looks_are_nobodys_loss(tale: "Tale") -> None:
    at_rest(tale)
    for _ in range(STORM):
        tale.calls("ord-1", operation="charge.list")
    for _ in range(STORM - 1):
        tale.calls("ord-1", "up-1")

    assert judge(tale.case()).verdict == "holds"


def test_a_retry_that_goes_on_and_on_is_seen(tale: "Tale") -> None:
    at_rest(tale)
    for _ in range(STORM):
        tale.calls("ord-1", "up-1")
        tale.calls(None, "up-7")

    known, unknown = judge(tale.case()).violations

    assert known.says == "ord-1: 3 more calls to the provider after all was settled"
    assert known.boundary == "API → provider"
    assert {piece.side for piece in known.evidence} == {"client", "provider"}
    assert (unknown.order, unknown.says.partition(":")[0]) == (None, "up-7")


def test_before_all_is_settled_there_is_nothing_to_judge(tale: "Tale") -> None:
    tale.pays("ord-1")
    tale.phase("heal", "quiet", "read")

    assert not judge(tale.case()).exercised
