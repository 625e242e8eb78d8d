"""Generates docs/tables from schemas/: an index, and a page per table and view with its columns.

.venv/bin/python -m tools.tables_page
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

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
from tools.manual.folder import DOCS, write_folder

FOLDER = DOCS / "tables"

INTRODUCTION = """\
# Tables and views

`tools/tables_page.py` generates these pages from `schemas/`. The Delta tables contain their
comments; `regroup register` adds all of them to a metastore. Times are UTC, durations are in ms,
null means unknown. Queries: [sql.md](../sql.md).

Tables and views to begin with: [episodes](episodes.md) has root causes and their cost,
[rebalances](rebalances.md) each rebalance, [rebalance_causes](rebalance_causes.md) each cause,
[ownership_gaps](ownership_gaps.md) partition downtime, and [findings](findings.md) known problems.
"""


def pages() -> dict[str, str]:
    """The text of each file of the folder, by the file's name."""
    tables = {f"{name}.md": _table(name) for name in table_names()}
    views = {f"{name}.md": _view(name) for name in view_names()}
    return {"README.md": _index(), **tables, **views}


def _index() -> str:
    tables = [(_link(name), _sentence(table_about(name))) for name in table_names()]
    views = [(_link(name), _sentence(view_about(name))) for name in view_names()]
    return (
        f"{INTRODUCTION}\n## Tables\n\n{_rows(('table', 'rows'), tables)}\n"
        f"\n## Views\n\n{_rows(('view', 'rows'), views)}\n"
    )


def _table(name: str) -> str:
    facts = [f"Table with the key {_listed(table_key(name))}."]
    if partitioning := table_partitioning(name):
        facts.append(f"Partitioned by {_listed(partitioning)}.")
    if readers := [view for view in view_names() if name in view_dependencies(view)]:
        facts.append(f"Read by the views {_links(readers)}.")
    head = f"# {name}\n\n{_sentence(table_about(name))}\n\n{_list(facts)}\n"
    rows = [
        (path, f"`{column.type}`" + (", required" if column.required else ""), column.comment or "")
        for path, column in _with_fields(columns(name))
    ]
    return head + _rows(("column", "type", "meaning"), rows) + "\n"


def _view(name: str) -> str:
    facts = [f"View of {_links(sorted(view_dependencies(name)))}."]
    head = f"# {name}\n\n{_sentence(view_about(name))}\n\n{_list(facts)}\n"
    return head + _rows(("column", "meaning"), view_columns(name).items()) + "\n"


def _with_fields(of: Iterable[Column], above: str = "") -> Iterator[tuple[str, Column]]:
    """Columns, each followed by the fields of its structs that have a comment, by path."""
    for column in of:
        if above and column.comment is None:
            continue
        plain = column._replace(type=column.type.outline())
        yield above + column.name, plain
        inner = column.type.of[0] if column.type.name == "ARRAY" else column.type
        yield from _with_fields(inner.fields, f"{above}{column.name}.")


def _list(facts: Iterable[str]) -> str:
    return "".join(f"- {fact}\n" for fact in facts)


def _rows(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(head)
    lines = [head, ["---"] * len(head), *([_cell(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;") if "`" not in text else text


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _links(names: Iterable[str]) -> str:
    return ", ".join(map(_link, names))


def _link(name: str) -> str:
    return f"[{name}]({name}.md)"


def _sentence(text: str) -> str:
    """The text with a capital and a full stop."""
    return f"{text[0].upper()}{text[1:].rstrip('.')}."


if __name__ == "__main__":
    write_folder(FOLDER, pages())
