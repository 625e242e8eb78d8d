"""Damaged bytes are quarantined with their position; all other batches are read."""

import struct

import crc32c
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.segments import Batch, Quarantined, frames, read_segment

# The batches of a real segment by Kafka's reader: (position, size, first offset).
BATCHES = [
    (0, 393, 0), (393, 1369, 1), (1762, 1261, 19), (3023, 1261, 37), (4284, 1261, 55),
    (5545, 1261, 73),
]  # fmt: skip
END = 6806
ALL = [0, 1, 19, 37, 55, 73]


@pytest.fixture(scope="module")
def segment(captured):
    path = captured("cut") / "__consumer_offsets-2" / "00000000000000000000.log"
    return path.read_bytes()[:END]


def read(data):
    items = list(read_segment(data, partition=2, file="0.log"))
    assert_covered(data, items)
    offsets = [item.base_offset for item in items if isinstance(item, Batch)]
    gaps = [(i.position, i.length) for i in items if isinstance(i, Quarantined)]
    reasons = [item.reason for item in items if isinstance(item, Quarantined)]
    return offsets, gaps, reasons


def assert_covered(data, items):
    """Items follow each other, quarantined ones have their bytes, and only zeros remain."""
    position = 0
    for item in items:
        assert item.position == position
        if isinstance(item, Quarantined):
            assert item.length > 0
            assert item.data == data[position : position + item.length]
        position += item.size if isinstance(item, Batch) else item.length
    assert not bytes(data[position:]).strip(b"\0")


def flipped(data, position, bit=0):
    damaged = bytearray(data)
    damaged[position] ^= 1 << bit
    return bytes(damaged)


@pytest.mark.parametrize(
    ("where",        "position",  "bit", "reason"),
    [
        ("offset",       1762 +  0,     6, "offset"),
        ("offset",       1762 +  7,     6, "offset"),
        ("length",       1762 +  8,     7, "length"),
        ("length",       1762 +  8,     3, "truncated"),
        ("length",       1762 + 10,     2, "checksum"),
        ("length",       1762 + 11,     0, "checksum"),
        ("magic",        1762 + 16,     0, "unknown magic 3"),
        ("magic",        1762 + 16,     1, "checksum"),
        ("checksum",     1762 + 17,     0, "checksum"),
        ("attributes",   1762 + 22,     4, "checksum"),
        ("record count", 1762 + 60,     0, "checksum"),
        ("payload",      1762 + 61,     0, "checksum"),
        ("last byte",    1762 + 1260,   7, "checksum"),
    ],
)  # fmt: skip
def test_a_flipped_bit_quarantines_its_batch_only(segment, where, position, bit, reason):
    offsets, gaps, reasons = read(flipped(segment, position, bit))

    assert offsets == [0, 1, 37, 55, 73]
    assert gaps == [(1762, 1261)]
    assert reasons[0].startswith(reason)


@pytest.mark.parametrize(("position", "size", "offset"), BATCHES)
def test_a_flipped_bit_in_any_header_quarantines_one_batch(segment, position, size, offset):
    # The checksum does not cover the leader epoch between them.
    for byte in (*range(12), *range(16, 61)):
        for bit in range(8):
            if position == 5545 and byte < 8:
                continue  # No later offset shows that the offset of the last batch is wrong.
            offsets, gaps, _ = read(flipped(segment, position + byte, bit))
            assert offsets == [o for o in ALL if o != offset], (byte, bit)
            assert gaps == [(position, size)], (byte, bit)


def test_adjacent_damaged_batches_are_quarantined_separately(segment):
    offsets, gaps, _ = read(flipped(flipped(segment, 1900), 3100))

    assert offsets == [0, 1, 55, 73]
    assert gaps == [(1762, 1261), (3023, 1261)]


