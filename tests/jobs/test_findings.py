"""The job findings on a lake: its rows, and runs of single dates."""

from datetime import date

import pytest

from jobs import findings
from jobs.lake.opening import open_lake
from jobs.lake.scope import scope_of
from schemas import table_names
from schemas.known_problems import problem

pytestmark = pytest.mark.embedded_suffices
DAY_MS = 86_400_000
# 2026-11-21T00:00Z
START = 1_795_219_200_000
FIRST, SECOND = date(2026, 11, 21), date(2026, 11, 22)


def failed_load(at_ms):
    line = {"event": "PARTITION_LOAD", "step": "failed", "level": "ERROR", "position": at_ms}
    day = date.fromordinal(FIRST.toordinal() + at_ms // DAY_MS)
    place = {"topic_partition": "__consumer_offsets-31", "event_date": day}
    return line | place | {"event_time": START + at_ms, "line": "Error loading offsets"}


TABLES = {
    "broker_log_events": [failed_load(1000), failed_load(9000), failed_load(DAY_MS + 500)],
    "timeline": [
        {"group_id": group, "seq": 1, "event": "LOADED", "event_date": day}
        for group, day in (("billing", FIRST), ("orders", SECOND))
    ],
}


@pytest.fixture
def lake(spark, write_lake, tmp_path):
    tables = {table: [] for table in table_names() if table != "findings"} | TABLES
    return open_lake(spark, write_lake(tmp_path / "lake", tables), "c")


def stored(lake):
    rows = lake.read("findings").orderBy("from_time").collect()
    return [
        (row.event_date, row.finding, row.broker_id, row.summary.rpartition(": ")[2])
        for row in rows
    ]


EXPECTED = [
    (FIRST, "coordinator_load_failed", 1, "none known"),
    (SECOND, "coordinator_load_failed", 1, "orders"),
]


def test_all_dates_at_once_twice(lake):
    for _ in range(2):
        findings.run(scope_of(lake, None, None))

        assert stored(lake) == EXPECTED


@pytest.mark.every_time
def test_dates_one_by_one_in_any_order(lake):
    for day in (SECOND, FIRST, SECOND):
        findings.run(scope_of(lake, day, day))

    assert stored(lake) == EXPECTED


def static_events():
    events = [("STATIC_REPLACED", 1000), ("LOADED", 5000), ("STATIC_FENCED", 7000)]
    ids = {"instance_id": "i", "member_id": "i-2", "old_member_id": "i-1"}
    return [
        {"group_id": "g", "event": name, "event_seq": at, "event_time": START + at} | ids
        for name, at in events
    ]


@pytest.mark.parametrize(("version", "findings_of_log"), [("2.5.1", 1), ("2.6.1", 0)])
def test_the_version_that_the_brokers_log_names_decides(
    spark, write_lake, tmp_path, version, findings_of_log
):
    log = {"source": "broker_log", "file": "f", "path": "server.log", "inputs": 9}
    tables = {table: [] for table in table_names() if table != "findings"} | {
        "group_events": static_events(),
        "broker_log_events": [{"event": "LOADED", "event_time": START + 5000, "position": 1}],
        "ingested_files": [log | {"kept_by_date": {}, "software": f"java {version}"}],
    }
    lake = open_lake(spark, write_lake(tmp_path / "lake", tables), "c")

    findings.run(scope_of(lake, None, None))

    rows = lake.read("findings").collect()
    assert [(row.finding, row.version, row.version_seen) for row in rows] == [
        ("KAFKA-10284", version, True)
    ] * findings_of_log


def test_a_run_for_a_date_leaves_the_others_alone(lake):
    findings.run(scope_of(lake, None, None))
    lake.replace("broker_log_events", lake.read("broker_log_events").where("false"))
    third = date(2026, 11, 24)

    findings.run(scope_of(lake, third, third))

    assert stored(lake) == EXPECTED


def test_a_symptom_that_fails_is_named_and_the_others_are_searched(lake, monkeypatch, capsys):
    rows = findings.EngineEvidence.rows

    def of_engine(self, select):
        if select == problem("coordinator_load_failed").symptom:
            raise ValueError("no such function\nstack trace")
        return rows(self, select)

    monkeypatch.setattr(findings.EngineEvidence, "rows", of_engine)

    findings.run(scope_of(lake, None, None))

    assert stored(lake) == []
    printed = capsys.readouterr().err
    assert printed == "findings: coordinator_load_failed not searched: no such function\n"
