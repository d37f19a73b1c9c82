"""Logs for machines: one JSON object a line on standard error.

Rule 1: a line carries ids and outcomes; never a token, a signature, a key or a body.
"""

import json
import logging
from typing import Final

PLAIN: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class Lines(logging.Formatter):
    """Writes a record's message and whatever was passed as ``extra``."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "at": round(record.created, 3),
            "level": record.levelname.lower(),
            "says": record.getMessage(),
            **{name: value for name, value in vars(record).items() if name not in PLAIN},
        }
        if record.exc_info is not None:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def log_lines(level: int = logging.INFO) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(Lines())
    logging.basicConfig(level=level, handlers=[handler])
    # A retry that succeeds is no news, and one that does not ends in an error of ours.
    logging.getLogger("stamina").setLevel(logging.ERROR)
    logging.getLogger("alembic").setLevel(logging.WARNING)
    logging.getLogger("stripe").setLevel(
        logging.WARNING
    )  # a line for each call, and one for each answer
