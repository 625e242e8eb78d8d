"""Rows for people and for programs: table, JSON or CSV on stdout."""

from __future__ import annotations

import base64
import csv
import json
import sys
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, TextIO


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"
    CSV = "csv"


def print_rows(
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    format: Format = Format.TABLE,
    out: TextIO | None = None,
    title: str | None = None,
) -> None:
    """``rows`` as a table as wide as they are, a JSON array of objects, or CSV with a header."""
    out = out or sys.stdout
    if format is Format.JSON:
        objects = [dict(zip(columns, map(jsonable, row), strict=True)) for row in rows]
        json.dump(objects, out, ensure_ascii=False, indent=1)
        out.write("\n")
    elif format is Format.CSV:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([[_text(value) for value in row] for row in rows])
    else:
        _print_table(columns, rows, out, title)


def jsonable(value: Any) -> Any:
    """JSON's types; bytes as base64, times in ISO 8601 with Z for UTC."""
    if isinstance(value, dict):
        return {str(name): jsonable(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(inner) for inner in value]
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value


def _text(value: Any) -> str:
    plain = jsonable(value)
    if plain is None:
        return ""
    if isinstance(value, datetime):
        return str(plain).replace("T", " ").removesuffix("Z")
    if isinstance(plain, bool):
        return str(plain).lower()
    if isinstance(plain, dict | list):
        return json.dumps(plain, ensure_ascii=False)
    return f"{plain:.3f}".rstrip("0").rstrip(".") if isinstance(plain, float) else str(plain)


def _print_table(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], out: TextIO, title: str | None
) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left")
    numeric = [all(isinstance(r[i], int | float | None) for r in rows) for i in range(len(columns))]
    for name, is_number in zip(columns, numeric, strict=True):
        table.add_column(name, justify="right" if is_number else "left", no_wrap=True)
    texts = [[_text(value) for value in row] for row in rows]
    for row in texts:
        table.add_row(*row)
    cells = [list(columns), *texts]
    width = sum(max(len(row[i]) for row in cells) + 3 for i in range(len(columns))) + 4
    Console(file=out, width=max(width, 40), highlight=False, markup=False, emoji=False).print(table)
