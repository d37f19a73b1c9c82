"""The requests of a customer, and how the answers to them are understood.

Rule 1: a request is a template; what it may name depends on what came before (``order_of_use``).
Rule 2: an answer is read by JSONPaths and sets of words and statuses; nobody guesses.
"""

import re
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, field_validator, model_validator

from onecharge.history.outcomes import AnswerRules, Outcome, classify
from onecharge.service_file.words import Seconds, Status, Words, a_jsonpath
from onecharge.toml_file import Section

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
JsonPath = str
Captures = dict[Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_]*$")], str]
"""What later templates may name, and where in an answer it is found."""


class Template(Section):
    """One HTTP request as a template, but for its path."""

    method: Method = "GET"
    """The HTTP method."""
    headers: dict[str, str] = Field(default_factory=dict)
    """The headers, beside those of ``headers_command``."""
    json_body: dict[str, Any] | None = Field(default=None, alias="json")
    """The body, as JSON."""
    form: dict[str, str | bool | int | float] | None = None
    """The body, as the fields of an HTML form."""

    @model_validator(mode="after")
    def _one_body(self) -> Self:
        if self.json_body is not None and self.form is not None:
            raise ValueError("expected json or form as the body, found both")
        return self


class Request(Template):
    """One HTTP request as a template."""

    path: str = Field(pattern=r"^/")
    """The path, with its query."""


class Prepare(Request):
    """What a customer does before the first press of an order: log in, fill a cart, get a token."""

    method: Method = "POST"
    """The HTTP method."""
    expect: tuple[Status, ...] = ()
    """The statuses of an answer with which one may go on; any 2xx if none is given."""
    capture: Captures = Field(default_factory=dict)
    """Names for what these JSONPaths find in the answer."""
    capture_headers: Captures = Field(default_factory=dict)
    """Names for headers of the answer."""
    capture_cookies: Captures = Field(default_factory=dict)
    """Names for cookies that the answer sets, as Django's ``csrftoken``."""
    capture_text: Captures = Field(default_factory=dict)
    """Names for the first group of these regular expressions, as a token in an HTML form."""
    cookies: bool = True
    """Whether the customer keeps the cookies that the answer sets, and shows them from then on."""

    @field_validator("capture")
    @classmethod
    def _paths(cls, captures: dict[str, str]) -> dict[str, str]:
        for path in captures.values():
            a_jsonpath(path)
        return captures

    @field_validator("capture_text")
    @classmethod
    def _patterns(cls, captures: dict[str, str]) -> dict[str, str]:
        for pattern in captures.values():
            try:
                groups = re.compile(pattern).groups
            except re.error as error:
                raise ValueError(
                    f"expected a regular expression, found {pattern!r}: {error}"
                ) from None
            if groups != 1:
                raise ValueError(f"expected one group in {pattern!r}, found {groups}")
        return captures

    @property
    def captured(self) -> tuple[str, ...]:
        """The names that later templates may use."""
        return (
            *self.capture,
            *self.capture_headers,
            *self.capture_cookies,
            *self.capture_text,
        )

    def expects(self, status: int) -> bool:
        """Tell whether the customer may go on after an answer with this status."""
        return status in self.expect if self.expect else 200 <= status < 300


