"""Bulk decoding equals the reference codec, row for row, and leaves out what it cannot read."""

import gzip
import json
import os
import subprocess
import sys
from base64 import b64decode
from functools import cache
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.pandas.types import to_arrow_schema

from coordinator_core.records import (
    Assignment,
    BadRecord,
    Subscription,
    encode_assignment,
    encode_key,
    encode_subscription,
    encode_value,
)
from jobs import committed_offsets, group_metadata, group_records
from jobs.bulk import decoder, few
from jobs.bulk.decoder import decode_batch
from jobs.lake.tables import schema_of
from jobs.segments import Batch, read_segment
from tools.package import build_spark_zip

pytestmark = pytest.mark.slow

DATA = Path(__file__).parents[1] / "data/records"
EXAMPLES = Path(__file__).parents[2] / "examples"
QUICK = settings(max_examples=40, deadline=None, derandomize=True, database=None)
JOBS = {1: committed_offsets, 2: group_metadata}
GROUP_RECORD_TYPES = (3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 16, 17, 19, 20, 21, 22, 23)


def lines(name):
    return [json.loads(line) for line in gzip.decompress((DATA / name).read_bytes()).splitlines()]


@cache
def captured():
    """All records in the test data that a broker wrote."""
    encoded = [(r["key"], r["value"]) for r in lines("captured.jsonl.gz")]
    records = [(b64decode(k), None if v is None else b64decode(v)) for k, v in encoded]
    packed, plain = DATA.parent.rglob("*.log.gz"), EXAMPLES.rglob("__consumer_offsets-*/*.log")
    for path in sorted((*packed, *plain)):
        data = path.read_bytes()
        data = gzip.decompress(data) if path.suffix == ".gz" else data
        for batch in read_segment(data, partition=0, file=path.name):
            if isinstance(batch, Batch) and batch.control is None:
                records += zip(batch.keys, batch.values, strict=True)
    return records


def bulk_rows(type_, records):
    """The job's columns by row number, for the rows that bulk decoding reads."""
    keys = pa.array([key for key, _ in records], pa.binary())
    values = pa.array([value for _, value in records], pa.binary())
    rows, columns = JOBS[type_]._columns(keys, values)
    lists = {name: plain(array) for name, array in columns.items()}
    return {
        row: {name: values[index] for name, values in lists.items()}
        for index, row in enumerate(rows.tolist())
    }


def plain(array):
    is_time = pa.types.is_timestamp(array.type)
    return array.cast(pa.int64()).to_pylist() if is_time else array.to_pylist()


def reference_rows(type_, records):
    rows = {}
    for row, (key, value) in enumerate(records):
        try:
            rows[row] = JOBS[type_]._row(key, value)
        except BadRecord:
            continue
        for member in rows[row].get("members") or []:
            for name in ("subscribed_topics", "owned", "owned_generation", "rack_id", "assigned"):
                member.setdefault(name, None)
    return rows


def assert_equal(type_, records):
    bulk, reference = bulk_rows(type_, records), reference_rows(type_, records)

    assert {row: reference.get(row) for row in bulk} == bulk
    return len(bulk), len(reference)


@pytest.mark.parametrize("type_", JOBS)
def test_all_captured_records_are_read_in_bulk_and_equal_the_reference(type_):
    records = [(key, value) for key, value in captured() if key[:2] == bytes((0, type_))]

    in_bulk, by_reference = assert_equal(type_, records)
    assert in_bulk == by_reference == len(records) > 500


def test_records_of_all_new_group_types_are_read_in_bulk_and_equal_the_reference():
    records = [
        (key, value) for key, value in captured() if key[1] in GROUP_RECORD_TYPES and key[0] == 0
    ]
    keys = pa.array([key for key, _ in records], pa.binary())
    values = pa.array([value for _, value in records], pa.binary())

    rows, columns = group_records._columns(keys, values)

    bulk = {name: array.to_pylist() for name, array in columns.items()}
    reference = [group_records._row(*records[row]) for row in rows.tolist()]
    assert sorted(rows.tolist()) == list(range(len(records)))
    assert {key[1] for key, _ in records} == set(GROUP_RECORD_TYPES)
    for name, column in bulk.items():
        assert column == [row.get(name) for row in reference], name


