"""A log read in ranges of any size, by tasks of their own, has the rows of the whole file."""

import gzip
import io
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.lake.dates import DateRange
from jobs.sources.broker_logs.broker_log import log_rows, ranges_of_files, read_broker_logs
from jobs.sources.logs.file_bytes import WHOLE_FILE, ByteRange, byte_ranges
from jobs.sources.rows import ROWS_PER_BATCH

pytestmark = pytest.mark.slow

LOGGER = "(kafka.coordinator.group.GroupCoordinator)"


def stabilized(generation, date="2024-10-27 00:30:00,000", prefix="[GroupCoordinator 1]: "):
    return f"[{date}] INFO {prefix}Stabilized group g generation {generation} {LOGGER}"


def dated(hour_and_minute):
    return stabilized(1, f"2024-10-27 {hour_and_minute}:00,000")


LINES = [
    # The hour from 2 to 3 occurs twice.
    *map(dated, ["00:30", "01:59", "02:10", "02:30", "02:55", "03:10"]),
    stabilized(2).partition("] ")[2],  # no date
    stabilized(3, prefix=""),  # no broker
    stabilized(4, prefix="[GroupCoordinator 2]: "),
    stabilized(5).partition(" (")[0],  # no logger
    stabilized(6)[:70],
    stabilized(7)[70:],
    "[2024-10-27 00:30:00,000] WARN [GroupCoordinator 1]: It rains " + LOGGER,
    "kafka_1  | " + stabilized(8),
    "[2024-10-27 00:30:00,000] INFO Metadata loaded (kafka.server.MetadataCache)",
    "[2024-10-27 00:30:00,000] INFO Log loaded (kafka.log.UnifiedLog)",
    "\tat kafka.log.Log.append(Log.scala:1)",
    "\tan indented head of 2024-10-27 00:30:00",
    "Caused by: java.io.IOException",
    "wrapped",
    "",
]
RAW = [line.encode() for line in LINES] + [b"gr\xfcppe \xff", b"\xfe\xfd\xff\xff"]
LOGS = st.builds(
    lambda mark, lines, end: mark + b"\n".join(lines) + end,
    st.sampled_from([b"", b"\xef\xbb\xbf"]),
    st.lists(st.sampled_from(RAW), max_size=25),
    st.sampled_from([b"", b"\n", b"\r\n"]),
)


def rows_of(path, within=WHOLE_FILE):
    batches = log_rows(str(path), "Europe/Berlin", DateRange(), within)
    return [row for batch in batches for row in batch.to_pylist()]


def summed(rows):
    """All rows by position, and the sums of the rows of counts."""
    counted = [row for row in rows if row["kind"] == "file"]
    sums = Counter()
    for row in counted:
        for name in ("bytes", "inputs", "quarantined", "skipped"):
            sums[name] += row[name]
        sums.update(dict(row["kept_by_date"]))
    others = [row for row in rows if row["kind"] != "file"]
    return sorted(others, key=lambda row: row["position"]), +sums


@settings(max_examples=300, deadline=None)
@given(log=LOGS, range_bytes=st.integers(4, 400))
def test_ranges_of_any_size_have_the_rows_of_the_file(tmp_path_factory, log, range_bytes):
    path = tmp_path_factory.getbasetemp() / "server.log"
    path.write_bytes(log)

    ranges = ranges_of_files([str(path)], range_bytes)
    rows = [row for _, within in ranges for row in rows_of(path, within)]

    assert summed(rows) == summed(rows_of(path))


@settings(max_examples=300, deadline=None)
@given(log=LOGS)
def test_every_line_is_counted_once(tmp_path_factory, log):
    path = tmp_path_factory.getbasetemp() / "server.log"
    path.write_bytes(log)

    *others, counts = rows_of(path)

    lines = log.removeprefix(b"\xef\xbb\xbf").count(b"\n") + (not log.endswith((b"\n", b"\xbf")))
    is_binary = any(
        row["reason_unreadable"].startswith("not text") for row in others if row["raw"] == b""
    )
    assert counts["inputs"] == (lines if log else 0) + is_binary
    assert counts["inputs"] == len(others) + counts["skipped"]
    assert counts["bytes"] == len(log)


