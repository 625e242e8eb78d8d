"""Log files in every encoding and with every prefix: positions, times, stack traces, counts."""

import gzip
import io
import json
from zoneinfo import ZoneInfoNotFoundError

import pytest

from jobs.sources.logs.entries import LogCounts, LogEntry, Unreadable
from jobs.sources.logs.file_bytes import WHOLE_FILE, byte_ranges
from jobs.sources.logs.files import read_log

pytestmark = pytest.mark.slow

LOGGER = "kafka.coordinator.group.GroupCoordinator"
OTHER = (
    "[2024-01-02 03:04:05,000] INFO [Partition t-0 broker=1] Log loaded (kafka.cluster.Partition)"
)


def stabilized(generation, date="2024-01-02 03:04:05,678"):
    return (
        f"[{date}] INFO [GroupCoordinator 1]: Stabilized group g generation {generation} "
        f"(__consumer_offsets-3) with 2 members ({LOGGER})"
    )


def read(data, timezone="UTC"):
    """Entries, unreadable lines and counts of a file."""
    items = list(read_log(io.BytesIO(data), file="server.log", timezone=timezone))
    counts = items.pop()
    assert isinstance(counts, LogCounts)
    total = counts.events + counts.unreadable + counts.skipped + counts.continuations
    assert counts.lines == total
    entries = [item for item in items if isinstance(item, LogEntry)]
    unreadable = [item for item in items if isinstance(item, Unreadable)]
    assert (len(entries), len(unreadable)) == (counts.events, counts.unreadable)
    return entries, unreadable, counts


def generations(entries):
    return [entry.line.event.generation for entry in entries]


PLAIN = "\n".join([OTHER, stabilized(7), OTHER, stabilized(8), ""])
FIRST = len(OTHER) + 1
SECOND = FIRST + len(stabilized(7)) + 1 + len(OTHER) + 1


def test_a_plain_file():
    entries, unreadable, counts = read(PLAIN.encode())

    assert [(e.position, e.line_number) for e in entries] == [(FIRST, 2), (SECOND, 4)]
    assert [e.text for e in entries] == [stabilized(7), stabilized(8)]
    assert [e.time_ms for e in entries] == [1_704_164_645_678] * 2
    assert not unreadable
    assert counts == LogCounts(file="server.log", lines=4, events=2, skipped=2)


def test_lines_that_a_terminals_frame_wraps():
    line = stabilized(7)
    framed = f"│ {line[:75]} │\n│ {line[75:]}   │\n"

    entries, _, counts = read(framed.encode())

    assert generations(entries) == [7]
    assert entries[0].line.logger == LOGGER
    assert (counts.lines, counts.continuations) == (2, 1)


def test_a_binary_file_is_unreadable_not_a_quiet_log():
    encrypted = bytes(7919 * n % 251 ^ 0x80 for n in range(5000)) + b"\n\xfe\n"

    entries, unreadable, counts = read(encrypted)

    assert entries == []
    assert [(line.position, line.reason) for line in unreadable] == [
        (0, "not text: encrypted, or an unknown compression")
    ]
    assert counts.lines == counts.skipped + 1


def test_indented_lines_may_be_binary_too():
    _, unreadable, counts = read(b"\t\xff\n" * 3 + b"\ttext\n" * 2)

    assert [line.reason[:8] for line in unreadable] == ["not text"]
    assert counts == LogCounts(file="server.log", lines=6, unreadable=1, skipped=5)


def test_an_empty_file():
    assert read(b"") == ([], [], LogCounts(file="server.log"))


@pytest.mark.parametrize(
    "pack",
    [
        lambda data: gzip.compress(data, mtime=0),
        lambda data: gzip.compress(data[:100], mtime=0) + gzip.compress(data[100:], mtime=0),
        lambda data: gzip.compress(data, mtime=0) + b"\0" * 512,
    ],
    ids=["one member", "two members", "padded"],
)
def test_gzip_keeps_the_positions_of_the_uncompressed_file(pack):
    entries, unreadable, counts = read(pack(PLAIN.encode()))

    assert [e.position for e in entries] == [FIRST, SECOND]
    assert not unreadable
    assert counts.lines == 4


