"""SQL statements as users write them: short names of tables and views, SHOW TABLES, wrong names."""

from __future__ import annotations

import json
import re
import sys
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len

from jobs.console.errors import UsageError
from jobs.lake.literals import quoted
from schemas import table_about, table_names, view_about, view_columns, view_names
from schemas.columns import columns
from schemas.renamed import RENAMED_VALUES

if TYPE_CHECKING:
    import duckdb

_SHOW_TABLES = re.compile(r"\s*show\s+(all\s+)?tables\s*+;?\s*+", re.IGNORECASE)
_DESCRIBE = re.compile(r"\s*desc(?:ribe)?\s+([A-Za-z]\w*)\s*+;?\s*+", re.IGNORECASE)
_NAME = re.compile(r"\s*([A-Za-z]\w*)\s*+;?\s*+")
_COLUMN = re.compile(r"[a-z_]\w*")
_UNKNOWN = re.compile(r"Table with name (\S+) does not exist")
_HINT = "SHOW TABLES lists all"
_ONE_SELECT = "give one SELECT, a table or view, DESCRIBE, EXPLAIN or SHOW TABLES"
_NOT_READING = "only statements that read are allowed"
_EXPLAIN = re.compile(r"explain\b\s*(analyze\b|\(\s*(format|analyze)\b[^)]*\))?", re.IGNORECASE)
_COPIES = re.compile("copy|query|execute", re.IGNORECASE)
_READS = re.compile(r"(explain|pivot|select|with|from)\b", re.IGNORECASE)
_FORBIDDEN_FILE = re.compile(r'Cannot access (?:file|directory) "(.*?)"')
_ERROR = re.compile(r"(?>(.*? Error): (?=\{))(\{.*\})", re.DOTALL)
_MOST_BEFORE = 70  # maximum characters of a line that are shown before the position of an error
_MOST_AFTER = 30


def is_show_tables(sql: str) -> bool:
    """Returns whether to run TABLES_AND_VIEWS instead: views exist only once a statement names
    them.
    """
    return _SHOW_TABLES.fullmatch(sql) is not None


def expanded(sql: str) -> str:
    """The statement to run: a name by itself as SELECT * FROM it.

    A unique beginning of a name is enough; several possible names are a UsageError.
    """
    name = _NAME.fullmatch(sql)
    names = _names_like(name[1].lower()) if name else []
    if name is None or not names:
        return sql
    if len(names) > 1:
        raise UsageError(f"{name[1]}: name one of {', '.join(names)}")
    return f"SELECT * FROM {names[0]}"


def with_present_values(sql: str) -> str:
    """The statement with renamed values under their present names; a notice on stderr names each.

    A value counts as one of a column if the statement names the column, or one that ends with it.
    """
    names = set(_COLUMN.findall(sql.lower()))
    for column, old, new in _renamed_values():
        if f"'{old}'" in sql and any(name.endswith(column) for name in names):
            print(f"{column}: '{old}' is renamed to '{new}'", file=sys.stderr)
            sql = sql.replace(f"'{old}'", f"'{new}'")
    return sql


def _renamed_values() -> list[tuple[str, str, str]]:
    """Column, old and present value, without repetition."""
    of_columns = (pair for columns in RENAMED_VALUES.values() for pair in columns.items())
    triples = {(column, old, new) for column, of in of_columns for old, new in of.items()}
    return sorted(triples)


def with_comments(sql: str) -> str:
    """The statement to run for DESCRIBE of a table or view: its columns with their comments."""
    described = _DESCRIBE.fullmatch(sql)
    if described is None or (name := described[1].lower()) not in _all_names():
        return sql
    if name in view_names():
        comments = view_columns(name)
    else:
        comments = {each.name: each.comment or "" for each in columns(name)}
    entries = ", ".join(f"{quoted(column)}: {quoted(text)}" for column, text in comments.items())
    of_column = f"MAP {{{entries}}}[column_name] AS comment"
    return f"SELECT column_name, column_type, {of_column} FROM (DESCRIBE {name})"


