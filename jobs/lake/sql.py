"""SQL over the lake without a JVM: DuckDB over the Delta tables and the views of schemas/views.

A user's statement is a single SELECT, on a connection that reads files of the lake's tables only:
see `answer`.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from jobs.console.errors import UsageError
from jobs.engine.choice import lake_only_for_spark
from jobs.engine.scratch import scratch_folder
from jobs.lake.commit_log import CommitLog, FileLogFolder
from jobs.lake.compatibility import unknown_column
from jobs.lake.literals import quoted
from jobs.lake.path_alias import plain_path
from jobs.lake.statements import (
    TABLES_AND_VIEWS,
    expanded,
    is_show_tables,
    mentions_copy,
    require_select,
    sql_error,
    with_comments,
    with_present_values,
)
from jobs.lake.store_errors import unreadable
from schemas import (
    table_names,
    view_about,
    view_columns,
    view_dependencies,
    view_names,
    view_sql,
    views_in_order,
)
from schemas.columns import Type
from schemas.columns import columns as columns_of
from schemas.renamed import RENAMED, renamed_in, renamed_values, with_present_value

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa
    from deltalake import DeltaTable
    from pyarrow.dataset import Dataset

# DuckDB's names for Delta's primitive types.
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
# Functions of Spark SQL that the views and the evidence use.
SPARK_FUNCTIONS = [
    "explode(list) AS UNNEST(list)",
    "sequence(first, last) AS RANGE(first, last + 1)",
    "size(list) AS LEN(list)",
    "unix_millis(time) AS EPOCH_MS(time)",
]
# Commands that write tables which some `regroup nightly` runs do not write.
WRITERS = {
    "advice": "what-if-sweep",
    "advice_outcomes": "what-if-sweep",
    "broker_log_events": "nightly --broker-log GLOB",
    "client_events": "nightly --client-log GLOB",
    "configurations": "nightly --broker-config GLOB",
    "end_offsets": "nightly --end-offsets GLOB",
    "group_snapshots": "snapshot",
    "incident_replay": "replay",
    "migration_advice": "what-if-sweep",
    "offsets_records": "nightly --segments GLOB",
    "process_lives": "what-if-sweep",
    "topic_partitions": "topic-partitions",
    "trace_events": "nightly --trace GLOB",
    "what_if": "what-if-sweep",
}
# Tables that lakes of earlier versions lack. A view over a view of these tables has nulls.
_NEWER = ("handover_costs", "unserved_times")
# Tables below view episode_costs that a lake of an earlier version lacks.
OF_EPISODE_COSTS = ("episodes", *_NEWER)
_MOST_KEPT = 3  # number of connections of a `LakeReader`
# Few lakes have clients' logs or end offsets, and lakes of earlier versions have no findings. A
# statement that reads these tables together with other evidence needs no notice.
WITHOUT_NOTICE = ("client_events", "configurations", "end_offsets", "findings")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OLD_COLUMNS = {old for columns in RENAMED.values() for old in columns}
# Words of a statement that decide what is opened for it.
_NAMES = {*table_names(), *view_names(), *_OLD_COLUMNS}


class OpenedTables(NamedTuple):
    """A connection with tables and views.  ``in_arrow``: data of the tables that Arrow reads, by
    the names that the views have for them."""

    connection: duckdb.DuckDBPyConnection
    in_arrow: dict[str, Dataset]

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A further connection with the same tables and views."""
        cursor = self.connection.cursor()
        # DuckDB registers data of Arrow for one connection only.
        for name, dataset in self.in_arrow.items():
            cursor.register(name, dataset)
        return cursor


class _Statement(NamedTuple):
    """``names``: the words of the text that name what it reads.  ``by_duckdb``: see `open_lake`."""

    text: str
    names: frozenset[str]
    by_duckdb: bool


class SelectedRows(NamedTuple):
    """``types``: DuckDB's type of each column.  ``is_cut`` says whether there are more rows."""

    columns: list[str]
    types: list[str]
    rows: list[tuple[Any, ...]]
    is_cut: bool


def answer(
    root: str,
    sql: str,
    *,
    optional: Collection[str] = (),
    allow_files: bool = False,
) -> SelectedRows:
    """The rows of one statement that a user wrote, which can only read tables of the lake.

    ``allow_files`` permits to read other files, and to write files by COPY.  ``optional`` tables
    that an older version did not write are empty.  UsageError, with an excerpt if the place is
    known: missing lake, wrong SQL, or forbidden file.
    """
    statement = _checked(sql, allow_files=allow_files)
    with _opened_for(root, statement, optional, allow_files=allow_files) as connection:
        return _selected(connection, statement)


