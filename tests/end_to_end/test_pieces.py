"""Jobs that compute some groups at a time write the rows that they write of all groups at once."""

import pytest

from jobs import churn, episodes, generation_members, group_days, ownership_gaps
from jobs.costs import of_run as costs
from jobs.ownership import of_run as ownership

pytestmark = [pytest.mark.slow, pytest.mark.seldom]
# Each row: module, the constant with the number of rows at once, and the table with these rows.
LIMITS = [
    (churn, "PARTITIONS_AT_ONCE", "assignments"),
    (episodes, "MEMBERS_AT_ONCE", "generation_members"),
    (generation_members, "RECORDS_AT_ONCE", "group_metadata"),
    (group_days, "PARTITIONS_AT_ONCE", "assignments"),
    (costs, "COMMITS_AT_ONCE", "committed_offsets"),
    (ownership, "PARTITIONS_AT_ONCE", "assignments"),
    (ownership_gaps, "PARTITIONS_AT_ONCE", "assignments"),
]
TABLES = ("churn", "episodes", "generation_members", "group_days", "handover_costs",
          "unserved_times", "ownership_gaps")  # fmt: skip
CLUSTER = "kafka-4.1"


def test_an_incident_in_pieces(demo_by, tmp_path, monkeypatch):
    lake = demo_by("embedded").copy(tmp_path)
    expected = {table: rows_of(lake, table) for table in TABLES}
    for module, limit, table in LIMITS:
        monkeypatch.setattr(module, limit, len(rows_of(lake, table)) // 3)

    lake.recompute(CLUSTER)

    assert {table: rows_of(lake, table) for table in TABLES} == expected
    assert all(expected.values())


def rows_of(lake, table):
    return sorted(map(repr, lake.rows(f"SELECT * FROM {table} WHERE cluster_id = '{CLUSTER}'")))
