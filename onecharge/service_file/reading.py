"""How to read what the service itself believes: an order's status, and what it has booked.

There are three ways, and a table takes exactly one: ``path`` asks over HTTP, ``sql`` asks the
service's own database, ``command`` runs a program that prints JSON.
"""

import re
from typing import Any, ClassVar, Self

from pydantic import Field, field_validator, model_validator

from onecharge.service_file.requests import JsonPath, Request, Template
from onecharge.service_file.words import a_jsonpath

_DATABASE = "{database_url}"
_PARAMETER = re.compile(r"(?<![:\w\\]):(\w+)(?!:)")  # what SQLAlchemy takes for one


class Source(Template):
    """Where something about an order is read: over HTTP, in a database, or from a command."""

    path: str | None = Field(default=None, pattern=r"^/")
    """HTTP: the path, with its query."""
    sql: str | None = None
    """SQL: one query; ``:order``, ``:customer``, ``:key``, ``:charge`` … are its parameters."""
    url: str = _DATABASE
    """SQL: the SQLAlchemy URL of the database; SQLite's file is seen from the service's folder."""
    command: tuple[str, ...] | None = Field(default=None, min_length=1)
    """A program and its arguments; it prints JSON."""

    @model_validator(mode="after")
    def _exactly_one_way(self) -> Self:
        ways = {"path": self.path, "sql": self.sql, "command": self.command}
        given = [name for name, way in ways.items() if way is not None]
        if len(given) != 1:
            found = " and ".join(given) or "none of them"
            raise ValueError(f"expected exactly one of path, sql and command, found {found}")
        return self

    @field_validator("url")
    @classmethod
    def _a_database(cls, url: str) -> str:
        if _DATABASE in url:
            return url
        from onecharge.databases import DatabaseError, check  # noqa: PLC0415 - few name one

        try:
            check(url)
        except DatabaseError as error:
            raise ValueError(str(error)) from None
        return url

    @property
    def request(self) -> Request | None:
        """The request of the HTTP way."""
        if self.path is None:
            return None
        return Request(
            method=self.method,
            path=self.path,
            headers=self.headers,
            json=self.json_body,
            form=self.form,
        )

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the query's parameters."""
        return tuple(dict.fromkeys(_PARAMETER.findall(self.sql or "")))


class Read(Source):
    """What asks the service what became of an order.

    SQL: the first row's columns of these names; a command prints an object with these fields.
    """

    status: JsonPath = "$.status"
    """Where the word for the outcome stands; the words are those of ``charge.answer``."""
    charge: JsonPath = "$.id"
    """Where the service's own id of the charge stands."""
    amount_minor: JsonPath | None = None
    """Where the amount stands, in minor units."""
    refunded_minor: JsonPath | None = None
    """Where what was given back stands, in minor units."""

    FIELDS: ClassVar = ("status", "charge", "amount_minor", "refunded_minor")

    @field_validator("status", "charge", "amount_minor", "refunded_minor")
    @classmethod
    def _a_path(cls, path: str | None) -> str | None:
        return a_jsonpath(path)


class Effects(Source):
    """What lists the credits that the service has booked for an order.

    SQL: one row an effect; a command prints a list of objects with these fields.
    """

    each: JsonPath = "$[*]"
    """HTTP: one node an effect."""
    amount_minor: JsonPath = "$.amount_minor"
    """Where an effect's amount stands, in minor units."""
    event: JsonPath | None = None
    """Where the id of the event stands that caused the effect."""

    FIELDS: ClassVar = ("amount_minor", "event")

    @field_validator("each", "amount_minor", "event")
    @classmethod
    def _a_path(cls, path: str | None) -> str | None:
        return a_jsonpath(path)


class Tick(Template):
    """A reconciler or cron that somebody must start: a command, or a request to the service."""

    path: str | None = Field(default=None, pattern=r"^/")
    """The path of the request."""
    command: tuple[str, ...] | None = Field(default=None, min_length=1)
    """The program and its arguments; it gets the service's environment."""
    every_s: float = Field(default=1.0, gt=0)
    """How long is waited between two of them."""
    within_s: float = Field(default=30.0, gt=0)
    """How long one may take."""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.path is None) == (self.command is None):
            found = "none of them" if self.path is None else "both"
            raise ValueError(f"expected either path or command, found {found}")
        return self

    @property
    def request(self) -> Request | None:
        """The request, if it is one."""
        if self.path is None:
            return None
        fields: dict[str, Any] = self.model_dump(include=set(Template.model_fields))
        return Request(path=self.path, json=fields.pop("json_body"), **fields)
