"""Faults as a request asks for them: one line of text.

    Onecharge-Faults: lose_reply; hold until=elapsed amount=200

    chain     = fault *( ";" fault )
    fault     = name *( space parameter "=" value )
    value     = number / "true" / "false" / word / '"' text '"'

Rule 1: a chain bends the call that carries it, and the news of what that call did; so it has
        no ``operation``, no ``order`` and no window. ``times`` and ``probability`` it may have.
Rule 2: each fault strikes once under one idempotency key, unless it says how many ``times``:
        the retry that sends the same line again gets through.
Rule 3: what nobody can follow is one ``PlanError``, and so an answer 400; nothing is ignored.
"""

import re
from typing import Final

from simulator.catalogue import PlanError, rule_from
from simulator.core.rules import Rule

MAX_LENGTH: Final = 2_000
MAX_FAULTS: Final = 16

_FAULT: Final = re.compile(r'(?:[^;"]|"[^"]*")+')
_WORD: Final = re.compile(r'(?:[^\s"]|"[^"]*")+')
_NUMBER: Final = re.compile(r"-?\d{1,15}(\.\d{1,15})?", re.ASCII)
_ELSEWHERE: Final = frozenset({"fault", "name", "operation", "order", "nth", "after_s", "until_s"})


def read_chain(text: str) -> tuple[Rule, ...]:
    """Read the faults that a request asks for. Raises ``PlanError``."""
    if len(text) > MAX_LENGTH or text.count('"') % 2:
        raise PlanError("faults", f"at most {MAX_LENGTH} characters, quotes in pairs", text[:80])
    asked = [part for part in _FAULT.findall(text) if part.strip()]
    if not 1 <= len(asked) <= MAX_FAULTS:
        raise PlanError("faults", f"1 to {MAX_FAULTS} faults", text[:80])
    return tuple(_rule(part, place) for place, part in enumerate(asked))


def _rule(text: str, place: int) -> Rule:
    name, *given = _WORD.findall(text)
    table: dict[str, object] = {"fault": name, "times": 1}
    for each in given:
        field, equals, value = each.partition("=")
        if not equals or field in _ELSEWHERE:
            expected = "name=value, of a parameter of the fault or times or probability"
            raise PlanError(f"faults[{place}]", expected, each[:80])
        table[field] = _value(value)
    try:
        return rule_from({**table, "name": f"asked:{name}"})
    except PlanError as error:
        raise error.within(f"faults[{place}]") from None


def _value(text: str) -> object:
    match text:
        case "true" | "false":
            return text == "true"
        case _ if number := _NUMBER.fullmatch(text):
            return float(text) if number[1] else int(text)
        case _:
            return text.replace('"', "")
