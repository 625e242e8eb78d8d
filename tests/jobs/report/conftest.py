"""Lakes written row by row, without Spark."""

from datetime import UTC, date, datetime

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from schemas import table_partitioning
from schemas.columns import columns
from tests.jobs.report.planted import thousand

DAY = date(2026, 11, 21)
_ARROW = {
    "STRING": pa.string(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "BOOLEAN": pa.bool_(),
    "DOUBLE": pa.float64(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
    "BINARY": pa.binary(),
}
_DEFAULTS = {
    "cluster_id": "c",
    "group_id": "g",
    "incarnation": 1,
    "event_date": DAY,
    "outcome": "stable",
    "evidence": "both",
    "logical_rebalance": 1,
    "round": 1,
    "cause_seq": 1,
    "role": "trigger",
    "is_leader": False,
    "change": "retained",
    "gone": False,
    "assignor": "actual",
    "topic": "t",
    "event": "REBALANCE_START",
}


def _arrow(type_):
    if type_.name == "ARRAY":
        return pa.list_(_arrow(type_.of[0]))
    if type_.name == "MAP":
        return pa.map_(*map(_arrow, type_.of))
    if type_.name == "STRUCT":
        return pa.struct([(field.name, _arrow(field.type)) for field in type_.fields])
    return _ARROW[type_.name]


def _cell(type_, value):
    """A value for Arrow; times are in ms since the epoch."""
    if type_.name == "TIMESTAMP" and value is not None:
        return datetime.fromtimestamp(value / 1000, UTC)
    if type_.name == "ARRAY" and value is not None:
        return [_cell(type_.of[0], each) for each in value]
    if type_.name == "STRUCT" and value is not None:
        return {field.name: _cell(field.type, value[field.name]) for field in type_.fields}
    return value


def write_table(root, table, rows):
    """Write rows; missing required columns get defaults, other missing columns are null."""
    table_columns = columns(table)
    for row in rows:
        assert set(row) <= {c.name for c in table_columns}, f"{table}: {set(row)}"
    full_rows = [
        {
            c.name: _cell(c.type, row.get(c.name, _DEFAULTS.get(c.name) if c.required else None))
            for c in table_columns
        }
        for row in rows
    ]
    schema = pa.schema([(c.name, _arrow(c.type)) for c in table_columns])
    data = pa.Table.from_pylist(full_rows, schema)
    write_deltalake(f"{root}/{table}", data, partition_by=table_partitioning(table))


@pytest.fixture(scope="session")
def plant():
    """``plant(root, {table: rows})``; other tables are empty."""

    def plant_lake(root, tables):
        needed = (
            "generations", "generation_members", "assignments", "churn", "rebalance_latency",
            "rebalance_causes", "timeline", "committed_offsets", "ownership_gaps",
        )  # fmt: skip
        for table in dict.fromkeys([*needed, *tables]):
            write_table(root, table, tables.get(table, []))
        return str(root)

    return plant_lake


@pytest.fixture(scope="session")
def flapping(plant, tmp_path_factory):
    """1,000 generations of 20 members."""
    return plant(tmp_path_factory.mktemp("flapping"), thousand("flapping"))
