"""Registers the lake as a database of Spark's metastore: tables and views, with their comments.

reads   the schemas of the lake's tables
writes  entries of the metastore, no data

spark-submit jobs/register.py --lake URI [--database NAME] [--conf FILE]
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import SparkSession

from jobs.configuration.config import Config
from jobs.console.errors import UsageError
from jobs.engine.session import build_session
from jobs.lake.existing import require_lake
from jobs.lake.literals import quoted_for_spark
from jobs.lake.opening import open_lake
from schemas import (
    table_about,
    table_columns,
    table_names,
    view_about,
    view_columns,
    view_dependencies,
    view_sql,
    views_in_order,
)
from schemas.renamed import RENAMED, renamed_in

COLUMNS = ["name", "kind", "registered", "note"]
# Values for settings that the configuration does not have.
DEFAULTS = {
    # Use a catalog that outlives the session, shared with spark-sql, Thrift server and Spark
    # Connect.
    "spark.sql.catalogImplementation": "hive",
    # Read only the schema of each table.
    "spark.databricks.delta.snapshotPartitions": "1",
}


@dataclass(frozen=True)
class RegisterOptions:
    lake: str
    database: str = "regroup"

    def check(self) -> None:
        require_lake(self.lake)
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", self.database):
            raise UsageError(f"--database {self.database}: use letters, digits and _")


def register(options: RegisterOptions, config: Config) -> list[list[Any]]:
    """Rows of COLUMNS, one per table and view; tables that do not exist yet are not registered."""
    options.check()
    with_defaults = replace(config, spark={**DEFAULTS, **config.spark})
    return list(register_in(build_session(with_defaults), options))


def register_in(spark: SparkSession, options: RegisterOptions) -> Iterator[list[Any]]:
    lake = open_lake(spark, options.lake, cluster_id="")
    tables = lake.existing_tables()
    if not tables:
        raise UsageError(
            f"--lake {options.lake}: the lake has no tables; run `regroup nightly` first"
        )
    before = spark.catalog.currentDatabase()
    comment = quoted_for_spark(f"Kafka consumer-group rebalances: the lake at {options.lake}")
    spark.sql(f"CREATE DATABASE IF NOT EXISTS {options.database} COMMENT {comment}")
    # A view keeps the database that is current when it is created, and finds its tables there.
    spark.sql(f"USE {options.database}")
    try:
        for table in table_names():
            _remove_table(spark, options.database, table)
            if table in tables:
                _register_table(spark, options.database, table, lake.path(table))
            yield [table, "table", table in tables, "" if table in tables else "not in the lake"]
        yield from _register_previous_names(spark, options, set(tables))
        yield from _register_views(spark, set(tables))
    finally:
        spark.sql(f"USE {before}")


def _register_previous_names(
    spark: SparkSession, options: RegisterOptions, registered: set[str]
) -> Iterator[list[Any]]:
    """Per table with renamed columns, a view with these columns under their previous names.

    Raises UsageError if the previous version wrote the table, because the other views read the
    present names.
    """
    for table in sorted(RENAMED.keys() & set(table_names())):
        view = f"{table}_previous_names"
        spark.sql(f"DROP VIEW IF EXISTS {view}")
        if table not in registered:
            continue
        if renamed_in(table, spark.table(table).columns):
            raise UsageError(
                f"--lake {options.lake}: table {table} has column names of the previous version;"
                " run `regroup nightly` first"
            )
        previous = {new: old for old, new in RENAMED[table].items()}
        columns = ", ".join(
            f"{name} AS {previous.get(name, name)}" for name in table_columns(table)
        )
        about = quoted_for_spark(f"{table} with the column names of the previous version")
        spark.sql(f"CREATE VIEW {view} COMMENT {about} AS SELECT {columns} FROM {table}")
        yield [view, "view", True, "columns under their previous names"]


def _register_views(spark: SparkSession, registered: set[str]) -> Iterator[list[Any]]:
    for view in views_in_order():
        missing = sorted(view_dependencies(view) - registered)
        if missing:
            spark.sql(f"DROP VIEW IF EXISTS {view}")
            yield [view, "view", False, f"needs {', '.join(missing)}"]
            continue
        spark.sql(create_view(view))
        registered.add(view)
        yield [view, "view", True, ""]


def create_view(view: str) -> str:
    """The statement that creates the view in the current database, with its comments."""
    columns = ", ".join(
        f"{column} COMMENT {quoted_for_spark(comment)}"
        for column, comment in (view_columns(view) | _previous_columns(view)).items()
    )
    about = quoted_for_spark(view_about(view))
    previous = "".join(f", {new} AS {old}" for old, new in RENAMED.get(view, {}).items())
    select = f"SELECT *{previous} FROM (\n{view_sql(view)}\n)" if previous else view_sql(view)
    return f"CREATE OR REPLACE VIEW {view} ({columns}) COMMENT {about} AS\n{select}"


def _previous_columns(view: str) -> dict[str, str]:
    """Comments of the renamed columns, by previous name; a view has these columns, too."""
    return {old: f"previous name of {new}" for old, new in RENAMED.get(view, {}).items()}


def _remove_table(spark: SparkSession, database: str, table: str) -> None:
    """Remove the entry of an earlier call, perhaps for another lake; its files are not touched."""
    if not spark.catalog.tableExists(f"{database}.{table}"):
        return
    if spark.catalog.getTable(f"{database}.{table}").tableType != "EXTERNAL":
        raise UsageError(
            f"--database {database}: its table {table} was not created by Regroup; use another "
            "database"
        )
    spark.sql(f"DROP TABLE {database}.{table}")


def _register_table(spark: SparkSession, database: str, table: str, path: str) -> None:
    spark.sql(f"CREATE TABLE {database}.{table} USING DELTA LOCATION {quoted_for_spark(path)}")
    about = table_about(table)
    if spark.catalog.getTable(f"{database}.{table}").description != about:
        spark.sql(f"COMMENT ON TABLE {database}.{table} IS {quoted_for_spark(about)}")


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("register")
