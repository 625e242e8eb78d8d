"""Source end_offsets: log end offsets of every format are read, and other input is named."""

import gzip
import io
import json
from datetime import UTC, date, datetime

import pytest

from jobs.checks.check import broken_laws
from jobs.console.errors import UsageError
from jobs.doctor.end_offsets import check_end_offsets
from jobs.ingest import Inputs, run
from jobs.lake.dates import DateRange
from jobs.nightly_run.log_files import end_offset_lines
from jobs.sources.end_offsets.reader import units
from jobs.sources.end_offsets.source import end_offset_rows, require_end_offsets

NINE = 1_795_770_000_000  # 2026-11-27T09:00Z
DAY = date(2026, 11, 27)


def at(seconds):
    return NINE + seconds * 1000


def plain(seconds, offset, partition=0, topic="orders", **more):
    record = {"time": at(seconds), "topic": topic, "partition": partition}
    return record | {"log_end_offset": offset} | more


def lines(*values):
    return "".join(f"{v if isinstance(v, str) else json.dumps(v)}\n" for v in values)


@pytest.fixture
def read(tmp_path):
    """``read(content)``: (topic, partition, second, offset) of the rows in their order, the
    reasons of unreadable input, and the counts."""

    def read_(content, timezone="UTC"):
        file = tmp_path / "ends"
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        batches = end_offset_rows(str(file), timezone, DateRange())
        *rows, counts = [row for batch in batches for row in batch.to_pylist()]
        ends = [
            (r["topic"], r["partition"], round(r["seen_time"].timestamp() - NINE / 1000, 3),
             r["log_end_offset"])
            for r in rows if r["kind"] == "event"
        ]  # fmt: skip
        reasons = [row["reason"] for row in rows if row["kind"] == "quarantined"]
        kept = sum(dict(counts["kept_by_date"]).values())
        assert counts["inputs"] == kept + counts["quarantined"] + counts["skipped"]
        assert (kept, counts["quarantined"]) == (len(ends), len(reasons))
        return ends, reasons, counts["inputs"]

    return read_


PROMETHEUS = {"status": "success", "data": {"resultType": "matrix", "result": [
    {"metric": {"__name__": "kafka_topic_partition_current_offset", "topic": "orders",
                "partition": "3", "instance": "exporter:9308"},
     "values": [[NINE / 1000, "7"], [NINE / 1000 + 15.5, "9"]]},
    {"metric": {"__name__": "kafka_consumergroup_lag", "topic": "orders", "partition": "3",
                "consumergroup": "g"}, "values": [[NINE / 1000, "2"]]}]}}  # fmt: skip
VECTOR = {"status": "success", "data": {"resultType": "vector", "result": [
    {"metric": {"__name__": "kminion_kafka_topic_partition_high_water_mark",
                "topic_name": "orders", "partition_id": "0"},
     "value": [NINE / 1000 + 1, "2.04952001e+08"]}]}}  # fmt: skip
COMMITS = {"start": {"offset": 10, "timestamp": at(0), "observedAt": at(1), "lag": 5},
           "end": {"offset": 20, "timestamp": at(60), "observedAt": at(61), "lag": 0}}  # fmt: skip
PARTITION = {"topic": "orders", "partition": 2, "owner": "/10.0.0.1", "client_id": "c",
             "status": "OK", **COMMITS, "current_lag": 3, "complete": 1.0}  # fmt: skip
UNKNOWN = {"topic": "orders", "partition": 1, "owner": "", "start": None, "end": None}
STATUS = {"error": False, "message": "consumer status returned",
          "status": {"cluster": "prod", "group": "g", "status": "OK", "partition_count": 2,
                     "partitions": [PARTITION, UNKNOWN], "maxlag": PARTITION, "totallag": 3},
          "request": {"url": "/v3/kafka/prod/consumer/g/lag", "host": "h"}}  # fmt: skip
NOTICE = {"api_key": "k", "app": "a", "block": False, "events": [{"id": "1", "event": {
    "severity": "ERR", "group": "g", "partitions": [PARTITION]}}]}  # fmt: skip
CONSUMER = {"error": False, "message": "consumer detail returned",
            "topics": {"orders": [{"offsets": [None, COMMITS["end"]], "owner": ""}]},
            "request": {"url": "/v3/kafka/prod/consumer/g", "host": "h"}}  # fmt: skip
TOPIC = {"error": False, "message": "topic offsets returned", "offsets": [11, 12],
         "request": {"url": "/v3/kafka/prod/topic/orders", "host": "h"}}  # fmt: skip
