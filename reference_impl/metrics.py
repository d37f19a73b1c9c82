"""What is counted, for Prometheus.

Rule 1: a label is a word from a short list, never an id: series must not grow with traffic.
Rule 2: how long the oldest unknown outcome has been open is read from the database when asked,
        because every process would otherwise have an opinion of its own.
"""

import os
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from prometheus_client import CollectorRegistry, Counter, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from reference_impl.operation import Operation
from reference_impl.outcomes import Outcome, Unknown

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
SHARED_BY_WORKERS: Final = "PROMETHEUS_MULTIPROC_DIR"


class Metrics:
    """The counters of one service."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.attempts = self._counter("attempts", "Calls at the provider", "operation")
        self.replays = self._counter("replays", "Answers given again", "operation")
        self.conflicts = self._counter(
            "conflicts", "Requests refused for their key", "operation", "why"
        )
        self.outcomes = self._counter(
            "outcomes", "What calls at the provider came to", "operation", "outcome"
        )
        self.unknowns = self._counter(
            "unknowns", "Outcomes that stayed unknown for now", "operation"
        )
        self.reconciled = self._counter(
            "reconciled", "Operations the reconciler came back to", "status"
        )
        self.events = self._counter("events", "Events of the provider", "taken")

    def outcome(self, operation: Operation, outcome: Outcome) -> None:
        """Count what a pursuit came to."""
        self.outcomes.labels(operation.kind, type(outcome).__name__.lower()).inc()
        if isinstance(outcome, Unknown):
            self.unknowns.labels(operation.kind).inc()

    def page(self, oldest_unknown: datetime | None, now: datetime) -> bytes:
        """Return all metrics as text; those of all workers where several share one address."""
        registry = self.registry
        if os.environ.get(SHARED_BY_WORKERS):
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        age = CollectorRegistry()
        age.register(
            _Age(0.0 if oldest_unknown is None else (now - oldest_unknown).total_seconds())
        )
        return generate_latest(registry) + generate_latest(age)

    def _counter(self, name: str, says: str, *labels: str) -> Counter:
        return Counter(f"reference_{name}", says, labels, registry=self.registry)


class _Age(Collector):
    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def collect(self) -> Iterator[Metric]:
        says = "How long the oldest unknown outcome has been open"
        yield GaugeMetricFamily("reference_oldest_unknown_seconds", says, value=self.seconds)
