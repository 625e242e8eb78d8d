"""SQL statements as users write them: short names of tables and views, SHOW TABLES, wrong names."""

from __future__ import annotations

import re
from difflib import get_close_matches

from jobs.console.errors import UsageError
from jobs.lake.literals import quoted
from schemas import table_about, table_names, view_about, view_names

_SHOW_TABLES = re.compile(r"\s*show\s+(all\s+)?tables\s*;?\s*", re.IGNORECASE)
_NAME = re.compile(r"\s*([A-Za-z]\w*)\s*;?\s*")
_UNKNOWN = re.compile(r"Table with name (\S+) does not exist")
_HINT = "SHOW TABLES lists all"
_ONE_SELECT = "give one SELECT, a table or view, DESCRIBE, EXPLAIN or SHOW TABLES"
_EXPLAIN = re.compile(r"explain\b\s*(analyze\b|\(\s*(format|analyze)\b[^)]*\))?", re.IGNORECASE)
_COPIES = re.compile("copy|query|execute", re.IGNORECASE)
_READS = re.compile(r"(explain|pivot|select|with|from)\b", re.IGNORECASE)
_FORBIDDEN_FILE = re.compile(r'Cannot access (?:file|directory) "(.*?)"')


def is_show_tables(sql: str) -> bool:
    """Whether to run TABLES_AND_VIEWS instead: views exist only once a statement names them."""
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


def require_select(sql: str) -> None:
    """Check that the text is a single statement that only reads.

    Raises UsageError if it is not, and duckdb.Error if DuckDB cannot parse the text.
    """
    import duckdb

    statements = duckdb.extract_statements(sql)
    if not statements:
        raise UsageError(f"no statement; {_ONE_SELECT}")
    if len(statements) > 1:
        raise UsageError(f"{len(statements)} statements; {_ONE_SELECT}")
    text, kind = statements[0].query, statements[0].type
    if kind == duckdb.StatementType.EXPLAIN:  # ANALYZE runs the explained statement
        require_select(_EXPLAIN.sub("", text, count=1))
        return
    # DuckDB splits a statement with PIVOT into several statements.
    is_pivot = kind == duckdb.StatementType.MULTI and _READS.match(text)
    if kind != duckdb.StatementType.SELECT and not is_pivot:
        raise UsageError(
            f"{text.split(maxsplit=1)[0].upper()}: not a statement that reads; {_ONE_SELECT}"
        )


def mentions_copy(sql: str) -> bool:
    """Whether the statement may write a file: by COPY in a WITH clause, or by a function that runs
    SQL from a string.
    """
    return _COPIES.search(sql) is not None


def explained(message: str) -> str:
    """DuckDB's message, with this lake's names for an unknown table instead of DuckDB's own."""
    if forbidden := _FORBIDDEN_FILE.search(message):
        return f"{forbidden[1]}: only tables of the lake can be read; {_HINT}"
    unknown = _UNKNOWN.search(message)
    if unknown is None:
        return f"{message} ({_HINT})"
    name = unknown[1].strip('"').lower()
    names = _names_like(name) or get_close_matches(name, _all_names())
    meant = f"; did you mean {' or '.join(names)}?" if names else ";"
    return f"no table or view {name}{meant} {_HINT}"


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