def test_a_truncated_gzip_file_is_read_up_to_its_end():
    # The numbers differ, so that the compressed file is large.
    lines = [
        stabilized(n, f"2024-01-02 03:04:{n % 60:02},{n * 7919 % 1000:03}") for n in range(500)
    ]
    data = gzip.compress("\n".join(lines).encode(), mtime=0)

    entries, unreadable, counts = read(data[: len(data) // 2])

    assert generations(entries) == list(range(len(entries)))
    assert 100 < len(entries) < 400
    assert unreadable[-1].reason == "gzip stream ends early"
    assert counts.unreadable == len(unreadable)


def test_a_damaged_gzip_file_is_read_up_to_the_damage():
    lines = [
        stabilized(n, f"2024-01-02 03:04:{n % 60:02},{n * 7919 % 1000:03}") for n in range(500)
    ]
    data = bytearray(gzip.compress("\n".join(lines).encode(), mtime=0))
    data[-8:-4] = bytes(byte ^ 0xFF for byte in data[-8:-4])  # its checksum

    entries, unreadable, _ = read(bytes(data))

    assert generations(entries)[:499] == list(range(499))
    assert unreadable[-1].reason.startswith("gzip stream damaged")
    assert unreadable[-1].position == len("\n".join(lines))


@pytest.mark.parametrize(
    ("encoding", "mark"),
    [
        ("utf-16-le", b"\xff\xfe"),
        ("utf-16-be", b"\xfe\xff"),
        ("utf-16-le", b""),
        ("utf-16-be", b""),
    ],
)
def test_utf_16_with_and_without_mark(encoding, mark):
    entries, _, counts = read(mark + PLAIN.replace("\n", "\r\n").encode(encoding))

    start = len(mark) + 2 * (len(OTHER) + 2)
    assert entries[0].position == start
    assert entries[1].position == start + 2 * (len(stabilized(7)) + 2 + len(OTHER) + 2)
    assert generations(entries) == [7, 8]
    assert counts.lines == 4


def test_utf_16_with_the_newest_line_first():
    lines = [stabilized(n, f"2024-01-02 03:04:{n:02},000") for n in (9, 8, 7, 6)]

    entries, _, counts = read("\n".join(lines).encode("utf-16"))

    assert generations(entries) == [6, 7, 8, 9]
    assert counts.lines == 4


def test_utf_16_with_times_without_a_date():
    lines = [stabilized(7), stabilized(8, "03:05:00,250")]

    entries, _, _ = read("\n".join(lines).encode("utf-16"))

    assert [e.time_ms for e in entries] == [1_704_164_645_678, 1_704_164_700_250]


def test_a_json_document_in_utf_16():
    document = json.dumps([{"message": stabilized(7)}, {"message": stabilized(8)}])

    entries, _, _ = read(document.encode("utf-16"))

    assert generations(entries) == [7, 8]


def test_lines_that_end_in_a_carriage_return_alone():
    entries, _, counts = read(PLAIN.replace("\n", "\r").encode())

    assert [(e.position, e.line_number) for e in entries] == [(FIRST, 2), (SECOND, 4)]
    assert [e.text for e in entries] == [stabilized(7), stabilized(8)]
    assert counts.lines == 4


def test_a_container_date_that_is_beyond_year_9999_in_the_zone_of_the_logs():
    date = "9999-12-31 23:59:59,999+00:00"
    line = f"{date} kafka-0 kafka[812]: [10:00:00] INFO {stabilized(7).partition('INFO ')[2]}"

    entries, unreadable, counts = read(f"{line}\n{stabilized(8)}\n".encode(), "Europe/Berlin")

    assert generations(entries)[-1] == 8
    assert "internal error" not in "".join(each.reason for each in unreadable)
    assert counts.lines == 2


def test_utf_8_with_mark_and_crlf():
    entries, _, _ = read(b"\xef\xbb\xbf" + (stabilized(7) + "\r\n" + stabilized(8)).encode())

    assert [e.position for e in entries] == [3, 3 + len(stabilized(7)) + 2]
    assert [e.text for e in entries] == [stabilized(7), stabilized(8)]


@pytest.mark.parametrize(
    ("raw", "group"), [("grüppe".encode(), "grüppe"), ("grüppe".encode("latin-1"), "grüppe")]
)
def test_a_group_id_in_utf_8_and_in_latin_1(raw, group):
    line = stabilized(7).encode().replace(b"group g ", b"group " + raw + b" ")

    entries, _, _ = read(line + b"\n")

    assert entries[0].line.event.group_id == group


WRAPPERS = [
    "kafka_1  | {line}",
    "broker | {line}",
    "\x1b[32m{line}\x1b[0m",
    "2024-01-02T03:04:05.678901234Z stdout F {line}",
    "Jan  2 03:04:05 host kafka-server-start.sh[123]: {line}",
    '{{"log": "{line}\\n", "stream": "stdout", "time": "2024-01-02T03:04:06.5Z"}}',
    '{{"message": "{line}", "host": "b1"}}',
]


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_prefixes_of_containers_are_removed(wrapper):
    lines = [wrapper.format(line=line) for line in PLAIN.splitlines()]

    entries, unreadable, counts = read("\n".join(lines).encode())

    assert generations(entries) == [7, 8]
    assert [e.time_ms for e in entries] == [1_704_164_645_678] * 2
    assert entries[0].position == len(lines[0]) + 1
    assert entries[0].text == lines[1]
    assert not unreadable
    assert counts == LogCounts(file="server.log", lines=4, events=2, skipped=2)


def test_json_with_its_own_date_level_and_logger():
    message = "[GroupCoordinator 1]: Stabilized group g generation 7 (__consumer_offsets-3)"
    record = {
        "@timestamp": "2024-01-02T03:04:05.678Z",
        "level": "INFO",
        "logger_name": LOGGER,
        "message": message,
    }

    entries, _, _ = read(json.dumps(record).encode(), timezone="Europe/Berlin")

    assert entries[0].time_ms == 1_704_164_645_678
    assert (entries[0].line.level, entries[0].line.logger) == ("INFO", LOGGER)
    assert entries[0].line.event.generation == 7


def test_half_a_character_in_json_is_replaced():
    line = stabilized(7).replace("group g ", r"group g\ud800 ")

    entries, _, _ = read(f'{{"message": "{line}"}}'.encode())

    assert entries[0].line.event.group_id == "g?"


@pytest.mark.parametrize("time", ["1e300", "-1e300", "Infinity", "NaN"])
def test_json_with_an_impossible_time_has_no_date(time):
    bare = stabilized(7).partition("] INFO ")[2]

    entries, _, _ = read(f'{{"time": {time}, "message": "{bare}"}}'.encode())

    assert [e.time_ms for e in entries] == [None]


def test_lines_of_other_loggers_with_the_coordinators_words_are_skipped():
    lines = [
        "[2024-01-02 03:04:05,678] INFO [TransactionCoordinator id=1] Starting up. "
        "(kafka.coordinator.transaction.TransactionCoordinator)",
        "[2024-01-02 03:04:05,678] INFO Metadata of a group (kafka.server.KafkaApis)\r",
        "[2024-01-02 03:04:05,678] INFO Metadata of a topic",
    ]

    entries, unreadable, counts = read("\n".join([*lines, stabilized(7)]).encode())

    assert generations(entries) == [7]
    assert not unreadable
    assert counts == LogCounts(file="server.log", lines=4, events=1, skipped=3)


def test_indented_lines_belong_to_the_line_before_them():
    settings = ["\tadvertised.listeners = null", " group.id = 1-2", "\t", "\t... 5 more"]
    heads = ["\tat 2024-01-02 03:04:05 a head", "  {", " - INFO a head", "\tafter a head"]

    _, _, before = read("\n".join([*settings, OTHER]).encode())
    _, _, after = read("\n".join([OTHER, *settings, *heads]).encode())

    assert before == LogCounts(file="server.log", lines=5, skipped=5)
    assert after == LogCounts(file="server.log", lines=9, skipped=4, continuations=5)


TRACE = """\
org.apache.kafka.common.errors.RecordTooLargeException: too large
\tat kafka.log.Log.append(Log.scala:1)
\t... 5 more
Caused by: java.io.IOException
\tat kafka.coordinator.group.GroupMetadataManager.store(GroupMetadataManager.scala:1)"""


@pytest.mark.parametrize("lead", ["", "kafka_1  | "])
def test_a_stack_trace_belongs_to_its_line(lead):
    lines = [stabilized(7), *TRACE.splitlines(), OTHER, *TRACE.splitlines(), stabilized(8)]

    entries, _, counts = read("\n".join(lead + line for line in lines).encode())

    assert [e.stack_trace for e in entries] == [TRACE, None]
    assert counts == LogCounts(file="server.log", lines=13, events=2, skipped=1, continuations=10)


@pytest.mark.parametrize("cut", [80, 100, 130, len(stabilized(7)) - 20])
def test_a_wrapped_line_is_joined(cut):
    line = stabilized(7)
    wrapped = f"{line[:cut]}\n{line[cut:]}\n{OTHER}\n"

    entries, unreadable, counts = read(wrapped.encode())

    assert generations(entries) == [7]
    assert entries[0].line.event.member_count == 2
    assert entries[0].line.logger == LOGGER
    assert not unreadable
    assert counts == LogCounts(file="server.log", lines=3, events=1, skipped=1, continuations=1)


def test_a_truncated_line_is_not_joined_with_the_next():
    data = f"{stabilized(7)[:110]}\nHello\n{stabilized(8)}\n"

    entries, _, counts = read(data.encode())

    assert generations(entries) == [7, 8]
    assert entries[0].line.event.member_count is None
    assert counts == LogCounts(file="server.log", lines=3, events=2, skipped=1)


def test_a_truncated_last_line_is_unreadable():
    data = f"{stabilized(7)}\n{stabilized(12345).partition(' (')[0]}"  # or 123456?

    entries, unreadable, _ = read(data.encode())

    assert generations(entries) == [7]
    assert [u.reason for u in unreadable] == ["the line is incomplete at the end of the file"]
    assert read(data[: len(stabilized(7))].encode())[2].events == 1


def test_an_unknown_wording_of_a_coordinator_is_unreadable():
    line = f"[2024-01-02 03:04:05,678] WARN [GroupCoordinator 1]: It rains ({LOGGER})"

    entries, unreadable, counts = read(f"{OTHER}\n{line}\n".encode())

    assert not entries
    assert unreadable == [
        Unreadable("server.log", FIRST, 2, f"unknown wording of {LOGGER}", line.encode())
    ]
    assert counts == LogCounts(file="server.log", lines=2, unreadable=1, skipped=1)


def test_a_line_without_a_date_has_no_time():
    bare = stabilized(8).partition("] ")[2]

    entries, _, _ = read(f"{bare}\n{stabilized(7)}\n{bare}\n".encode())

    assert [e.time_ms for e in entries] == [None, 1_704_164_645_678, None]
    assert [e.undated for e in entries] == ["the line has no date", None, "the line has no date"]


# Berlin's clock showed 02:00 to 03:00 twice on 2024-10-27 and not at all on 2024-03-31.
# printed date             UTC
BERLIN = """
2024-03-31 01:59:59,000    2024-03-31 00:59:59
2024-03-31 02:30:00,000    2024-03-31 01:30:00
2024-03-31 03:00:00,000    2024-03-31 01:00:00
2024-07-01 12:00:00,000    2024-07-01 10:00:00
2024-10-27 01:59:59,000    2024-10-26 23:59:59
2024-10-27 02:10:00,000    2024-10-27 00:10:00
2024-10-27 02:59:59,000    2024-10-27 00:59:59
2024-10-27 02:00:00,000    2024-10-27 01:00:00
2024-10-27 02:30:00,000    2024-10-27 01:30:00
2024-10-27 03:00:00,000    2024-10-27 02:00:00
2024-12-01 12:00:00,000    2024-12-01 11:00:00
"""


def test_times_at_the_change_to_and_from_summer_time():
    rows = [(line[:23], line[27:]) for line in filter(None, BERLIN.splitlines())]
    data = "\n".join(stabilized(n, date) for n, (date, _) in enumerate(rows))
    in_utc = "\n".join(stabilized(n, f"{utc},000") for n, (_, utc) in enumerate(rows))

    entries, _, _ = read(data.encode(), timezone="Europe/Berlin")

    assert [e.time_ms for e in entries] == [e.time_ms for e in read(in_utc.encode())[0]]


@pytest.mark.parametrize(
    ("timezone", "utc_ms"),
    [
        ("UTC", 1_704_164_645_678),
        ("America/New_York", 1_704_182_645_678),
        ("Asia/Kolkata", 1_704_144_845_678),
        ("Australia/Lord_Howe", 1_704_125_045_678),
    ],
)
def test_a_configured_time_zone(timezone, utc_ms):
    entries, _, _ = read(stabilized(7).encode(), timezone=timezone)

    assert entries[0].time_ms == utc_ms


def test_an_unknown_time_zone_is_an_error():
    with pytest.raises(ZoneInfoNotFoundError):
        read(b"", timezone="Europe/Atlantis")


def test_long_files_are_read_in_blocks_with_the_same_positions():
    lines = [stabilized(n) if n % 3 == 0 else OTHER for n in range(20_000)]
    positions, at = [], 0
    for n, line in enumerate(lines):
        if n % 3 == 0:
            positions.append(at)
        at += len(line) + 1

    entries, _, counts = read("\n".join(lines).encode())

    assert [e.position for e in entries] == positions
    assert counts.lines == 20_000


# JSON ------------------------------------------------------------------------------------------

FIRST_MS, SECOND_MS = 1_704_164_645_678, 1_704_164_646_678
BARE = (
    "[GroupCoordinator 1]: Stabilized group g generation {} (__consumer_offsets-3) with 2 members"
)
DATES = ("2024-01-02T03:04:05.678Z", "2024-01-02T03:04:06.678Z")


def layout(place):
    """A line of a log4j JSON layout."""
    message = BARE.format(7 + place)
    return {"timestamp": DATES[place], "level": "INFO", "logger": LOGGER, "message": message}


def hit(place):
    line = f"[{DATES[place]}] INFO {BARE.format(7 + place)} ({LOGGER})"
    return {"_index": "k", "_source": {"@timestamp": DATES[place], "message": line}}


def ecs_hit(place):
    log = {"level": "INFO", "logger": LOGGER}
    source = {"@timestamp": DATES[place], "log": log, "message": BARE.format(7 + place)}
    return {"_index": "k", "_source": source}


def of_docker(place):
    return {"log": json.dumps(layout(place)) + "\n", "stream": "stdout", "time": DATES[1]}


def of_logcli(place):
    line = f"INFO {BARE.format(7 + place)} ({LOGGER})"
    return {"labels": {"app": "kafka"}, "line": line, "timestamp": DATES[place]}


def of_log4j2(place):
    instant = {"epochSecond": 1_704_164_645 + place, "nanoOfSecond": 678_000_000}
    message = BARE.format(7 + place)
    return {"instant": instant, "level": "INFO", "loggerName": LOGGER, "message": message}


def of_google_cloud(place, nested):
    second, nano = 1_704_164_645 + place, 678_000_000
    of_names = {"timestampSeconds": second, "timestampNanos": nano}
    date = {"timestamp": {"seconds": second, "nanos": nano}} if nested else of_names
    return date | {"severity": "INFO", "logger": LOGGER, "message": BARE.format(7 + place)}


def loki_response():
    line = f"INFO {BARE} ({LOGGER})"
    values = [[f"{ms}000000", line.format(7 + n)] for n, ms in enumerate((FIRST_MS, SECOND_MS))]
    streams = [{"stream": {"app": "kafka"}, "values": values}]
    return {"status": "success", "data": {"resultType": "streams", "result": streams}}


def as_lines(record):
    return "".join(json.dumps(record(place)) + "\n" for place in (0, 1))


def as_array(indent=None):
    return json.dumps([layout(0), layout(1)], indent=indent)


def as_response(record, indent=None):
    hits = {"total": {"value": 2}, "hits": [record(0), record(1)]}
    return json.dumps({"took": 1, "hits": hits}, indent=indent)


JSON_FILES = {
    "docker json-file around a JSON layout": as_lines(of_docker),
    "log4j 2 with an instant": as_lines(of_log4j2),
    "Google Cloud's seconds and nanos": as_lines(lambda n: of_google_cloud(n, nested=False)),
    "Google Cloud's timestamp": as_lines(lambda n: of_google_cloud(n, nested=True)),
    "an array in one line": as_array(),
    "an array over several lines": as_array(indent=2),
    "an array with an element per line": as_array().replace("}, {", "},\n{"),
    "an array after a byte order mark": f"\ufeff{as_array()}",
    "Elasticsearch hits": as_lines(hit),
    "Elasticsearch hits in ECS": as_lines(ecs_hit),
    "a response of Elasticsearch": as_response(hit),
    "an indented response of Elasticsearch": as_response(ecs_hit, indent=1),
    "logcli": as_lines(of_logcli),
    "a response of Loki": json.dumps(loki_response()),
}


@pytest.mark.parametrize("name", JSON_FILES)
def test_json_records_have_their_date_level_and_logger(name):
    text = JSON_FILES[name]

    entries, unreadable, _ = read(text.encode(), timezone="Europe/Berlin")

    assert generations(entries) == [7, 8]
    assert [entry.time_ms for entry in entries] == [FIRST_MS, SECOND_MS]
    assert {(e.line.level, e.line.logger, e.line.broker_id) for e in entries} == {
        ("INFO", LOGGER, 1)
    }
    assert entries[0].position < entries[1].position < len(text)
    assert not unreadable


def test_text_after_a_json_document_is_read_line_by_line():
    text = f"{as_array()}\n{stabilized(9)}\n"

    entries, _, counts = read(text.encode())

    assert generations(entries) == [7, 8, 9]
    assert entries[2].position == text.index(stabilized(9))
    assert counts.lines == 3


def test_json_lines_after_a_cut_first_line_are_read_as_lines():
    cut = '{"labels": {"app": "kafka"}, "line": "INFO [GroupCoor\n'
    text = cut + as_lines(of_logcli)

    entries, _, counts = read(text.encode())

    assert generations(entries) == [7, 8]
    assert counts.lines == 3


def test_a_json_document_beyond_the_limit_is_unreadable(monkeypatch):
    monkeypatch.setattr("jobs.sources.logs.chunks.DOCUMENT_BYTES", 1 << 20)
    text = json.dumps([layout(0)] * 20_000)

    entries, unreadable, counts = read(text.encode())

    assert entries == []
    assert [each.reason for each in unreadable] == ["a JSON document of more than 1 MiB: split it"]
    assert counts.lines == 1


def test_a_json_document_is_one_range():
    text = json.dumps([layout(0)] * 1000).encode()

    assert byte_ranges(io.BytesIO(text), 1000) == [WHOLE_FILE]


LE, BE = "utf-16-le", "utf-16-be"
MARKS = {LE: b"\xff\xfe", BE: b"\xfe\xff", "utf-8": b"\xef\xbb\xbf"}
# encodings of consecutive parts; a part in capital letters begins with its byte order mark
MIXED = [
    ("utf-8", LE),
    ("utf-8", BE),
    (LE, "utf-8"),
    (BE, "utf-8"),
    ("UTF-16-LE", "utf-8"),
    ("UTF-16-BE", "utf-8", BE),
    ("utf-8", LE, "utf-8", LE),
    ("utf-8", "UTF-16-LE", "UTF-8", "UTF-16-BE", LE),
    (LE, BE, LE),
]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("filler", ["", "grüppe Ċ\n", "上海\n" * 3, "\n"], ids=range(4))
@pytest.mark.parametrize("parts", MIXED, ids="+".join)
def test_each_line_has_its_encoding(parts, filler, end):
    """PowerShell appends UTF-16 to any file, and other programs append UTF-8 to any file."""
    data, positions = b"", []
    for number, name in enumerate(parts):
        encoding = name.lower()
        data += MARKS[encoding] if name.isupper() else b""
        for generation in (10 * number, 10 * number + 1):
            positions.append(len(data))
            text = f"{stabilized(generation)}\n{filler}".replace("\n", end)
            data += text.encode(encoding)

    entries, _, counts = read(data)

    assert generations(entries) == [10 * n + k for n in range(len(parts)) for k in (0, 1)]
    starts = [entry.position for entry in entries]
    assert all(abs(start - place) <= 3 for start, place in zip(starts, positions, strict=True))
    assert counts.lines == 2 * len(parts) * (1 + filler.count("\n"))


@pytest.mark.parametrize("cut", [1, 2, 3, 40, 41])
def test_utf_8_follows_utf_16_that_breaks_off(cut):
    utf_16 = f"{stabilized(1)}\r\n{stabilized(2)}\r\n".encode(LE)[:-cut]
    utf_8 = "".join(f"{stabilized(n)}\r\n" for n in range(3, 9)).encode()

    entries, _, _ = read(utf_16 + b"\n" + utf_8)

    assert generations(entries)[-6:] == [3, 4, 5, 6, 7, 8]
    assert generations(entries)[0] == 1


@pytest.mark.parametrize("size", [1 << 20, (1 << 20) + 1, 3 << 20])
def test_another_encoding_begins_anywhere_in_a_long_file(size):
    others = OTHER.encode() + b"\n"
    filled = others * (size // len(others)) + b"x" * (size % len(others) - 1) + b"\n"
    utf_16 = "".join(f"{stabilized(n)}\r\n" for n in range(1, 9)).encode(LE)

    entries, _, counts = read(filled + utf_16 + stabilized(9).encode())

    assert generations(entries) == list(range(1, 10))
    assert counts.lines == filled.count(b"\n") + 9
