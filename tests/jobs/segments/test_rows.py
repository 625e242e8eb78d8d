"""A segment's rows equal those of single batches; false sizes allocate no memory."""

import struct
import tracemalloc
from datetime import UTC, datetime, timedelta
from pathlib import Path

import crc32c
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator_core.records import BadRecord, decode, encode_key, encode_value
from jobs.lake.dates import DateRange
from jobs.segments import Quarantined, arrow_records, pieces, read_segment
from jobs.segments.writer import record_batch
from jobs.sources.topic.segments import ROWS, segment_rows

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[3] / "examples"
CAPTURES = ["compacted", "transactions", "killed", "cut", "gzip", "lz4", "magic1-broker"]
DAY = 86_400_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def rows_of(file, dates=DateRange()):  # noqa: B008 - frozen
    table = pa.Table.from_batches(segment_rows(str(file), dates), schema=ROWS)
    table.validate(full=True)
    *rows, last = table.to_pylist()
    return rows, last


def facts(row):
    """The columns of a row that `by_reference` has."""
    names = ("position", "log_offset", "append_time", "key", "value", "magic")
    names += ("is_transactional", "producer_id", "control", "reason", "key_type", "length")
    return tuple(row[name] for name in names)


def rows_in_order(file):
    """In file order: `segment_rows` yields quarantined ranges later."""
    return sorted(map(facts, rows_of(file)[0]), key=lambda row: row[:2])


def by_reference(file):
    data = Path(file).read_bytes()
    for item in read_segment(data, partition=0, file=str(file)):
        if isinstance(item, Quarantined):
            gap = item.position, -1, None, item.data, None, None, None, None, None
            yield *gap, item.reason, None, item.length
            continue
        for offset, time, key, value in zip(
            item.offsets, item.timestamps, item.keys, item.values, strict=True
        ):
            reason, type_ = judged(item, key, value)
            when = EPOCH + timedelta(milliseconds=time) if time >= 0 else None
            size = None if reason is None else len(key or b"") + len(value or b"")
            of_batch = item.magic, item.is_transactional, item.producer_id, item.control
            record = item.position, offset, when, key, value
            yield *record, *of_batch, reason, type_, size


def judged(batch, key, value):
    if batch.control is not None:
        return None, None
    if key is None:
        return "a record of __consumer_offsets without a key", None
    try:
        return None, decode(key, value).type
    except BadRecord as error:
        return str(error), None


def files_of(folder):
    return [path for path in sorted(folder.rglob("*.log")) if path.parent.name[-2:-1] == "-"]


@pytest.mark.parametrize("name", CAPTURES)
def test_rows_of_captures_equal_the_references(captured, name):
    files = files_of(captured(name))
    assert files
    for file in files:
        assert rows_in_order(file) == list(by_reference(file))


@pytest.mark.parametrize("file", files_of(EXAMPLES), ids=lambda p: "/".join(p.parts[-4:-1:2]))
def test_rows_of_examples_equal_the_references(file):
    assert rows_in_order(file) == list(by_reference(file))


def test_few_and_many_records_are_copied_alike(monkeypatch):
    """Few without numba."""
    file = EXAMPLES / "mixed-clients-3.9.1" / "segments" / "__consumer_offsets-3"
    (segment,) = file.glob("*.log")
    few = rows_of(segment)

    monkeypatch.setattr(arrow_records, "FEW_RECORDS", 0)

    assert rows_of(segment) == few
    assert few[0]


# Made-up segments -----------------------------------------------------------------------------

KEY_OF_GROUP = encode_key(2, {"group": "g"})
COMMIT = encode_key(1, {"group": "g", "topic": "t", "partition": 0})
COMMITTED = encode_value(
    1, 3, {"offset": 4, "leader_epoch": -1, "metadata": "", "commit_timestamp": 5}
)
GOOD = (COMMIT, COMMITTED)


def varint(number):
    left = number << 1 ^ number >> 63
    out = bytearray()
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes((*out, left))


def record(index, key, value, value_length=None, length=None):
    body = b"\0\0" + varint(index)
    body += varint(-1) if key is None else varint(len(key)) + key
    size = -1 if value is None else len(value)
    body += varint(size if value_length is None else value_length) + (value or b"") + b"\0"
    return varint(len(body) if length is None else length) + body


def batch(offset, *records, attributes=0, producer_id=-1, time=DAY):
    """``records``: their bytes, or pairs of key and value."""
    made = [record(i, *r) if isinstance(r, tuple) else r for i, r in enumerate(records)]
    count = len(made)
    body = struct.pack(">hiqqqhii", attributes, count - 1, time, time, producer_id, 0, -1, count)
    body += b"".join(made)
    return struct.pack(">qiibI", offset, 9 + len(body), 0, 2, crc32c.crc32c(body)) + body


def segment(folder, *batches):
    place = folder / "__consumer_offsets-5"
    place.mkdir(exist_ok=True)
    file = place / "00000000000000000000.log"
    file.write_bytes(b"".join(batches))
    return file


