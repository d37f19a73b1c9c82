"""What a statement does, said in a few words, and whether it is worth to be held.

Rule 1: the words are the same for every run: a table's name stays, a value never does.
Rule 2: what a driver or a pool says for its own sake passes: its settings, its pings, its resets,
        the start of a transaction. Nothing of that can be seen by anybody else.
Rule 3: in doubt a statement is held. Holding one too many costs time; one too few, a race.
"""

import re
from typing import Final

from onecharge.engine.gates.wire.postgres_answers import IDLE

_COMMENT: Final = re.compile(r"\A(?:\s+|--[^\n]*(?:\n|\Z)|/\*.*?\*/|\()+", re.DOTALL)
_NAME: Final = r'((?:"[^"]+"|[\w$]+)(?:\s*\.\s*(?:"[^"]+"|[\w$]+))*)'
_LONGEST: Final = 80

_ONTO: Final = tuple(
    (words, re.compile(pattern + _NAME, re.IGNORECASE))
    for words, pattern in (
        ("INSERT INTO", r"\bINSERT\s+INTO\s+"),
        ("UPDATE", r"\AUPDATE\s+(?:ONLY\s+)?"),
        ("DELETE FROM", r"\bDELETE\s+FROM\s+(?:ONLY\s+)?"),
        ("MERGE INTO", r"\bMERGE\s+INTO\s+(?:ONLY\s+)?"),
        ("UPDATE", r"\bUPDATE\s+(?:ONLY\s+)?(?!SET\b|SKIP\b|NOWAIT\b|OF\b)"),
        ("COPY", r"\ACOPY\s+"),
        ("LOCK TABLE", r"\ALOCK\s+(?:TABLE\s+)?(?:ONLY\s+)?"),
        ("SELECT FROM", r"\bFROM\s+(?:ONLY\s+)?"),
        ("SELECT", r"\ASELECT\s+(?=[\w$.]+\s*\()"),
    )
)
"""Which words a statement is called by, the most telling first: what it writes, then reads."""

_WRITES: Final = re.compile(r"\A(?:INSERT|UPDATE|DELETE|MERGE|WITH)\b", re.IGNORECASE)
_READS: Final = re.compile(r"\A(?:SELECT|WITH|VALUES|TABLE)\b", re.IGNORECASE)
_LOCKING: Final = re.compile(
    r"\bFOR\s+(?:NO\s+KEY\s+)?UPDATE\b|\bFOR\s+(?:KEY\s+)?SHARE\b", re.IGNORECASE
)
_LITERAL: Final = re.compile(r"'(?:[^']|'')*'|\$(\w*)\$.*?\$\1\$", re.DOTALL)
_VALUE: Final = re.compile(rf"{_LITERAL.pattern}|\$\d+\b|(?<![\w$])\d+(?:\.\d+)?\b", re.DOTALL)
_MORE_ROWS: Final = re.compile(r"(\([^()]*\))(?:\s*,\s*\([^()]*\))+")
_MORE_VALUES: Final = re.compile(r"(\?(?:::\w+)?)(?:\s*,\s*\?(?:::\w+)?)+")


def head(text: str) -> str:
    """Return what a statement does, and to which table: ``INSERT INTO charges``, ``COMMIT``."""
    said = _said(_LITERAL.sub("''", text))
    for words, onto in _ONTO:
        if words in {"INSERT INTO", "DELETE FROM", "MERGE INTO"} and not _WRITES.match(said):
            continue
        if words == "UPDATE" and not _WRITES.match(said):
            continue
        if words.startswith("SELECT") and not _READS.match(said):
            continue
        if found := onto.search(said):
            table = re.sub(r"\s+", "", found[1]).replace('"', "")
            lock = " FOR UPDATE" if words == "SELECT FROM" and _LOCKING.search(said) else ""
            return f"{words} {table}{lock}"[:_LONGEST]
    first_words = re.findall(r"[A-Za-z_]\w*", said)[:2]
    one = bool(first_words) and first_words[0].upper() in _ONE_WORD
    return " ".join(first_words[: 1 if one else 2]).upper() or "(nothing)"