@pytest.mark.parametrize(
    ("tail",             "kept",                "gaps"),
    [
        (5545,           [0, 1, 19, 37, 55],    []),
        (5545 + 7,       [0, 1, 19, 37, 55],    []),  # Seven zeros count as preallocated space.
        (5545 + 8,       [0, 1, 19, 37, 55],    [(5545, 8)]),
        (5545 + 16,      [0, 1, 19, 37, 55],    [(5545, 16)]),
        (5545 + 61,      [0, 1, 19, 37, 55],    [(5545, 61)]),
        (END - 1,        [0, 1, 19, 37, 55],    [(5545, 1260)]),
        (200,            [],                    [(0, 200)]),
    ],
)  # fmt: skip
def test_a_truncated_tail(segment, tail, kept, gaps):
    assert read(segment[:tail])[:2] == (kept, gaps)


@pytest.mark.parametrize("zeros", [1, 16, 61, 5000, 3 << 20])
def test_zeros_at_the_end_are_preallocated_space(segment, zeros):
    assert read(segment + bytes(zeros)) == (ALL, [], [])


def test_a_damaged_batch_before_preallocated_space_ends_by_its_length(segment):
    assert read(flipped(segment, 6000) + bytes(5000))[:2] == (ALL[:-1], [(5545, 1261)])


def test_a_length_into_preallocated_space_loses_no_batch(segment):
    """Bit 16 of the length: the batch would end 65,536 bytes later, among the zeros."""
    data = flipped(segment, 1762 + 9) + bytes(200_000)

    assert read(data)[:2] == ([0, 1, 37, 55, 73], [(1762, 1261)])


@pytest.mark.parametrize("garbage", [b"\xff", b"garbage " * 12, bytes(70), bytes(range(256)) * 30])
def test_garbage_between_batches(segment, garbage):
    offsets, gaps, _ = read(segment[:3023] + garbage + segment[3023:])

    assert offsets == ALL
    assert gaps == [(3023, len(garbage))]


def test_garbage_before_the_first_batch_and_larger_than_a_scan_block(segment, monkeypatch):
    monkeypatch.setattr(frames, "FIRST_SCAN_BYTES", 16)
    monkeypatch.setattr(frames, "SCAN_BYTES", 64)
    garbage = b"\x01\x02" * 1000

    assert read(garbage + segment)[:2] == (ALL, [(0, 2000)])


def test_a_repeated_segment_is_read_twice(segment):
    """Offsets that start again are not damage: the file is a concatenation."""
    assert read(segment * 2) == (ALL * 2, [], [])


def test_a_long_gap_is_split(segment, monkeypatch):
    monkeypatch.setattr("jobs.segments.reader.QUARANTINE_BYTES", 1000)

    assert read(b"\xff" * 2500 + segment)[:2] == (ALL, [(0, 1000), (1000, 1000), (2000, 500)])


def record_batch(attributes, count, payload):
    covered = struct.pack(">hiqqqhii", attributes, 0, 0, 0, -1, -1, -1, count)
    covered += payload
    head = struct.pack(">qiibI", 0, 9 + len(covered), 0, 2, crc32c.crc32c(covered))
    return head + covered


RECORD = b"\x10\x00\x00\x00\x02k\x02v\x00"  # 8 bytes: key k, value v, no headers


@pytest.mark.parametrize(
    ("attributes", "count", "payload",                              "reason"),
    [
        (0,            2,   RECORD,                                 "9 bytes cannot hold 2"),
        (0,           -1,   RECORD,                                 "9 bytes cannot hold -1"),
        (0,            1,   RECORD + b"\x00",                       "1 bytes after the last"),
        (0,            1,   b"\x12" + RECORD[1:],                   "a record of 9 bytes in a"),
        (0,            1,   b"\x10\x00\x00\x00\x20k\x02v\x00",      "a key or value of 16 bytes"),
        (0,            1,   b"\x10\x00\x00\x00\x02k\x00v\x00",      "59 record headers in 1"),
        (0,            1,   b"\x10\x00" + b"\xff" * 7,              "the last record is cut"),
        (0,            2,   b"\x04\x00\x00" + b"\xff" * 12,         "a variable-length integer of"),
        (5,            1,   RECORD,                                 "unknown compression codec 5"),
        (1,            1,   RECORD,                                 "gzip:"),
        (2,            1,   b"\xff\xff\xff\xff\x0f" + RECORD,       "snappy: 14 bytes are too few"),
        (2,            1,   b"\x82SNAPPY\0" + bytes(8) + b"\0\0\1\0", "snappy: a block is longer"),
        (3,            1,   RECORD,                                 "lz4:"),
        (4,            1,   RECORD,                                 "zstd:"),
    ],
)  # fmt: skip
def test_unreadable_content_with_a_valid_checksum_is_quarantined(
    segment, attributes, count, payload, reason
):
    bad = record_batch(attributes, count, payload)
    offsets, gaps, reasons = read(bad + segment[393:])

    assert offsets == ALL[1:]
    assert gaps == [(0, len(bad))]
    assert reason in reasons[0]


