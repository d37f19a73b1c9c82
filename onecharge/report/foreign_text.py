"""Texts of foreign services, made harmless for the place where they are shown.

Rule 1: nothing is hidden: what a reader would obey is written out as its escape sequence.
Rule 2: every text passes here once on its way to a terminal, a page, an XML file or Markdown; what
        is special to one of these places is then escaped there, by its library where it has one.
Rule 3: the exception to rule 1 are live keys and card numbers: no history of ours has any, but
        what went wrong is said in texts that come from elsewhere.
"""

import re
from typing import Final

from simulator.redaction import redacted

_SPECIAL: Final = re.compile(r"[\\`*_{}\[\]<>()#+!|~&@$\"']")
_SCHEME: Final = re.compile(r":(?=//)")
_WORD_BREAKS: Final = re.compile(r"`+")


def visible(text: str) -> str:
    """Write out what is not printable: controls, line ends, reversed writing, half characters.

    What is left is legal XML, and a terminal has nothing to obey.
    """
    text = redacted(text)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def in_markdown(text: str) -> str:
    """Return a text that Markdown shows as it is, in a table's cell as well.

    As character references: they never build structure, whatever stands around them.
    """
    text = _SPECIAL.sub(lambda found: f"&#{ord(found[0])};", visible(text))
    return _SCHEME.sub("&#58;", text)


def code_in_markdown(text: str) -> str:
    """Return a block of code, fenced by more backticks than it has itself."""
    text = visible(text)
    longest = max((len(run) for run in _WORD_BREAKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"