EXPOSED = """\
# HELP kminion_kafka_topic_partition_high_water_mark Partition High Water Mark
# TYPE kminion_kafka_topic_partition_high_water_mark gauge
kminion_kafka_topic_partition_high_water_mark{partition_id="0",topic_name="orders"} 2.04952001e+08
kafka_brokers 3
kafka_topic_partition_current_offset{partition="1",topic="orders"} 7 1795770005000
kafka_partition_latest_offset{cluster_name="prod",topic="orders",partition="2",} 8 1795770006.5
kafka_partition_latest_offset{cluster_name="prod",topic="orders",partition="3"} NaN
kafka_consumergroup_lag{consumergroup="g",topic="orders",partition="1"} 1
"""
DESCRIBED = """\

Consumer group 'old' has no active members.

GROUP  TOPIC   PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  CONSUMER-ID  HOST       CLIENT-ID
g      orders  0          10              15              5    c-1          /10.0.0.1  c
g      orders  1          -               -               -    c-1          /10.0.0.1  c
"""
# content -> topic, partition, seconds after nine o'clock, log end offset
FORMATS = {
    "plain": (lines(plain(0, 5), plain(5, 6, partition=1)),
              [("orders", 0, 0, 5), ("orders", 1, 5, 6)]),
    "other names": (
        lines({"ts": "2026-11-27T10:00:00.25+01:00", "topicName": "a", "partition_id": "4",
               "high_watermark": "17"},
              {"@timestamp": NINE / 1000 + 1, "topic": "a", "partition": 4, "logEndOffset": 18},
              {"timestamp": str(at(2)), "topic": "a", "partition": 4, "latest": 19.0}),
        [("a", 4, 0.25, 17), ("a", 4, 1, 18), ("a", 4, 2, 19)]),
    "the time of the object around": (
        lines({"time": at(3), "ends": [{"topic": "a", "partition": 0, "end_offset": 1}]}),
        [("a", 0, 3, 1)]),
    "a list on several lines": (json.dumps([plain(0, 1), plain(0, 2, partition=1)], indent=2),
                                [("orders", 0, 0, 1), ("orders", 1, 0, 2)]),
    "query_range": (json.dumps(PROMETHEUS), [("orders", 3, 0, 7), ("orders", 3, 15.5, 9)]),
    "query": (json.dumps(VECTOR, indent=4), [("orders", 0, 1, 204952001)]),
    "text of exporters": (f"2026-11-27T09:00:04Z\n{EXPOSED}",
                          [("orders", 0, 4, 204952001), ("orders", 1, 5, 7),
                           ("orders", 2, 6.5, 8)]),
    "Burrow, a group": (json.dumps(STATUS), [("orders", 2, 0, 15), ("orders", 2, 60, 20)]),
    "Burrow, commits of a group": (json.dumps(CONSUMER), [("orders", 0, 60, 20)]),
    "Burrow, a notification": (json.dumps(NOTICE), [("orders", 2, 0, 15), ("orders", 2, 60, 20)]),
    "Burrow, a topic": (lines("2026-11-27T09:00:01Z", TOPIC, {"time": at(2), "burrow": TOPIC}),
                        [("orders", 0, 1, 11), ("orders", 1, 1, 12),
                         ("orders", 0, 2, 11), ("orders", 1, 2, 12)]),
    "kafka-get-offsets": ("Fri Nov 27 09:00:00 UTC 2026\norders:0:15\npay.v1:12:0\n"
                          "2026-11-27T09:01:00\norders:0:16\n",
                          [("orders", 0, 0, 15), ("pay.v1", 12, 0, 0), ("orders", 0, 60, 16)]),
    "a time before each line": ("2026-11-27T09:00:01Z orders:0:15\n"
                                "2026-11-27T09:00:02Z orders:0:17",
                                [("orders", 0, 1, 15), ("orders", 0, 2, 17)]),
    "kafka-consumer-groups": (f"Fri Nov 27 09:00:00 UTC 2026\n{DESCRIBED}", [("orders", 0, 0, 15)]),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
def test_a_format(read, name):
    content, expected = FORMATS[name]

    ends, reasons, _ = read(content)

    assert (ends, reasons) == (expected, [])


@pytest.mark.parametrize("encode", [gzip.compress, lambda text: b"\xef\xbb\xbf" + text,
                                    lambda text: text.replace(b"\n", b"\r\n"),
                                    lambda text: text.decode().encode("utf-16")],
                         ids=["gzip", "byte order mark", "CRLF", "UTF-16"])  # fmt: skip
def test_bytes_around_the_text(read, encode):
    ends, reasons, inputs = read(encode(lines(plain(0, 5), plain(5, 6)).encode()))

    assert (ends, reasons, inputs) == ([("orders", 0, 0, 5), ("orders", 0, 5, 6)], [], 2)


def test_dates_without_a_zone_are_of_the_given_zone(read):
    ends, _, _ = read("2026-11-27 10:00:00\norders:0:15\n", timezone="Europe/Berlin")

    assert ends == [("orders", 0, 0, 15)]


# content -> rows and reasons
UNREADABLE = {
    "the end is missing": (lines(plain(0, 1)) + '{"time": 17957277683, "topi',
        [1], ["not complete JSON: Unterminated string starting at: line 1 column 23 (char 22)"]),
    "a document whose end is missing": ("{\n  \"data\": [\n" + lines(plain(0, 1)),
        [1], ["not complete JSON: Expecting value: line 2 column 12 (char 13)"]),
    "too large": (lines(plain(0, 2**63), plain(0, 2**63 - 1, partition=1)),
        [2**63 - 1], ["9223372036854775808 is not a log end offset"]),
    "5,000 digits": (lines(plain(0, 1)).replace("1}", "9" * 5000 + "}"),
        [], ["not readable as JSON: Exceeds the limit (4300 digits) for integer string"
             " conversion"]),
    "negative": (lines(plain(0, -1), plain(0, 1, partition=-1), "orders:0:-2"),
        [], ["-1 is not a log end offset", "-1 is not a partition",
             "no time: give output with a time, or print `date -u` before each output"]),
    "not numbers": (lines(plain(0, "many"), plain(0, 1.5), plain(0, True), plain(0, None)),
        [], ["'many' is not a log end offset", "1.5 is not a log end offset",
             "True is not a log end offset", "None is not a log end offset"]),
    "not a topic": (lines(plain(0, 1, topic="a b"), plain(0, 1, topic=3)),
        [], ["'a b' is not a topic name", "3 is not a topic name"]),
    "not a time": (lines(plain(0, 1, time=12), plain(0, 1, time="noon"), plain(0, 1, time=None)),
        [], ["12 is not a time between 2015 and 2100", "'noon' is not a complete date and time",
             "no time: give output with a time, or print `date -u` before each output"]),
    "beyond dates": (lines(plain(0, 1, time="9999-12-31T23:59:59Z"), plain(0, 1)),
        [1], ["date 9999-12-31 23:59:59,000 is not between 1970-01-02 and 2261-12-30"]),
    "below a date beyond dates": ("1969-12-31 10:00:00\norders:0:15\n",
        [], ["date 1969-12-31 10:00:00,000 is not between 1970-01-02 and 2261-12-30"]),
    "a sum": (json.dumps(PROMETHEUS).replace('"__name__"', '"name"'),
        [], ["a series without a metric name: query the metric itself, not an expression"
             " (and 1 more)"]),
    "two clusters": (lines(plain(0, 1, cluster="a"), plain(0, 2, cluster="b")),
        [1], ["of cluster b; earlier lines are from cluster a: give one cluster per file"]),
    "other JSON": (lines({"level": "info", "msg": "x"}), [], ["no log end offset in this JSON"]),
    "other text": ("[2026-11-27 09:00:00,000] INFO x\nhello\n",
        [], ["not a line with a log end offset"]),
    "bytes": (b"orders\xff:0:1\n", [], ["not UTF-8"]),
}  # fmt: skip


@pytest.mark.parametrize("name", UNREADABLE)
def test_unreadable_input_has_a_reason(read, name):
    content, offsets, expected = UNREADABLE[name]

    ends, reasons, _ = read(content)

    assert ([offset for *_, offset in ends], reasons) == (offsets, expected)


def test_only_changes_and_the_last_sighting_of_an_offset_are_rows(read):
    seen = [(0, 5), (5, 5), (10, 5), (15, 6), (20, 6), (20, 6), (25, 5), (30, 5), (35, 5)]

    ends, _, inputs = read(lines(*(plain(*each) for each in seen)))

    assert inputs == 9
    assert [(second, offset) for _, _, second, offset in ends] == [
        (0, 5), (10, 5), (15, 6), (20, 6), (25, 5), (35, 5)
    ]  # fmt: skip


def test_each_date_has_its_first_and_last_sighting(read):
    noon, night = 3 * 3600, 15 * 3600

    ends, _, _ = read(lines(*(plain(s, 5) for s in (0, noon, night - 1, night, night + 1))))

    assert [second for _, _, second, _ in ends] == [0, night - 1, night, night + 1]


def test_sightings_in_no_order_of_time_are_all_rows(read):
    ends, _, _ = read(lines(plain(5, 5), plain(1, 1), plain(3, 3), plain(2, 3)))

    assert [(second, offset) for _, _, second, offset in ends] == [(5, 5), (1, 1), (3, 3), (2, 3)]


def test_a_document_that_is_too_long_is_one_unreadable_input(monkeypatch):
    monkeypatch.setattr("jobs.sources.end_offsets.reader.DOCUMENT_BYTES", 100)
    text = "{\n" + ' "a": 0,\n' * 40 + "}\n" + lines(plain(0, 1))

    long, next_ = units(io.BytesIO(text.encode()), "UTC")

    assert long.reasons == ["a JSON document of more than 64 MiB: export a shorter period"]
    assert (long.size, len(long.raw) <= 100) == (364, True)
    assert [sighting.offset for _, sighting in next_.sightings] == [1]


def test_a_list_with_a_value_per_line_is_not_read_at_once(monkeypatch):
    monkeypatch.setattr("jobs.sources.end_offsets.reader.DOCUMENT_BYTES", 200)
    text = json.dumps([plain(second, second) for second in range(10)], indent=1)

    read = list(units(io.BytesIO(text.encode()), "UTC"))

    assert [s.offset for unit in read for _, s in unit.sightings] == [*range(10)]


# Files and lakes ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("[2026-11-27 09:00:00,000] INFO [GroupCoordinator id=1] x (kafka.coordinator.group)\n",
         "it seems to be a broker's log: give it as --broker-log"),
        ("orders:0:15\n",
         "no time: give output with a time, or print `date -u` before each output"),
        ("name,age\nx,3\n",
         "not a line with a log end offset; give lines of JSON with time, topic, partition and"
         " log_end_offset, or see docs/sources.md"),
        ("kafka_consumergroup_lag{topic=\"a\",partition=\"0\"} 3 1795770000000\n",
         "the file has no log end offsets; give lines of JSON with time, topic, partition and"
         " log_end_offset, or see docs/sources.md"),
    ],
    ids=["a log", "no time", "a table", "another series"],
)  # fmt: skip
def test_a_file_without_log_end_offsets_is_refused(tmp_path, content, problem):
    file = tmp_path / "ends"
    file.write_text(content)

    with pytest.raises(UsageError) as error:
        require_end_offsets([str(file)], "UTC")

    assert str(error.value) == f"--end-offsets {file}: {problem}"
    [result] = check_end_offsets(str(file), "UTC")
    assert (result.severity, result.text) == ("failure", f"{file}: {problem}")


