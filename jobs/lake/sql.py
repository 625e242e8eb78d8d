"""SQL over the lake without a JVM: DuckDB over the Delta tables and the views of schemas/views."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobs.console.errors import UsageError
from schemas import (
    table_names,
    view_about,
    view_columns,
    view_names,
    view_rests_on,
    view_sql,
    views_in_order,
)
from schemas.columns import Type
from schemas.columns import columns as columns_of

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

# Delta's primitive types by DuckDB's names.
_DUCK_TYPES = {
    "string": "VARCHAR",
    "integer": "INTEGER",
    "long": "BIGINT",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "binary": "BLOB",
    "double": "DOUBLE",
}
# Functions that the views call by Spark's names.
SPARKS_WORDS = [
    "explode(list) AS UNNEST(list)",
    "unix_millis(time) AS EPOCH_MS(time)",
]
# What writes a table that no nightly run does.
WRITERS = {
    "advice": "what-if-sweep",
    "incident_replay": "replay",
    "process_lives": "what-if-sweep",
    "topic_partitions": "topic-partitions",
    "what_if": "what-if-sweep",
}
NO_STATEMENT = "no statement; give one SELECT"
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def query(root: str, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Column names and rows.  A missing lake or wrong SQL is a UsageError."""
    connection = open_lake(root, sql)
    with _sql_errors():
        result = connection.execute(sql)
    if result is None:
        raise UsageError(NO_STATEMENT)
    columns = [column[0] for column in result.description or []]
    return columns, result.fetchall()


def arrow_table(root: str, sql: str) -> pa.Table:
    """The rows in Arrow's types; sums of integers, HUGEINT in DuckDB, are decimals there."""
    connection = open_lake(root, sql)
    with _sql_errors():
        relation = connection.sql(sql)
        if relation is None:
            raise UsageError(NO_STATEMENT)
        return relation.to_arrow_table()


def existing_tables(root: str) -> list[str]:
    """The tables that have been written so far."""
    from deltalake import DeltaTable

    _require_lake(root)
    return [t for t in table_names() if DeltaTable.is_deltatable(f"{root.rstrip('/')}/{t}")]


def _require_lake(root: str) -> None:
    if "://" not in root and not Path(root).is_dir():
        raise UsageError(
            f"--lake {root}: no such folder; run `regroup nightly --lake {root} ...` first"
        )


@contextmanager
def _sql_errors() -> Iterator[None]:
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        message = " ".join(str(error).split())
        raise UsageError(f"{message} (tables: {', '.join(table_names())})") from None


def open_lake(root: str, sql: str) -> duckdb.DuckDBPyConnection:
    """A connection that knows what ``sql`` names, tables and views: opening a table costs time."""
    import duckdb

    _require_lake(root)
    connection = duckdb.connect(":memory:")
    for macro in SPARKS_WORDS:
        connection.execute(f"CREATE MACRO {macro}")
    words = set(_WORD.findall(sql.lower()))
    named = words & set(table_names())
    views = _views_below(words)
    below = {name for view in views for name in view_rests_on(view)} & set(table_names())
    for table in sorted(named | below):
        _register(connection, root, table, must=table in named or table not in WRITERS)
    for view in views:
        _create_view(connection, view)
    return connection


def _views_below(words: set[str]) -> list[str]:
    """The views among ``words`` and those that these rest on, each after what it rests on."""
    wanted: set[str] = set()
    new = words & set(view_names())
    while new:
        wanted |= new
        new = {name for view in new for name in view_rests_on(view)} & set(view_names()) - wanted
    return [view for view in views_in_order() if view in wanted]


def _create_view(connection: duckdb.DuckDBPyConnection, view: str) -> None:
    """The view, its sums BIGINT as Spark's are: HUGEINT would come out of DuckDB as DOUBLE."""
    described = connection.execute(f"DESCRIBE {view_sql(view)}").fetchall()
    sums = [f"{name}::BIGINT AS {name}" for name, type_, *_ in described if type_ == "HUGEINT"]
    columns = f"* REPLACE ({', '.join(sums)})" if sums else "*"
    connection.execute(f"CREATE VIEW {view} AS SELECT {columns} FROM ({view_sql(view)})")
    _comment_on(connection, view)


