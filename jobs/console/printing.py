"""Print rows as a table, JSON or CSV on stdout.

Rows hold texts of any client of a cluster, so control characters are escaped.
"""

from __future__ import annotations

import base64
import csv
import json
import re
import sys
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, TextIO

# Characters: DEL and C1 controls, text directions, line and paragraph separators, lone surrogates.
_CONTROL = "\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
_UNPRINTABLE = re.compile(f"[\x00-\x1f{_CONTROL}]")
_UNPRINTABLE_IN_JSON = re.compile(f"[{_CONTROL}]")  # json.dumps escapes all other characters.
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"
    CSV = "csv"


class Document(StrEnum):
    """Formats of an answer in several parts."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


def print_rows(
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    format: Format = Format.TABLE,
    out: TextIO | None = None,
    title: str | None = None,
) -> None:
    """``rows`` as a table that fits ``out``, a JSON array of objects, or CSV with a header."""
    out = out or sys.stdout
    if format is Format.JSON:
        objects = [dict(zip(columns, map(jsonable, row), strict=True)) for row in rows]
        out.write(json_text(objects) + "\n")
    elif format is Format.CSV:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([_csv_text(name) for name in columns])
        writer.writerows([[_csv_text(_text(value)) for value in row] for row in rows])
    else:
        _print_table(columns, rows, out, title)


def json_text(value: Any) -> str:
    """JSON in lines, with control characters escaped.  ``value``: of `jsonable`."""
    return _UNPRINTABLE_IN_JSON.sub(_json_escape, json.dumps(value, ensure_ascii=False, indent=1))


def printable(text: str) -> str:
    """``text`` on one line, control characters escaped: \\x1b for ESC."""
    return _UNPRINTABLE.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return _NAMED.get(match[0]) or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")


def _json_escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def _csv_text(text: str) -> str:
    """`printable`, but with line ends and tabs: CSV quotes fields of several lines."""
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in text.split("\n"))


def jsonable(value: Any) -> Any:
    """A value that JSON can represent: bytes as base64, times in ISO 8601 with Z for UTC."""
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
    from jobs.console.table import print_table

    numeric = [all(isinstance(r[i], int | float | None) for r in rows) for i in range(len(columns))]
    names = [printable(name) for name in columns]
    texts = [[printable(_text(value)) for value in row] for row in rows]
    print_table(names, texts, numeric, out, title and printable(title))


def time_text(at_ms: int) -> str:
    """A time in UTC, in milliseconds."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(" ", "milliseconds")[:-6]