class LakeReader:
    """Statements of users over the lake's version at the first of them.

    Statements that name the same tables and views share a connection, because opening takes longer
    than most statements.
    """

    def __init__(self, root: str, settings: Mapping[str, str]) -> None:
        """``settings`` are those of DuckDB, such as its limit of memory."""
        self._root, self._settings = root, settings
        self._opened: dict[tuple[frozenset[str], bool], duckdb.DuckDBPyConnection] = {}

    def answer(self, sql: str, *, max_rows: int, seconds: float) -> SelectedRows:
        """As `answer`, with at most ``max_rows``; UsageError also after ``seconds``."""
        statement = _checked(sql)
        key = statement[1:]
        if key not in self._opened:
            if len(self._opened) == _MOST_KEPT:
                self._opened.pop(next(iter(self._opened))).close()
            self._opened[key] = _opened_for(self._root, statement, settings=self._settings)
        with _time_limit(self._opened[key], seconds):
            return _selected(self._opened[key], statement, max_rows)


def _selected(
    connection: duckdb.DuckDBPyConnection, statement: _Statement, max_rows: int | None = None
) -> SelectedRows:
    with _sql_errors(statement.text):
        result = connection.execute(statement.text)
        described = result.description or []
        rows = result.fetchall() if max_rows is None else result.fetchmany(max_rows + 1)
    kept = rows[:max_rows]
    columns, types = [column[0] for column in described], [str(column[1]) for column in described]
    return SelectedRows(columns, types, kept, len(kept) < len(rows))


@contextmanager
def _time_limit(connection: duckdb.DuckDBPyConnection, seconds: float | None) -> Iterator[None]:
    """Raises UsageError if the statements within take longer."""
    import duckdb

    if seconds is None:
        yield
        return
    timer = threading.Timer(seconds, connection.interrupt)
    timer.start()
    try:
        yield
    except duckdb.InterruptException:
        raise UsageError(f"stopped after {seconds:g} s; select fewer rows") from None
    finally:
        timer.cancel()


