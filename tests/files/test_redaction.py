"""Live keys and somebody's card numbers are found; ids, times and test cards are left alone."""

import pytest

from simulator.dialects.stripe.cards import CARDS
from simulator.redaction import found_in, redacted, without_secrets

# In pieces, so that nobody's scanner takes them for what they look like.
LIVE = "_live_"
KEYS = [
    f"sk{LIVE}4eC39HqLyjWDarjtT1zdp7dc",
    f"rk{LIVE}51H8xyzABC",
    f"pk{LIVE}51H8xyzABC",
    f"rzp{LIVE}ILgsfZCZoFIKMb",
    "live" + "_HFjE8GvPVzQmTtnVbRkWmqzXHCVx3y7H",
    "access_token" + "$production$5zvc8hqhwzs6pqg5$c0de",
]
CARDS_OF_SOMEBODY = [
    "4539578763621486",
    "4539 5787 6362 1486",
    "4539-5787-6362-1486",
    "5425233430109903",
    "2221001234123450",
    "374245455400126",
    "6011601160116611",
    "30230123456789",
    "3528000700000000",
    "6221260000000000",
]
NOT_SECRET = [
    "sk_test_4eC39HqLyjWDarjtT1zdp7dc",
    "whsec_b25lY2hhcmdlLXRlc3Qtc2VjcmV0",
    f"never write sk{LIVE}… here",
    "/live_customers/go_live_2026",
    "4242 4242 4242 4242",
    "4000002500003155",
    "1764541234567890123",  # nanoseconds
    "4539578763621487",  # the last digit is wrong
    "9539578763621486",  # nobody's network
    "ch_4539578763621486",  # an id
    "0.4539578763621486",
    "45395787636214864539578763621486",
    "1 2 3 4 5 6 7 8 9 10 11 12 13",
]


@pytest.mark.parametrize("key", KEYS)
def test_a_live_key_is_removed_and_what_is_around_it_stays(key: str) -> None:
    assert redacted(f'{{"key": "{key}"}}') == '{"key": "[live key removed]"}'


@pytest.mark.parametrize("number", CARDS_OF_SOMEBODY)
def test_a_card_number_is_removed_and_what_is_around_it_stays(number: str) -> None:
    assert redacted(f'{{"pan": "{number}"}}') == '{"pan": "[card number removed]"}'


@pytest.mark.parametrize("text", NOT_SECRET)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redacted(text) == text


@pytest.mark.parametrize("number", [number for _, number, *_ in CARDS])
def test_every_card_of_the_dialects_is_a_test_card(number: str) -> None:
    assert list(found_in(number)) == []


def test_a_card_number_is_found_between_its_date_and_its_check_value() -> None:
    text = "12 4539 5787 6362 1486 2027 123 and 5425233430109903"
    assert redacted(text) == "12 [card number removed] 2027 123 and [card number removed]"


def test_several_secrets_of_both_kinds_are_removed() -> None:
    assert redacted(f"4539578763621486 {KEYS[0]} x {KEYS[1]}") == (
        "[card number removed] [live key removed] x [live key removed]"
    )


def test_json_is_searched_at_any_depth_and_its_numbers_are_kept() -> None:
    data = {"said": [{KEYS[0]: f"card {CARDS_OF_SOMEBODY[0]}"}, 4539578763621486, None, 0.5]}

    clean = without_secrets(data)

    assert list(found_in(str({"said": [clean["said"][0], clean["said"][2:]]}))) == []
    assert clean["said"][1:] == [4539578763621486, None, 0.5]
    assert data["said"][0] == {KEYS[0]: "card 4539578763621486"}


def test_what_is_removed_from_data_can_still_be_told_apart() -> None:
    one, again, two, other = without_secrets(
        [CARDS_OF_SOMEBODY[0], CARDS_OF_SOMEBODY[0], CARDS_OF_SOMEBODY[3], KEYS[0]]
    )

    assert one == again
    assert len({one, two, other}) == 3
    assert without_secrets(one) == one
