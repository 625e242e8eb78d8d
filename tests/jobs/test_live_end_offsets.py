"""Log end offsets of a running cluster: ListOffsets, and which sightings become rows."""

from datetime import date
from types import SimpleNamespace

import pytest
from confluent_kafka import IsolationLevel, KafkaError, KafkaException

from coordinator_core.records import encode_key
from jobs.bronze.live_end_offsets import add_sightings, committed_topics, store_end_offsets
from jobs.checks.check import broken_laws
from jobs.lake.opening import open_without_engine
from jobs.lake.sql import query
from jobs.sources.end_offsets.sightings import Sighting
from jobs.sources.topic import live_ends
from jobs.sources.topic.kafka import Kafka
from jobs.sources.topic.live_ends import list_end_offsets

NINE = 1_795_770_000_000  # 2026-11-27T09:00Z
MIDNIGHT = NINE + 15 * 3_600_000


@pytest.fixture
def lake(tmp_path):
    return open_without_engine(str(tmp_path / "lake"), "c")


def stored(lake):
    columns = "topic, partition, log_end_offset, EPOCH_MS(seen_time) - position, position"
    return [
        (topic, partition, offset, position + after_ms - NINE)
        for topic, partition, offset, after_ms, position in query(
            lake.root, f"SELECT {columns} FROM end_offsets ORDER BY topic, partition, seen_time"
        )[1]
    ]


def test_an_offset_has_the_rows_of_its_first_and_last_sighting(lake):
    passes = [(0, 5, 1), (60_000, 5, 1), (120_000, 5, 2), (180_000, 5, 3), (240_000, 6, 3)]
    for after_ms, *ends in passes:
        add_sightings(
            lake, [Sighting("t", n, end, NINE + after_ms) for n, end in enumerate(ends)], "b:1"
        )

    assert stored(lake) == [
        ("t", 0, 5, 0),
        ("t", 0, 5, 180_000),
        ("t", 0, 6, 240_000),
        ("t", 1, 1, 0),
        ("t", 1, 1, 60_000),
        ("t", 1, 2, 120_000),
        ("t", 1, 3, 180_000),
        ("t", 1, 3, 240_000),
    ]
    assert query(lake.root, "SELECT DISTINCT source, format, file_id, file FROM end_offsets")[
        1
    ] == [("kafka", "list_offsets", "list_offsets", "b:1")]
    assert broken_laws(lake.root)[1] == []


def test_each_date_has_its_own_sightings(lake):
    for at in (MIDNIGHT - 60_000, MIDNIGHT - 1, MIDNIGHT, MIDNIGHT + 60_000):
        add_sightings(lake, [Sighting("t", 0, 5, at)], "b:1")

    assert [after_ms for *_, after_ms in stored(lake)] == [
        MIDNIGHT - NINE - 60_000,
        MIDNIGHT - NINE - 1,
        MIDNIGHT - NINE,
        MIDNIGHT - NINE + 60_000,
    ]


def test_a_clock_that_was_set_back_adds_rows(lake):
    for at in (NINE + 60_000, NINE):
        add_sightings(lake, [Sighting("t", 0, 5, at)], "b:1")

    assert [after_ms for *_, after_ms in stored(lake)] == [0, 60_000]


class Answers:
    """An AdminClient; ``ends``: log end offset, or error, by topic and partition."""

    def __init__(self, ends):
        self.ends, self.asked = ends, []

    def list_topics(self, timeout):
        partitions = {}
        for topic, number in self.ends:
            partitions.setdefault(topic, []).append(number)
        return SimpleNamespace(
            topics={t: SimpleNamespace(partitions=p) for t, p in partitions.items()}
        )

    def list_offsets(self, specs, isolation_level, request_timeout):
        assert isolation_level == IsolationLevel.READ_UNCOMMITTED
        self.asked += [(each.topic, each.partition) for each in specs]
        return {each: Answer(self.ends[each.topic, each.partition]) for each in specs}


class Answer:
    def __init__(self, end):
        self.end = end

    def add_done_callback(self, call):
        call(self)

    def result(self):
        if isinstance(self.end, Exception):
            raise self.end
        return SimpleNamespace(offset=self.end)


@pytest.fixture
def cluster(monkeypatch):
    def build(ends):
        client = Answers(ends)
        monkeypatch.setattr(live_ends, "AdminClient", lambda _: client)
        monkeypatch.setattr(live_ends.time, "time_ns", lambda: NINE * 1_000_000)
        return client

    return build


def test_the_partitions_of_topics_that_exist_are_listed(cluster):
    client = cluster({("a", 0): 5, ("a", 1): 0, ("other", 0): 9})

    ends = list_end_offsets(Kafka("b:1"), {"a", "deleted"})

    assert client.asked == [("a", 0), ("a", 1)]
    assert ends.sightings == [Sighting("a", 0, 5, NINE), Sighting("a", 1, 0, NINE)]
    assert ends.problems == []


def test_what_cannot_be_listed_is_a_problem_and_no_error(cluster, lake, capsys):
    denied = KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))
    cluster({("a", 0): 5, ("b", 0): denied, ("b", 1): denied})

    for _ in range(2):
        store_end_offsets(lake, Kafka("b:1"), {"a", "b"})

    assert {row[:3] for row in stored(lake)} == {("a", 0, 5)}
    assert capsys.readouterr().err == (
        "regroup: log end offsets of 2 partitions of b: Broker: Topic authorization failed\n"
    )


def test_a_setting_without_an_equivalent_is_a_problem():
    settings = {"security.protocol": "SSL", "ssl.truststore.location": "/t.jks"}

    ends = list_end_offsets(Kafka("b:1", settings), {"a"})

    assert ends.problems == [
        "log end offsets not listed: [kafka] ssl.truststore.location (JKS): librdkafka has no"
        " equivalent"
    ]


def test_topics_are_those_of_commits(write_lake, tmp_path):
    day = {"append_time": NINE}
    keys = [encode_key(1, {"group": "g", "topic": topic, "partition": 0}) for topic in "ab"]
    records = [
        {"log_offset": n, "key": key, "key_type": 1, **day} for n, key in enumerate(keys)
    ] + [{"log_offset": 2, "key": encode_key(2, {"group": "g"}), "key_type": 2, **day}]
    root = write_lake(tmp_path, {"offsets_records": records})

    assert committed_topics(open_without_engine(root, "c")) == {"a", "b"}

    commit = {"group_id": "g", "partition": 0}
    commits = [
        commit | {"topic": "new", "event_date": date(2026, 11, 27), "log_offset": 0},
        commit | {"topic": "old", "event_date": date(2026, 11, 18), "log_offset": 1},
    ]
    write_lake(tmp_path, {"committed_offsets": commits})

    assert committed_topics(open_without_engine(root, "c")) == {"new"}
    assert committed_topics(open_without_engine(root, "other")) == set()
