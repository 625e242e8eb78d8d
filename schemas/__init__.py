"""Layouts of records and tables, as data.  No Spark, no third-party imports."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_HEADER = "--"
# A column of a view, and what it is: the end of its line.
_NOTED = re.compile(r"(?P<column>\w+),?\s+-- (?P<comment>.+)$")
_NOTE = re.compile(r"\s+-- .*$")


@cache
def _text(folder: str, name: str) -> str:
    return (files(__name__) / folder / f"{name}.sql").read_text(encoding="utf-8")


def _names(folder: str) -> list[str]:
    here = files(__name__) / folder
    return sorted(f.name.removesuffix(".sql") for f in here.iterdir() if f.name.endswith(".sql"))


def table_names() -> list[str]:
    """Every Delta table of the lake."""
    return _names("tables")


def table_ddl(table: str) -> str:
    """The column list of ``schemas/tables/<table>.sql``, header comments stripped."""
    lines = _text("tables", table).splitlines()
    return "\n".join(line for line in lines if not line.startswith(_HEADER))


def table_columns(table: str) -> list[str]:
    """Names in the table's order."""
    lines = table_ddl(table).splitlines()
    return [line.split()[0] for line in lines if line and not line[0].isspace()]


def table_key(table: str) -> list[str]:
    """The columns that name a row, from the header line ``-- Key: (...)``."""
    return _header_list("tables", table, "Key")


def table_partitioning(table: str) -> list[str]:
    """The columns the table is partitioned by, from ``-- Partitioned by: (...)``; may be none."""
    return _header_list("tables", table, "Partitioned by")


def table_about(table: str) -> str:
    """The header's first sentence."""
    first = _text("tables", table).splitlines()[0].removeprefix(_HEADER).strip()
    return first.removeprefix(f"{table}:").strip()


def view_names() -> list[str]:
    """Every SQL view over the tables."""
    return _names("views")


def view_sql(view: str) -> str:
    """The SELECT of ``schemas/views/<view>.sql``, without comments.

    In the words that Spark SQL and DuckDB share; EXPLODE and UNIX_MILLIS are Spark's.
    """
    lines = _text("views", view).splitlines()
    bare = (_NOTE.sub("", line) for line in lines if not line.startswith(_HEADER))
    return "\n".join(line for line in bare if line.strip())


def view_about(view: str) -> str:
    """What the view answers, from its header line."""
    return _text("views", view).splitlines()[0].removeprefix(f"{_HEADER} {view}: ")


def view_columns(view: str) -> dict[str, str]:
    """The view's columns in order, each with its comment: what ends its line in the file."""
    noted = (_NOTED.search(line) for line in _text("views", view).splitlines())
    return {found["column"]: found["comment"] for found in noted if found}


def view_rests_on(view: str) -> set[str]:
    """The tables and views that the view itself names."""
    named = set(re.findall(r"\b(?:FROM|JOIN)\s+(\w+)", view_sql(view)))
    return named & {*table_names(), *view_names()}


def views_in_order() -> list[str]:
    """Every view, each after those it rests on."""
    ordered: list[str] = []

    def add(view: str) -> None:
        for below in sorted(view_rests_on(view) & set(view_names())):
            add(below)
        if view not in ordered:
            ordered.append(view)

    for view in view_names():
        add(view)
    return ordered


def _header_list(folder: str, name: str, label: str) -> list[str]:
    prefix = f"{_HEADER} {label}: ("
    for line in _text(folder, name).splitlines():
        if line.startswith(prefix):
            inside = line.removeprefix(prefix).split(")", 1)[0]
            return [column.strip() for column in inside.split(",") if column.strip()]
    return []
