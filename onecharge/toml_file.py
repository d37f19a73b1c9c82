"""A TOML file, read so that every error names the file, the line, the field and what was expected.

Rule 1: a user's mistake is a ``FileError`` with one clear sentence, never a traceback.
Rule 2: models validate; this file only finds the place in the text where they were offended.
"""

import difflib
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, Self, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

Model = TypeVar("Model", bound=BaseModel)

_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(
    r"""^\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*="""
)

Location = tuple[str | int, ...]


class Section(BaseModel):
    """A table of a file of ours: strict, frozen, and closed to fields it does not know."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        arbitrary_types_allowed=True,
        use_attribute_docstrings=True,  # what a field's docstring says, editors say as well
    )


class Misplaced(ValueError):
    """Raised by a model's validator that knows which of the fields below it is to blame."""

    def __init__(self, location: "Location", says: str) -> None:
        super().__init__(says)
        self.location = location


class FileError(Exception):
    """A file of the user's that cannot be used; the message is the whole explanation."""

    @classmethod
    def at(cls, path: Path, line: int | None, field: str, says: str) -> Self:
        """Name the place as editors do: ``path:line: field: what is wrong``."""
        place = f"{path}:{line}" if line else f"{path}"
        return cls(f"{place}: {field}: {says}" if field else f"{place}: {says}")


def read_toml(path: Path) -> tuple[dict[str, Any], str]:
    """Return the file's data and its text; raise ``FileError`` if it cannot be read or parsed."""
    text = read_text(path)
    return parsed(text, path), text


def read_text(path: Path) -> str:
    """Return what stands in the file; raise ``FileError`` if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise FileError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{path}: cannot be read as UTF-8 text: {error}") from None


def parsed(text: str, path: Path) -> dict[str, Any]:
    """Return the data of a text; raise ``FileError`` if it is no TOML."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FileError(f"{path}: not valid TOML: {error}") from None


def validated(model: type[Model], data: dict[str, Any], text: str, path: Path) -> Model:
    """Return the data as a model; raise ``FileError`` naming the first offended field."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise _explained(error, model, text, path) from None


def line_of(text: str, location: Sequence[str | int]) -> int | None:
    """Find the line (from 1) on which the value at ``location`` stands, or its nearest parent."""
    places = dict(_places(text))
    for length in range(len(location), 0, -1):
        found = places.get(tuple(location[:length]))
        if found is not None:
            return found
    return None


def field_on(text: str, number: int) -> str:
    """Name the field that line ``number`` belongs to; a comment belongs to none."""
    if text.splitlines()[number - 1].lstrip().startswith("#"):
        return ""
    above = [location for location, line in _places(text) if line <= number]
    return field_name(above[-1]) if above else ""


def field_name(location: Sequence[str | int]) -> str:
    """Write a location as people do: ``faults[2].times``."""
    name = ""
    for part in location:
        name += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if name else part
    return name


def _explained(error: ValidationError, model: type[BaseModel], text: str, path: Path) -> FileError:
    # A misspelt field is also a missing one; the misspelling is what helps.
    errors = error.errors(include_url=False)
    first = next((each for each in errors if each["type"] == "extra_forbidden"), errors[0])
    location = _without_tags(model, first["loc"])
    known = places_known(model, first["loc"][:-1])
    match first["type"]:
        case "union_tag_invalid" | "union_tag_not_found" as kind:
            field = str(first["ctx"]["discriminator"]).strip("'")
            location = (*location, field)
            says = "required, but missing"
            if kind == "union_tag_invalid":
                expected = first["ctx"]["expected_tags"]
                says = f"expected one of {expected}, found {first['ctx']['tag']!r}"
        case "extra_forbidden":
            near = difflib.get_close_matches(str(location[-1]), known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known here: {', '.join(known)}"
            says = f"unknown field; {hint}"
        case "missing":
            says = "required, but missing"
        case "value_error":
            reason = first["ctx"]["error"]
            says = str(reason)
            if isinstance(reason, Misplaced):
                location = (*location, *reason.location)
        case _:
            says = f"{_lowered(first['msg'])}, found {first['input']!r}"
    return FileError.at(path, line_of(text, location), field_name(location), says)


def places_known(model: type[BaseModel], location: Sequence[str | int]) -> list[str]:
    """Return the fields that the table at ``location`` may have."""
    *_, (here, _) = [(model, None), *_steps(model, location)]
    return list(dict.fromkeys(name for each in _models_in(here) for name in _fields(each)))


def _without_tags(model: type[BaseModel], location: Sequence[str | int]) -> Location:
    """Leave out of pydantic's location the tags by which it chose among several models."""
    return tuple(part for _, part in _steps(model, location) if part is not None)


def _steps(
    model: type[BaseModel], location: Sequence[str | int]
) -> Iterator[tuple[Any, str | int | None]]:
    """Yield what is found at every step down a location, and the step unless it is only a tag."""
    here: Any = model
    for part in location:
        models = list(_models_in(here))
        tagged = [each for each in models if len(models) > 1 and part in _tags_of(each)]
        if tagged:
            here = tagged[0]
            yield here, None
            continue
        if isinstance(part, str):
            field = _fields(models[0]).get(part) if len(models) == 1 else None
            here = field.annotation if field else None
        yield here, part


def _fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the fields of a model by the names that a file uses."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models that an annotation such as ``tuple[Kill, ...]`` or ``Read | None`` holds."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        return
    parts: Iterable[Any] = getattr(annotation, "__args__", ())
    for part in parts:
        yield from _models_in(part)


def _tags_of(model: type[BaseModel]) -> tuple[Any, ...]:
    """Return the words by which a model may be told from others: of its required ``Literal``."""
    literals = (
        field.annotation
        for field in model.model_fields.values()
        if field.is_required() and get_origin(field.annotation) is Literal
    )
    return get_args(next(literals, None))


def _places(text: str) -> Iterable[tuple[Location, int]]:
    """Walk the text and yield where each table and key begins. A sketch of TOML, not a parser."""
    table: Location = ()
    counts: dict[Location, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.match(line):
            table = _numbered(_parts(header[2]), counts, array=header[1] == "[[")
            yield table, number
        elif key := _KEY.match(line):
            yield (*table, *_parts(key[1])), number


def _numbered(parts: Location, counts: dict[Location, int], *, array: bool) -> Location:
    """Put the index of the current element behind each part that is an array of tables."""
    numbered: Location = ()
    for position, part in enumerate(parts):
        numbered = (*numbered, part)
        if array and position == len(parts) - 1:
            counts[numbered] = counts.get(numbered, -1) + 1
        if numbered in counts:
            numbered = (*numbered, counts[numbered])
    return numbered


def _parts(dotted: str) -> Location:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))


def _lowered(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