# Random records -------------------------------------------------------------------------------

TEXT = st.text(max_size=4)
INT32, INT64 = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)
TOPICS = st.lists(st.tuples(TEXT, st.lists(INT32, max_size=3)), max_size=3)
SUBSCRIPTIONS = st.builds(
    Subscription,
    st.integers(0, 5),
    st.lists(TEXT, max_size=3),
    st.none() | st.binary(max_size=3),
    TOPICS,
    INT32,
    st.none() | TEXT,
).map(encode_subscription)
ASSIGNMENTS = st.builds(
    Assignment, st.integers(0, 5), TOPICS, st.none() | st.binary(max_size=3)
).map(encode_assignment)
MEMBERS = st.fixed_dictionaries(
    {
        "member_id": TEXT,
        "group_instance_id": st.none() | TEXT,
        "client_id": TEXT,
        "client_host": TEXT,
        "rebalance_timeout": INT32,
        "session_timeout": INT32,
        "subscription": SUBSCRIPTIONS | st.binary(max_size=12),
        "assignment": ASSIGNMENTS | st.binary(max_size=12),
    }
)
GROUPS = st.fixed_dictionaries(
    {
        "protocol_type": st.just("consumer") | TEXT,
        "generation": INT32,
        "protocol": st.none() | TEXT,
        "leader": st.none() | TEXT,
        "current_state_timestamp": INT64,
        "members": st.lists(MEMBERS, max_size=4),
    }
)
COMMITS = st.fixed_dictionaries(
    {
        "offset": INT64,
        "leader_epoch": INT32,
        "metadata": TEXT,
        "commit_timestamp": INT64,
        "expire_timestamp": INT64,
        "topic_id": st.sampled_from(["AAAAAAAAAAAAAAAAAAAAAA", "aB3-_aB3-_aB3-_aB3-_aA"]),
    }
)
VERSIONS = st.integers(0, 4)
GROUP_RECORDS = st.tuples(
    TEXT.map(lambda group: encode_key(2, {"group": group})),
    st.none() | st.builds(encode_value, st.just(2), VERSIONS, GROUPS),
)
COMMIT_RECORDS = st.tuples(
    st.builds(
        lambda *fields: encode_key(
            1, dict(zip(("group", "topic", "partition"), fields, strict=True))
        ),
        TEXT,
        TEXT,
        INT32,
    ),
    st.none() | st.builds(encode_value, st.just(1), VERSIONS, COMMITS),
)
RECORDS = {1: COMMIT_RECORDS, 2: GROUP_RECORDS}


def damaged(record):
    """Data with one changed byte, cut short, or with an additional byte."""
    data = b"" if record is None else record
    changed = st.tuples(st.integers(0, max(len(data) - 1, 0)), st.integers(0, 255)).map(
        lambda change: data[: change[0]] + bytes((change[1],)) + data[change[0] + 1 :]
    )
    return changed | st.integers(0, len(data)).map(lambda size: data[:size]) | st.just(data + b"x")


@pytest.mark.parametrize("type_", JOBS)
@QUICK
@given(data=st.data())
def test_records_of_all_versions_in_one_batch(type_, data):
    records = data.draw(st.lists(RECORDS[type_], max_size=6))
    in_bulk, by_reference = assert_equal(type_, records)

    assert in_bulk == by_reference


@pytest.mark.parametrize("type_", JOBS)
@settings(QUICK, max_examples=60)
@given(data=st.data())
def test_damaged_records_are_left_to_the_reference(type_, data):
    records = data.draw(st.lists(RECORDS[type_], min_size=1, max_size=4))
    row = data.draw(st.integers(0, len(records) - 1))
    key, value = records[row]
    # A job reads only the records of its key types, which are in the first two bytes of the key.
    damaged_key = damaged(key).map(lambda other: key[:2] + other[2:])
    records[row] = data.draw(
        st.tuples(st.just(key), damaged(value)) | st.tuples(damaged_key, st.just(value))
    )

    assert_equal(type_, records)