def query(
    root: str, sql: str, *, optional: Collection[str] = (), allow_files: bool = False
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Column names and rows; arguments and errors of `answer`."""
    all_rows = answer(root, sql, optional=optional, allow_files=allow_files)
    return all_rows.columns, all_rows.rows


def query_all(
    root: str,
    statements: Iterable[str],
    *,
    parameters: Mapping[str, str] | None = None,
    optional: Collection[str] = (),
    notices: bool = True,
) -> list[list[dict[str, Any]]]:
    """The rows of each SELECT by column name, over one connection; raises as `query` does.

    ``parameters`` are values of ``$name``, which each SELECT has; ``notices`` print which tables
    are missing.
    """
    selects = list(statements)
    connection = open_lake(root, "\n".join(selects), optional=optional, notices=notices)
    return [_rows(connection, select, parameters or {}) for select in selects]


def _rows(
    connection: duckdb.DuckDBPyConnection, select: str, parameters: Mapping[str, str]
) -> list[dict[str, Any]]:
    with _sql_errors():
        result = connection.execute(select, dict(parameters))
        columns = [column[0] for column in result.description or []]
        return [dict(zip(columns, row, strict=True)) for row in result.fetchall()]


def arrow_table(root: str, sql: str, *, allow_files: bool = False) -> pa.Table:
    """The rows in Arrow's types; sums of integers, HUGEINT in DuckDB, are decimals there."""
    statement = _checked(sql, allow_files=allow_files)
    connection = _opened_for(root, statement, allow_files=allow_files)
    with _sql_errors(statement.text):
        return connection.execute(statement.text).to_arrow_table()


def _checked(sql: str, *, allow_files: bool = False) -> _Statement:
    if is_show_tables(sql):
        return _Statement(TABLES_AND_VIEWS, frozenset(), False)
    text = with_present_values(expanded(sql))
    with _sql_errors(text):
        require_select(text, allow_files=allow_files)
    names = _NAMES.intersection(_WORD.findall(text.lower()))
    # DuckDB can also write to files that it may read.
    by_duckdb = allow_files or not mentions_copy(text)
    # The comments may name other tables, which need not be opened.
    return _Statement(with_comments(text), frozenset(names), by_duckdb)


def _opened_for(
    root: str,
    statement: _Statement,
    optional: Collection[str] = (),
    *,
    allow_files: bool = False,
    settings: Mapping[str, str] | None = None,
) -> duckdb.DuckDBPyConnection:
    """A connection for statements of users."""
    # DuckDB's temporary files would by default be in the current folder.
    of_user = {"errors_as_json": "true", "temp_directory": str(scratch_folder())}
    connection = open_tables(
        root,
        " ".join(statement.names),
        optional=optional,
        by_duckdb=statement.by_duckdb,
        settings=of_user | dict(settings or {}),
    ).connection
    if not allow_files:
        _confine(connection, root if statement.by_duckdb else None)
    if settings is not None:
        connection.execute("SET enable_progress_bar = false")  # Nobody reads stdout.
    connection.execute("SET python_enable_replacements = false")
    connection.execute("SET lock_configuration = true")
    return connection


def _confine(connection: duckdb.DuckDBPyConnection, root: str | None) -> None:
    """Restrict the connection: later statements access only files of the lake's tables below
    ``root``; without it, no files.
    """
    if root is not None:
        folders = ", ".join(quoted(f"{plain_path(root)}/{table}") for table in table_names())
        connection.execute(f"SET allowed_directories = [{folders}]")
    connection.execute("SET enable_external_access = false")


def existing_tables(root: str) -> list[str]:
    """The tables that have been written so far.  UsageError for a store that denies access."""
    from deltalake import DeltaTable

    _require_lake(root)
    try:
        return [t for t in table_names() if DeltaTable.is_deltatable(f"{plain_path(root)}/{t}")]
    except OSError as error:  # of an object store
        raise unreadable(root, "it", error) from None


def versions(root: str) -> dict[str, int]:
    """The newest version of each table that has been written so far."""
    from deltalake import DeltaTable

    return {
        table: DeltaTable(f"{plain_path(root)}/{table}").version()
        for table in existing_tables(root)
    }


def restrict(
    connection: duckdb.DuckDBPyConnection,
    tables: Collection[str],
    cluster_id: str,
    group_ids: Collection[str],
) -> None:
    """Hide, for this cursor only, the rows of other groups in ``tables``.

    The rows of the groups are copied to memory, because each of many queries would search the files
    for them; the views of `open_lake` read these rows.
    """
    listed = ", ".join(map(quoted, group_ids))
    views = connection.execute(
        "SELECT view_name, sql FROM duckdb_views() WHERE NOT internal AND schema_name = 'main'"
    ).fetchall()
    texts = dict(views)
    for table in tables:
        connection.execute(
            f"CREATE TEMP TABLE {table} AS SELECT * FROM main.{table}"
            f" WHERE cluster_id = {quoted(cluster_id)} AND group_id IN ({listed})"
        )
    for view in views_in_order():
        if view in texts and view not in tables:
            connection.execute(texts[view].replace("CREATE VIEW", "CREATE TEMP VIEW", 1))


def _require_lake(root: str) -> None:
    if "://" not in root and not Path(root).is_dir():
        raise UsageError(
            f"--lake {root}: no such folder; run `regroup nightly --lake {root} ...` first"
        )


@contextmanager
def _sql_errors(sql: str = "") -> Iterator[None]:
    import duckdb

    try:
        yield
    except duckdb.InterruptException:
        raise
    except duckdb.Error as error:
        raise sql_error(str(error), sql) from None


def open_lake(
    root: str,
    sql: str,
    *,
    optional: Collection[str] = (),
    by_duckdb: bool = True,
    notices: bool = True,
) -> duckdb.DuckDBPyConnection:
    """A connection with the tables and views that ``sql`` names; opening all tables is slow.

    A named table that does not exist is a UsageError, unless it is ``optional``.  ``by_duckdb``:
    DuckDB reads the files of a local lake, which is faster; else Arrow does.
    """
    opened = open_tables(root, sql, optional=optional, by_duckdb=by_duckdb, notices=notices)
    return opened.connection


def open_tables(
    root: str,
    sql: str,
    *,
    optional: Collection[str] = (),
    by_duckdb: bool = True,
    notices: bool = True,
    settings: Mapping[str, str] | None = None,
) -> OpenedTables:
    """Open tables as `open_lake` does, for several cursors.

    ``settings`` are those of DuckDB.
    """
    import duckdb

    _require_lake(root)
    connection = duckdb.connect(":memory:", config=dict(settings or {}))
    opened = OpenedTables(connection, {})
    for macro in SPARK_FUNCTIONS:
        connection.execute(f"CREATE MACRO {macro}")
    words = set(_WORD.findall(sql.lower()))
    named = words & set(table_names())
    views = _views_below(words)
    below = {name for view in views for name in view_dependencies(view)} & set(table_names())
    of_named = {name for view in words & set(views) for name in view_dependencies(view)}
    for table in sorted(named | below):
        is_newer = table in _NEWER and table not in of_named
        is_required = table in named or (table not in WRITERS and not is_newer)
        is_required = is_required and table not in optional
        delta = _opened(root, table, required=is_required, notices=notices and not is_newer)
        old_names = _old_names(table, words)
        _register(opened, root, table, delta, by_duckdb=by_duckdb, old_names=old_names)
    for view in views:
        _create_view(connection, view, _old_names(view, words))
    return opened


def _views_below(words: set[str]) -> list[str]:
    """The views among ``words`` and all views that they use, in order of dependency."""
    needed: set[str] = set()
    new = words & set(view_names())
    while new:
        needed |= new
        read = {name for view in new for name in view_dependencies(view)}
        new = read & set(view_names()) - needed
    return [view for view in views_in_order() if view in needed]


def _old_names(name: str, words: Collection[str]) -> str:
    """Further columns of a SELECT: renamed columns under the old names that ``words`` contains."""
    columns = RENAMED.get(name, {}).items()
    return "".join(f", {new} AS {old}" for old, new in columns if old in words)


def _create_view(connection: duckdb.DuckDBPyConnection, view: str, old_names: str) -> None:
    """Create the view with sums as BIGINT, as in Spark: DuckDB returns HUGEINT as DOUBLE."""
    described = connection.execute(f"DESCRIBE {view_sql(view)}").fetchall()
    sums = [f"{name}::BIGINT AS {name}" for name, type_, *_ in described if type_ == "HUGEINT"]
    columns = f"* REPLACE ({', '.join(sums)})" if sums else "*"
    select = f"SELECT {columns}{old_names} FROM ({view_sql(view)})"
    connection.execute(f"CREATE VIEW {view} AS {select}")
    _comment_on(connection, view)


def _comment_on(connection: duckdb.DuckDBPyConnection, view: str) -> None:
    connection.execute(f"COMMENT ON VIEW {view} IS {quoted(view_about(view))}")
    for column, comment in view_columns(view).items():
        connection.execute(f"COMMENT ON COLUMN {view}.{column} IS {quoted(comment)}")


def _path(root: str, table: str, uri: str) -> str:
    """The path of a local data file, whose URI has the root percent-encoded."""
    return f"{plain_path(root)}/{table}/" + uri.rsplit(f"/{table}/", 1)[1]


def _opened(root: str, table: str, *, required: bool, notices: bool) -> DeltaTable | None:
    """Returns None, with a notice, for a table that does not exist; raises UsageError if it is
    ``required``.
    """
    delta = _open(root, table)
    if delta is None:
        missing = missing_table(root, table)
        if required:
            raise UsageError(missing)
        if notices and table not in WITHOUT_NOTICE:
            print(missing, file=sys.stderr)
    return delta


def _register(
    opened: OpenedTables,
    root: str,
    table: str,
    delta: DeltaTable | None,
    *,
    by_duckdb: bool,
    old_names: str,
) -> None:
    """Create a view over the table's current Parquet files, columns in the table's order; an empty
    view for a table that does not exist.  ``old_names``: see `_old_names`."""
    connection = opened.connection
    if delta is None:
        _create_empty_view(connection, table, {}, old_names)
        return
    types = {field.name: _duck_type(field.type) for field in delta.schema().fields}
    renamed = renamed_in(table, types)
    present = {renamed.get(name, name): type_ for name, type_ in types.items()}
    _require_known_columns(f"{root.rstrip('/')}/{table}", table, present)
    if not delta.file_uris():
        _create_empty_view(connection, table, present, old_names)
        return
    # To read from an object store, DuckDB would need an extension and its own credentials.
    if by_duckdb and "://" not in root:
        source = _files(root, table, delta, types)
    else:
        source = f"{table}_in_arrow"
        opened.in_arrow[source] = delta.to_pyarrow_dataset()
        connection.register(source, opened.in_arrow[source])
    # The type has no zone, because DuckDB needs an extension to print a zone; the values are UTC.
    columns = [
        f"{name}{'::TIMESTAMP' if type_ == 'TIMESTAMP' else ''} AS {renamed.get(name, name)}"
        for name, type_ in types.items()
    ]
    selected = ", ".join([*columns, *_missing_columns(table, present)])
    select = f"SELECT {selected} FROM {source}"
    if values := renamed_values(table, delta.metadata().configuration):
        replaced = (f"{with_present_value(name, of)} AS {name}" for name, of in values.items())
        select = f"SELECT * REPLACE ({', '.join(replaced)}) FROM ({select})"
    connection.execute(f"CREATE VIEW {table} AS SELECT *{old_names} FROM ({select})")


def _files(root: str, table: str, delta: DeltaTable, types: dict[str, str]) -> str:
    """The text after FROM in a SELECT of the table's rows."""
    partitioned = delta.metadata().partition_columns
    hive = ", ".join(f"'{name}': {types[name]}" for name in partitioned)
    listed = ", ".join(quoted(_path(root, table, uri)) for uri in delta.file_uris())
    source = (
        f"read_parquet([{listed}], union_by_name = true, hive_partitioning = {bool(partitioned)}"
    )
    return source + (f", hive_types = {{{hive}}})" if hive else ")")


def _open(root: str, table: str) -> DeltaTable | None:
    """Returns None if the table does not exist; raises UsageError if it cannot be read."""
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError, TableNotFoundError

    path = f"{plain_path(root)}/{table}"
    try:
        # Delta reads an empty commit as a commit without changes.
        is_readable = lake_only_for_spark(root) is None
        log = CommitLog(FileLogFolder(f"{path}/_delta_log"))
        if is_readable and (damage := log.damage()) is not None:
            raise UsageError(f"--lake {root}: table {table}: {damage}")
        return DeltaTable(path)
    except TableNotFoundError:
        return None
    # The table is damaged, or an object store denied access.
    except (DeltaError, OSError) as error:
        raise unreadable(root, f"table {table}", error) from None


def missing_table(root: str, table: str) -> str:
    """The message for a table that the lake does not have: which command writes it."""
    if _open(root, "group_snapshots") is not None and _open(root, "generations") is None:
        return (
            f"--lake {root}: it has snapshots only, and no table {table}; `regroup sql` with view"
            " snapshot_rebalances shows rebalances, members and moved partitions; for causes and"
            " predictions add records or brokers' logs with `regroup nightly`"
        )
    return f"--lake {root}: no table {table} in it yet; run `regroup {_writer(root, table)}`"


def _writer(root: str, table: str) -> str:
    # A table that is new in this version lacks all dates, not only the dates with new input.
    is_older_lake = _open(root, "group_days") is not None
    nightly = "nightly --recompute-all" if is_older_lake else "nightly"
    return WRITERS.get(table, nightly)


def _require_known_columns(path: str, table: str, types: dict[str, str]) -> None:
    """Raises UsageError if columns were renamed since the table was written: the views would read
    null.

    A newer table, which has all columns of this version and more, can be read.
    """
    unknown = sorted(types.keys() - {column.name for column in columns_of(table)})
    if unknown and _missing_columns(table, types):
        raise UsageError(unknown_column(path, unknown[0]))


def _missing_columns(table: str, types: dict[str, str]) -> list[str]:
    """Nulls for the columns that a table of an older version lacks."""
    return [
        f"NULL::{_duck_type_of(column.type)} AS {column.name}"
        for column in columns_of(table)
        if column.name not in types
    ]


def _create_empty_view(
    connection: duckdb.DuckDBPyConnection, table: str, types: dict[str, str], old_names: str
) -> None:
    stored = [f"NULL::{type_} AS {name}" for name, type_ in types.items()]
    nothing = ", ".join([*stored, *_missing_columns(table, types)])
    select = f"SELECT {nothing} WHERE false"
    connection.execute(f"CREATE VIEW {table} AS SELECT *{old_names} FROM ({select})")


def _duck_type_of(type_: Type) -> str:
    """DuckDB's name of a type in schemas/tables."""
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
    """DuckDB's name of a Delta type."""
    if hasattr(of, "element_type"):
        return f"{_duck_type(of.element_type)}[]"
    if hasattr(of, "key_type"):
        return f"MAP({_duck_type(of.key_type)}, {_duck_type(of.value_type)})"
    if hasattr(of, "fields"):
        inner = ", ".join(f'"{field.name}" {_duck_type(field.type)}' for field in of.fields)
        return f"STRUCT({inner})"
    return _DUCK_TYPES.get(str(of.type), "VARCHAR")
