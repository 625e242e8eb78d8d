"""The SQL of schemas/evidence: each engine runs it, and reads the same columns."""

import pytest

from jobs.lake.evidence import evidence, rows_of_cluster, rows_of_group
from schemas import evidence_names, evidence_reads, evidence_sql, table_names

OF_CLUSTERS = (
    "last_times", "target_times", "broker_versions", "broker_restarts", "configurations",
)  # fmt: skip
PERIOD = {"begin_ms": 1000, "end_ms": 9000}


@pytest.mark.parametrize("kind", evidence_names())
def test_each_engine_runs_the_sql(frame, kind):
    tables = {table: frame(table, []) for table in evidence_reads(kind)}

    rows = evidence(kind, tables, **PERIOD)

    assert rows.columns[:2] == ["cluster_id", "group_id"] or kind in OF_CLUSTERS
    assert [row for row in rows.collect() if any(row)] == []


@pytest.fixture(scope="module")
def lake(write_lake, tmp_path_factory):
    gap = {"topic": "orders", "partition": 1, "from_time": 2000, "unowned_ms": 500}
    gap |= {"from_process": "p", "from_generation": 1, "why": "left", "estimated": False}
    gap |= {"incarnation": 1, "evidence": "log"}
    tables = {table: [] for table in table_names()}
    tables["ownership_gaps"] = [
        gap | {"group_id": "billing"},
        gap | {"group_id": "billing", "from_time": 8500, "unowned_ms": 60_000},
        gap | {"group_id": "it's", "unowned_ms_low": 200, "unowned_ms_high": 600},
    ]
    return write_lake(tmp_path_factory.mktemp("lake"), tables)


@pytest.mark.parametrize("kind", evidence_names())
def test_duckdb_runs_the_sql(lake, kind):
    assert rows_of_group(lake, "c", "none", [kind], **PERIOD)[kind] in ([], [{"at_ms": None}] * 4)


def downtime(unowned_ms, low_ms, high_ms):
    return {"downtime_ms": unowned_ms, "downtime_ms_low": low_ms, "downtime_ms_high": high_ms}


def test_the_rows_of_one_group(lake):
    of_group = rows_of_group(lake, "c", "billing", ["downtime", "silences"], **PERIOD)

    assert of_group == {
        "downtime": [{"cluster_id": "c", "group_id": "billing"} | downtime(1000, 1000, 1000)],
        "silences": [],
    }
    assert rows_of_group(lake, "c", "it's", ["downtime"], **PERIOD)["downtime"] == [
        {"cluster_id": "c", "group_id": "it's"} | downtime(500, 200, 600)
    ]


def test_a_replaced_static_member_has_the_commits_until_its_replacement(write_lake, tmp_path):
    """The generation's record has the member id that took the partitions over at 20 s."""
    group = {"group_id": "billing", "incarnation": 1}
    tables = {table: [] for table in table_names()}
    tables["generations"] = [group | {"generation": 1, "stable_time": 1000}]
    tables["generation_members"] = [
        group | {"generation": 1, "member_id": member_id, "process": "i"} | left
        for member_id, left in (
            ("i-1", {"left_how": "replaced", "left_time": 20_000}),
            ("i-2", {"left_how": "replaced", "left_time": 30_000}),
            ("i-3", {}),
        )
    ]
    owned = {"topic": "orders", "partition": 1}
    tables["assignments"] = [
        group | owned | {"generation": 1, "member_id": "i-3", "process": "i", "assignor": "actual"}
    ]
    tables["committed_offsets"] = [
        {"group_id": "billing", "append_time": at_ms, "log_offset": at_ms, "tombstone": False}
        | owned
        for at_ms in (5000, 12_000, 24_000, 36_000)
    ]
    lake = write_lake(tmp_path, tables)

    rows = rows_of_group(lake, "c", "billing", ["last_commits"], **PERIOD)["last_commits"]

    assert sorted((row["member_id"], row["at_ms"]) for row in rows) == [
        ("i-1", 12_000),
        ("i-2", 24_000),
    ]


def test_the_rows_of_a_cluster(lake):
    assert rows_of_cluster(lake, "other", ["last_times"])["last_times"] == [{"at_ms": None}] * 4


@pytest.mark.parametrize("kind", evidence_names())
def test_the_sql_reads_tables_by_name(kind):
    assert evidence_reads(kind) <= set(table_names())
    assert ":" not in evidence_sql(kind, **PERIOD)