@pytest.mark.parametrize("length", [-1, -2, -16_711_681, -(2**31)])
def test_every_negative_length_is_null(length):
    """Kafka reads user data of any negative length as null."""
    user_data = length.to_bytes(4, "big", signed=True)
    assignment = encode_assignment(Assignment(1, [("t", [0])]))[:-4] + user_data
    group = {
        "protocol_type": "consumer", "generation": 1, "protocol": "range", "leader": "m",
        "current_state_timestamp": 0, "members": [member(assignment=assignment)],
    }  # fmt: skip
    record = (encode_key(2, {"group": "g"}), encode_value(2, 3, group))

    assert assert_equal(2, [record]) == (1, 1)
    (row,) = bulk_rows(2, [record]).values()
    assert row["members"][0]["assigned"] == [{"topic": "t", "partitions": [0]}]


# Members of different sizes --------------------------------------------------------------------


def member(name="m", instance=None, client="c", subscription=b"", assignment=b""):
    return {
        "member_id": name,
        "group_instance_id": instance,
        "client_id": client,
        "client_host": "/127.0.0.1",
        "rebalance_timeout": 300_000,
        "session_timeout": 45_000,
        "subscription": subscription,
        "assignment": assignment,
    }


@pytest.mark.parametrize(
    "others",
    [
        pytest.param([member("m" * size) for size in (254, 255, 256, 32_767)], id="long ids"),
        pytest.param([member(instance="i"), member(), member(instance="")], id="instance ids"),
        pytest.param([member(client=""), member(client="cc")], id="empty and longer strings"),
        pytest.param([member(subscription=bytes(size)) for size in (1, 255, 256)], id="bytes"),
        pytest.param(
            [member(assignment=bytes(size)) for size in (65_279, 65_280)], id="many bytes"
        ),
        pytest.param(
            [member(assignment=bytes(size)) for size in (65_535, 70_000)], id="more bytes"
        ),
        pytest.param([member("\uffff" * 300, "\uffff", "", bytes(70_000))], id="all of these"),
    ],
)
def test_members_may_differ_from_the_first_one(others):
    first, key = member(), encode_key(2, {"group": "g"})
    groups = [[first, *others], [first] * 5, [*others, first], [first, first, *others]]
    values = [
        encode_value(2, version, GROUP_VALUE | {"members": m}) for m in groups for version in (0, 3)
    ]

    in_bulk, by_reference = assert_equal(2, [(key, value) for value in values])
    assert in_bulk == by_reference == 8


def test_many_members_with_minimal_fields():
    """More elements than the initial room of a column."""
    key, minimal = encode_key(2, {"group": ""}), member("", None, "") | {"client_host": ""}
    values = [
        encode_value(2, version, GROUP_VALUE | {"members": [minimal] * count})
        for count in (1, 0, 5000, 2, 20_000, 1)
        for version in (0, 3, 4)
    ]

    in_bulk, by_reference = assert_equal(2, [(key, value) for value in values])
    assert in_bulk == by_reference == 18


GROUP_VALUE = {
    "protocol_type": "connect",
    "generation": 1,
    "protocol": "range",
    "leader": "m",
    "current_state_timestamp": 1,
}


# Text -----------------------------------------------------------------------------------------

TEXTS = [
    (b"",                     True),
    (b"\x7f",                 True),
    (b"\x80",                 False),
    (b"\xc2\x80",             True),
    (b"\xc1\xbf",             False),  # an overlong form
    (b"\xdf\xbf",             True),
    (b"\xdf",                 False),  # cut short
    (b"\xdf\x7f",             False),
    (b"\xe0\xa0\x80",         True),
    (b"\xe0\x9f\xbf",         False),  # an overlong form
    (b"\xed\x9f\xbf",         True),
    (b"\xed\xa0\x80",         False),  # a surrogate
    (b"\xee\x80\x80",         True),
    (b"\xef\xbf",             False),  # cut short
    (b"\xef\xbf\xc0",         False),
    (b"\xf0\x90\x80\x80",     True),
    (b"\xf0\x8f\xbf\xbf",     False),  # an overlong form
    (b"\xf4\x8f\xbf\xbf",     True),
    (b"\xf4\x90\x80\x80",     False),  # beyond U+10FFFF
    (b"\xf5\x80\x80\x80",     False),
    (b"\xff",                 False),
]  # fmt: skip


