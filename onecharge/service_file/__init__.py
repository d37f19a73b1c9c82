"""What a team writes down once so that its service can be judged: ``onecharge.toml``."""

from onecharge.service_file.file import Capabilities, Orders, ServiceFile, Timing, read_service_file
from onecharge.service_file.process import Database, Service, Worker
from onecharge.service_file.provider import TEST_SECRET, ProviderSide, Webhook
from onecharge.service_file.reading import Effects, Read, Source, Tick
from onecharge.service_file.requests import (
    Answer,
    Browser,
    Capture,
    Charge,
    Keyed,
    Poll,
    Prepare,
    Refund,
    Request,
)
from onecharge.service_file.words import ORDER_VALUES, WORLD_VALUES, found

__all__ = [
    "ORDER_VALUES",
    "TEST_SECRET",
    "WORLD_VALUES",
    "Answer",
    "Browser",
    "Capabilities",
    "Capture",
    "Charge",
    "Database",
    "Effects",
    "Keyed",
    "Orders",
    "Poll",
    "Prepare",
    "ProviderSide",
    "Read",
    "Refund",
    "Request",
    "Service",
    "ServiceFile",
    "Source",
    "Tick",
    "Timing",
    "Webhook",
    "Worker",
    "found",
    "read_service_file",
]
