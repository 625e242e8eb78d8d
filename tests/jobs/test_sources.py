"""Sources: input files, date ranges, and a log's rows with counts that add up."""

import gzip
import io
import os
import subprocess
import sys
from datetime import date

import pytest

from jobs.console.errors import UsageError
from jobs.lake.dates import DateRange
from jobs.lake.files import list_files, open_file
from jobs.sources.broker_logs.broker_log import first_line_hash, log_rows
from jobs.sources.rows import day_of

COORDINATOR = "(kafka.coordinator.group.GroupCoordinator)"
DAY = 86_400_000


@pytest.fixture
def folder(tmp_path):
    for name in ("b.log", "a.log", "deep/c.log", "notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("a.log", ["a.log"]),
        ("*.log", ["a.log", "b.log"]),
        ("**/*.log", ["a.log", "b.log", "deep/c.log"]),
        ("", ["a.log", "b.log", "deep/c.log"]),
        ("de*", ["deep/c.log"]),
        ("notes.txt", ["notes.txt"]),
        ("*.txt", ["notes.txt"]),
    ],
    ids=[
        "a file",
        "a glob",
        "a glob over folders",
        "a folder",
        "a glob of folders",
        "a file of any name",
        "a glob of any name",
    ],
)
@pytest.mark.parametrize("scheme", ["", "file://"])
def test_files_are_listed_in_order(folder, scheme, pattern, expected):
    files = list_files(f"{scheme}{folder}/{pattern}", "--segments", name_like="*.log")

    assert files == [f"{scheme}{folder}/{name}" for name in expected]
    with open_file(files[0]) as stream:
        assert stream.read().decode() == expected[0]


@pytest.mark.parametrize("pattern", ["x.log", "*.gz", "empty"])
@pytest.mark.parametrize("scheme", ["", "file://"])
def test_no_matching_file_is_an_error_that_names_the_option(folder, scheme, pattern):
    (folder / "empty").mkdir()

    with pytest.raises(UsageError, match=r"^--segments .*: no such file; give a path"):
        list_files(f"{scheme}{folder}/{pattern}", "--segments", name_like="*.log")


@pytest.mark.parametrize("pattern", ["a*", "[a", "file:///a*"])
def test_a_pattern_longer_than_a_path_is_refused_and_not_repeated(pattern):
    with pytest.raises(UsageError) as refused:
        list_files(pattern * 40_000, "--segments", name_like="*.log")

    assert str(refused.value) == (
        f"--segments {(pattern * 100)[:100]}...: {40_000 * len(pattern):,} characters; give a path,"
        " a folder or a quoted glob of at most 4,096"
    )


def test_a_pipe_alone_is_an_error(folder):
    os.mkfifo(folder / "pipe.log")

    with pytest.raises(UsageError, match=r"^--broker-log .*/pipe\.log: not a regular file; write"):
        list_files(f"{folder}/pipe.log", "--broker-log", name_like="*")


def test_a_pipe_among_files_is_skipped_with_a_line(folder, capsys):
    os.mkfifo(folder / "pipe.log")

    files = list_files(f"{folder}/*.log", "--broker-log", name_like="*")

    assert files == [f"{folder}/a.log", f"{folder}/b.log"]
    assert capsys.readouterr().err == (f"regroup: {folder}/pipe.log: skipped, not a regular file\n")


def test_stdin_from_a_pipe_can_be_read_twice():
    read_twice = (
        "from jobs.lake.files import list_files, open_file\n"
        "paths = list_files('/dev/stdin', '--broker-log', name_like='*')\n"
        "print([open_file(paths[0]).read() for _ in range(2)])"
    )

    run = subprocess.run(
        [sys.executable, "-c", read_twice], input=b"line", stdout=subprocess.PIPE, check=True
    )

    assert run.stdout == b"[b'line', b'line']\n"


def test_a_name_that_is_not_utf8_is_an_error(folder):
    bad_name = os.fsencode(folder) + b"/bad-\xff.log"
    with open(bad_name, "wb"):
        pass

    with pytest.raises(
        UsageError, match=r"bad-\\xff\.log: the name is not UTF-8; rename the file$"
    ):
        list_files(f"{folder}/*.log", "--broker-log", name_like="*")


@pytest.mark.parametrize(
    ("time_ms", "day"),
    [(0, 0), (DAY - 1, 0), (DAY, 1), (20_778 * DAY + 5, 20_778), (-1, 0)],
)
def test_day_of(time_ms, day):
    assert day_of(time_ms) == day


