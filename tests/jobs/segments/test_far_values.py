"""Values beyond 64 bits are quarantined; large, sparse and misnamed files are told apart."""

import os
import subprocess
import sys

import pytest

from jobs.decode.command import BadPath, segments_of
from jobs.lake.dates import DateRange
from jobs.segments import Batch, Quarantined, not_a_segment, read_segment
from jobs.segments.writer import framed, record_batch
from jobs.sources.topic.segments import segment_rows

LAST = (1 << 63) - 1
# A zigzag-coded record: attributes, timestamp delta 1, offset delta 0, key "k", no value, no
# headers.
ONE_MS_LATER = bytes([14, 0, 2, 0, 2, ord("k"), 1, 0])
RUN = [record_batch(offset, 0, 1000, [(b"\0\2\0\1g", None)]) for offset in range(1, 40)]
GIB = 1 << 30


def far(base_offset=0, time_ms=LAST, payload=ONE_MS_LATER):
    return framed(base_offset, 0, time_ms, payload, 1)


def test_a_timestamp_beyond_64_bits_is_quarantined():
    data = far() + b"".join(RUN)

    first, *others = read_segment(data, partition=0, file="0.log")

    assert isinstance(first, Quarantined)
    assert (first.position, first.length, first.reason) == (
        0,
        len(far()),
        "a timestamp needs more than 64 bits",
    )
    assert [type(item) for item in others] == [Batch] * 39


def test_the_last_timestamp_of_64_bits_is_read():
    (batch,) = read_segment(far(time_ms=LAST - 1), partition=0, file="0.log")

    assert batch.timestamps == [LAST]


def test_an_offset_beyond_64_bits_is_quarantined():
    one_offset_later = bytes([14, 0, 0, 2, 2, ord("k"), 1, 0])

    (item,) = read_segment(far(LAST, 0, one_offset_later), partition=0, file="0.log")

    assert item.reason == "an offset needs more than 64 bits"


@pytest.mark.parametrize("place", [0, 20, 39])
def test_columns_of_many_batches_leave_it_to_the_reference(tmp_path, place):
    """The batch is quarantined, the others of its run are read."""
    batches = [record_batch(n, 0, 1000, [(b"\0\2\0\1g", None)]) for n in range(40)]
    batches[place] = far(place)
    folder = tmp_path / "__consumer_offsets-0"
    folder.mkdir()
    (folder / "0.log").write_bytes(b"".join(batches))

    *batches, last = segment_rows(str(folder / "0.log"), DateRange())

    rows = [row for batch in [*batches, last] for row in batch.to_pylist()]
    assert [row["reason"] for row in rows if row["kind"] == "quarantined"] == [
        "a timestamp needs more than 64 bits"
    ]
    offsets = [row["log_offset"] for row in rows if row["kind"] == "record"]
    assert sorted(offsets) == [n for n in range(40) if n != place]


READ_ALL = """
import sys
from jobs.segments import read_segment
with open(sys.argv[1], "rb") as file:
    items = [item.length for item in read_segment(file, partition=0, file="0.log")]
with open("/proc/self/status") as status:  # ru_maxrss may be that of the process that forked
    [peak] = [int(line.split()[1]) for line in status if line.startswith("VmHWM:")]
print(len(items), peak >> 10)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tail", "items"),
    [
        pytest.param(b"", 39, id="zeros up to the end"),
        pytest.param(RUN[0], 39 + 1024 + 1, id="a hole"),  # The hole has ranges of 1 MiB.
    ],
)
def test_a_sparse_file_is_read_in_bounded_memory(tmp_path, tail, items):
    path = tmp_path / "0.log"
    with open(path, "wb") as file:
        file.write(b"".join(RUN))
        file.seek(GIB - (len(tail) and file.tell()), os.SEEK_CUR)
        file.write(tail)
        file.truncate()

    script = READ_ALL.replace("item.length", "1")
    command = [sys.executable, "-c", script, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    count, mebibytes = map(int, done.stdout.split())
    assert count == items
    assert mebibytes < 300


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("00000000000000000000.index", "the offset index of a segment"),
        ("00000000000000000000.timeindex", "the time index of a segment"),
        ("00000000000000000000.txnindex.deleted", "the transaction index of a segment"),
        ("00000000000000000042.snapshot", "a snapshot of producer states"),
        ("leader-epoch-checkpoint", "metadata of a partition"),
        ("partition.metadata", "metadata of a partition"),
        ("00000000000000000000.log", None),
        ("00000000000000000000.log.deleted", None),
        ("records.bin", None),
    ],
)
def test_files_beside_segments(name, what):
    assert not_a_segment(f"/data/__consumer_offsets-0/{name}") == what


def test_an_index_is_an_error_and_skipped_among_segments(tmp_path):
    folder = tmp_path / "__consumer_offsets-0"
    folder.mkdir()
    log, index = folder / "0.log", folder / "0.index"
    log.write_bytes(RUN[0])
    index.write_bytes(b"\0" * 8)

    segments = segments_of([f"{folder}/*"])

    assert [segment.name for segment in segments] == ["0.log"]
    with pytest.raises(BadPath, match=r"0\.index: the offset index of a segment; give the \.log"):
        segments_of([str(index)])
