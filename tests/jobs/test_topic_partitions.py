"""topic_partitions: partition counts from a file in any of its formats."""

import random
from datetime import UTC, datetime

import pytest

from jobs.console.errors import UsageError
from jobs.topic_partitions import read_file, read_lines, run
from tools.fuzz.mutations import mutated

SINCE = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)

# output of kafka-topics.sh 4.1
DESCRIBED = """\
Topic: orders	TopicId: Zc6mLJ2nQ0mJ4wB2qXk4-w	PartitionCount: 2	\
ReplicationFactor: 1	Configs: segment.bytes=1073741824
	Topic: orders	Partition: 0	Leader: 1	Replicas: 1	Isr: 1	Elr: 	LastKnownElr: 
	Topic: orders	Partition: 1	Leader: 1	Replicas: 1	Isr: 1	Elr: 	LastKnownElr: 
Topic: __consumer_offsets	TopicId: c1SMEpbOTYmTEZ_4wmq4JA	PartitionCount: 50	\
ReplicationFactor: 1	Configs: compression.type=producer,cleanup.policy=compact
"""
# output of kafka-topics.sh 1.1
DESCRIBED_1_1 = """\
Topic:orders	PartitionCount:2	ReplicationFactor:1	Configs:
	Topic: orders	Partition: 0	Leader: 1	Replicas: 1	Isr: 1
"""

FORMATS = [
    (DESCRIBED, [("orders", 2, None), ("__consumer_offsets", 50, None)]),
    (DESCRIBED_1_1, [("orders", 2, None)]),
    ("orders,2\n\npayments,3\r\n", [("orders", 2, None), ("payments", 3, None)]),
    ("topic,partitions\norders,2\n", [("orders", 2, None)]),
    (
        "topic,partitions,since\norders,2,\norders,4,2026-11-21T10:00:00Z\n",
        [("orders", 2, None), ("orders", 4, SINCE)],
    ),
    ('orders, 4, "2026-11-21 12:00+02:00"\n', [("orders", 4, SINCE)]),
    ("orders,4,2026-11-21T10:00\n", [("orders", 4, SINCE)]),
    ("orders,2\norders,2\n", [("orders", 2, None)]),
    (
        '{"topic": "orders", "partitions": 2}\n'
        '{"topic": "orders", "partitions": 4, "since": "2026-11-21T10:00:00Z"}\n',
        [("orders", 2, None), ("orders", 4, SINCE)],
    ),
]


@pytest.mark.parametrize(("text", "counts"), FORMATS)
def test_a_file_in_each_format(text, counts):
    assert read_lines(text.splitlines(keepends=True), "f") == counts


BAD = {
    "orders,two": "f:2: 'two' is not a number of partitions",
    "orders,0": "f:2: '0' is not a number of partitions",
    "orders,2147483648": "f:2: '2147483648' is not a number of partitions",
    "orders": "f:2: 1 fields instead of topic,partitions[,since]",
    "orders,1,2026-11-21,4": "f:2: 4 fields instead of topic,partitions[,since]",
    "orders,1,yesterday": "f:2: 'yesterday' is not a time in ISO 8601",
    "or ders,1": "f:2: 'or ders' is not a topic name",
    "[2026-11-21 10:00:00,000] WARN no leader": ("f:2: '[2026-11-21 10:00:00' is not a topic name"),
    "Topic: orders	Partition: 0	Leader: 1": (
        "f:2: no PartitionCount; give the complete output of kafka-topics.sh --describe"
    ),
    "{": "f:2: not JSON: Expecting property name enclosed in double quotes at 1",
    '{"topic": "orders"}': "f:2: no 'partitions' in the object",
    '{"topic": "orders", "partitions": true}': "f:2: True is not a number of partitions",
    '{"topic": "orders", "partitions": 1.5}': "f:2: 1.5 is not a number of partitions",
    '{"topic": ["a"], "partitions": 1}': "f:2: ['a'] is not a topic name",
    '{"topic": "orders", "partitions": 1, "since": 5}': "f:2: 5 is not a time in ISO 8601",
    "first,2": "f:2: first has 1 partitions in an earlier line",
    "orders,1,0001-01-01T00:00:00+14:00": (
        "f:2: '0001-01-01T00:00:00+14:00' is not a time in ISO 8601"
    ),
    "orders,1,1969-12-31": "f:2: '1969-12-31' is not between 1970 and 9999",
    "orders,1," + "9" * 400: f"f:2: '{'9' * 299}... is not a time in ISO 8601",
    "\0,1": "f:2: '\\x00' is not a topic name",
    "=1+1,1": "f:2: '=1+1' is not a topic name",
    "../../x,1": "f:2: '../../x' is not a topic name",
    "x" * 70_000: "f:2: longer than 65536 characters",
}
# The message ends with Python's own text.
BAD_JSON = ['{"a":' * 10_000 + "1", '{"partitions": ' + "9" * 5000 + "}"]


@pytest.mark.parametrize("line", BAD)
def test_an_unreadable_line_is_named(line):
    with pytest.raises(UsageError) as error:
        read_lines(["first,1\n", line + "\n"], "f")

    assert str(error.value) == BAD[line]


@pytest.mark.parametrize("line", BAD_JSON, ids=["10,000 levels", "5,000 digits"])
def test_json_that_python_does_not_read_is_named(line):
    with pytest.raises(UsageError, match="not readable as JSON: "):
        read_lines([line], "f")


def test_an_endless_line_is_not_read_to_its_end(tmp_path):
    file = tmp_path / "topics"
    with file.open("wb") as out:
        out.truncate(3 << 30)

    with pytest.raises(UsageError) as error:
        read_file(str(file))

    assert str(error.value) == f"{file}:1: longer than 65536 characters"


def test_mutated_files_are_read_or_their_line_is_named(tmp_path):
    """A slice of the fuzz campaign's mutations, on each format."""
    file, messages = tmp_path / "topics", []

    for seed in range(300):
        text, _ = FORMATS[seed % len(FORMATS)]
        file.write_bytes(mutated("trace", text.encode(), random.Random(seed)))
        try:
            read_file(str(file))
        except UsageError as error:
            messages.append(str(error))

    assert len(messages) > 100
    assert [each for each in messages if str(file) not in each] == []


def test_a_missing_empty_or_binary_file_is_refused(tmp_path):
    missing, empty, binary = (tmp_path / name for name in ("missing", "empty", "binary"))
    empty.write_text("\n")
    binary.write_bytes(b"\xff\xfe\x00")

    for file, message in (
        (missing, "No such file or directory; give a readable file"),
        (empty, "the file has no topic"),
        (binary, "not UTF-8"),
    ):
        with pytest.raises(UsageError) as error:
            read_file(str(file))
        assert str(error.value) == f"--file {file}: {message}"


def test_counts_of_the_same_topic_and_time_are_overwritten_and_others_stay(lake):
    run(lake, read_lines(["t,1", "u,1", "u,3,2026-11-21T10:00:00Z"], "f"))
    run(lake, read_lines(["t,2", "u,4,2026-11-21T10:00:00Z", "v,5"], "f"))

    rows = lake.read("topic_partitions").selectExpr("topic", "partitions", "unix_seconds(since)")
    assert sorted(map(tuple, rows.collect()), key=str) == [
        ("t", 2, None),
        ("u", 1, None),
        ("u", 4, int(SINCE.timestamp())),
        ("v", 5, None),
    ]
