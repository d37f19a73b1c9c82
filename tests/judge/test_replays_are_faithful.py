"""What a request is told that comes again."""

from typing import TYPE_CHECKING

import pytest

from onecharge.invariants.replays_are_faithful import judge

if TYPE_CHECKING:
    from onecharge.history.outcomes import Outcome
    from tests.judge.conftest import Tale


def paid(tale: "Tale") -> None:
    asked = tale.asks("ord-1")
    charge = tale.captures(tale.calls("ord-1", "up-1"))
    tale.told(asked, charge="s-1", provider_charge=charge)


def test_the_same_answer_again_is_faithful(tale: "Tale") -> None:
    paid(tale)
    tale.told(tale.asks("ord-1"), charge="s-1", provider_charge="ch_1")

    assert judge(tale.case()).verdict == "holds"


def test_a_single_answer_is_nothing_to_compare(tale: "Tale") -> None:
    paid(tale)
    tale.asks("ord-1")

    assert not judge(tale.case()).exercised


def test_two_racing_requests_may_not_be_told_two_names_of_one_charge(tale: "Tale") -> None:
    one, two = tale.asks("ord-1"), tale.asks("ord-1")
    tale.captures(tale.calls("ord-1", "up-1"))
    tale.told(one, charge="s-1")
    tale.told(two, charge="s-2")

    [violation] = judge(tale.case()).violations

    assert violation.says == "ord-1: one key was answered with s-1 and with s-2"
    assert violation.boundary == "client → API"
    assert {piece.side for piece in violation.evidence} == {"client", "provider"}


def test_two_names_of_two_real_charges_are_another_claims(tale: "Tale") -> None:
    tale.pays("ord-1", "up-1")
    tale.pays("ord-1", "up-2")

    assert judge(tale.case()).verdict == "holds"


def test_another_key_has_a_name_of_its_own(tale: "Tale") -> None:
    paid(tale)
    tale.told(tale.asks("ord-1", key="key-2"), charge="s-2")

    assert not judge(tale.case()).exercised


@pytest.mark.parametrize("outcome", ["declined", "invalid", "mismatch"])
def test_a_success_that_is_denied_later_is_unfaithful(tale: "Tale", outcome: "Outcome") -> None:
    paid(tale)
    tale.refused("ord-1", outcome, variant="header_jitter")

    [violation] = judge(tale.case()).violations

    assert violation.says == f"ord-1: told ok (attempt 1), and {outcome} when it came again"
    assert violation.at_risk_minor == 500


def test_what_was_asked_before_the_first_answer_was_heard_may_differ(tale: "Tale") -> None:
    one, two = tale.asks("ord-1"), tale.asks("ord-1")
    charge = tale.captures(tale.calls("ord-1", "up-1"))
    tale.told(one, provider_charge=charge)
    tale.told(two, "invalid")
    paid(tale)

    assert judge(tale.case()).verdict == "holds"


def test_an_identical_request_refused_as_another_is_unfaithful(tale: "Tale") -> None:
    asked = tale.asks("ord-1")
    tale.calls("ord-1")
    tale.told(asked, "unknown")
    tale.refused("ord-1", variant="header_jitter")

    [violation] = judge(tale.case()).violations

    assert violation.says == "ord-1: the same request with other headers was refused as another one"
    assert "fingerprint" in violation.guard


def test_a_request_that_was_lost_on_its_way_was_not_taken(tale: "Tale") -> None:
    tale.told(tale.asks("ord-1"), "unknown", error="reset")
    tale.refused("ord-1")

    assert judge(tale.case()).violations == ()


def test_a_service_that_refuses_everything_has_not_lost_a_fingerprint(tale: "Tale") -> None:
    tale.refused("ord-1")
    tale.refused("ord-1")

    assert not judge(tale.case()).exercised


def test_beside_another_body_that_came_first_the_honest_one_may_be_refused(tale: "Tale") -> None:
    tale.asks("ord-1", variant="other_amount", amount_minor=900)
    tale.told(tale.asks("ord-1"), "in_flight")
    tale.refused("ord-1")

    assert judge(tale.case()).violations == ()


def test_a_stable_field_that_changes_is_seen_and_other_fields_are_not_looked_at(
    tale: "Tale",
) -> None:
    one, two, three = (tale.asks("ord-1") for _ in range(3))
    tale.captures(tale.calls("ord-1", "up-1"))
    tale.told(one, charge="s-1", stable={"$.made": 1, "$.old": 1})
    tale.told(two, charge="s-1", stable={"$.made": 1, "$.new": 2}, body="other text")
    assert judge(tale.case()).verdict == "holds"

    tale.told(three, charge="s-1", stable={"$.made": 2})
    [violation] = judge(tale.case()).violations

    assert violation.says == "ord-1: one key was answered with $.made 1 and with 2"


@pytest.mark.parametrize("first", ["ok", "declined"])
def test_a_success_that_says_nothing_is_no_replay(tale: "Tale", first: "Outcome") -> None:
    asked = tale.asks("ord-1")
    tale.captures(tale.calls("ord-1", "up-1"))
    tale.told(asked, first)
    tale.told(tale.asks("ord-1"), "unknown", status=500)
    tale.told(tale.asks("ord-1"), "unknown", status=200, error="cut off")
    assert judge(tale.case()).verdict == "holds"

    tale.told(tale.asks("ord-1"), "unknown", status=200)
    [violation] = judge(tale.case()).violations

    assert violation.says == (
        f"ord-1: told {first} (attempt 1), and HTTP 200 without a word of that when it came again"
    )


def paid_by_a_worker(tale: "Tale") -> None:
    """A request is answered 202; only whoever asks later hears how it ended."""
    tale.told(tale.asks("ord-1"), "pending", charge="job-1")
    tale.captures(tale.calls("ord-1", "up-1"))
    tale.told(tale.asks_how("ord-1"), "ok")


@pytest.mark.parametrize("outcome", ["ok", "pending"])
def test_where_a_request_waits_what_was_told_on_asking_is_what_must_stand(
    tale: "Tale", outcome: "Outcome"
) -> None:
    paid_by_a_worker(tale)
    tale.told(tale.asks("ord-1"), outcome, charge="job-1")

    judgement = judge(tale.case())
    assert judgement.exercised
    assert judgement.verdict == "holds"


def test_to_be_denied_what_was_told_on_asking_is_unfaithful(tale: "Tale") -> None:
    paid_by_a_worker(tale)
    tale.told(tale.asks("ord-1"), "declined")

    [violation] = judge(tale.case()).violations
    assert "and declined when it came again" in violation.says


def test_on_asking_nobody_says_which_of_two_keys_it_was(tale: "Tale") -> None:
    paid_by_a_worker(tale)
    tale.told(tale.asks("ord-1", key="key-2"), "declined")

    assert not judge(tale.case()).violations