KEYS = st.sampled_from([COMMIT, COMMIT, KEY_OF_GROUP, b"", b"\0\1\0", b"\0\x63\0\1g", None])
VALUES = st.sampled_from([COMMITTED, COMMITTED, COMMITTED[:-1], b"\0\x09", b"", None])
KINDS = st.sampled_from([(0, -1), (0, -1), (0x10, 7), (0x30, 7), (0x04, 9)])
RECORDS = st.lists(st.tuples(KEYS, VALUES), min_size=1, max_size=4)


@settings(deadline=None, derandomize=True, max_examples=80)
@given(st.lists(st.tuples(RECORDS, KINDS), max_size=12))
def test_rows_of_any_records_equal_the_references(tmp_path_factory, made):
    batches = [
        batch(10 * index, *records, attributes=attributes, producer_id=producer_id)
        for index, (records, (attributes, producer_id)) in enumerate(made)
    ]
    file = segment(tmp_path_factory.mktemp("any"), *batches)
    expected = list(by_reference(file))

    with pytest.MonkeyPatch.context() as patch:
        for least in (2, 1 << 60):
            patch.setattr(pieces, "MIN_RUN", least)
            assert rows_in_order(file) == expected


def around(folder, bad):
    """A segment with ten valid batches before and after, enough for columns."""
    before = [batch(offset, GOOD) for offset in range(10)]
    return segment(folder, *before, bad, *(batch(offset, GOOD) for offset in range(11, 21)))


def test_dates_counts_and_invalid_times(tmp_path):
    file = segment(
        tmp_path,
        *(batch(offset, GOOD, time=DAY * (1 + offset % 2)) for offset in range(10)),
        batch(10, GOOD, (b"\0\x63", None), time=2 * DAY),
        batch(12, GOOD, time=2**62),
        batch(13, GOOD, time=-1),
    )
    second = EPOCH.date() + timedelta(days=2)

    rows, last = rows_of(file, DateRange(second, second))

    kept = [row["log_offset"] for row in rows if row["kind"] == "record"]
    assert kept == [1, 3, 5, 7, 9, 10, 12, 13]
    assert [row["log_offset"] for row in rows if row["kind"] == "quarantined"] == [11]
    assert [row["append_time"] for row in rows][-2:] == [None, None]
    days = [(EPOCH.date() + timedelta(days=day), count) for day, count in ((0, 2), (1, 5), (2, 6))]
    assert last["kept_by_date"] == days
    assert (last["inputs"], last["quarantined"], last["unreadable_bytes"]) == (14, 1, 0)
    assert (last["first_offset"], last["last_offset"]) == (0, 13)


# False sizes ----------------------------------------------------------------------------------

TWO_GIB = 2**31 - 1
MANY_MEMBERS = (
    b"\0\3" + b"\0\x08consumer" + struct.pack(">i", 1) + b"\xff\xff\xff\xff"
    + struct.pack(">q", -1) + struct.pack(">i", TWO_GIB)
)  # fmt: skip
LONG = batch(10, GOOD)
FALSE_SIZES = {
    "a batch": (
        LONG[:8] + struct.pack(">i", TWO_GIB) + LONG[12:],
        "truncated: the batch has 2147483659 bytes",
    ),
    "a record": (
        batch(10, record(0, *GOOD, length=TWO_GIB)),
        "a record of 2147483647 bytes in a batch with",
    ),
    "a value": (
        batch(10, record(0, *GOOD, value_length=TWO_GIB)),
        "a key or value of 2147483647 bytes, but only",
    ),
    "members": (
        batch(10, (KEY_OF_GROUP, MANY_MEMBERS)),
        "GroupMetadataValue version 3: members at byte 28: 2147483647 elements",
    ),
}


@pytest.mark.parametrize("what", FALSE_SIZES)
def test_a_claim_of_two_gib_is_quarantined_without_allocating_it(tmp_path, what):
    bad, reason = FALSE_SIZES[what]
    file = around(tmp_path, bad)
    rows_of(file)  # This fills caches before memory is measured.
    before, pool = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())

    pa.set_memory_pool(pool)
    tracemalloc.start()
    rows, _ = rows_of(file)
    peak = tracemalloc.get_traced_memory()[1] + pool.max_memory()
    tracemalloc.stop()
    pa.set_memory_pool(before)

    (quarantined,) = (row for row in rows if row["kind"] == "quarantined")
    assert quarantined["reason"].startswith(reason)
    assert quarantined["position"] == 10 * len(LONG)
    records = [row["log_offset"] for row in rows if row["kind"] == "record"]
    assert records == [*range(10), *range(11, 21)]
    assert peak < 4 << 20


def test_records_that_a_file_repeats_are_skipped(tmp_path):
    """Concatenated segments: each offset is kept once, and the counts add up."""
    folder = tmp_path / "__consumer_offsets-0"
    folder.mkdir()
    key = encode_key(2, {"group": "g"})
    batches = [record_batch(offset, 0, 1_795_219_200_000, [(key, None)]) for offset in range(5)]
    file = folder / "0.log"
    file.write_bytes(b"".join(batches + batches))

    rows = [row for batch in segment_rows(str(file), DateRange()) for row in batch.to_pylist()]

    counts = rows[-1]
    assert (counts["inputs"], counts["skipped"], counts["quarantined"]) == (10, 5, 0)
    assert sum(n for _, n in counts["kept_by_date"]) == 5
    assert (counts["first_offset"], counts["last_offset"]) == (0, 4)
