"""Generates docs/tables.md from schemas/: all tables and views with their columns.

.venv/bin/python -m tools.tables_page docs/tables.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from schemas import (
    table_about,
    table_key,
    table_names,
    table_partitioning,
    view_about,
    view_columns,
    view_dependencies,
    view_names,
)
from schemas.columns import Column, columns

INTRODUCTION = """\
# Tables and views

Generated from `schemas/` by `tools/tables_page.py`. The Delta tables contain their comments;
`regroup register` adds all of them to a metastore. Times are UTC, durations are in ms, null means
unknown. Queries: [sql.md](sql.md).
"""


def page() -> str:
    parts = [INTRODUCTION, "## Tables", *map(_table, table_names())]
    parts += ["## Views", *map(_view, view_names())]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _table(name: str) -> str:
    facts = [f"Key: {_listed(table_key(name))}."]
    if partitioning := table_partitioning(name):
        facts.append(f"Partitioned by {_listed(partitioning)}.")
    head = f"### {name}\n\n{_sentence(table_about(name))} {' '.join(facts)}\n\n"
    rows = [
        (path, f"`{column.type}`" + (", required" if column.required else ""), column.comment or "")
        for path, column in _with_fields(columns(name))
    ]
    return head + _rows(("column", "type", "meaning"), rows)


def _view(name: str) -> str:
    below = _listed(sorted(view_dependencies(name)))
    head = f"### {name}\n\n{_sentence(view_about(name))} Reads {below}.\n\n"
    return head + _rows(("column", "meaning"), view_columns(name).items())


def _with_fields(of: Iterable[Column], above: str = "") -> Iterator[tuple[str, Column]]:
    """Columns, each followed by the fields of its structs that have a comment, by path."""
    for column in of:
        if above and column.comment is None:
            continue
        plain = column._replace(type=column.type.outline())
        yield above + column.name, plain
        inner = column.type.of[0] if column.type.name == "ARRAY" else column.type
        yield from _with_fields(inner.fields, f"{above}{column.name}.")


def _rows(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(head)
    lines = [head, ["---"] * len(head), *([_cell(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;") if "`" not in text else text


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _sentence(text: str) -> str:
    """The text with a capital and a full stop."""
    return f"{text[0].upper()}{text[1:].rstrip('.')}."


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
