"""The requests of a customer, and how the answers to them are understood."""

from typing import Any, Literal

from pydantic import Field, field_validator

from onecharge.history.outcomes import AnswerRules
from onecharge.service_file.words import ORDER_VALUES, Status, Words, a_jsonpath, only
from onecharge.toml_file import Section


class Request(Section):
    """One HTTP request as a template."""

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = "GET"
    path: str = Field(pattern=r"^/")
    headers: dict[str, str] = Field(default_factory=dict)
    json_body: dict[str, Any] | None = Field(default=None, alias="json")

    @field_validator("path", "headers", "json_body")
    @classmethod
    def _known_order(cls, template: Any) -> Any:
        return only(template, ORDER_VALUES)


class Answer(Section):
    """How to read an answer: JSONPaths into its body, words for its outcome, sets of statuses."""

    status: str = "$.status"
    charge: str = "$.id"
    provider_charge: str | None = None
    succeeded: Words = ("succeeded",)
    pending: Words = ("pending", "processing")
    failed: Words = ("failed",)
    declined: tuple[Status, ...] = (402,)
    mismatch: tuple[Status, ...] = (422,)
    invalid: tuple[Status, ...] = (400, 401, 403, 404, 405, 413)
    in_flight: tuple[Status, ...] = (409,)
    retry_later: tuple[Status, ...] = (425, 429, 503)

    @field_validator("status", "charge", "provider_charge")
    @classmethod
    def _a_path(cls, path: str | None) -> str | None:
        return a_jsonpath(path)

    def rules(self) -> AnswerRules:
        """Return the same as the judge's rules for classifying an answer."""
        return AnswerRules(
            declined=frozenset(self.declined),
            mismatch=frozenset(self.mismatch),
            invalid=frozenset(self.invalid),
            in_flight=frozenset(self.in_flight),
            retry_later=frozenset(self.retry_later),
            succeeded=frozenset(self.succeeded),
            pending=frozenset(self.pending),
            failed=frozenset(self.failed),
        )


class Charge(Request):
    """The request by which a customer pays, and how its answer is to be understood."""

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = "POST"
    answer: Answer = Answer()
