"""A session per engine for all tests, and tables from rows with only the columns under test."""

import sys
from datetime import UTC, date, datetime
from functools import cache

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.sql import Row
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import TimestampType

from jobs.command_line import cli
from jobs.configuration.config import Config, load_config
from jobs.engine.embedded import embedded_session
from jobs.engine.session import build_session
from jobs.lake.opening import open_lake
from jobs.lake.tables import schema_of
from schemas import table_partitioning

# Values of required columns that do not matter to most rules.
COMMON = {"cluster_id": "c", "event_date": date(2026, 11, 21), "incarnation": 1}
REQUIRED = {
    "broker_log_events": {"broker_id": 1, "file_id": "f", "line": "a line", "file": "server.log"},
    "group_events": {"source": "broker_log", "broker_id": 1, "file_id": "f", "position": 0},
    "group_metadata": {"topic_partition": "__consumer_offsets-0", "tombstone": False},
    "group_records": {
        "topic_partition": "__consumer_offsets-0",
        "key_type": 3,
        "record": "ConsumerGroupMetadata",
        "group_type": "consumer",
        "tombstone": False,
    },
    "member_epochs": {"topic_partition": "__consumer_offsets-0"},
    "group_epochs": {"topic_partition": "__consumer_offsets-0"},
    "generation_members": {"is_leader": False, "change": "retained", "gone": False},
    "generations": {"outcome": "stable", "evidence": "both"},
    "assignments": {"assignor": "actual", "topic": "t"},
    "assignor_reruns": {"assignor": "range", "topic": "t"},
    "committed_offsets": {
        "topic_partition": "__consumer_offsets-0",
        "topic": "t",
        "tombstone": False,
        "outcome": "plain",
    },
    "offsets_records": {
        "topic_partition": "__consumer_offsets-0",
        "magic": 2,
        "is_transactional": False,
        "producer_id": -1,
        "source": "segments",
        "file": "0.log",
        "position": 0,
    },
    "quarantine": {"source": "segments", "position": 0, "log_offset": 0, "length": 1},
    "ingested_files": {
        "source": "segments",
        "bytes": 100,
        "quarantined": 0,
        "skipped": 0,
        "unreadable_bytes": 0,
        "topic_partition": "__consumer_offsets-0",
    },
    "rebalance_latency": {
        "outcome": "stable",
        "evidence": "both",
        "logical_rebalance": 1,
        "round": 1,
    },
    "rebalance_causes": {"role": "trigger", "evidence": "log"},
    "findings": {
        "finding": "rejoin_loop",
        "kind": "operation",
        "confidence": 0.8,
        "summary": "a finding",
        "remedy": "Look at it.",
        "reference": "https://example.org",
    },
    "assignor_quality": {
        "mode": "step",
        "own": False,
        "rounds": 1,
        "equals_actual": True,
        "partition_count_source": "assignments",
    },
}


@pytest.fixture(scope="session")
def sessions(tmp_path_factory):
    """``sessions(engine)``: one session per engine, started when it is first needed."""

    @cache
    def session(engine):
        if engine == "embedded":
            return embedded_session()
        warehouse = str(tmp_path_factory.mktemp("warehouse"))
        settings = {"spark.master": "local[1]", "spark.sql.shuffle.partitions": "1"}
        settings["spark.sql.warehouse.dir"] = warehouse
        return build_session(Config(spark=load_config(None).spark | settings))

    return session


@pytest.fixture(scope="module")
def spark(sessions, engine):
    """The session of the engine."""
    return sessions(engine)


@pytest.fixture(scope="module")
def frame(spark):
    """``frame(table, rows)``: dicts as a table's DataFrame; times are ms since the epoch."""

    def build(table, rows):
        values = [list(row.values()) for row in complete(table, rows)]
        return open_lake(spark, "unused", "c").frame(table, values)

    return build


@pytest.fixture(scope="session")
def write_lake():
    """``write_lake(root, {table: rows})``: Delta tables of such dicts, written by delta-rs."""

    def write(root, tables):
        for table, rows in tables.items():
            schema = to_arrow_schema(schema_of(table), timezone="UTC")
            data = pa.Table.from_pylist(complete(table, rows), schema)
            write_deltalake(f"{root}/{table}", data, partition_by=table_partitioning(table))
        return str(root)

    return write


def complete(table, rows):
    """Each row with all columns: its own values, else the required ones, else null."""
    schema = schema_of(table)
    required = {k: v for k, v in COMMON.items() if k in schema.names} | REQUIRED.get(table, {})
    for row in rows:
        assert set(row) <= set(schema.names), f"{table} has no {set(row) - set(schema.names)}"
    return [{f.name: _cell(f, (required | row).get(f.name)) for f in schema} for row in rows]


def _cell(field, value):
    if isinstance(field.dataType, TimestampType) and value is not None:
        return datetime.fromtimestamp(value / 1000, UTC)
    return value


@pytest.fixture(scope="session")
def by_group():
    """``by_group(df, order, columns)``: group_id -> its rows, in order; times are ms."""

    def collect(df, order, columns):
        chosen = [
            F.unix_millis(name).alias(name)
            if isinstance(df.schema[name].dataType, TimestampType)
            else F.col(name)
            for name in columns
        ]
        groups = {}
        for row in df.orderBy("group_id", *order).select("group_id", *chosen).collect():
            groups.setdefault(row[0], []).append(Row(*columns)(*row[1:]))
        return groups

    return collect


@pytest.fixture
def lake(spark, tmp_path):
    return open_lake(spark, str(tmp_path / "lake"), "c")


@pytest.fixture
def regroup(monkeypatch, capsys):
    """``regroup(*arguments)``: exit code, stdout, stderr."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["regroup", *arguments])
        with pytest.raises(SystemExit) as exited:
            cli.main()
        printed = capsys.readouterr()
        return exited.value.code, printed.out, printed.err

    return run
