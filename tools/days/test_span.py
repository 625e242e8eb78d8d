"""Runs by date: in order, late, again or all at once, the tables are the same; what is settled is
not looked at.

An incident of four minutes is cut into days, in the middle of rebalances: what happened around a
cut happened around a midnight.
"""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql.pandas.types import to_arrow_schema

from jobs import ingest
from jobs.pipeline import job
from jobs.span import of_dates
from jobs.tables import Lake, schema_of
from schemas import table_names, table_partitioning

INCIDENT = Path(__file__).parents[2] / "examples" / "mixed-clients-4.1.2"
BRONZE = {"offsets_records": "append_time", "broker_log_events": "event_time"}
# By records and lines, by records alone, by lines alone.
WITH_RECORDS = ("analytics-cooperative", "audit-python")
WITH_LINES = ("analytics-cooperative", "inventory-static")
DAY_MS = 86_400_000
MIDNIGHT = datetime(2026, 10, 1, tzinfo=UTC)
CUT_MS = 52_000
DERIVED = (
    "group_metadata", "committed_offsets", "group_events", "timeline", "generations",
    "generation_members", "assignments", "churn", "rebalance_latency", "rebalance_causes",
    "group_days",
)  # fmt: skip
# In order, late, again.
ORDER = (0, 2, 1, 3, 3, 4)


def day(number):
    return MIDNIGHT.date() + timedelta(days=number)


def stretched(ms, start_ms):
    """Half of each cut comes after its midnight, half before the next."""
    number, rest = divmod(ms - start_ms, CUT_MS)
    rest = rest if rest < CUT_MS // 2 else DAY_MS - (CUT_MS - rest)
    return int(MIDNIGHT.timestamp() * 1000) + number * DAY_MS + rest


def concerns(row, table):
    if table == "broker_log_events":
        return pd.isna(row.group_id) or row.group_id in WITH_LINES
    named = any(name.encode() in (row.key or b"") for name in WITH_RECORDS)
    return named and (row.key_type == 2 or row.log_offset % 10 == 0)


@pytest.fixture(scope="module")
def bronze(spark, tmp_path_factory):
    """table -> event_date -> its rows."""
    root = str(tmp_path_factory.mktemp("bronze"))
    segments = sorted(str(path) for path in INCIDENT.glob("segments/*/*.log"))
    lines = [str(INCIDENT / "server.log")]
    ingest.run(Lake(spark, root, "c"), ingest.Inputs(segments=segments, broker_logs=lines))
    frames = {}
    for table in BRONZE:
        stored = DeltaTable(f"{root}/{table}").to_pyarrow_table()
        rows = stored.to_pandas(types_mapper=pd.ArrowDtype)
        frames[table] = rows[[concerns(row, table) for row in rows.itertuples()]].copy()
    times = {table: frames[table][of].astype("int64") // 1000 for table, of in BRONZE.items()}
    start_ms = min(ms.min() for ms in times.values())
    by_day = {}
    for table, of in BRONZE.items():
        moved = [datetime.fromtimestamp(stretched(ms, start_ms) / 1000, UTC) for ms in times[table]]
        rows = frames[table]
        rows[of] = pd.array(moved, dtype=rows[of].dtype)
        rows["event_date"] = pd.array([t.date() for t in moved], dtype=rows["event_date"].dtype)
        by_day[table] = dict(iter(rows.groupby("event_date")))
    return by_day


@pytest.fixture(scope="module")
def days(bronze):
    return sorted({day for by_day in bronze.values() for day in by_day})


def land(root, bronze, day):
    """Once: a day that is there is not written again."""
    for table, by_day in bronze.items():
        partition = Path(root) / table / "cluster_id=c" / f"event_date={day}"
        if day in by_day and not partition.exists():
            schema = to_arrow_schema(schema_of(table), timezone="UTC")
            rows = pa.Table.from_pandas(by_day[day][schema.names], preserve_index=False)
            write_deltalake(
                f"{root}/{table}",
                rows.cast(schema),
                partition_by=table_partitioning(table),
                mode="append",
            )


def run(lake, jobs=DERIVED):
    for name in jobs:
        job(name).run(lake)
    return lake


def tables(root, dates=None):
    """The derived tables' rows, of some dates only."""
    found = {}
    for table in set(table_names()) & set(DERIVED):
        kept = None if dates is None else [("event_date", "in", sorted(dates))]
        rows = DeltaTable(f"{root}/{table}").to_pyarrow_table(filters=kept).to_pylist()
        found[table] = sorted(map(repr, rows))
    return found


@pytest.fixture(scope="module")
def expected(spark, tmp_path_factory, bronze, days):
    """Everything, computed as if there were no dates."""
    root = str(tmp_path_factory.mktemp("everything"))
    for each in days:
        land(root, bronze, each)
    run(Lake(spark, root, "c"))
    return tables(root)


def differing(found, expected):
    """table -> rows that are missing, and rows that should not be there; some of each."""
    return {
        table: (
            sorted(set(rows) - set(found[table]))[:2],
            sorted(set(found[table]) - set(rows))[:2],
        )
        for table, rows in expected.items()
        if rows != found[table]
    }


def test_night_after_night_is_as_all_at_once_and_nothing_settled_is_read(
    spark, tmp_path, bronze, days, expected
):
    root = str(tmp_path / "lake")
    assert len(days) == max(ORDER) + 2
    for number in ORDER:
        land(root, bronze, days[number])
        run(of_dates(Lake(spark, root, "c"), days[number], days[number]))
    land(root, bronze, days[-1])
    last = run(of_dates(Lake(spark, root, "c"), days[-1], days[-1]), DERIVED[:3])
    needed = {day for found in last.scope.dates for day in (found, found - timedelta(days=1))}
    settled = [each for each in days if each not in needed]
    before = tables(root, settled)
    for each in settled:
        remove(root, each)

    run(last, DERIVED[3:])

    assert settled
    after = tables(root, set(days) - set(settled))
    together = {table: sorted(before[table] + after[table]) for table in before}
    assert differing(together, expected) == {}


def remove(root, day):
    """A day's files, as if the disk had lost them; but group_days, which says what is needed."""
    for partition in Path(root).glob(f"*/cluster_id=c/event_date={day}"):
        if partition.parts[-3] != "group_days":
            shutil.rmtree(partition)


def test_a_backfill_is_as_all_at_once(spark, tmp_path, bronze, days, expected):
    root = str(tmp_path / "lake")
    for each in days:
        land(root, bronze, each)

    run(of_dates(Lake(spark, root, "c"), days[0], days[-1]))

    assert differing(tables(root), expected) == {}