@pytest.mark.parametrize(
    ("dates", "has"),
    [
        (DateRange(), [True, True, True, True]),
        (DateRange(date(2026, 11, 21), date(2026, 11, 21)), [True, False, True, False]),
        (DateRange(first=date(2026, 11, 21)), [True, False, True, True]),
        (DateRange(last=date(2026, 11, 21)), [True, True, True, False]),
    ],
    ids=["all", "one date", "from", "to"],
)
def test_a_range_includes_both_ends_and_unknown_times(dates, has):
    # These days are: no time, 2026-11-20, 2026-11-21, 2026-11-22.
    days = [0, 20_777, 20_778, 20_779]

    assert [dates.has(day) for day in days] == has


def test_a_log_is_identified_by_its_first_line_also_when_compressed():
    text = b"[2026-11-21 08:00:00,000] INFO first\r\nsecond\n"
    plain = first_line_hash(io.BytesIO(text))

    assert first_line_hash(io.BytesIO(gzip.compress(text, mtime=1))) == plain
    assert first_line_hash(io.BytesIO(text.replace(b"\r\n", b"\n") + b"third\n")) == plain
    assert first_line_hash(io.BytesIO(text.replace(b"first", b"fist"))) != plain


@pytest.mark.parametrize("size", [100, 70_000, 2 << 20])
def test_a_log_with_zeros_before_its_first_line_is_the_same_log_when_compressed(size):
    """logrotate's copytruncate leaves zeros where the truncated part was."""
    text = bytes(size) + b"first line\nsecond\n"

    hashes = {first_line_hash(io.BytesIO(each)) for each in (text, gzip.compress(text))}

    assert len(hashes) == 1


def test_hashing_rewinds_the_stream():
    stream = io.BytesIO(b"first\nsecond\n")

    first_line_hash(stream)

    assert stream.read() == b"first\nsecond\n"


def log_line(time, message, logger=COORDINATOR, prefix="[GroupCoordinator 7]: "):
    return f"[2026-11-{time}] INFO {prefix}{message} {logger}\n"


LINES = [
    log_line("20 23:59:59,999", "Group g with generation 1 is now empty (__consumer_offsets-3)"),
    log_line("21 00:00:00,000", "Stabilized group g generation 2 (__consumer_offsets-3)"),
    log_line("21 00:00:00,001", "Something never worded before"),
    log_line("21 00:00:00,002", "Log loaded", "(kafka.log.UnifiedLog)", ""),
]


@pytest.fixture
def rows(tmp_path):
    def read(lines, dates=DateRange(), timezone="UTC"):  # noqa: B008 - DateRange is frozen
        path = tmp_path / "server.log"
        path.write_text("".join(lines))
        batches = log_rows(str(path), timezone, dates)
        return [row for batch in batches for row in batch.to_pylist()]

    return read


def test_a_logs_rows_are_events_unreadable_lines_and_counts(rows):
    log_rows_read = rows(LINES)

    assert [row["kind"] for row in log_rows_read] == ["event", "event", "quarantined", "file"]
    assert [row["event"] for row in log_rows_read[:2]] == ["GROUP_EMPTY", "JOIN_COMPLETE"]
    assert [row["position"] for row in log_rows_read[:3]] == [
        0, len(LINES[0]), len(LINES[0] + LINES[1]),
    ]  # fmt: skip
    assert log_rows_read[2]["raw"] == LINES[2].rstrip("\n").encode()
    counts = log_rows_read[3]
    assert counts["inputs"] == 4
    assert counts["kept_by_date"] == [(date(2026, 11, 20), 1), (date(2026, 11, 21), 1)]
    assert (counts["quarantined"], counts["skipped"]) == (1, 1)
    assert counts["bytes"] == sum(map(len, LINES))


def test_other_dates_are_counted_but_not_returned(rows):
    day = DateRange(date(2026, 11, 21), date(2026, 11, 21))

    *events, counts = rows(LINES[:2], day)

    assert [row["event"] for row in events] == ["JOIN_COMPLETE"]
    assert counts["kept_by_date"] == [(date(2026, 11, 20), 1), (date(2026, 11, 21), 1)]


def test_the_date_is_in_utc(rows):
    *_, counts = rows(LINES[1:2], timezone="Europe/Berlin")

    assert counts["kept_by_date"] == [(date(2026, 11, 20), 1)]


def test_lines_before_the_broker_id_get_it(rows):
    unnamed = log_line("20 23:00:00,000", "Stabilized group g generation 1", prefix="")

    *events, _ = rows([unnamed, LINES[1]])

    assert [row["broker_id"] for row in events] == [7, 7]


def test_a_log_without_a_broker_id_has_minus_one(rows):
    unnamed = log_line("20 23:00:00,000", "Stabilized group g generation 1", prefix="")

    *events, _ = rows([unnamed])

    assert [row["broker_id"] for row in events] == [-1]