def _comment_on(connection: duckdb.DuckDBPyConnection, view: str) -> None:
    connection.execute(f"COMMENT ON VIEW {view} IS {_literal(view_about(view))}")
    for column, comment in view_columns(view).items():
        connection.execute(f"COMMENT ON COLUMN {view}.{column} IS {_literal(comment)}")


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _path(root: str, table: str, uri: str) -> str:
    """Of a local lake the path as it is on disk: the URI has the root percent-encoded."""
    if "://" in root:
        return uri
    return f"{root.rstrip('/')}/{table}/" + uri.rsplit(f"/{table}/", 1)[1]


def _register(connection: duckdb.DuckDBPyConnection, root: str, table: str, *, must: bool) -> None:
    """A view over the table's current Parquet files, columns in the table's order.

    A table that is not there is a UsageError if it ``must`` be; else it is empty, which is said.
    """
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError, TableNotFoundError

    try:
        delta = DeltaTable(f"{root.rstrip('/')}/{table}")
    except TableNotFoundError:
        missing = f"no table {table} in it yet; run `regroup {WRITERS.get(table, 'nightly')}`"
        if must:
            raise UsageError(f"--lake {root}: {missing}") from None
        print(f"--lake {root}: {missing}", file=sys.stderr)
        nothing = ", ".join(
            f"NULL::{_duck_type_of(column.type)} AS {column.name}" for column in columns_of(table)
        )
        connection.execute(f"CREATE VIEW {table} AS SELECT {nothing} WHERE false")
        return
    except (DeltaError, OSError) as error:  # damaged, or a store that does not let us in
        why = str(error).splitlines()[0]
        raise UsageError(f"--lake {root}: table {table} cannot be read: {why}") from None
    fields = delta.schema().fields
    types = {field.name: _duck_type(field.type) for field in fields}
    files = [_path(root, table, uri) for uri in delta.file_uris()]
    # A table of an older version has null in the columns that came since.
    since = [
        f"NULL::{_duck_type_of(column.type)} AS {column.name}"
        for column in columns_of(table)
        if column.name not in types
    ]
    if not files:
        nothing = ", ".join([*(f"NULL::{types[f.name]} AS {f.name}" for f in fields), *since])
        connection.execute(f"CREATE VIEW {table} AS SELECT {nothing} WHERE false")
        return
    partitioned = delta.metadata().partition_columns
    hive = ", ".join(f"'{name}': {types[name]}" for name in partitioned)
    listed = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
    source = (
        f"read_parquet([{listed}], union_by_name = true, hive_partitioning = {bool(partitioned)}"
    )
    source += f", hive_types = {{{hive}}})" if hive else ")"
    columns = [
        # In UTC and said nowhere else: a zone on the type would need an extension to print.
        f"{f.name}::TIMESTAMP AS {f.name}" if types[f.name] == "TIMESTAMP" else f.name
        for f in fields
    ]
    named = ", ".join([*columns, *since])
    connection.execute(f"CREATE VIEW {table} AS SELECT {named} FROM {source}")


def _duck_type_of(type_: Type) -> str:
    """A type of schemas/tables in DuckDB's words."""
    inner = [_duck_type_of(of) for of in type_.of]
    if type_.name == "ARRAY":
        return f"{inner[0]}[]"
    if type_.name == "MAP":
        return f"MAP({', '.join(inner)})"
    if type_.name == "STRUCT":
        fields = [f'"{field.name}" {_duck_type_of(field.type)}' for field in type_.fields]
        return f"STRUCT({', '.join(fields)})"
    return {"STRING": "VARCHAR", "BINARY": "BLOB"}.get(type_.name, type_.name)


def _duck_type(of: Any) -> str:
    """A Delta type in DuckDB's words."""
    if hasattr(of, "element_type"):
        return f"{_duck_type(of.element_type)}[]"
    if hasattr(of, "key_type"):
        return f"MAP({_duck_type(of.key_type)}, {_duck_type(of.value_type)})"
    if hasattr(of, "fields"):
        inner = ", ".join(f'"{field.name}" {_duck_type(field.type)}' for field in of.fields)
        return f"STRUCT({inner})"
    return _DUCK_TYPES.get(str(of.type), "VARCHAR")
