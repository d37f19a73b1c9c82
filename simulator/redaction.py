"""What must never be shown or used: live keys, and card numbers that may be somebody's.

Rule 1: only what is certain. A live key says so by its prefix; a card number has a network's
        prefix and length and Luhn's check digit, and is not one that a provider gives out for
        tests. A wrong guess here would refuse a good file or spoil an id.
Rule 2: what a service sent passes here on its way to a file or to people: ``redacted`` for a text
        that is read, ``without_secrets`` for data that is judged. What is found is replaced by its
        kind; neither its end nor its length stays.
Rule 3: data tells things apart by what they are called. So that two of them stay two, and one
        stays one, what stands in the place of a secret in data has a number of this process.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

_LIVE_MARK: Final = "live_"
_LIVE_TOKEN: Final = "access_token$production$"  # noqa: S105 - what they begin with
_ROW_OF_DIGITS: Final = b"0" * 13
"""Without one of these three there is no secret in a text: a cheap question."""

_ALIKE: Final = bytes.maketrans(b"123456789", b"0" * 9)
_BETWEEN_DIGITS: Final = b" -"

_LIVE_KEY: Final = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?P<prefix>(?:sk|rk|pk|rzp)_live_)[A-Za-z0-9]{4,}"  # Stripe, Paystack, Razorpay
    r"|(?P<bare>live_)[A-Za-z0-9]{30,}"  # Mollie
    r"|(?P<token>access_token\$production\$)\w+(?:\$\w+)?"  # Braintree
    r")"
)

_DIGITS: Final = re.compile(r"(?<![\w.])[0-9]+(?:[ -][0-9]+)*(?!\w|\.[0-9])")
_GROUP: Final = re.compile(r"(?<![0-9])[0-9]{3,}(?![0-9])")  # 4-4-4-4, 4-6-5, 4-4-4-4-3
_SHORTEST, _LONGEST = 13, 19

# What issuers' numbers begin with, and how long they are: Visa, Mastercard (two ranges),
# American Express, Discover, Diners Club, JCB, UnionPay.
_NETWORKS: Final = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})"
    r"|5[1-5]\d{14}"
    r"|(?:222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}"
    r"|3[47]\d{13}"
    r"|(?:6011|64[4-9]\d|65\d\d)\d{12}"
    r"|3(?:0[0-5]|[68]\d)\d{11}"
    r"|35(?:2[89]|[3-8]\d)\d{12}"
    r"|62\d{14,17}"
)

_TEST_PREFIXES: Final = ("400000", "400002", "520000")
"""Ranges that providers give out for tests and no bank issues."""

_TEST_CARDS: Final = frozenset(
    {
        *("4242424242424242", "4000056655665556", "4111111111111111", "4012888888881881"),
        *("4100000000000019", "4444333322221111", "4917610000000000", "4222222222222"),
        *("4988438843884305", "4166676667666746", "4646464646464644", "4035501000000008"),
        *("4360000001000005",),
        *("5555555555554444", "5105105105105100", "5200828282828210", "5454545454545454"),
        *("2223003122003222", "2223000048410010", "2222400070000005", "5136333333333335"),
        *("378282246310005", "371449635398431", "370000000000002", "378734493671000"),
        *("6011111111111117", "6011000990139424", "6011981111111113", "6555900000604105"),
        *("36227206271667", "30569309025904", "38520000023237"),
        *("36006666333344", "3566002020360505", "3530111333300000", "3569990010095841"),
        *("6200000000000005", "6200000000000047", "6205500000000000004", "6250947000000014"),
    }
)


@dataclass(frozen=True)
class Found:
    """Something that must not be shown: of which kind, and where in the text it stands."""

    kind: str
    start: int
    end: int


def redacted(text: str) -> str:
    """Return a text with live keys and real-looking card numbers removed."""
    if not may_hold_a_secret(text):
        return text
    return _replaced(text, lambda kind, _: f"[{kind} removed]")


def without_secrets(data: Any) -> Any:
    """Return JSON data with what must not be shown removed from its texts, and all else as it is.

    Numbers are not looked at: those of that length are times.
    """
    match data:
        case str():
            return _replaced(data, _numbered) if may_hold_a_secret(data) else data
        case Mapping():
            return {without_secrets(name): without_secrets(data[name]) for name in data}
        case list() | tuple():
            return [without_secrets(each) for each in data]
        case _:
            return data


def may_hold_a_secret(text: str, start: int = 0) -> bool:
    """Tell cheaply whether it is worth looking closer, from a place of the text on."""
    text = text[start:]
    if _LIVE_MARK in text or _LIVE_TOKEN in text:
        return True
    return _ROW_OF_DIGITS in _digits_alike(text)


def _digits_alike(text: str) -> bytes:
    # Every record of every history is asked this: in C, several times as quick as a pattern.
    return text.encode("utf-8", "surrogatepass").translate(_ALIKE, _BETWEEN_DIGITS)


def found_in(text: str) -> Iterator[Found]:
    """Yield what must not be shown of a text, kind by kind, from left to right."""
    yield from _live_keys(text)
    for match in _DIGITS.finditer(text):
        if match.end() - match.start() >= _SHORTEST:
            yield from _cards(text, match.start(), match.end())


def _live_keys(text: str) -> Iterator[Found]:
    for match in _LIVE_KEY.finditer(text):
        yield Found("live key", match.start(), match.end())


def _cards(text: str, start: int, stop: int) -> Iterator[Found]:
    """Yield the card numbers of a row of digits, whose groups may be those of a number or not."""
    groups = list(_GROUP.finditer(text, start, stop))
    first = 0
    while first < len(groups):
        number, end = "", groups[first].start()
        for last in range(first, len(groups)):
            if groups[last].start() > end + 1:  # a shorter group stands between
                break
            end = groups[last].end()
            number += groups[last][0]
            if len(number) > _LONGEST:
                break
            if len(number) >= _SHORTEST and _may_be_somebodys(number):
                yield Found("card number", groups[first].start(), end)
                first = last
                break
        first += 1


def _may_be_somebodys(number: str) -> bool:
    return (
        _NETWORKS.fullmatch(number) is not None
        and number not in _TEST_CARDS
        and not number.startswith(_TEST_PREFIXES)
        and _checks(number)
    )


def _checks(number: str) -> bool:
    """Luhn's check: every second digit from the right doubled, digits added, a multiple of ten."""
    digits = [int(digit) for digit in reversed(number)]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[1::2]]
    return (sum(digits[0::2]) + sum(doubled)) % 10 == 0


_NUMBERS: Final[dict[str, int]] = {}
"""What was removed from data so far, and the number that each goes by."""


def _numbered(kind: str, secret: str) -> str:
    # Of another process as well, since histories of several are put together.
    return f"[{kind} {os.getpid()}-{_NUMBERS.setdefault(secret, len(_NUMBERS) + 1)} removed]"


def _replaced(text: str, instead: Callable[[str, str], str]) -> str:
    for found in sorted(found_in(text), key=lambda found: found.start, reverse=True):
        secret = text[found.start : found.end]
        text = text[: found.start] + instead(found.kind, secret) + text[found.end :]
    return text
