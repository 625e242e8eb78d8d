"""SQL over the lake without a JVM: DuckDB over the Delta tables and the views of schemas/views."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobs.errors import UsageError
from schemas import table_columns, table_names, view_names, view_sql

if TYPE_CHECKING:
    import duckdb

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
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def query(root: str, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Column names and rows.  A missing lake or wrong SQL is a UsageError."""
    import duckdb

    connection = open_lake(root, sql)
    try:
        result = connection.execute(sql)
    except duckdb.Error as error:
        message = " ".join(str(error).split())
        raise UsageError(f"{message} (tables: {', '.join(table_names())})") from None
    if result is None:
        raise UsageError("no statement; give one SELECT")
    columns = [column[0] for column in result.description or []]
    return columns, result.fetchall()


def open_lake(root: str, sql: str) -> duckdb.DuckDBPyConnection:
    """A connection that knows what ``sql`` names, tables and views: opening a table costs time."""
    import duckdb

    if "://" not in root and not Path(root).is_dir():
        raise UsageError(
            f"--lake {root}: no such folder; run `regroup nightly --lake {root} ...` first"
        )
    connection = duckdb.connect(":memory:")
    views = _views_named(sql)
    for table in _tables_named(" ".join([sql, *(view_sql(view) for view in views)])):
        _register(connection, root, table)
    for view in views:
        connection.execute(f"CREATE VIEW {view} AS {view_sql(view)}")
    return connection


def _views_named(sql: str) -> list[str]:
    """The views that ``sql`` names and those that these rest on, each after what it rests on."""
    wanted: set[str] = set()
    texts = [sql]
    while texts:
        words = set(_WORD.findall(texts.pop().lower()))
        new = (words & set(view_names())) - wanted
        wanted |= new
        texts += [view_sql(view) for view in new]
    return sorted(wanted, key=lambda view: _rank(view, wanted))


def _rank(view: str, among: set[str]) -> tuple[int, str]:
    """A view comes after the ones it names."""
    words = set(_WORD.findall(view_sql(view).lower())) - {view}
    below = [_rank(other, among - {view})[0] for other in words & (among - {view})]
    return (1 + max(below) if below else 0, view)


def _tables_named(sql: str) -> list[str]:
    words = set(_WORD.findall(sql.lower()))
    return [table for table in table_names() if table in words]


def _path(root: str, table: str, uri: str) -> str:
    """Of a local lake the path as it is on disk: the URI has the root percent-encoded."""
    if "://" in root:
        return uri
    return f"{root.rstrip('/')}/{table}/" + uri.rsplit(f"/{table}/", 1)[1]


def _register(connection: duckdb.DuckDBPyConnection, root: str, table: str) -> None:
    """A view over the table's current Parquet files, columns in the table's order."""
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError, TableNotFoundError

    try:
        delta = DeltaTable(f"{root.rstrip('/')}/{table}")
    except TableNotFoundError:
        raise UsageError(
            f"--lake {root}: no table {table} in it yet; run `regroup nightly`"
        ) from None
    except (DeltaError, OSError) as error:  # damaged, or a store that does not let us in
        why = str(error).splitlines()[0]
        raise UsageError(f"--lake {root}: table {table} cannot be read: {why}") from None
    fields = delta.schema().fields
    types = {field.name: _duck_type(field.type) for field in fields}
    files = [_path(root, table, uri) for uri in delta.file_uris()]
    if not files:
        nothing = ", ".join(f"NULL::{types[f.name]} AS {f.name}" for f in fields)
        connection.execute(f"CREATE VIEW {table} AS SELECT {nothing} WHERE false")
        return
    partitioned = delta.metadata().partition_columns
    hive = ", ".join(f"'{name}': {types[name]}" for name in partitioned)
    listed = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
    source = (
        f"read_parquet([{listed}], union_by_name = true, hive_partitioning = {bool(partitioned)}"
    )
    source += f", hive_types = {{{hive}}})" if hive else ")"
    columns = ", ".join(
        # In UTC and said nowhere else: a zone on the type would need an extension to print.
        f"{f.name}::TIMESTAMP AS {f.name}" if types[f.name] == "TIMESTAMP" else f.name
        for f in fields
    )
    # A table of an older version has null in the columns that came since.
    for name in table_columns(table):
        if name not in types:
            columns += f", NULL AS {name}"
    connection.execute(f"CREATE VIEW {table} AS SELECT {columns} FROM {source}")


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
