"""The laws of a lake: a sound one breaks none, and each law broken on purpose is found."""

from datetime import date, datetime
from pathlib import Path

import pytest

from jobs.check import LAWS, broken_laws
from jobs.errors import UsageError
from schemas import table_names

EVE, DAY, NO_TIME = date(2026, 11, 20), date(2026, 11, 21), date(1970, 1, 1)
LOG = {"source": "broker_log", "file": "f", "topic_partition": None}
DUMP = {"source": "dump", "path": "d"}
TRACE = {"source": "trace", "topic_partition": None}
DUMP_ROW = {"source": "dump", "file": "d", "reason": "bad"}
KAFKA = {"source": "kafka", "file": "__consumer_offsets-0"}
PLACE = {"group_id": "g", "generation": 1}
OWNED = PLACE | {"member_id": "m", "process": "m", "partition": 0}
TIMES = {"preparing_time": 1000, "joined_time": 2000, "stable_time": 2001, "ended_time": 9000}

# Two records and a line, one more of each unreadable, and what came of them.
SOUND = {
    "ingested_files": [
        {"file": "0.log", "path": "0.log", "inputs": 3, "kept_by_date": {DAY: 2},
         "quarantined": 1, "first_offset": 0, "last_offset": 2},
        LOG | {"path": "server.log", "inputs": 5, "kept_by_date": {DAY: 1}, "quarantined": 1,
               "skipped": 3},
        DUMP | {"file": "d#__consumer_offsets-0", "inputs": 4, "kept_by_date": {DAY: 2},
                "quarantined": 1, "skipped": 1, "first_offset": 0, "last_offset": 2},
        DUMP | {"file": "d", "topic_partition": None, "inputs": 2, "kept_by_date": {},
                "quarantined": 1, "skipped": 1},
        KAFKA | {"path": "k", "inputs": 3, "kept_by_date": {DAY: 2}, "quarantined": 1,
                 "first_offset": 0, "last_offset": 2},
        TRACE | {"file": "t", "path": "t.jsonl", "inputs": 1, "kept_by_date": {NO_TIME: 1}},
    ],
    "trace_events": [{"trace_id": "t", "position": 0, "event": "start", "line": "{}",
                      "file": "t.jsonl"}],
    "offsets_records": [
        {"log_offset": 0, "key": b"k", "key_type": 2},
        {"log_offset": 1, "key": b"k", "key_type": 1},
    ],
    "broker_log_events": [{"position": 0, "event_time": 5, "event": "LEFT"}],
    "quarantine": [
        {"file": "0.log", "log_offset": 2, "reason": "bad"},
        LOG | {"position": 80, "log_offset": -1, "reason": "bad"},
        DUMP_ROW | {"position": 3, "log_offset": 2, "topic_partition": "__consumer_offsets-0"},
        DUMP_ROW | {"position": 5, "log_offset": -1},
        KAFKA | {"position": -1, "log_offset": 2, "reason": "bad"},
    ],
    "group_metadata": [{"group_id": "g", "log_offset": 0, "generation": 1}],
    "committed_offsets": [{"group_id": "g", "log_offset": 1, "partition": 0}],
    "group_events": [{"group_id": "g", "event_seq": 1, "event_time": 5, "event": "LEFT"}],
    "group_days": [{"group_id": "g"}],
    "timeline": [{"group_id": "g", "seq": 1, "sign": "RECORD"}],
    "generations": [PLACE | TIMES, PLACE | {"generation": 2, "joined_time": 9500}],
    "generation_members": [PLACE | {"member_id": "m", "process": "m"}],
    "assignments": [OWNED],
    "churn": [PLACE],
    "rebalance_latency": [PLACE | {"outcome": "stable", "logical_rebalance": 1, "round": 1}],
    "rebalance_causes": [PLACE | {"cause_seq": 1, "cause": "MEMBER_NEW"}],
    "assignor_quality": [PLACE | {"assignor": "range"}],
    "seen_partitions": [{"topic": "t", "partitions": 3, "since": 5}],
    "topic_partitions": [{"topic": "t", "partitions": 3}],
}  # fmt: skip


def changed(table, number, **change):
    return {table: [row | change if n == number else row for n, row in enumerate(SOUND[table])]}


def lost(table, number):
    return {table: [row for n, row in enumerate(SOUND[table]) if n != number]}


def added(table, row):
    return {table: [*SOUND[table], row]}


def without(table):
    return {table: []}


KEPT = "a file's inputs are kept, quarantined or skipped"
LINES = "every readable line of an ingested date is in broker_log_events"
RECORDS = "every readable record of an ingested date is in offsets_records"
TRACES = "every readable line of a trace is in trace_events"
QUARANTINED = "what is said to be in quarantine is there"
GROUPS = "every group record is decoded once"
COMMITS = "every offset commit is decoded once"
TIMES_IN_ORDER = "a generation is prepared, joined, stable and over in this order"
IN_A_LIFE = "generations of a life come one after the other"
KNOWN = "members and assignments belong to a known generation"
ONE_ROW = "one row a key"

