"""Polars on the same Delta tables: its own SQL where it can, DuckDB's rows over Arrow elsewhere."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from jobs.lake.sql import arrow_table
from schemas import table_names, view_sql, views_in_order
from tools.sql_engines.rows import Rows, comparable


def answers(lake: Path, work: Path, statements: Mapping[str, str]) -> dict[str, Rows | str]:
    context = pl.SQLContext()
    for table in table_names():
        context.register(table, pl.scan_delta(str(lake / table)))
    missing = _register_views(context, lake)
    (work / "polars.txt").write_text("".join(f"{v}: {why}\n" for v, why in missing.items()))
    own = len(views_in_order()) - len(missing)
    print(f"polars: {own} views by its own SQL, {len(missing)} from DuckDB over Arrow", flush=True)
    return {name: _rows(context, sql) for name, sql in statements.items()}


def _register_views(context: pl.SQLContext[pl.LazyFrame], lake: Path) -> dict[str, str]:
    """Register every view; those that Polars' SQL does not have, with the reason."""
    missing = {}
    for view in views_in_order():
        try:
            rows = _own_rows(context, view)
        except pl.exceptions.PolarsError as error:
            missing[view] = str(error).splitlines()[0]
            rows = _rows_of_duckdb(lake, view)
        context.register(view, rows.lazy())
    return missing


def _own_rows(context: pl.SQLContext[pl.LazyFrame], view: str) -> pl.DataFrame:
    sql = view_sql(view)
    if re.search(r"\bROUND\(", sql):
        raise pl.exceptions.SQLInterfaceError("ROUND rounds halves to even")
    return context.execute(sql).collect()


def _rows_of_duckdb(lake: Path, view: str) -> pl.DataFrame:
    """Times with the zone that they have in the Delta tables, so that they can be compared."""
    rows = pl.DataFrame(arrow_table(str(lake), f"SELECT * FROM {view}"))
    return rows.with_columns(pl.selectors.datetime().dt.replace_time_zone("UTC"))


def _rows(context: pl.SQLContext[pl.LazyFrame], sql: str) -> Rows | str:
    try:
        return comparable(context.execute(sql).collect().rows())
    except pl.exceptions.PolarsError as error:
        return str(error).splitlines()[0]
