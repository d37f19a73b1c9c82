"""How to read what the service itself believes: an order's status, and what it has booked."""

from pydantic import field_validator

from onecharge.service_file.requests import Request
from onecharge.service_file.words import a_jsonpath


class Read(Request):
    """The request that asks the service what became of an order."""

    status: str = "$.status"
    charge: str = "$.id"
    amount_minor: str | None = None

    @field_validator("status", "charge", "amount_minor")
    @classmethod
    def _a_path(cls, path: str | None) -> str | None:
        return a_jsonpath(path)


class Effects(Request):
    """The request that lists what the service has booked; ``each`` yields one node an effect."""

    each: str
    amount_minor: str = "$.amount_minor"

    @field_validator("each", "amount_minor")
    @classmethod
    def _a_path(cls, path: str) -> str:
        return str(a_jsonpath(path))
