"""Layouts of records, log lines, tables and views, as data, and their loaders.

Each layout exists once, in a file of one of these folders; all other code reads it through this
package, which imports neither Spark nor any third-party library.

- tables/:     one SQL file per Delta table: header comments (description, key, partitioning),
               then the column list with a COMMENT per column
- views/:      one SQL file per view: a header comment, then one SELECT in the SQL that Spark and
               DuckDB share, with a ``--`` comment per column
- evidence/:   one SQL file per kind of evidence that Python computes from: a header comment, then
               one SELECT that Spark, the embedded engine and DuckDB run
- records/:    one JSON file per record type of ``__consumer_offsets``, in the format of Kafka's
               message files
- log_lines/:  wordings of broker and client log lines

This module has the names, columns, keys and texts of tables and views; ``columns`` parses a
table's column list; ``record_layouts`` parses the files of records/.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib.resources import files

_HEADER = "--"
# A column of a view: the last word of its line before the comment.
_COLUMN_COMMENT = re.compile(r"(?P<column>\w+),?\s+-- (?P<comment>.+)$")
_COMMENT = re.compile(r"\s+-- .*$")
_SOURCE = re.compile(r"\b(FROM|JOIN) (\w+)")
_SOURCE_OR_PARAMETER = re.compile(rf"{_SOURCE.pattern}|:(\w+)")


@cache
def _text(folder: str, name: str) -> str:
    return (files(__name__) / folder / f"{name}.sql").read_text(encoding="utf-8")


@cache
def _names(folder: str) -> tuple[str, ...]:
    here = (file.name for file in (files(__name__) / folder).iterdir())
    return tuple(sorted(name.removesuffix(".sql") for name in here if name.endswith(".sql")))


def table_names() -> list[str]:
    """Names of all Delta tables."""
    return list(_names("tables"))


def table_ddl(table: str) -> str:
    """Returns the column list of ``schemas/tables/<table>.sql``, without header comments."""
    lines = _text("tables", table).splitlines()
    return "\n".join(line for line in lines if not line.startswith(_HEADER))


def table_columns(table: str) -> list[str]:
    """Column names in the table's order."""
    lines = table_ddl(table).splitlines()
    return [line.split()[0] for line in lines if line and not line[0].isspace()]


def table_key(table: str) -> list[str]:
    """Returns the key columns, from the header line ``-- Key: (...)``."""
    return _header_list("tables", table, "Key")


def table_partitioning(table: str) -> list[str]:
    """Returns the columns of ``-- Partitioned by: (...)``; empty without that line."""
    return _header_list("tables", table, "Partitioned by")


def table_about(table: str) -> str:
    """Returns the description: the first header line."""
    first = _text("tables", table).splitlines()[0].removeprefix(_HEADER).strip()
    return first.removeprefix(f"{table}:").strip()


def view_names() -> list[str]:
    """Names of all SQL views over the tables."""
    return list(_names("views"))


@cache
def view_sql(view: str) -> str:
    """Returns the SELECT of ``schemas/views/<view>.sql``, without comments.

    It uses the SQL that Spark and DuckDB share, apart from Spark's EXPLODE, SIZE and
    UNIX_MILLIS.
    """
    return _select("views", view)


def _select(folder: str, name: str) -> str:
    lines = _text(folder, name).splitlines()
    statements = (_COMMENT.sub("", line) for line in lines if not line.startswith(_HEADER))
    return "\n".join(line for line in statements if line.strip())


def view_about(view: str) -> str:
    """Returns the view's description, from its header line."""
    return _text("views", view).splitlines()[0].removeprefix(f"{_HEADER} {view}: ")


def view_columns(view: str) -> dict[str, str]:
    """Returns comments by column, in the view's order."""
    matches = (_COLUMN_COMMENT.search(line) for line in _text("views", view).splitlines())
    return {match["column"]: match["comment"] for match in matches if match}


@cache
def view_dependencies(view: str) -> frozenset[str]:
    """Returns the tables and views that the view reads."""
    named = frozenset(re.findall(r"\b(?:FROM|JOIN)\s+(\w+)", view_sql(view)))
    return named & {*table_names(), *view_names()}


def views_in_order() -> list[str]:
    """Returns all views, each after the views that it reads."""
    ordered: list[str] = []

    def add(view: str) -> None:
        for below in sorted(view_dependencies(view) & set(view_names())):
            add(below)
        if view not in ordered:
            ordered.append(view)

    for view in view_names():
        add(view)
    return ordered


def evidence_names() -> list[str]:
    """Names of all kinds of evidence: rows that Python computes from."""
    return list(_names("evidence"))


def evidence_sql(name: str, source: Callable[[str], str] = str, **parameters: str | int) -> str:
    """Returns the SELECT of ``schemas/evidence/<name>.sql``, without comments.

    ``source``: what the SELECT has after FROM or JOIN for a table; default: the table's name.
    ``parameters``: SQL expressions for what the file calls ``:name``.
    """

    def replaced(match: re.Match[str]) -> str:
        keyword, table, parameter = match.groups()
        return f"{keyword} {source(table)}" if keyword else str(parameters[parameter])

    # Replace all names in one pass, because a group's name in a source may look like a parameter.
    return _SOURCE_OR_PARAMETER.sub(replaced, _select("evidence", name))


@cache
def evidence_reads(name: str) -> frozenset[str]:
    """Returns the tables that the SELECT reads."""
    return frozenset(match[2] for match in _SOURCE.finditer(_select("evidence", name)))


def _header_list(folder: str, name: str, label: str) -> list[str]:
    prefix = f"{_HEADER} {label}: ("
    for line in _text(folder, name).splitlines():
        if line.startswith(prefix):
            inside = line.removeprefix(prefix).split(")", 1)[0]
            return [column.strip() for column in inside.split(",") if column.strip()]
    return []
