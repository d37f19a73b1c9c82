"""What was seen: records, the recorder that writes them, and what clients concluded."""

from onecharge.history.outcomes import MEANING, REFUSED, TERMINAL, AnswerRules, Outcome, classify
from onecharge.history.reading import HistoryError, Segment, merge, read_history, read_segment, runs
from onecharge.history.recorder import Recorder
from onecharge.history.records import Record

__all__ = [
    "MEANING",
    "REFUSED",
    "TERMINAL",
    "AnswerRules",
    "HistoryError",
    "Outcome",
    "Record",
    "Recorder",
    "Segment",
    "classify",
    "merge",
    "read_history",
    "read_segment",
    "runs",
]
