"""CSV of CloudWatch Logs Insights -> a record of JSON per row.

The message of a row may have several lines.  Its time is in UTC although the file does not say so,
unlike times in other exports.  The header names the columns of message and time.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_HEADER = re.compile(rb'(?:\xef\xbb\xbf)?(?=[^\n]*@timestamp)(?=[^\n]*@message)"?@[\w.@", -]+\r?\n')
TIME, MESSAGE = "@timestamp", "@message"
_WITHOUT_ZONE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?")


def is_insights(beginning: bytes) -> bool:
    """Returns whether the first line is the header of an export of CloudWatch Logs Insights."""
    return _HEADER.match(beginning) is not None


def insights_lines(text: bytes) -> Iterator[tuple[int, bytes]]:
    """Position and JSON line of each row; other rows and the header are unchanged."""
    lines = text.splitlines(keepends=True)
    read: list[bytes] = []

    def decoded() -> Iterator[str]:
        for line in lines:
            read.append(line)
            yield line.decode("utf-8", "surrogateescape")

    position, header = 0, None
    for row in csv.reader(decoded()):
        raw = b"".join(read)
        read.clear()
        if header is None:
            header = [name.strip("\ufeff ") for name in row]
            yield position, raw
        elif len(row) == len(header):
            record = dict(zip(header, row, strict=True))
            yield position, json.dumps(with_zone(record)).encode() + b"\n"
        elif raw.strip():
            yield position, raw
        position += len(raw)


def with_zone(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record with UTC as zone of its time: Insights prints UTC without a zone."""
    time = record.get(TIME)
    is_bare = isinstance(time, str) and _WITHOUT_ZONE.fullmatch(time) is not None
    return {**record, TIME: f"{time}Z"} if is_bare else dict(record)
