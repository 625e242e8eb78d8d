"""Jobs that compute some groups at a time: their rows are the same."""

from datetime import date

import pytest
from pyspark.sql import functions as F

from jobs import churn, generation_members, group_days
from jobs.engine.pieces import in_pieces
from jobs.group_events import SEQ_PER_MS
from jobs.lake.opening import open_lake
from jobs.lake.scope import AllDates

pytestmark = pytest.mark.embedded_suffices

GROUPS = ["a", "b", "c", "d"]
NOON_MS = 1_795_262_400_000  # 2026-11-21 12:00 UTC


def test_a_piece_has_all_rows_of_its_groups_and_each_group_is_in_one_piece(frame, engine):
    """With 8 rows and 4 at once, the embedded engine makes two pieces, and Spark one."""
    owner = {"topic": "t", "partition": 0, "member_id": "m-1", "process": "m"}
    rows = frame(
        "assignments", [owner | {"group_id": g, "generation": n} for g in GROUPS for n in (1, 2)]
    )

    def derived(assignments):
        own = assignments.groupBy("group_id").count()
        return own.crossJoin(assignments.agg(F.count("*").alias("in_piece")))

    got = in_pieces(derived, {"assignments": rows}, largest="assignments", at_once=4).collect()
    assert sorted((row.group_id, row["count"]) for row in got) == [(g, 2) for g in GROUPS]
    # Groups go to pieces by the hash of their id, by which b is alone.
    pieces = {
        "embedded": [("a", 6), ("b", 2), ("c", 6), ("d", 6)],
        "spark": [("a", 8), ("b", 8), ("c", 8), ("d", 8)],
    }
    assert sorted((row.group_id, row.in_piece) for row in got) == pieces[engine]


@pytest.fixture
def scope(spark, tmp_path, write_lake):
    """Four groups: member m-1 has partitions 0 and 1 of topic t, then loses 1 to n-1."""
    tables = {"timeline": [], "generations": [], "group_metadata": [], "assignments": []}
    for group_number, group in enumerate(GROUPS):
        for number in (1, 2):
            at_ms = NOON_MS + number
            in_group = {"group_id": group}
            place = {
                "topic_partition": f"__consumer_offsets-{group_number}", "log_offset": number
            }  # fmt: skip
            members = [member("m"), *([member("n")] if number == 2 else [])]
            tables["timeline"].append(
                in_group | place | {
                    "event": "RECORD", "event_generation": number, "event_time": at_ms,
                    "seq": at_ms * SEQ_PER_MS, "current_generation": number,
                    "forming_generation": number + 1,
                }
            )  # fmt: skip
            tables["generations"].append(in_group | {"generation": number, "evidence": "records"})
            tables["group_metadata"].append(
                in_group | place | {"generation": number, "leader": "m-1", "members": members}
            )
            tables["assignments"] += [
                in_group | {
                    "generation": number, "topic": "t", "partition": partition,
                    "member_id": f"{owner}-1", "process": f"{owner}@10.0.0.1",
                }
                for partition, owner in enumerate("mm" if number == 1 else "mn")
            ]  # fmt: skip
    return AllDates(open_lake(spark, write_lake(tmp_path, tables), "c"))


def member(name):
    return {"member_id": f"{name}-1", "client_id": name, "client_host": "/10.0.0.1"}


def test_jobs_write_the_rows_of_all_groups(scope, monkeypatch):
    monkeypatch.setattr(generation_members, "RECORDS_AT_ONCE", 2)
    monkeypatch.setattr(churn, "PARTITIONS_AT_ONCE", 4)
    monkeypatch.setattr(group_days, "PARTITIONS_AT_ONCE", 4)

    for job in (generation_members, churn, group_days):
        job.run(scope)

    members = scope.read("generation_members").where("generation = 2").collect()
    assert sorted((row.group_id, row.process, row.change) for row in members) == [
        (group, f"{name}@10.0.0.1", change)
        for group in GROUPS
        for name, change in (("m", "retained"), ("n", "joined"))
    ]
    changes = scope.read("churn").where("generation = 2").collect()
    assert sorted((row.group_id, row.partitions_moved) for row in changes) == [
        (group, 1) for group in GROUPS
    ]
    days = scope.read("group_days").collect()
    assert sorted((row.group_id, row.event_date, row.open_generation) for row in days) == [
        (group, date(2026, 11, 21), 2) for group in GROUPS
    ]
