"""Unreadable records and their reasons equal those of the reference codec, which checks few."""

from datetime import date

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator_core.records import BadRecord, decode, encode_key, encode_value
from coordinator_core.records.compiler import snake_case
from jobs.bulk import kernel  # Import the kernel, so that no number of records counts as few.
from jobs.bulk.records import KeysAndValues, read_records
from jobs.bulk.unreadable import unreadable_records
from jobs.lake.dates import DateRange
from jobs.sources.topic.raw_records import RAW, record_rows
from schemas.record_layouts import layouts

pytestmark = pytest.mark.slow

assert kernel

QUICK = settings(max_examples=10, deadline=None, derandomize=True, database=None)
TODAY = {
    (layout.api_key, layout.type): layout
    for layout in layouts()
    if layout.api_key is not None and not layout.written_until
}
TYPES = sorted({type_ for type_, _ in TODAY})
PLAIN = {
    "int8": st.integers(-(2**7), 2**7 - 1),
    "int16": st.integers(-(2**15), 2**15 - 1),
    "uint16": st.integers(0, 2**16 - 1),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "uint32": st.integers(0, 2**32 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "float64": st.floats(allow_nan=False),
    "bool": st.booleans(),
    "string": st.text(max_size=4),
    "bytes": st.binary(max_size=4),
    "uuid": st.sampled_from(["AAAAAAAAAAAAAAAAAAAAAA", "aB3-_aB3-_aB3-_aB3-_aA"]),
}


def values_of(field, version, type_name=None):
    """Any value that the field may have in the version."""
    name = type_name or field.type
    if name.startswith("[]"):
        values = st.lists(values_of(field, version, name[2:]), max_size=3)
    else:
        values = PLAIN[name] if name in PLAIN else fields_of(field.fields, version)
    may_be_null = not type_name and field.nullable_versions and version in field.nullable_versions
    return st.none() | values if may_be_null else values


def fields_of(fields, version):
    """Tagged fields and those with a default are optional."""
    mine = [field for field in fields if version in field.versions]
    chosen = {snake_case(field.name): values_of(field, version) for field in mine}
    optional = {snake_case(f.name) for f in mine if f.tag is not None or f.has_default}
    return st.fixed_dictionaries(
        {name: value for name, value in chosen.items() if name not in optional},
        optional={name: value for name, value in chosen.items() if name in optional},
    )


def records_of(type_):
    key, value = TODAY[type_, "coordinator-key"], TODAY[type_, "coordinator-value"]
    versions = st.integers(0, value.valid_versions.highest)
    return st.tuples(
        fields_of(key.fields, 0).map(lambda fields: encode_key(type_, fields)),
        st.none()
        | versions.flatmap(
            lambda v: fields_of(value.fields, v).map(lambda fields: encode_value(type_, v, fields))
        ),
    )


def columns(records):
    return pa.array([k for k, _ in records], pa.binary()), pa.array(
        [v for _, v in records], pa.binary()
    )


def reasons_of_reference(records):
    reasons = {}
    for row, record in enumerate(records):
        try:
            decode(*record)
        except BadRecord as error:
            reasons[row] = str(error)
    return reasons


def damaged(data):
    """Data with one changed byte, cut short, or with an additional byte."""
    changed = st.tuples(st.integers(0, max(len(data) - 1, 0)), st.integers(0, 255)).map(
        lambda change: data[: change[0]] + bytes((change[1],)) + data[change[0] + 1 :]
    )
    return changed | st.integers(0, len(data)).map(lambda size: data[:size]) | st.just(data + b"x")


@pytest.mark.parametrize("type_", TYPES)
@QUICK
@given(data=st.data())
def test_all_well_formed_records_are_read_in_bulk(type_, data):
    keys, values = columns(data.draw(st.lists(records_of(type_), min_size=1, max_size=6)))
    in_bulk = read_records(type_, keys, values).rows.tolist()

    assert KeysAndValues(keys, values).types() == [type_]
    assert sorted(in_bulk) == list(range(len(keys)))
    assert unreadable_records(keys, values) == {}


@pytest.mark.parametrize("type_", TYPES)
@QUICK
@given(data=st.data())
def test_a_damaged_record_has_the_references_reason(type_, data):
    records = data.draw(st.lists(records_of(type_), min_size=1, max_size=4))
    row = data.draw(st.integers(0, len(records) - 1))
    key, value = records[row]
    records[row] = data.draw(
        st.tuples(st.just(key), damaged(value or b"")) | st.tuples(damaged(key), st.just(value))
    )

    assert unreadable_records(*columns(records)) == reasons_of_reference(records)


def test_several_types_and_keys_without_a_type():
    group, commit = encode_key(2, {"group": "g"}), b"\0\1\0\1g\0\1t\0\0\0\0"
    records = [(commit, None), (b"\0\x63", b""), (group, b"\0"), (b"\2", None), (group, None)]

    assert unreadable_records(*columns([*records, (None, b"\0\0")])) == {
        **reasons_of_reference(records),
        5: "a record of __consumer_offsets without a key",
    }


LAST_MS = 9_214_646_399_999  # end of 2261
TIMES = [  # Each row: time of a dump's record in ms, as TIMESTAMP, its date, kind of the row.
    (None,         None,                      "1970-01-01", "record"),
    (-1,           None,                      "1970-01-01", "record"),
    (LAST_MS,      "2261-12-31 23:59:59.999", "2261-12-31", "other date"),
    (LAST_MS + 1,  None,                      "1970-01-01", "record"),
    (2**63 - 1,    None,                      "1970-01-01", "record"),
]  # fmt: skip


def test_a_time_after_2261_becomes_null_and_the_record_is_kept():
    group = {"key": encode_key(2, {"group": "g"}), "value": None}
    raw = [
        {"time_ms": time_ms, "log_offset": offset} | group
        for offset, (time_ms, *_) in enumerate(TIMES)
    ]
    only = DateRange(date(2026, 11, 21), date(2026, 11, 21))

    rows = record_rows(pa.RecordBatch.from_pylist(raw, RAW), only).to_pylist()

    stored = [
        (
            row["append_time"] and f"{row['append_time']:%Y-%m-%d %H:%M:%S.%f}"[:-3],
            str(row["event_date"]),
            row["kind"],
            row["reason"],
        )
        for row in rows
    ]
    assert stored == [(*of, None) for _, *of in TIMES]
