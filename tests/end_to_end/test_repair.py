"""A damaged lake is repaired: after the next run over the same inputs, all tables are the same."""

import shutil
from pathlib import Path

import pytest
from deltalake import DeltaTable

from jobs.maintain import MaintainOptions, repair_lake
from jobs.nightly_run.demo import INCIDENTS
from tests.end_to_end.incident_lake import IncidentLake
from tools.faults.lakes import files_of, tables_of

INCIDENT = INCIDENTS["kafka-4.1"]
COMPUTED = ["group_days", "timeline"]
KINDS = ["offsets_records", "ingested_files", *COMPUTED]


def newest_commit(lake, table):
    return max(Path(lake, table, "_delta_log").glob("*.json"))


def empty_commit(lake, table):
    newest_commit(lake, table).write_bytes(b"")


def half_commit(lake, table):
    commit = newest_commit(lake, table)
    commit.write_bytes(commit.read_bytes()[: commit.stat().st_size // 2])


def file_missing(lake, table):
    for file in files_of(lake, table)[:1]:  # A table without rows has no file.
        file.unlink()


def file_truncated(lake, table):
    for file in files_of(lake, table)[:1]:
        file.write_bytes(file.read_bytes()[:-1])


DAMAGES = [empty_commit, half_commit, file_missing, file_truncated]


def run(lake):
    lake.run_incident("c", INCIDENT)


@pytest.fixture(scope="module")
def undamaged(tmp_path_factory):
    """The lake after a run, and the content of its tables."""
    lake = IncidentLake(str(tmp_path_factory.mktemp("undamaged") / "lake"), "embedded")
    run(lake)
    return lake, tables_of(lake.root)


def repaired(undamaged, tmp_path, damage, tables):
    """A copy of the lake after the damage and its repair."""
    lake = undamaged[0].copy(tmp_path)
    for table in tables:
        damage(lake.root, table)
    rows = repair_lake(MaintainOptions(lake.root, repair=True))
    assert [table for table, *_ in rows] == sorted(tables)
    return lake


@pytest.mark.parametrize(
    ("damage", "tables"),
    [(empty_commit, COMPUTED), (file_missing, KINDS)],
    ids=["empty", "missing"],
)
def test_the_next_run_restores_the_tables(undamaged, tmp_path, damage, tables):
    lake = repaired(undamaged, tmp_path, damage, tables)

    run(lake)

    assert tables_of(lake.root) == undamaged[1]


@pytest.mark.campaign
@pytest.mark.parametrize("damage", [half_commit, file_truncated])
def test_the_next_run_restores_tables_after_other_damage(undamaged, tmp_path, damage):
    lake = repaired(undamaged, tmp_path, damage, KINDS)

    run(lake)

    assert tables_of(lake.root) == undamaged[1]


def test_the_next_run_restores_bronze_tables_alone(undamaged, tmp_path):
    """No computed table is lost, so the run computes the dates of the rows that it read again."""
    bronze = ["broker_log_events", "offsets_records"]
    lake = repaired(undamaged, tmp_path, half_commit, bronze)
    assert lake.rows("SELECT COUNT(*) FROM runs WHERE step = 'repair'") == [(0,)]

    run(lake)

    assert tables_of(lake.root) == undamaged[1]
    steps = "SELECT COUNT(DISTINCT run_id) FROM runs WHERE step = 'timeline'"
    assert lake.rows(steps) == [(2,)]


@pytest.mark.campaign
@pytest.mark.timeout(10_800)  # a run per table
@pytest.mark.parametrize("damage", DAMAGES)
def test_each_table_is_restored(undamaged, tmp_path, damage):
    lake, expected = undamaged
    with_files = [table for table in expected if files_of(lake.root, table)]
    tables = list(expected) if damage in (empty_commit, half_commit) else with_files
    for table in tables:
        folder = tmp_path / table
        folder.mkdir()
        damaged = repaired(undamaged, folder, damage, [table])
        run(damaged)
        assert tables_of(damaged.root) == expected, table
        shutil.rmtree(folder)


def test_the_damaged_files_are_evidence_and_versions_never_return(undamaged, tmp_path):
    lake = undamaged[0].copy(tmp_path)
    commit, half = newest_commit(lake.root, "timeline"), b"{half"
    commit.write_bytes(half)
    version = int(commit.stem)

    ((table, damage, next_step),) = repair_lake(MaintainOptions(lake.root, repair=True))

    assert (table, damage) == (
        "timeline",
        f"damaged version {version}, back to version {version - 1} of {version}",
    )
    assert next_step == "the next `regroup nightly` recomputes every date"
    assert DeltaTable(f"{lake.root}/timeline").version() == version
    (evidence,) = Path(lake.root, "_damaged", "timeline").rglob("*.json")
    assert evidence.read_bytes() == half
