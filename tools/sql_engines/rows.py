"""The form in which rows of different engines are compared: sorted, each value as text."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

Rows = list[str]
_MICROSECONDS = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}")  # pattern of a time in JSON
_HALF_MS = timedelta(microseconds=500)


def comparable(rows: Iterable[Iterable[Any]]) -> Rows:
    """Sorted rows as text: floats to nine digits, times in UTC rounded to ms, as Trino has them."""
    return sorted(repr([_text(cell) for cell in row]) for row in rows)


def _text(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, float | Decimal):
        return f"{value:.9g}"
    if isinstance(value, datetime):
        return (value + _HALF_MS).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    if isinstance(value, str) and _MICROSECONDS.fullmatch(value):
        return _text(datetime.fromisoformat(value))
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    # The value is a struct; engines without names return its values in this order.
    if isinstance(value, dict):
        return [_text(field) for field in value.values()]
    if isinstance(value, list | tuple):
        return [_text(item) for item in value]
    return str(value)