_ONE_WORD: Final = frozenset({"SELECT", "COMMIT", "END", "ROLLBACK", "BEGIN", "CALL", "DO"})

_FOR_ITS_OWN_SAKE: Final = re.compile(
    r"""
    (?: (?: SET | SHOW | RESET | DISCARD | DEALLOCATE | UNLISTEN | LISTEN | CLOSE ) \b [^;]*
      | (?: BEGIN | START \s+ TRANSACTION ) \b [^;]*
      | SELECT \s+ (?: 1 | NULL | '' | true | version\(\) | current_schema\(\)
                     | pg_catalog\.version\(\) | pg_advisory_unlock_all\(\)
                     | pg_backend_pid\(\) | current_database\(\) ) (?:\s+AS\s+\w+)?
    )?
    """,
    re.IGNORECASE | re.VERBOSE,
)
_ENDS: Final = re.compile(
    r"(?:ROLLBACK|ABORT|COMMIT|END)(?:\s+(?:WORK|TRANSACTION))?", re.IGNORECASE
)
_COMMITS: Final = re.compile(r"(?:COMMIT|END)(?:\s+(?:WORK|TRANSACTION))?", re.IGNORECASE)
_OF_THE_CATALOGUE: Final = re.compile(
    r"\b(?:pg_catalog\.)?pg_(?:type|class|namespace|enum|range)\b"
)


def for_its_own_sake(text: str, status: bytes) -> bool:
    """Return whether a driver or a pool says this for itself, so that it is not to be held.

    ``status`` is that of the connection's transaction, as ReadyForQuery told it last.
    """
    for part in text.split(";"):
        said = _said(part).strip()
        if status == IDLE and _ENDS.fullmatch(said):
            continue
        if not _FOR_ITS_OWN_SAKE.fullmatch(said) and not _asks_for_types(said):
            return False
    return True


def words(text: str) -> str:
    """Return a statement without what differs each time: its values, and how many there are."""
    said = _MORE_VALUES.sub(r"\1", _VALUE.sub("?", _said(text)))
    return " ".join(_MORE_ROWS.sub(r"\1", said).split())


def ends(text: str) -> bool:
    """Return whether a statement is the end of a transaction."""
    return bool(_ENDS.fullmatch(_said(text).strip().rstrip("; \n\t")))


def changes(text: str) -> bool:
    """Return whether a statement writes, or locks what others write."""
    said = _said(text)
    writes = re.match(r"(?:INSERT|UPDATE|DELETE|MERGE|COPY|LOCK)\b", said, re.IGNORECASE)
    inside = re.search(
        r"\b(?:INSERT\s+INTO|DELETE\s+FROM|UPDATE\s+\w+\s+SET)\b", said, re.IGNORECASE
    )
    return bool(writes or _LOCKING.search(said) or (_WRITES.match(said) and inside))


def commits(text: str) -> bool:
    """Return whether a statement is the end of a transaction that is to last."""
    said = _said(text).strip().rstrip("; \n\t")
    return bool(_COMMITS.fullmatch(said))


def _asks_for_types(said: str) -> bool:
    """Whether a driver asks the catalogue, and nothing else, what the types are called."""
    if not _READS.match(said) or not _OF_THE_CATALOGUE.search(said):
        return False
    return all(
        name.lower().removeprefix("pg_catalog.").startswith(("pg_", "information_schema"))
        for name in re.findall(
            rf"\b(?:FROM|JOIN)\s+(?!\(|LATERAL\b|unnest\b){_NAME}", said, re.IGNORECASE
        )
        if name.lower() not in _OF_ASYNCPG
    )


_SOURCES: Final = re.compile(rf"\b(?:FROM|JOIN)\s+(?!\(|LATERAL\b|unnest\b){_NAME}", re.IGNORECASE)
_OF_ASYNCPG: Final = frozenset({"typeinfo_tree", "typeinfo", "base"})


def _said(text: str) -> str:
    return _COMMENT.sub("", text)
