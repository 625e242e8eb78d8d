"""Jobs that compute some groups at a time write the rows that they write of all groups at once."""

import pytest

from jobs import (
    churn,
    episodes,
    generation_members,
    group_days,
    handover_costs,
    ownership_gaps,
    unserved_times,
)
from jobs.ownership import of_run

pytestmark = pytest.mark.slow
# Job, the constant with the number of rows at once, and the table with these rows.
LIMITS = [
    (churn, "PARTITIONS_AT_ONCE", "assignments"),
    (episodes, "MEMBERS_AT_ONCE", "generation_members"),
    (generation_members, "RECORDS_AT_ONCE", "group_metadata"),
    (group_days, "PARTITIONS_AT_ONCE", "assignments"),
    (handover_costs, "COMMITS_AT_ONCE", "committed_offsets"),
    (of_run, "PARTITIONS_AT_ONCE", "assignments"),
    (unserved_times, "COMMITS_AT_ONCE", "committed_offsets"),
    (ownership_gaps, "PARTITIONS_AT_ONCE", "assignments"),
]
CLUSTER = "kafka-4.1"


def test_an_incident_in_pieces(demo_by, tmp_path, monkeypatch):
    lake = demo_by("embedded").copy(tmp_path)
    tables = [job.__name__.removeprefix("jobs.") for job, _, _ in LIMITS if job is not of_run]
    expected = {table: rows_of(lake, table) for table in tables}
    for job, limit, table in LIMITS:
        monkeypatch.setattr(job, limit, len(rows_of(lake, table)) // 3)

    lake.recompute(CLUSTER)

    assert {table: rows_of(lake, table) for table in tables} == expected
    assert all(expected.values())


def rows_of(lake, table):
    return sorted(map(repr, lake.rows(f"SELECT * FROM {table} WHERE cluster_id = '{CLUSTER}'")))
