"""Print rows as a table that fits a terminal.

On a narrow terminal, the longest columns are folded.  If that is not enough, each row becomes a
block with one line per column.  In a file or a pipe, nothing is folded.
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Sequence
from typing import TextIO

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table

_GAP = 3  # blanks between columns
_EDGES = 2
_NARROWEST = 24  # maximum width of a folded column: wide enough for a time, or half a UUID


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    numeric: Sequence[bool],
    out: TextIO,
    title: str | None = None,
) -> None:
    """``rows`` are texts without line ends; ``numeric`` columns are aligned right."""
    widths = [max(map(cell_len, column)) for column in zip(columns, *rows, strict=True)]
    natural = sum(widths) + _GAP * (len(columns) - 1) + _EDGES
    limit = shutil.get_terminal_size().columns if out.isatty() else None
    if limit is None or natural <= limit:
        _print(_table(columns, rows, numeric, widths, title), max(natural, 40), out)
    elif (widest := _widest(widths, limit - natural + sum(widths))) is not None:
        folded = [min(width, widest) for width in widths]
        _print(_table(columns, rows, numeric, folded, title), limit, out)
    else:
        _print_blocks(columns, rows, out, title)


def _widest(widths: Sequence[int], room: int) -> int | None:
    """The width limit for columns so that all fit into ``room``, or None if below _NARROWEST."""
    for widest in range(max(widths), _NARROWEST - 1, -1):
        if sum(min(width, widest) for width in widths) <= room:
            return widest
    return None


def _table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    numeric: Sequence[bool],
    widths: Sequence[int],
    title: str | None,
) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left")
    for name, is_number, width in zip(columns, numeric, widths, strict=True):
        justify = "right" if is_number else "left"
        table.add_column(name, justify=justify, overflow="fold", width=width)  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*row)
    return table


def _print(table: Table, width: int, out: TextIO) -> None:
    is_terminal = out.isatty()
    text = io.StringIO()
    console = Console(
        file=text,
        width=width,
        force_terminal=is_terminal,
        highlight=False,
        markup=False,
        emoji=False,
    )
    console.print(table)
    for line in text.getvalue().splitlines():
        out.write(f"{line if is_terminal else line.rstrip()}\n")


def _print_blocks(
    columns: Sequence[str], rows: Sequence[Sequence[str]], out: TextIO, title: str | None
) -> None:
    if title:
        out.write(f"{title}\n")
    width = max(map(cell_len, columns))
    for row in rows:
        lines = [
            f" {name}{' ' * (width - cell_len(name))}   {text}"
            for name, text in zip(columns, row, strict=True)
        ]
        out.write("\n".join(["", *(line.rstrip() for line in lines), ""]))
    out.write("\n")
