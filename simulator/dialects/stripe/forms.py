"""Forms with nested names, as ``metadata[order_id]=A1&expand[]=customer`` writes them.

Rule 1: a form is text or a dictionary of forms; a list is a dictionary with the keys 0, 1, ….
Rule 2: reading costs what was sent and no more; nothing here calls itself.
"""

import itertools
import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import parse_qsl

Form = str | dict[str, "Form"]
Fields = dict[str, Form]

DEEPEST: Final = 16
MOST_FIELDS: Final = 1_000

_NAME: Final = re.compile(r"([^\[\]]+)((?:\[[^\[\]]*\])*)").fullmatch


class Malformed(Exception):
    """What was sent is no form; says why."""


def read_body(body: bytes) -> Fields:
    """Read a body of ``application/x-www-form-urlencoded``."""
    try:
        pairs = parse_qsl(
            body.decode(),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MOST_FIELDS,
        )
    except UnicodeDecodeError:
        raise Malformed("the form is not UTF-8") from None
    except ValueError:
        raise Malformed(f"the form has more than {MOST_FIELDS} fields") from None
    return nested(pairs)


def nested(pairs: Iterable[tuple[str, str]]) -> Fields:
    """Put fields with nested names where they belong; of two with one name, the last counts."""
    form: Fields = {}
    for name, value in pairs:
        _place(form, _steps(name), value)
    return form


def _steps(name: str) -> list[str]:
    """Return the way to a field: ``a[b][]`` is a, b and the empty step, which means *next*."""
    read = _NAME(name)
    if read is None:
        raise Malformed(f"the name {name[:80]!r} cannot be read")
    inner = read[2][1:-1].split("][") if read[2] else []
    if len(inner) >= DEEPEST:
        raise Malformed(f"the name {name[:80]!r} is nested too deeply")
    return [read[1], *inner]


def _place(form: Fields, steps: list[str], value: str) -> None:
    here = form
    for step, following in itertools.pairwise(steps):
        inner = here.setdefault(_key(here, step, following), {})
        if isinstance(inner, str):
            raise Malformed(f"{step[:80]!r} is a value here and a hash there")
        here = inner
    last = _key(here, steps[-1], None)
    if isinstance(here.get(last), dict):
        raise Malformed(f"{last[:80]!r} is a hash here and a value there")
    here[last] = value


def _key(here: Fields, step: str, following: str | None) -> str:
    """Return the key of a step. The empty one is the next of a list, or still the last one.

    In ``items[][id]=1&items[][name]=x`` the second field belongs to the same item.
    """
    if step:
        return step
    last = here.get(str(len(here) - 1))
    if following and isinstance(last, dict) and following not in last:
        return str(len(here) - 1)
    return str(len(here))
