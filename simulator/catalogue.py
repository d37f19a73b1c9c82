"""What there is: faults and dialects, found by a scan of their folders, and rules made of tables.

Rule 1: a file is an entry and its name the public name. Nothing is registered anywhere.
Rule 2: a rule is written as one flat table: when it strikes, and the fault's own parameters.
        ``{"fault": "hold", "operation": "charge.create", "until": "elapsed", "amount": 300}``
Rule 3: whatever is wrong with a table is one ``PlanError``, which names the field.
"""

import difflib
import importlib
import inspect
import pkgutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, replace
from functools import cache
from types import ModuleType
from typing import Annotated, Any, Final, get_args, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

import simulator.dialects
import simulator.faults
from simulator.core.calls import ChargeParams, EventParams
from simulator.core.desk_calls import DESK_CALLS
from simulator.core.dialect import Dialect
from simulator.core.faults import Between, Fault
from simulator.core.rules import ANY, DELIVERY, Rule

OPERATIONS: Final[tuple[str, ...]] = tuple(
    dict.fromkeys(
        kind.operation for kind in (*get_args(ChargeParams), *get_args(EventParams), *DESK_CALLS)
    )
)
"""What a call can be; a rule may also say ``*``, ``delivery`` or ``delivery.`` and a type."""


class PlanError(ValueError):
    """A rule that nobody can follow: which field, what it should be, what it is."""

    def __init__(self, field: str, expected: str, found: object, hint: str = "") -> None:
        self.field = field
        self.expected = expected
        self.found = found
        self.hint = hint
        super().__init__(f"{field}: {self.says}")

    @property
    def says(self) -> str:
        """What is wrong, for whoever names the place in words of their own."""
        return f"expected {self.expected}, found {_shown(self.found)}{self.hint}"

    def within(self, place: str) -> "PlanError":
        """Return the same error, with the place of the table before the field."""
        return PlanError(f"{place}.{self.field}", self.expected, self.found, self.hint)


@cache
def faults() -> Mapping[str, type[Fault]]:
    """Return every fault by its public name."""
    return {name: _fault_in(module) for name, module in _modules_in(simulator.faults)}


@cache
def dialects() -> Mapping[str, Dialect]:
    """Return every dialect by its public name."""
    return {name: _dialect_in(module) for name, module in _modules_in(simulator.dialects)}


def rule_from(table: Mapping[str, object]) -> Rule:
    """Read one rule. Without a ``name`` it is called like its fault."""
    name = _known_fault(table.get("fault"))
    fault_class = faults()[name]
    model = _table_of(name)
    try:
        read = dict(model.model_validate(dict(table)))
    except ValidationError as error:
        raise _plan_error(error, model) from None
    parameters = {field.name: read.pop(field.name) for field in fields(fault_class)}  # type: ignore[arg-type]
    try:
        fault = fault_class(**parameters)
    except ValueError as error:
        raise PlanError("fault", f"parameters which {name} can follow", str(error)) from None
    rule = Rule(**(read | {"fault": fault, "name": read["name"] or name}))
    _check_operation(rule)
    return rule


def rules_from(tables: Sequence[Mapping[str, object]]) -> list[Rule]:
    """Read a plan. Rules without a name that share a fault are counted: ``hold``, ``hold-2``."""
    rules: list[Rule] = []
    for place, table in enumerate(tables):
        try:
            rule = rule_from(table)
        except PlanError as error:
            raise error.within(f"rules[{place}]") from None
        taken = {earlier.name for earlier in rules}
        if "name" not in table:
            rule = replace(rule, name=_free_name(rule.name, taken))
        elif rule.name in taken:
            field = f"rules[{place}].name"
            raise PlanError(field, "a name that no other rule of the plan has", rule.name)
        rules.append(rule)
    return rules


def table_from(rule: Rule) -> dict[str, object]:
    """Write a rule as the table it can be read from; what is not said is the default."""
    table: dict[str, object] = {"fault": rule.fault.name}
    for owner in (rule, rule.fault):
        for field in fields(owner):  # type: ignore[arg-type]
            value = getattr(owner, field.name)
            if field.name != "fault" and value != field.default:
                table[field.name] = value
    return table


@cache
def rule_schema(fault: str) -> Mapping[str, Any]:
    """Return the JSON Schema of the table that places this fault."""
    return _table_of(fault).model_json_schema()


