"""Layouts of records and tables, as data.  No Spark, no third-party imports."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

_HEADER = "--"


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
    """Every SQL view over the tables, in the order in which they may refer to each other."""
    return _names("views")


def view_sql(view: str) -> str:
    """The SELECT of ``schemas/views/<view>.sql``, in the words Spark SQL and DuckDB share."""
    lines = _text("views", view).splitlines()
    return "\n".join(line for line in lines if not line.startswith(_HEADER))


def view_about(view: str) -> str:
    """What the view answers, from its header line."""
    return _text("views", view).splitlines()[0].removeprefix(f"{_HEADER} {view}: ")


def _header_list(folder: str, name: str, label: str) -> list[str]:
    prefix = f"{_HEADER} {label}: ("
    for line in _text(folder, name).splitlines():
        if line.startswith(prefix):
            inside = line.removeprefix(prefix).split(")", 1)[0]
            return [column.strip() for column in inside.split(",") if column.strip()]
    return []
