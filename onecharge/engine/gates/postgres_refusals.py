"""The errors that a gate can have PostgreSQL answer with, and how it is brought to do so.

Rule 1: inside a connection the server raises the error itself, so that the transaction, its
        savepoints and the rest of a pipeline are what they are after any error.
Rule 2: a COMMIT that is refused ends the transaction all the same, as it does when two
        serializable transactions meet: the server rolls back, and the client is told why.
Rule 3: what is fatal is said by the gate, and the connection closed: so does a server.
"""

from dataclasses import dataclass
from typing import Final

from onecharge.engine.gates.wire.postgres import error


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error, in the words of PostgreSQL."""

    code: str
    text: str
    fatal: bool = False

    @property
    def message(self) -> bytes:
        """What the client is told."""
        return error(self.code, self.text, severity="FATAL" if self.fatal else "ERROR")

    def brought_about(self, *, commit: bool) -> tuple[str, dict[bytes, bytes]]:
        """Return the statement that has it come about, and what the client is told for what."""
        if commit:
            return "ROLLBACK", {b"C": self.message}
        return self._raised, {b"E": self.message}

    @property
    def _raised(self) -> str:
        words = f"RAISE EXCEPTION USING ERRCODE = '{self.code}', MESSAGE = '{self.text}';"
        return f"DO $onecharge$BEGIN {words} END$onecharge$"


REFUSALS: Final = {
    refusal.code: refusal
    for refusal in (
        Refusal("40001", "could not serialize access due to concurrent update"),
        Refusal("40P01", "deadlock detected"),
        Refusal("53300", "sorry, too many clients already", fatal=True),
        Refusal("55P03", "could not obtain lock on row"),
        Refusal("57014", "canceling statement due to user request"),
        Refusal("57P01", "terminating connection due to administrator command", fatal=True),
    )
}