def require_select(sql: str, *, allow_files: bool = False) -> None:
    """Check that the text is a single statement that only reads, or with ``allow_files`` COPY.

    Raises UsageError if it is not, and duckdb.Error, with details in JSON, if DuckDB cannot parse
    the text.
    """
    import duckdb

    statements = _parser().extract_statements(sql)
    if not statements:
        raise UsageError(f"no statement; {_ONE_SELECT}")
    if len(statements) > 1:
        raise UsageError(f"{len(statements)} statements; {_ONE_SELECT}")
    text, kind = statements[0].query, statements[0].type
    if kind == duckdb.StatementType.EXPLAIN:  # ANALYZE would run the explained statement.
        require_select(_EXPLAIN.sub("", text, count=1), allow_files=allow_files)
        return
    allowed = [duckdb.StatementType.SELECT, *[duckdb.StatementType.COPY] * allow_files]
    # DuckDB splits a statement with PIVOT into several statements.
    is_pivot = kind == duckdb.StatementType.MULTI and (allow_files or _READS.match(text))
    if kind not in allowed and not is_pivot:
        needs = (
            "needs `regroup sql --allow-files`"
            if kind == duckdb.StatementType.COPY
            else _NOT_READING
        )
        raise UsageError(f"{text.split(maxsplit=1)[0].upper()}: {needs}; {_ONE_SELECT}")


@cache
def _parser() -> duckdb.DuckDBPyConnection:
    import duckdb

    return duckdb.connect(config={"errors_as_json": True})


def mentions_copy(sql: str) -> bool:
    """Returns whether the statement may write a file: by COPY in a WITH clause, or by a function
    that runs SQL from a string.
    """
    return _COPIES.search(sql) is not None


def sql_error(error: str, sql: str = "") -> UsageError:
    """DuckDB's error about the statement ``sql``, with the place of the error below it.

    Names this lake's tables and views for an unknown table, instead of DuckDB's own.
    """
    in_json = _ERROR.fullmatch(error)
    details = json.loads(in_json[2]) if in_json else {"exception_message": error}
    message = " ".join(details["exception_message"].split())
    excerpt = _excerpt(details, sql)
    if forbidden := _FORBIDDEN_FILE.search(message):
        hint = f"{_HINT}; `regroup sql --allow-files` allows files"
        return UsageError(f"{forbidden[1]}: only tables of the lake can be read; {hint}")
    unknown = _UNKNOWN.search(message)
    if unknown is None:
        kind = f"{in_json[1]}: " if in_json else ""
        return UsageError(f"{kind}{message}{_place(details, sql)} ({_HINT})", excerpt)
    name = unknown[1].strip('"').lower()
    names = _names_like(name) or get_close_matches(name, _all_names())
    meant = f"; did you mean {' or '.join(names)}?" if names else ";"
    return UsageError(f"no table or view {name}{meant} {_HINT}", excerpt)


def _place(details: dict[str, Any], sql: str) -> str:
    """``, line 1, column 8``; empty if unknown."""
    if "position" not in details or not sql:
        return ""
    before = sql.encode()[: int(details["position"])].decode()
    column = len(before.rpartition("\n")[2]) + 1
    return f", line {before.count(chr(10)) + 1}, column {column}"


def _excerpt(details: dict[str, Any], sql: str) -> str:
    """The line of the statement that has the error, and carets below its place; empty if unknown.

    DuckDB's own excerpt is wrong after leading comments.
    """
    if "position" not in details or not sql:
        return ""
    start, length = json.loads(details.get("location", f"[{details['position']},1]"))
    data = sql.encode()
    before, place = data[:start].decode(), data[start : start + length].decode()
    line = f"line {before.count(chr(10)) + 1}: "
    before = before.rpartition("\n")[2]
    after = data[start:].decode().partition("\n")[0][len(place) :]
    place = place.partition("\n")[0]
    if len(before) > _MOST_BEFORE:
        before = f"...{before[-_MOST_BEFORE:]}"
    before = before.replace("\t", " ")
    carets = "^" * max(cell_len(place), 1)
    shown = f"{line}{before}{place}{after[:_MOST_AFTER]}"
    return f"{shown}\n{' ' * cell_len(line + before)}{carets}"


def _names_like(beginning: str) -> list[str]:
    """The table or view of this name, else all that begin so."""
    names = _all_names()
    return [beginning] if beginning in names else [n for n in names if n.startswith(beginning)]


def _all_names() -> list[str]:
    return sorted([*table_names(), *view_names()])


def _tables_and_views() -> str:
    rows = [
        *((name, "table", table_about(name)) for name in table_names()),
        *((name, "view", view_about(name)) for name in view_names()),
    ]
    values = ", ".join(f"({', '.join(map(quoted, row))})" for row in rows)
    return f"SELECT * FROM (VALUES {values}) AS lake(name, kind, about)"


TABLES_AND_VIEWS = _tables_and_views()