@pytest.mark.parametrize(("text", "is_utf8"), TEXTS)
def test_text_must_be_utf8_at_every_position(text, is_utf8):
    texts = [b"a" * before + text + b"a" * after for before in range(10) for after in (0, 1, 9)]
    keys = [b"\0\2" + len(text).to_bytes(2, "big") + text for text in texts]

    assert len(bulk_rows(2, [(key, None) for key in keys])) == (len(texts) if is_utf8 else 0)


# Batches --------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [pa.binary(), pa.large_binary()])
@pytest.mark.parametrize("type_", JOBS)
def test_a_batch_may_be_empty_or_a_slice_or_have_tombstones_only(type_, width):
    records = [(key, value) for key, value in captured() if key[:2] == bytes((0, type_))][:50]
    batch = [pa.array(column, width) for column in zip(*records, strict=True)]
    tombstones = [batch[0], pa.nulls(len(records), width)]
    expected = reference_rows(type_, records)

    assert rows_of(type_, *(column.slice(20, 0) for column in batch)) == []
    assert rows_of(type_, *(pa.array([], width) for _ in batch)) == []
    assert rows_of(type_, *(column.slice(20, 7) for column in batch)) == [
        expected[row] for row in range(20, 27)
    ]
    assert rows_of(type_, *tombstones) == [JOBS[type_]._row(key, None) for key, _ in records]


def rows_of(type_, keys, values):
    rows, columns = JOBS[type_]._columns(keys, values)
    assert rows.tolist() == list(range(len(keys)))
    lists = {name: plain(array) for name, array in columns.items()}
    return [{name: values[row] for name, values in lists.items()} for row in rows.tolist()]


# Few records ----------------------------------------------------------------------------------


@pytest.mark.parametrize("type_", JOBS)
def test_few_records_are_decoded_by_the_reference_alike(type_, monkeypatch):
    records = [r for r in captured() if r[0][:2] == type_.to_bytes(2, "big")][:500]
    job, name = JOBS[type_], JOBS[type_].__name__.removeprefix("jobs.")
    arrays = [pa.array(column, pa.binary()) for column in zip(*records, strict=True)]
    batch = pa.record_batch(arrays, ["key", "value"])
    columns = set(job._row(*records[0]))
    fields = [f for f in to_arrow_schema(schema_of(name), timezone="UTC") if f.name in columns]
    decoded = []
    for answer in (True, False):
        monkeypatch.setattr(decoder, "are_few", lambda keys, values, answer=answer: answer)
        decoded.append(decode_batch(batch, pa.schema(fields), (), job.DECODER))

    by_reference, in_bulk = decoded
    assert by_reference.num_rows == len(records)
    assert by_reference.equals(in_bulk)


def test_records_are_few_until_a_process_has_read_many_bytes(monkeypatch):
    monkeypatch.delitem(sys.modules, "jobs.bulk.kernel", raising=False)
    monkeypatch.setattr(few, "_read", 0)
    nearly_half = pa.array([bytes(few.FEW_BYTES // 2 - 200)], pa.binary())
    none = pa.nulls(1, pa.binary())

    assert [few.are_few(nearly_half, none) for _ in range(3)] == [True, True, False]


def test_a_process_that_has_the_machine_code_reads_all_records_by_it():
    from jobs.bulk import kernel

    assert kernel
    assert not few.are_few(pa.array([b""]), pa.array([b""]))


# Machine code ---------------------------------------------------------------------------------

DECODES = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy, pyarrow
from jobs import group_metadata
assert group_metadata.__file__.startswith(sys.argv[1]) and "numba" not in sys.modules
keys = pyarrow.array([b"\\0\\2\\0\\1g"])
print(group_metadata._columns(keys, pyarrow.nulls(1, pyarrow.binary()))[1]["group_id"])
"""


@pytest.mark.campaign
def test_a_process_without_a_writable_cache_compiles_when_it_first_decodes(tmp_path):
    """The package is a zip file, as Spark ships it to workers, and the home is not a folder."""
    no_folder = tmp_path / "file"
    no_folder.touch()
    env = dict.fromkeys(("HOME", "XDG_CACHE_HOME"), str(no_folder)) | {"PATH": os.environ["PATH"]}
    package = str(build_spark_zip(tmp_path / "regroup.zip"))
    command = [sys.executable, "-c", DECODES, package]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True)

    assert "g" in done.stdout, done.stderr
