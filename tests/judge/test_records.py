"""One record, one line of JSON, there and back."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onecharge.history.records import KINDS, Record, from_line, to_line
from simulator.core.journal import Entry

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
RECORDS = st.builds(
    Record,
    index=st.integers(min_value=5, max_value=10**9),
    time_ns=st.integers(),
    lane=st.text(),
    kind=st.sampled_from(sorted(KINDS)),
    value=st.dictionaries(st.text(), JSON, max_size=4),
    order=st.none() | st.text(),
    tenant=st.none() | st.text(),
    key=st.none() | st.text(),
    cause=st.none() | st.integers(min_value=0, max_value=4),
)


@given(record=RECORDS)
def test_a_record_comes_back_as_it_was_written(record: Record) -> None:
    line = to_line(record)

    assert from_line(line) == record
    assert "\n" not in line
    assert line.isascii()


def test_what_is_empty_is_left_out_of_the_line() -> None:
    record = Record(index=0, time_ns=5, lane="judge", kind="read")

    assert json.loads(to_line(record)) == {"i": 0, "t": 5, "lane": "judge", "kind": "read"}


def test_an_entry_becomes_a_record_with_a_place_and_a_time() -> None:
    entry = Entry(
        "provider", "effect", {"what": "charge.captured"}, order="ord-1", tenant="a", key="k"
    )

    record = Record.of(entry, index=3, time_ns=9)

    assert record == Record(
        3, 9, "provider", "effect", {"what": "charge.captured"}, "ord-1", "a", "k"
    )
    assert record.what == "charge.captured"
    assert repr(record) == "<Record 3 provider effect charge.captured ord-1>"


@pytest.mark.parametrize(
    "line, why",
    [
        ("[]", "not a JSON object"),
        ('{"i":0', "delimiter"),
        ('{"i":true,"t":0,"lane":"judge","kind":"read"}', "'i' is not a whole number"),
        ('{"i":0,"t":0.5,"lane":"judge","kind":"read"}', "'t' is not a whole number"),
        ('{"i":0,"t":0,"kind":"read"}', "'lane' is not a text"),
        ('{"i":0,"t":0,"lane":"judge","kind":"guess"}', "'guess' is not a kind"),
        ('{"i":0,"t":0,"lane":"judge","kind":"read","order":7}', "'order' is not a text"),
        ('{"i":0,"t":0,"lane":"judge","kind":"read","value":[]}', "'value' is not a JSON object"),
        ('{"i":4,"t":0,"lane":"judge","kind":"read","cause":4}', "does not come before it"),
    ],
)
def test_a_line_that_is_no_record_says_why(line: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        from_line(line)
