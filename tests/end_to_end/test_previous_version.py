"""A lake that the previous version wrote: see tests/data/previous_version/README.md."""

import re
import tarfile
from pathlib import Path

import pytest
from deltalake import DeltaTable

from jobs.checks.check import broken_laws
from jobs.lake.sql import existing_tables, query
from schemas import table_columns
from schemas.renamed import PRESENT_VALUES, RENAMED, RENAMED_VALUES
from tests.end_to_end.incident_lake import IncidentLake
from tools.faults.lakes import tables_of

ARCHIVE = Path(__file__).parents[1] / "data" / "previous_version" / "lake.tar.gz"
LAKE, INPUT = "lake", {"segments": "out/segments/*/*.log", "broker_log": "out/server.log"}

FOLDER = re.compile("'/[^']*/out/")

COMPARED = (
    *("assignments", "broker_log_events", "churn", "episodes", "generation_members"),
    *("generations", "group_epochs", "group_events", "handover_costs", "handovers"),
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The lake, and the input of both dates, of which it has the first."""
    folder = tmp_path_factory.mktemp("previous")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    return folder


def rows(folder, sql):
    return query(str(folder / LAKE), sql)[1]


def test_columns_have_their_present_and_their_old_names(folder):
    filled = []
    for table in sorted(RENAMED.keys() & set(existing_tables(str(folder / LAKE)))):
        stored = {each.name for each in DeltaTable(str(folder / LAKE / table)).schema().fields}
        assert stored >= RENAMED[table].keys(), table
        for old, new in RENAMED[table].items():
            differing = f"COUNT_IF({new} IS DISTINCT FROM {old})"
            [counts] = rows(folder, f"SELECT COUNT({new}), {differing} FROM {table}")
            assert counts[1] == 0, (table, old)
            filled += [table] * (counts[0] > 0)
    assert {"advice", "handovers", "rebalance_latency", "runs", "what_if"} <= set(filled)


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        ("group_id, generation FROM generations WHERE cause = '{HEARTBEAT_EXPIRY}'",
         [("consumer", 3), ("dynamic", 2), ("static", 2)]),
        ("group_id, generation FROM rebalance_causes WHERE story = '{crash}'",
         [("consumer", 3), ("dynamic", 2)]),
        ("group_id, generation FROM rebalance_causes WHERE story = '{stop_or_crash}'",
         [("static", 2)]),
        ("group_id, generation FROM generation_members WHERE left_how = '{expired}'",
         [("consumer", 2), ("dynamic", 1), ("static", 1)]),
        ("group_id, SUM(expiries)::INT FROM q04_offenders WHERE expiries > 0 GROUP BY group_id",
         [("consumer", 1), ("dynamic", 1), ("static", 1)]),
    ],
)  # fmt: skip
def test_values_are_read_as_present_and_as_old_ones(folder, select, expected):
    present = {
        "HEARTBEAT_EXPIRY": "SESSION_EXPIRY", "crash": "session_expired",
        "stop_or_crash": "stop_or_session_expired", "expired": "session_expired",
    }  # fmt: skip
    old = {word: word for word in present}

    for words in (present, old):
        assert rows(folder, f"SELECT {select.format(**words)} ORDER BY ALL") == expected


def test_a_run_renames_and_continues_the_lake(folder, tmp_path, monkeypatch):
    """The tables equal those of a lake that this version wrote alone."""
    monkeypatch.chdir(folder)
    moved, fresh = (IncidentLake(root, "embedded") for root in (LAKE, str(tmp_path / "fresh")))
    moved.run("sim", **INPUT)
    fresh.run("sim", **INPUT)

    for table in existing_tables(moved.root):
        delta = DeltaTable(f"{moved.root}/{table}")
        assert {each.name for each in delta.schema().fields} == set(table_columns(table)), table
        if table in RENAMED_VALUES:
            assert delta.metadata().configuration == PRESENT_VALUES
    assert broken_laws(moved.root)[1] == []
    own = without_folders(moved.root)
    expected = without_folders(fresh.root)
    for table in COMPARED:
        assert own[table] == expected[table], table


def without_folders(root):
    """All rows, without the folder of the input: the lake was written in another one."""
    tables = tables_of(root)
    return {name: {FOLDER.sub("'out/", row) for row in of} for name, of in tables.items()}