def test_doctor_names_partitions_and_times(tmp_path):
    file = tmp_path / "ends.jsonl"
    file.write_text(lines(plain(0, 1), plain(5, 1), plain(7, -1), plain(9, 2, partition=1)))

    [result] = check_end_offsets(str(file), "UTC")

    assert (result.severity, result.text) == (
        "warning",
        f"{file}: 3 log end offsets of 2 partitions, 2026-11-27 09:00:00 to 2026-11-27 09:00:09"
        " UTC; 1 unreadable, first: -1 is not a log end offset",
    )


@pytest.mark.embedded_suffices
def test_a_file_that_grows_adds_its_new_rows(lake, tmp_path):
    file = tmp_path / "ends.jsonl"
    content = lines(plain(0, 5), plain(5, 5), "{", plain(8, 5))
    for more in ("", lines(plain(15, 5), plain(20, 7))):
        file.write_text(content + more)
        run(lake, Inputs(end_offsets=[str(file)]))
        run(lake, Inputs(end_offsets=[str(file)]))

    rows = lake.read("end_offsets").orderBy("position").collect()
    assert [(r.position, r.topic, r.partition, r.log_end_offset, r.event_date) for r in rows] == [
        (0, "orders", 0, 5, DAY),
        (2, "orders", 0, 5, DAY),
        (3, "orders", 0, 5, DAY),
        (4, "orders", 0, 7, DAY),
    ]
    assert {(r.source, r.format, r.file) for r in rows} == {("end_offsets", "json", str(file))}
    assert rows[1].seen_time.astimezone(UTC) == datetime(2026, 11, 27, 9, 0, 8, tzinfo=UTC)
    [quarantined] = lake.read("quarantine").collect()
    assert (quarantined.source, quarantined.position) == ("end_offsets", 160)
    assert broken_laws(lake.root)[1] == []


@pytest.mark.embedded_suffices
def test_a_run_for_one_date_stores_its_rows_only(lake, tmp_path):
    file = tmp_path / "ends.jsonl"
    file.write_text(lines(plain(0, 5), plain(24 * 3600, 6)))

    run(lake, Inputs(end_offsets=[str(file)], dates=DateRange(DAY, DAY)))

    assert [row.log_end_offset for row in lake.read("end_offsets").collect()] == [5]
    assert broken_laws(lake.root)[1] == []


@pytest.mark.embedded_suffices
def test_a_run_says_which_files_were_not_understood_completely(lake, tmp_path):
    files = {"empty": "", "good": lines(plain(0, 5)), "bad": lines(plain(0, 5, 1), "x")}
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    paths = [str(tmp_path / name) for name in files]

    run(lake, Inputs(end_offsets=paths))

    assert end_offset_lines(lake, paths) == [
        f"{tmp_path}/bad: 1 of 2 lines and values are unreadable (table quarantine)",
        f"{tmp_path}/empty: no log end offset",
    ]