# what is done to the sound lake, then (law, cluster, where, expected, found)
BROKEN = {
    "an input neither kept, quarantined nor skipped": (
        changed("ingested_files", 1, inputs=6),
        [(KEPT, "c", "server.log", 6, 5)],
    ),
    "a file of which nothing was readable, and more was said to be": (
        changed("ingested_files", 0, inputs=2, kept_by_date={}),
        [(KEPT, "c", "0.log", 2, 1)],
    ),
    "a line too many": (
        added("broker_log_events", {"position": 40, "event_time": 5, "event": "LEFT"}),
        [(LINES, "c", "f 2026-11-21", 1, 2)],
    ),
    "a record lost": (
        changed("ingested_files", 0, inputs=4, kept_by_date={DAY: 3}),
        [(RECORDS, "c", "0.log 2026-11-21", "at least 3", 2)],
    ),
    "a record's quarantine lost": (
        lost("quarantine", 0),
        [(QUARANTINED, "c", "0.log", 1, 0)],
    ),
    "a line's quarantine lost": (
        lost("quarantine", 1),
        [(QUARANTINED, "c", "server.log", 1, 0)],
    ),
    "a dump's quarantine lost, of a log": (
        lost("quarantine", 2),
        [(QUARANTINED, "c", "d", 1, 0)],
    ),
    "a dump's quarantine lost, of no log": (
        lost("quarantine", 3),
        [(QUARANTINED, "c", "d", 1, 0)],
    ),
    "a consumer's quarantine lost": (
        lost("quarantine", 4),
        [(QUARANTINED, "c", "k", 1, 0)],
    ),
    "a dump's record lost": (
        changed("ingested_files", 2, inputs=5, kept_by_date={DAY: 3}),
        [(RECORDS, "c", "d#__consumer_offsets-0 2026-11-21", "at least 3", 2)],
    ),
    "a trace's line lost": (
        without("trace_events"),
        [(TRACES, "c", "t", 1, 0)],
    ),
    "all records of a date that a consumer got": (
        changed("ingested_files", 4, inputs=6, kept_by_date={DAY: 2, EVE: 3}),
        [(RECORDS, "c", "__consumer_offsets-0 2026-11-20", "at least 3", 0)],
    ),
    "a stretch of bytes in quarantine stands for no record": (
        changed("quarantine", 0, log_offset=-1),
        [(QUARANTINED, "c", "0.log", 1, 0)],
    ),
    "a group record not decoded": (
        without("group_metadata"),
        [(GROUPS, "c", "group_metadata __consumer_offsets-0", 1, 0)],
    ),
    "a group record from nowhere": (
        added("group_metadata", {"group_id": "g", "log_offset": 7}),
        [(GROUPS, "c", "group_metadata __consumer_offsets-0", 1, 2)],
    ),
    "a commit not decoded": (
        without("committed_offsets"),
        [(COMMITS, "c", "committed_offsets __consumer_offsets-0", 1, 0)],
    ),
    "stable before it was joined": (
        changed("generations", 0, joined_time=4000),
        [(TIMES_IN_ORDER, "c", "g generation 1", "times in order",
          "1970-01-01 00:00:01 > 1970-01-01 00:00:04 > 1970-01-01 00:00:02.001"
          " > 1970-01-01 00:00:09")],
    ),
    "a generation that joined before the one before it": (
        changed("generations", 1, joined_time=900),
        [(IN_A_LIFE, "c", "g generation 2", "after 1970-01-01 00:00:02",
          datetime(1970, 1, 1, 0, 0, 0, 900_000))],
    ),
    "a member of no generation": (
        changed("generation_members", 0, generation=8),
        [(KNOWN, "c", "g generation 8", "a generation", "none")],
    ),
    "an assignment of no generation": (
        changed("assignments", 0, incarnation=2),
        [(KNOWN, "c", "g generation 1", "a generation", "none")],
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def sound(write_lake, tmp_path_factory):
    return Path(write_lake(tmp_path_factory.mktemp("sound"), SOUND))


@pytest.fixture
def laws_broken(sound, write_lake, tmp_path):
    """The laws that a lake breaks which is sound but for some tables."""

    def laws(change):
        for table in SOUND.keys() - change.keys():
            (tmp_path / table).symlink_to(sound / table)
        columns, rows = broken_laws(write_lake(tmp_path, change))
        assert columns == ["law", "cluster_id", "where", "expected", "found"]
        return rows

    return laws


def test_a_sound_lake_breaks_no_law(laws_broken):
    assert laws_broken({}) == []


@pytest.mark.parametrize("how", BROKEN)
def test_a_law_broken(laws_broken, how):
    change, said = BROKEN[how]

    assert laws_broken(change) == said


def test_a_row_that_is_there_twice(laws_broken):
    said = laws_broken({table: [*rows, rows[0]] for table, rows in SOUND.items()})

    twice = [row[1:] for row in said if row[0] == ONE_ROW]
    assert [where.split(" c/")[0] for _, where, *_ in twice] == table_names()
    assert {(cluster, *counts) for cluster, _, *counts in twice} == {("c", "1 row", "2 rows")}


def test_every_law_is_broken_by_something_above():
    assert {law.name for law in LAWS} == {ONE_ROW, *(row[0] for _, said in BROKEN.values()
                                                     for row in said)}  # fmt: skip


def test_laws_of_other_clusters_rows_are_their_own(laws_broken):
    twin = {table: [*rows, *({**row, "cluster_id": "d"} for row in rows)]
            for table, rows in SOUND.items()}  # fmt: skip

    assert laws_broken(twin) == []


def test_laws_on_tables_not_yet_written_are_left_out(write_lake, tmp_path):
    root = write_lake(tmp_path, {"assignments": [OWNED]})

    assert broken_laws(root)[1] == []


def test_no_lake_is_no_sound_lake(tmp_path):
    with pytest.raises(UsageError, match="no table ingested_files in it yet"):
        broken_laws(str(tmp_path))
