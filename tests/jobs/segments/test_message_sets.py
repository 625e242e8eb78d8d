"""Message sets written by an independent client, in every codec."""

from pathlib import Path

import pytest

from jobs.segments import Batch, Quarantined, read_segment

DATA = Path(__file__).parents[2] / "data" / "segments" / "message-sets"

OFFSETS = [100, 101, 102, 103, 104, 105]
KEYS = [b"key-100", b"key-101", b"key-102", b"key-103", b"key-104", b"key-105"]
VALUES = [
    b"value-100 " * 20, None, b"value-102 " * 20,
    b"value-103 " * 20, None, b"value-105 " * 20,
]  # fmt: skip
UNSTAMPED = [-1] * 6
CREATED = [1500000000100 + i for i in range(6)]
APPENDED = [1600000000000] * 3 + [1600000000136] * 3


def read(name):
    return list(read_segment((DATA / name).read_bytes(), partition=0, file=name))


@pytest.mark.parametrize(
    ("name",                           "magic", "codec",  "timestamp_type", "timestamps"),
    [
        ("magic0-none.log",                  0, "none",   None,             UNSTAMPED),
        ("magic0-gzip.log",                  0, "gzip",   None,             UNSTAMPED),
        ("magic0-snappy.log",                0, "snappy", None,             UNSTAMPED),
        ("magic0-lz4.log",                   0, "lz4",    None,             UNSTAMPED),
        ("magic1-none.log",                  1, "none",   "CreateTime",     CREATED),
        ("magic1-gzip.log",                  1, "gzip",   "CreateTime",     CREATED),
        ("magic1-snappy.log",                1, "snappy", "CreateTime",     CREATED),
        ("magic1-lz4.log",                   1, "lz4",    "CreateTime",     CREATED),
        ("magic1-gzip-log-append-time.log",  1, "gzip",   "LogAppendTime",  APPENDED),
    ],
)  # fmt: skip
def test_inner_messages_get_absolute_offsets(name, magic, codec, timestamp_type, timestamps):
    batches = read(name)

    assert {(b.magic, b.compression, b.timestamp_type) for b in batches} == {
        (magic, codec, timestamp_type)
    }
    assert [offset for b in batches for offset in b.offsets] == OFFSETS
    assert [timestamp for b in batches for timestamp in b.timestamps] == timestamps
    assert [key for b in batches for key in b.keys] == KEYS
    assert [value for b in batches for value in b.values] == VALUES


@pytest.mark.parametrize("name", ["magic0-gzip.log", "magic1-snappy.log", "magic1-lz4.log"])
def test_a_damaged_wrapper_is_skipped_with_its_inner_messages(name):
    data = bytearray((DATA / name).read_bytes())
    data[40] ^= 1

    first, second = read_segment(data, partition=0, file=name)

    assert isinstance(first, Quarantined)
    assert first.reason.startswith("checksum")
    assert isinstance(second, Batch)
    assert second.offsets == [103, 104, 105]
    assert first.position + first.length == second.position
