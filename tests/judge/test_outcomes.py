"""What an answer lets a client conclude."""

import pytest

from onecharge.history.outcomes import (
    MEANING,
    REFUSED,
    TERMINAL,
    AnswerRules,
    Outcome,
    classify,
)

RULES = AnswerRules()
NO_WORDS = AnswerRules(succeeded=frozenset(), pending=frozenset(), failed=frozenset())


@pytest.mark.parametrize(
    "status, word, outcome",
    [
        (201, "succeeded", "ok"),
        (200, "SUCCEEDED", "ok"),
        (202, "processing", "pending"),
        (202, None, "pending"),
        (200, "pending", "pending"),
        (200, "failed", "declined"),
        (200, None, "unknown"),
        (200, "banana", "unknown"),
        (402, "failed", "declined"),
        (402, None, "declined"),
        (409, None, "in_flight"),
        (422, None, "mismatch"),
        (400, None, "invalid"),
        (401, None, "invalid"),
        (404, None, "invalid"),
        (413, None, "invalid"),
        (425, None, "retry_later"),
        (429, None, "retry_later"),
        (503, None, "unknown"),
        (500, None, "unknown"),
        (502, None, "unknown"),
        (302, None, "unknown"),
        (408, None, "unknown"),
    ],
)
def test_an_answer_means_what_the_rules_say(
    status: int, word: str | None, outcome: Outcome
) -> None:
    assert classify(status, word, None, RULES) == outcome


def test_a_503_is_a_promise_to_try_later_only_when_it_says_when() -> None:
    assert classify(503, None, None, RULES, retry_after=True) == "retry_later"
    assert classify(503, None, None, RULES, retry_after=False) == "unknown"


def test_a_refused_connection_is_definite_and_any_other_error_is_unknown() -> None:
    assert classify(None, None, REFUSED, RULES) == "refused"
    assert classify(None, None, "timed out after 1.0 s", RULES) == "unknown"
    assert classify(None, None, None, RULES) == "unknown"


def test_a_success_whose_body_was_cut_off_is_unknown() -> None:
    assert classify(201, None, "body cut off", RULES) == "unknown"


def test_a_service_without_words_speaks_by_its_status() -> None:
    assert classify(201, None, None, NO_WORDS) == "ok"
    assert classify(201, "whatever", None, NO_WORDS) == "ok"
    assert classify(202, None, None, NO_WORDS) == "pending"
    assert classify(402, None, None, NO_WORDS) == "declined"


def test_the_service_file_has_the_last_word_on_statuses() -> None:
    rules = AnswerRules(declined=frozenset({409}), retry_later=frozenset({500}))

    assert classify(409, None, None, rules) == "declined"
    assert classify(500, None, None, rules, retry_after=True) == "retry_later"


def test_what_ends_an_order_never_leaves_it_open() -> None:
    assert {outcome for outcome in TERMINAL if MEANING[outcome].open} == set()
    assert {o for o, meaning in MEANING.items() if meaning.kind == "unknown"} == {"unknown"}
