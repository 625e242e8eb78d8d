"""What stands around a log line: prefixes of containers and terminals, JSON objects, line heads."""

from __future__ import annotations

import json
import re
import sys

from jobs.sources.log_json import flat_record

# A line with Kafka's own date in brackets is not wrapped.
PLAIN_HEAD = re.compile(rb"\[\d{4}-")
_FARTHEST_HEAD = 200
_DATE = re.compile(rb"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d")
_DATE_MIDDLE = re.compile(rb"-\d\d[ T]\d\d:")
_UNDATED_HEAD = re.compile(
    rb"(?:[\d/:., -]+ )?\[?(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b"
    rb"|\s*\[(?:GroupCoordinator|GroupMetadataManager|Group Metadata Manager)[ \]]|\s*\{"
)
# Prefixes of docker compose, journald and container runtimes.
_WRAPPER = re.compile(
    rb"[\w.-]+ *\| ?"
    rb"|(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d))"
    rb" (?:std(?:out|err) [FP] |\S+ [\w.-]+(?:\[\d+\])?: )"
)
_LEVEL = re.compile(r"\[?(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b")
_COLOR = re.compile(rb"\x1b\[[0-9;]*[A-Za-z]")


def may_have_date(text: bytes, end: int = sys.maxsize) -> bool:
    """Whether the middle of a date and time is in the first ``end`` bytes; a fast search."""
    return _DATE_MIDDLE.search(text, 0, end) is not None


def has_head(body: bytes) -> bool:
    """Whether a line begins with a date, a level or the coordinator's prefix."""
    if may_have_date(body, _FARTHEST_HEAD) and _DATE.search(body, 0, _FARTHEST_HEAD):
        return True
    return _UNDATED_HEAD.match(body, 0, _FARTHEST_HEAD) is not None


def unwrapped(raw: bytes) -> bytes:
    """A line without colors and prefixes; of a JSON object, its message as a line."""
    body = _COLOR.sub(b"", raw) if b"\x1b" in raw else raw
    wrapper = _WRAPPER.match(body)
    if wrapper and not _dated_by_wrapper_alone(body, wrapper.end()):
        body = body[wrapper.end() :]
    if body.startswith(b"{"):
        return _from_json(body)
    return body


def _dated_by_wrapper_alone(body: bytes, end: int) -> bool:
    """Whether the prefix has the line's only date and must be kept."""
    return body[:1].isdigit() and not re.search(rb"\d\d:\d\d:\d\d", body[end : end + 40])


def _from_json(body: bytes) -> bytes:
    """A JSON object's message as a line, with the object's date, level and logger where missing."""
    try:
        record = flat_record(json.loads(body.rstrip(b", \r\n")))
    except (ValueError, RecursionError):
        return body
    if record is None:
        return body
    line = record["message"].rstrip("\r\n")
    if not has_head(_encoded(line)) or line.startswith("[Group"):
        date, level, logger = (record.get(name) for name in ("date", "level", "logger"))
        if not _LEVEL.match(line):
            line = f"{level or 'INFO'} {line}"
        line = f"[{date}] {line}" if date else line
        line = f"{line} ({logger})" if logger else line
    elif record.get("date") and not _DATE.search(_encoded(line), 0, _FARTHEST_HEAD):
        line = f"[{record['date']}] {line}"
    return _encoded(line)


def _encoded(line: str) -> bytes:
    """JSON may escape halves of characters, which UTF-8 does not have."""
    return line.encode("utf-8", "replace")
