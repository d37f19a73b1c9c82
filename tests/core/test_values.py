"""``value``: a frozen dataclass to everybody who uses one."""

import dataclasses
from typing import Any

import pytest

from simulator.core.charges import Charge
from simulator.core.journal import Entry
from simulator.core.values import value


def test_a_value_is_equal_by_its_fields_and_says_what_they_are() -> None:
    one, two = Entry("provider", "send", {"what": "reply"}), Entry("provider", "read")

    assert one == Entry("provider", "send", {"what": "reply"})
    assert one != two
    assert two.value == {}
    assert two.value is not Entry("provider", "read").value
    assert repr(two).startswith("Entry(lane='provider', kind='read', value={}, ")


def test_a_value_never_changes_and_another_is_made_of_it() -> None:
    entry: Any = Entry("provider", "send")

    with pytest.raises(AttributeError):
        entry.lane = "webhook"
    assert dataclasses.replace(entry, lane="webhook") == Entry("webhook", "send")
    assert dataclasses.asdict(entry)["lane"] == "provider"
    assert [field.name for field in dataclasses.fields(Charge)][:2] == ["id", "account"]


def test_what_a_struct_cannot_do_is_refused_when_the_class_is_made() -> None:
    with pytest.raises(AssertionError, match="knows the factory"):

        @value(frozen=True, slots=True)
        class Hidden:
            secret: str = dataclasses.field(default="", repr=False)
