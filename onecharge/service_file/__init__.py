"""What a team writes down once so that its service can be judged: ``onecharge.toml``."""

from onecharge.service_file.file import Capabilities, Orders, ServiceFile, Timing, read_service_file
from onecharge.service_file.process import Database, Service, Worker
from onecharge.service_file.provider import TEST_SECRET, ProviderSide, Webhook
from onecharge.service_file.reading import Effects, Read
from onecharge.service_file.requests import Answer, Charge, Request
from onecharge.service_file.words import ORDER_VALUES, WORLD_VALUES, found

__all__ = [
    "ORDER_VALUES",
    "TEST_SECRET",
    "WORLD_VALUES",
    "Answer",
    "Capabilities",
    "Charge",
    "Database",
    "Effects",
    "Orders",
    "ProviderSide",
    "Read",
    "Request",
    "Service",
    "ServiceFile",
    "Timing",
    "Webhook",
    "Worker",
    "found",
    "read_service_file",
]
