"""What a team writes down once so that its service can be judged: ``onecharge.toml``."""

from onecharge.service_file.described import json_schema
from onecharge.service_file.draft import SCHEMA_FILE, Answers, drafted
from onecharge.service_file.file import (
    Capabilities,
    Orders,
    ServiceFile,
    Timing,
    exploring,
    read_service_file,
    service_file_of,
)
from onecharge.service_file.process import Database, Explore, Redis, Service, Worker
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
    "SCHEMA_FILE",
    "TEST_SECRET",
    "WORLD_VALUES",
    "Answer",
    "Answers",
    "Browser",
    "Capabilities",
    "Capture",
    "Charge",
    "Database",
    "Effects",
    "Explore",
    "Keyed",
    "Orders",
    "Poll",
    "Prepare",
    "ProviderSide",
    "Read",
    "Redis",
    "Refund",
    "Request",
    "Service",
    "ServiceFile",
    "Source",
    "Tick",
    "Timing",
    "Webhook",
    "Worker",
    "drafted",
    "exploring",
    "found",
    "json_schema",
    "read_service_file",
    "service_file_of",
]
