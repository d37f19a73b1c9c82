"""What was seen: records and their recorder, what clients concluded, and the case they make."""

from onecharge.history.assembly import case_of
from onecharge.history.case import Case
from onecharge.history.judgement import Evidence, Judgement, Verdict, Violation, money
from onecharge.history.outcomes import MEANING, REFUSED, TERMINAL, AnswerRules, Outcome, classify
from onecharge.history.reading import (
    HistoryError,
    Segment,
    merge,
    read_history,
    read_segment,
    runs,
    stream,
)
from onecharge.history.recorder import Recorder
from onecharge.history.records import Record

__all__ = [
    "MEANING",
    "REFUSED",
    "TERMINAL",
    "AnswerRules",
    "Case",
    "Evidence",
    "HistoryError",
    "Judgement",
    "Outcome",
    "Record",
    "Recorder",
    "Segment",
    "Verdict",
    "Violation",
    "case_of",
    "classify",
    "merge",
    "money",
    "read_history",
    "read_segment",
    "runs",
    "stream",
]