class _RuleTable(BaseModel):
    """The part of the table which says when. The fields are those of ``Rule``."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    fault: str
    name: Annotated[str | None, Field(min_length=1)] = None
    operation: str = ANY
    order: str | None = None
    nth: Annotated[int | None, Field(ge=1)] = None
    times: Annotated[int | None, Field(ge=1)] = None
    probability: Annotated[float, Field(ge=0, le=1)] = 1.0
    after_s: Annotated[float, Field(ge=0)] = 0.0
    until_s: Annotated[float, Field(gt=0)] = float("inf")
    orders: Annotated[tuple[str, ...], Field(strict=False)] = ()  # JSON and TOML have lists only


@cache
def _table_of(fault: str) -> type[_RuleTable]:
    """Return the model of a rule's table: when, and the parameters of this fault."""
    fault_class = faults()[fault]
    hints = get_type_hints(fault_class, include_extras=True)
    parameters: dict[str, Any] = {
        field.name: (
            _bounded(hints[field.name]),
            ... if field.default is MISSING else field.default,
        )
        for field in fields(fault_class)  # type: ignore[arg-type]
    }
    taken = parameters.keys() & _RuleTable.model_fields.keys()
    assert not taken, f"{fault}: {taken} say when a rule strikes and cannot be parameters"
    return create_model(f"{fault}_rule", __base__=_RuleTable, **parameters)


def _bounded(hint: Any) -> Any:
    """Return a parameter's type with the fault's bounds in pydantic's words."""
    for each in getattr(hint, "__metadata__", ()):
        if isinstance(each, Between):
            return Annotated[hint.__origin__, Field(ge=each.least, le=each.most)]
    return hint


def _known_fault(name: object) -> str:
    if isinstance(name, str) and name in faults():
        return name
    known = f"one of {', '.join(faults())}"
    raise PlanError("fault", known, name, _meant(name, faults()))


def _check_operation(rule: Rule) -> None:
    """Refuse a rule which can never fire, rather than report later that it did not."""
    calls = any(rule.fault.bends(seam) for seam in ("on_receive", "before_commit", "after_commit"))
    known = [
        ANY,
        *(OPERATIONS if calls else ()),
        *((DELIVERY,) if rule.fault.bends("on_delivery") else ()),
    ]
    of_one_type = DELIVERY in known and rule.operation.startswith(f"{DELIVERY}.")
    if rule.operation not in known and not of_one_type:
        expected = f"one of {', '.join(known)}"
        raise PlanError("operation", expected, rule.operation, _meant(rule.operation, known))


def _plan_error(error: ValidationError, model: type[BaseModel]) -> PlanError:
    """Put pydantic's first finding into our words."""
    first = error.errors(include_url=False)[0]
    field = ".".join(str(step) for step in first["loc"])
    if first["type"] == "extra_forbidden":
        known = ", ".join(model.model_fields)
        return PlanError(
            field, f"one of the fields {known}", field, _meant(field, model.model_fields)
        )
    if first["type"] == "missing":
        return PlanError(field, "a value", None)
    message = first["msg"].removeprefix("Input should be ")
    return PlanError(field, message, first["input"])


def _free_name(name: str, taken: Iterable[str]) -> str:
    free, count = name, 1
    while free in taken:
        count += 1
        free = f"{name}-{count}"
    return free


def _meant(found: object, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(str(found), list(known), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def _shown(found: object) -> str:
    return "nothing" if found is None else repr(found)


def _modules_in(package: ModuleType) -> Iterator[tuple[str, ModuleType]]:
    for entry in sorted(pkgutil.iter_modules(package.__path__), key=lambda entry: entry.name):
        if not entry.name.startswith("_"):
            yield entry.name, importlib.import_module(f"{package.__name__}.{entry.name}")


def _fault_in(module: ModuleType) -> type[Fault]:
    """Return the one fault that a file defines."""
    [fault] = [kind for kind in _public_classes(module) if issubclass(kind, Fault)]
    assert fault.name == _file_of(module), f"{fault.name} is in the wrong file"
    return fault


def _dialect_in(module: ModuleType) -> Dialect:
    """Return the one dialect that a file defines: the class which is called like the file."""
    [dialect] = [
        kind for kind in _public_classes(module) if getattr(kind, "name", None) == _file_of(module)
    ]
    made: Dialect = dialect()
    return made


def _public_classes(module: ModuleType) -> Iterator[type]:
    for kind in vars(module).values():
        ours = inspect.isclass(kind) and kind.__module__ == module.__name__
        if ours and not kind.__name__.startswith("_"):
            yield kind


def _file_of(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2]
