"""Verdicts for people and for machines."""

from onecharge.report.json_file import write_json
from onecharge.report.terminal import Terminal

__all__ = ["Terminal", "write_json"]