def test_record_headers_are_skipped():
    record = b"\x1c\x00\x00\x00\x02k\x02v\x02\x02h\x04hv"
    record = bytes([2 * (len(record) - 1)]) + record[1:]

    (batch,) = read_segment(record_batch(0, 1, record), partition=0, file="0.log")

    assert (batch.offsets, batch.keys, batch.values) == ([0], [b"k"], [b"v"])


def test_log_append_time_is_the_batchs_newest_time():
    data = bytearray(record_batch(0x08, 1, RECORD))
    data[35:43] = struct.pack(">q", 1_700_000_000_000)
    data[17:21] = struct.pack(">I", crc32c.crc32c(data[21:]))

    (batch,) = read_segment(data, partition=0, file="0.log")

    assert (batch.timestamp_type, batch.timestamps) == ("LogAppendTime", [1_700_000_000_000])


def test_many_wrong_lengths_take_linear_time(monkeypatch):
    """A header every 61 bytes that claims the rest of the file: checksums would be quadratic."""
    header, count = bytearray(record_batch(0, 0, b"")), 2000
    data = bytearray()
    for index in range(count):
        header[8:12] = struct.pack(">i", (count - index) * 61 - 12)
        data += header
    taken = []
    monkeypatch.setattr(frames, "INITIAL_CREDIT", 100_000)
    monkeypatch.setattr(
        frames.crc32c, "crc32c", lambda view, *_: taken.append(len(view)) or 0, raising=True
    )

    read(bytes(data))

    assert 0 < sum(taken) < 100_000 + 17 * len(data)


@settings(deadline=None, derandomize=True)
@given(st.binary(max_size=400))
def test_any_bytes_are_covered_by_items(data):
    read(data)


@settings(deadline=None, derandomize=True)
@given(st.data())
def test_any_damage_is_covered_by_items(segment, data):
    damaged = bytearray(segment)
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(damaged)))
        cut = data.draw(st.integers(0, 100))
        damaged[at : at + cut] = data.draw(st.binary(max_size=100))

    read(bytes(damaged))


def test_batches_after_many_wrong_lengths_are_read(segment, monkeypatch):
    """Valid batches add credit for later failed checksums."""
    monkeypatch.setattr(frames, "INITIAL_CREDIT", 5000)
    damaged = flipped(segment, 1762 + 10, 2)  # The length becomes larger by 1,024.

    offsets, gaps, _ = read(damaged * 40)

    assert offsets == [0, 1, 37, 55, 73] * 40
    assert len(gaps) == 40


def test_wrong_lengths_between_valid_batches_take_linear_time(segment, monkeypatch):
    """One batch in six claims 65,536 bytes too many."""
    data = bytearray(segment * 40)
    for start in range(0, len(data), END):
        data[start + 1762 + 9] ^= 1
    checksum_of, taken = crc32c.crc32c, []
    monkeypatch.setattr(frames, "INITIAL_CREDIT", 100_000)
    monkeypatch.setattr(frames, "CREDIT_PER_BYTE", 1)
    monkeypatch.setattr(
        frames.crc32c, "crc32c", lambda view, *_: taken.append(len(view)) or checksum_of(view)
    )

    offsets, _, _ = read(bytes(data))

    assert offsets == [0, 1, 37, 55, 73] * 40
    assert sum(taken) < 100_000 + 3 * len(data)
