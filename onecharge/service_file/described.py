"""The service file described from its models: for editors, and for the README's table."""

from collections.abc import Iterator
from dataclasses import dataclass
from types import NoneType
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from onecharge.service_file.file import ServiceFile

DIALECT = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True)
class Described:
    """One field of the file: where it stands, what it is unless said, and what it is for."""

    name: str
    default: str
    says: str


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema by which editors complete and check ``onecharge.toml``."""
    schema = ServiceFile.model_json_schema(by_alias=True)
    return {"$schema": DIALECT, **schema, "title": "onecharge.toml"}


def fields() -> Iterator[Described]:
    """Yield every field that a service file can have, section by section."""
    yield from _fields_of(ServiceFile, "")


def _fields_of(model: type[BaseModel], place: str) -> Iterator[Described]:
    for own_name, field in model.model_fields.items():
        name = f"{place}{field.alias or own_name}"
        inner, many = _section_in(field.annotation)
        if inner is None:
            yield Described(name, _default(field), field.description or "")
            continue
        says = field.description or (inner.__doc__ or "").partition("\n\n")[0].replace("\n", " ")
        yield Described(f"[[{name}]]" if many else f"[{name}]", _default(field), says)
        yield from _fields_of(inner, f"{name}.")


def _section_in(annotation: Any) -> tuple[type[BaseModel] | None, bool]:
    """Return the table that an annotation holds, and whether there can be several."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, False
    parts = [part for part in get_args(annotation) if part not in {NoneType, Ellipsis}]
    for part in parts:
        inner, _ = _section_in(part)
        if inner is not None:
            return inner, getattr(annotation, "__origin__", None) is tuple
    return None, False


def _default(field: FieldInfo) -> str:
    """Say what a field is if nothing is said; an empty text where that is nothing at all."""
    if field.is_required():
        return "required"
    return _in_words(field.get_default(call_default_factory=True))


def _in_words(value: object) -> str:
    if value is None or isinstance(value, BaseModel):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{name} = {text}" for name, text in value.items())
    return f"{value:g}" if isinstance(value, float) else str(value)
