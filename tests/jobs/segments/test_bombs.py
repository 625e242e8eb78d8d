"""Decompression bombs are quarantined; the batches around them are read."""

import io
import struct
import tracemalloc
import zlib

import cramjam
import crc32c
import pytest

from jobs.decode.command import decode
from jobs.segments import Batch, Quarantined, columns, pieces, read_segment, record_batch
from jobs.segments.arrow_records import arrow_records
from jobs.segments.compression import CODECS
from jobs.segments.writer import varint

LIMIT = 1 << 20
SIZE = 50 * LIMIT
RECORD = b"\x10\x00\x00\x00\x02k\x02v\x00"  # The record has key k and value v.


def xerial(data):
    blocks = [bytes(cramjam.snappy.compress_raw(data[i : i + 32768]))
              for i in range(0, len(data), 32768)]  # fmt: skip
    return b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1) + b"".join(
        struct.pack(">i", len(block)) + block for block in blocks
    )  # fmt: skip


COMPRESS = {
    "gzip": lambda data: bytes(cramjam.gzip.compress(data)),
    "snappy": lambda data: bytes(cramjam.snappy.compress_raw(data)),
    "xerial": xerial,
    "lz4": lambda data: bytes(cramjam.lz4.compress(data)),
    "zstd": lambda data: bytes(cramjam.zstd.compress(data)),
}


def batch(offset, codec, payload, count=1):
    attributes = CODECS.index("snappy" if codec == "xerial" else codec)
    body = struct.pack(">hiqqqhii", attributes, count - 1, 0, 0, -1, -1, -1, count) + payload
    return struct.pack(
        ">qiibI", offset, 9 + len(body), 0, 2, crc32c.crc32c(body)
    ) + body  # fmt: skip


def message(codec, payload):
    body = struct.pack(">bbqii", 1, CODECS.index(codec), 0, -1, len(payload)) + payload
    return struct.pack(">qiI", 0, 4 + len(body), zlib.crc32(body)) + body


@pytest.mark.parametrize("codec", COMPRESS)
def test_a_bomb_is_quarantined_and_its_neighbors_are_read(codec):
    bomb = batch(1, codec, COMPRESS[codec](bytes(SIZE)))
    data = batch(0, "none", RECORD) + bomb + batch(2, codec, COMPRESS[codec](RECORD))

    tracemalloc.start()
    first, *bad, last = read_segment(data, partition=0, file="0.log", max_inflated=LIMIT)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert (first.keys, last.keys) == ([b"k"], [b"k"])
    assert_quarantined(bad, bomb)
    assert peak < 5 * LIMIT + 2 * len(data)


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4"])
def test_a_wrapper_message_may_be_a_bomb(codec):
    bomb = message(codec, COMPRESS[codec](bytes(SIZE)))

    assert_quarantined(read_segment(bomb, partition=0, file="0.log", max_inflated=LIMIT), bomb)


def assert_quarantined(items, bomb):
    """In parts, if it is long."""
    parts = list(items)
    assert all(isinstance(part, Quarantined) for part in parts)
    assert b"".join(part.data for part in parts) == bomb
    assert all(" inflate to" in part.reason for part in parts)


def test_a_batch_of_exactly_the_limit_is_read():
    payload = RECORD * 20_000
    data = batch(0, "zstd", COMPRESS["zstd"](payload), count=20_000)

    (good,) = read_segment(data, partition=0, file="0.log", max_inflated=len(payload))
    (bad,) = read_segment(data, partition=0, file="0.log", max_inflated=len(payload) - 1)

    assert isinstance(good, Batch)
    assert isinstance(bad, Quarantined)


def test_a_run_beyond_the_limit_is_decoded_batch_by_batch(monkeypatch, tmp_path):
    folder = tmp_path / "__consumer_offsets-0"
    folder.mkdir()
    one = COMPRESS["zstd"](RECORD)
    data = b"".join(batch(offset, "zstd", one) for offset in range(20))
    (folder / "00000000000000000000.log").write_bytes(data)

    def lines():
        out = io.StringIO()
        assert decode([str(folder)], out) == 0
        return out.getvalue()

    whole = lines()
    bulk = []
    monkeypatch.setattr(columns, "MAX_INFLATED", 10 * len(RECORD))
    monkeypatch.setattr(
        pieces,
        "read_columns",
        lambda view, run, limit: bulk.append(len(run)) or columns.read_columns(view, run, limit),
    )

    assert lines() == whole
    assert whole.count("\n") == 20
    assert bulk == [20, 10, 10]


@pytest.mark.parametrize("count", [3, 30])
@pytest.mark.parametrize("codec", ["gzip", "lz4", "zstd"])
def test_the_bombs_of_a_file_share_an_allowance(codec, count):
    """Each is below the limit of a batch; together they are not read."""
    size = LIMIT - 100
    body = b"\x00\x00\x00\x02k" + varint(size) + bytes(size) + b"\x00"
    bomb = COMPRESS[codec](varint(len(body)) + body)
    bombs = [batch(1 + number, codec, bomb) for number in range(count)]
    data = batch(0, "none", RECORD) + b"".join(bombs) + batch(99, "none", RECORD)

    items = list(arrow_records(memoryview(data), partition=0, file="0.log", max_inflated=LIMIT))
    bad = [item for item in items if isinstance(item, Quarantined)]
    offsets = [o for item in items if not isinstance(item, Quarantined)
               for o in item.column("log_offset").to_pylist()]  # fmt: skip

    read = count - len(bad)
    assert offsets == [0, *range(1, 1 + read), 99]
    assert read <= 1 + (LIMIT + 256 * len(data)) // size
    assert (len(bad) > 0) is (codec != "lz4")  # LZ4 inflates data to at most 255 times its size.


def test_a_defect_of_the_reader_quarantines_a_batch(monkeypatch):
    def defective(*_, **__):
        raise ZeroDivisionError

    data = batch(0, "none", RECORD)
    monkeypatch.setattr(record_batch, "read_records", defective)

    (bad,) = read_segment(data, partition=0, file="0.log")

    assert (bad.reason, bad.data) == ("internal error: ZeroDivisionError: no message", data)
