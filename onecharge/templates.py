"""Requests as people write them in a service file: texts and tables with ``{placeholders}``.

Rule 1: a text that is one placeholder and nothing else takes the value's own type, so that
        ``amount_minor = "{amount_minor}"`` sends a number.
Rule 2: an unknown placeholder is the file's mistake and is found when the file is read.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

_PLACEHOLDER = re.compile(r"\{([a-z_][a-z0-9_]*)\}")


def filled(template: Any, values: Mapping[str, Any]) -> Any:
    """Return the template with every placeholder replaced, at any depth."""
    match template:
        case str():
            whole = _PLACEHOLDER.fullmatch(template)
            if whole and whole[1] in values:
                return values[whole[1]]
            return filled_text(template, values)
        case Mapping():
            return {key: filled(value, values) for key, value in template.items()}
        case list() | tuple():
            return [filled(value, values) for value in template]
        case _:
            return template


def filled_text(template: str, values: Mapping[str, Any]) -> str:
    """Return the text with every known placeholder replaced."""
    return _PLACEHOLDER.sub(
        lambda found: str(values[found[1]]) if found[1] in values else found[0], template
    )


def placeholders(template: Any) -> Iterator[str]:
    """Yield the names of all placeholders in a template, at any depth."""
    match template:
        case str():
            yield from (found[1] for found in _PLACEHOLDER.finditer(template))
        case Mapping():
            for value in template.values():
                yield from placeholders(value)
        case list() | tuple():
            for value in template:
                yield from placeholders(value)
        case _:
            return
