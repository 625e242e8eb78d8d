"""Symptoms of schemas/known_problems on rows, on DuckDB and on the embedded engine.

    def test_a_member_is_fenced(findings):
        tables = {"group_events": [...]}
        rows = findings("KAFKA-10284", tables, "member_id", versions={"broker": "2.5"})

        assert rows == [("m-2",)]

Rows are dicts with the columns that matter; others have the defaults of tests/jobs/conftest.py.
Times are ms since 2026-11-21T00:00Z.
"""

from datetime import UTC, date, datetime

import duckdb
import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import TimestampType

from coordinator_core.log_lines.version_ranges import ranges_of
from jobs.known_problems.rows import findings_of
from jobs.known_problems.search import EngineEvidence
from jobs.known_problems.versions import SeenVersions
from jobs.lake.sql import SPARK_FUNCTIONS
from jobs.lake.tables import schema_of
from schemas.known_problems import problem, problem_sql, tables_of
from tests.engines import using
from tests.jobs.conftest import complete

DAY_MS = int(datetime(2026, 11, 21, tzinfo=UTC).timestamp() * 1000)


class DuckDB:
    """`Evidence` in memory."""

    def __init__(self):
        self.tables = {}
        self._connection = duckdb.connect(":memory:")
        for macro in SPARK_FUNCTIONS:
            self._connection.execute(f"CREATE MACRO {macro}")

    def has(self, table):
        return bool(self.tables.get(table))

    def rows(self, select):
        result = self._executed(select)
        names = [column[0] for column in result.description]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]

    def columns(self, select):
        """Their names."""
        return [column[0] for column in self._executed(select).description]

    def _executed(self, select):
        for table in tables_of(select):
            schema = to_arrow_schema(schema_of(table), timezone="UTC")
            rows = [_without_zones(row) for row in self.tables.get(table, [])]
            self._connection.register(table, pa.Table.from_pylist(rows, _naive(schema)))
        return self._connection.execute(problem_sql(select))


def _naive(schema):
    """DuckDB needs an extension to read times with a zone."""
    times = {f.name for f in schema if pa.types.is_timestamp(f.type)}
    return pa.schema([f.with_type(pa.timestamp("us")) if f.name in times else f for f in schema])


def _without_zones(row):
    naive = {n: v.replace(tzinfo=None) for n, v in row.items() if isinstance(v, datetime)}
    return row | naive


class Fixed:
    """`VersionEvidence` a test gives: text by component; None: other software instead."""

    def __init__(self, versions):
        self._versions = versions

    def are_known(self, component):
        return component in self._versions

    def of(self, component, row):
        if component not in self._versions:
            return SeenVersions(None)
        text = self._versions[component]
        return SeenVersions(None, is_absent=True) if text is None else SeenVersions(ranges_of(text))


@pytest.fixture(scope="module", params=["duckdb", "embedded"])
def evidence_of(request, sessions):
    """``evidence_of(tables)``: the rows as `Evidence` of the engine."""
    if request.param == "duckdb":
        duck = DuckDB()

        def of_duckdb(tables):
            duck.tables = tables
            return duck

        yield of_duckdb
        return
    from jobs.lake.opening import open_lake

    with using("embedded"):
        lake = open_lake(sessions("embedded"), "unused", "c")

        def of_embedded(tables):
            def frame(table):
                return lake.frame(table, [list(row.values()) for row in tables.get(table, [])])

            return EngineEvidence(frame, lambda table: bool(tables.get(table)))

        yield of_embedded


@pytest.fixture
def findings(evidence_of):
    """``findings(id, tables, *columns, versions=None, groups=())``: values of these columns of the
    problem's findings.

    ``versions``: text by component, ``{"broker": "2.5.1"}``; default: what the rows show.
    ``groups``: groups of the lake.
    """

    def findings(id, tables, *columns, versions=None, groups=()):
        evidence = evidence_of(as_rows(tables))
        days = [(group, None, date(2026, 11, 20)) for group in groups]
        fixed = None if versions is None else Fixed(versions)
        rows = findings_of([problem(id)], evidence, lambda: days, fixed)
        return [tuple(_value(row[name]) for name in columns) for row in rows]

    return findings


def as_rows(tables):
    """Rows with all columns, by table."""
    return {name: _rows(name, rows) for name, rows in tables.items()}


def _rows(table, rows):
    times = [f.name for f in schema_of(table) if isinstance(f.dataType, TimestampType)]
    shifted = [row | {n: row[n] + DAY_MS for n in times if row.get(n) is not None} for row in rows]
    dated = [{"event_date": _date(row, times)} | row for row in shifted]
    has_date = "event_date" in schema_of(table).names
    return complete(table, dated if has_date else shifted)


def _date(row, times):
    first = min((row[n] for n in times if row.get(n) is not None), default=DAY_MS)
    return datetime.fromtimestamp(first / 1000, UTC).date()


def _value(value):
    """A time as ms since the start of the day."""
    if isinstance(value, datetime):
        return round(value.timestamp() * 1000) - DAY_MS
    return value