class Answer(Section):
    """How to read an answer: JSONPaths into its body, words for its outcome, sets of statuses."""

    status: JsonPath = "$.status"
    """Where the word for the outcome stands."""
    charge: JsonPath = "$.id"
    """Where the service's own id of the charge stands: ``{charge}``."""
    provider_charge: JsonPath | None = None
    """Where the provider's id of the charge stands."""
    error: JsonPath | None = None
    """Where an error's code or sentence stands."""
    capture: Captures = Field(default_factory=dict)
    """Names for what these JSONPaths find, as the client secret of an intent."""
    stable_fields: tuple[JsonPath, ...] = ()
    """What every replay must repeat, beside the charge and the outcome."""
    succeeded: Words = ("succeeded",)
    """Words of a charge that went through; empty: there is no such word, any 2xx is one."""
    pending: Words = ("pending", "processing")
    """Words of a charge whose end is not known yet."""
    failed: Words = ("failed",)
    """Words of a charge that did not happen."""
    refunded: Words = ("refunded", "partially_refunded")
    """Words of a charge that went through and whose money was given back, all or some of it."""
    succeeded_statuses: tuple[Status, ...] = ()
    """Statuses of a charge that went through, where the body has no word for it."""
    declined: tuple[Status, ...] = (402,)
    """The card was declined: nothing was taken, and that is final."""
    mismatch: tuple[Status, ...] = (422,)
    """The key was used before, for something else."""
    invalid: tuple[Status, ...] = (400, 401, 403, 404, 405, 413)
    """The request is wrong in itself; nothing happened."""
    in_flight: tuple[Status, ...] = (409,)
    """Another request with this key is at work."""
    retry_later: tuple[Status, ...] = (425, 429, 503)
    """Nothing happened yet; ask again. A 503 counts with Retry-After only."""

    @field_validator("status", "charge", "provider_charge", "error")
    @classmethod
    def _a_path(cls, path: str | None) -> str | None:
        return a_jsonpath(path)

    @field_validator("stable_fields")
    @classmethod
    def _paths(cls, paths: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(str(a_jsonpath(path)) for path in paths)

    @field_validator("capture")
    @classmethod
    def _captured_paths(cls, captures: dict[str, str]) -> dict[str, str]:
        for path in captures.values():
            a_jsonpath(path)
        return captures

    def rules(self) -> AnswerRules:
        """Return the same as the judge's rules for classifying an answer."""
        went_through = (*self.succeeded, *self.refunded) if self.succeeded else ()
        return AnswerRules(
            declined=frozenset(self.declined),
            mismatch=frozenset(self.mismatch),
            invalid=frozenset(self.invalid),
            in_flight=frozenset(self.in_flight),
            retry_later=frozenset(self.retry_later),
            succeeded=_spelt(went_through),
            pending=_spelt(self.pending),
            failed=_spelt(self.failed),
        )

    def means(
        self, status: int | None, word: str | None, error: str | None, *, retry_after: bool = False
    ) -> Outcome:
        """Say what an answer tells: by its word where it has one, else by its status."""
        if error is None and not word and status in self.succeeded_statuses:
            return "ok"
        return classify(status, word, error, self.rules(), retry_after=retry_after)


def _spelt(words: Words) -> frozenset[str]:
    """Return words as they are compared: an answer's PAID is the file's paid."""
    return frozenset(word.lower() for word in words)


class Poll(Request):
    """How the outcome of a charge is asked for, again and again, while it reads as pending."""

    every_ms: int = Field(default=200, ge=1, le=60_000)
    """How long the customer waits between two questions."""
    within_s: Seconds = 5.0
    """After how long the customer stops asking, and presses again with the same key."""


class Keyed(Request):
    """A request that asks for something to be done once per key."""

    method: Method = "POST"
    """The HTTP method."""
    answer: Answer = Answer()
    """How its answer is understood."""


class Charge(Keyed):
    """The request by which a customer pays, and how its answer is to be understood."""

    poll: Poll | None = None
    """How the outcome is learnt after an answer that reads as pending."""


class Refund(Keyed):
    """The request by which money is given back; ``{key}`` is a key of its own."""


class Capture(Keyed):
    """The request by which an authorised charge is captured; ``{key}`` is a key of its own."""


class Browser(Request):
    """What the customer's browser does at the provider, after an answer that reads as pending."""

    method: Method = "POST"
    """The HTTP method."""


JSON_TYPE: Final = "application/json"
FORM_TYPE: Final = "application/x-www-form-urlencoded"