def test_a_stack_trace_that_continues_in_the_next_range(tmp_path):
    lines = [stabilized(1), "\tat a.B.c(B.java:1)", "\tat a.B.d(B.java:2)", stabilized(2), ""]
    path = tmp_path / "server.log"
    path.write_text("\n".join(lines))
    border = len(lines[0]) + 10

    first = rows_of(path, ByteRange(0, border))
    second = rows_of(path, ByteRange(border, path.stat().st_size))

    assert [row["continuation"] for row in first] == ["\n".join(lines[1:3]), None]
    assert [row["generation"] for row in second] == [2, None]
    assert [first[-1][name] for name in ("inputs", "skipped")] == [2, 1]
    assert [second[-1][name] for name in ("inputs", "skipped")] == [2, 1]


def test_a_range_in_the_second_pass_of_a_repeated_hour(tmp_path):
    path = tmp_path / "server.log"
    lines = [dated("02:55"), dated("02:10"), dated("02:20")]
    path.write_text("\n".join(lines))
    third = rows_of(path, ByteRange(2 * len(lines[0]) + 2, path.stat().st_size))

    assert third[0]["event_time"].isoformat() == "2024-10-27T01:20:00+00:00"


def test_a_range_has_the_broker_id_of_the_lines_before_it(tmp_path):
    path = tmp_path / "server.log"
    lines = [stabilized(n, prefix=f"[GroupCoordinator {n}]: ") for n in (7, 8)]
    path.write_text("\n".join([lines[0], stabilized(1, prefix=""), lines[1]]))

    rows = rows_of(path, ByteRange(len(lines[0]), path.stat().st_size))

    assert [row["broker_id"] for row in rows] == [7, 8, None]


def test_events_that_wait_for_a_broker_id_are_bounded(tmp_path):
    path = tmp_path / "server.log"
    unnamed = [stabilized(n, prefix="") for n in range(ROWS_PER_BATCH + 1)]
    path.write_text("\n".join([*unnamed, stabilized(1, prefix="[GroupCoordinator 7]: ")]))

    batches = list(log_rows(str(path), "UTC", DateRange()))

    assert [batch.num_rows for batch in batches] == [ROWS_PER_BATCH, 3]
    assert Counter(batches[0].column("broker_id").to_pylist()) == {7: ROWS_PER_BATCH}
    assert batches[1].column("broker_id").to_pylist() == [7, 7, None]


def test_a_compressed_log_has_the_rows_of_the_plain_one(tmp_path):
    plain, packed = tmp_path / "server.log", tmp_path / "server.log.1.gz"
    plain.write_bytes(b"\n".join(RAW))
    packed.write_bytes(gzip.compress(b"\n".join(RAW)))

    rows, unpacked = rows_of(plain), rows_of(packed)

    ignored = {"path": None, "bytes": None}
    assert [row | ignored for row in unpacked] == [row | ignored for row in rows]


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (b"x" * 250, [ByteRange(0, 100), ByteRange(100, 200), ByteRange(200, 250)]),
        (b"x" * 100, [WHOLE_FILE]),
        (b"", [WHOLE_FILE]),
        (gzip.compress(bytes(range(256))), [WHOLE_FILE]),
        (("x" * 200).encode("utf-16"), [WHOLE_FILE]),
    ],
    ids=["plain", "small", "empty", "gzip", "UTF-16"],
)
def test_plain_files_are_split(log, expected):
    assert byte_ranges(io.BytesIO(log), 100) == expected


@pytest.mark.spark
def test_spark_reads_all_ranges(spark, tmp_path):
    path = tmp_path / "server.log"
    path.write_bytes(b"\n".join(RAW * 20))

    frame = read_broker_logs(spark, [str(path)], "Europe/Berlin", DateRange(), {}, range_bytes=1000)
    rows = frame.collect()

    *others, counts = rows_of(path)
    assert sorted(row.position for row in rows if row.kind != "file") == sorted(
        row["position"] for row in others
    )
    assert sum(row.inputs for row in rows if row.kind == "file") == counts["inputs"]
