"""Source `trace`: traces of scenarios, JSON Lines in virtual time."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from itertools import chain
from typing import Any, BinaryIO

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from coordinator_core.records import decode
from jobs.console.errors import internal_error
from jobs.lake.files import open_file
from jobs.sources.logs.file_bytes import KEPT_OF_LINE, LINE_BYTES, to_line_end, too_long
from jobs.sources.rows import RowBuffer, SourceRows, counts_of_files, rows_of_files

FILES_LIKE = "*.jsonl"
TASKS = 200

EVENT_FIELDS = {
    "event": pa.string(),
    "at_ms": pa.int64(),
    "group_id": pa.string(),
    "step": pa.string(),
    "op": pa.string(),
    "error": pa.string(),
    "state": pa.string(),
    "generation": pa.int32(),
    "protocol_type": pa.string(),
    "protocol_name": pa.string(),
    "leader": pa.string(),
    "member_id": pa.string(),
    "members": pa.list_(pa.string()),
    "assignment": pa.binary(),
    "key": pa.binary(),
    "value": pa.binary(),
    "runner": pa.string(),
}
# Names of columns in the trace, where they differ.
TRACE_NAMES = {"group_id": "group", "step": "to", "member_id": "member"}
# The last three events occur only in traces of real brokers.
EVENTS = ("start", "response", "record", "state", "log", "no_response", "skipped")
# These include the base classes of pyarrow's errors and of BadRecord.
_WRONG = (ValueError, TypeError, RecursionError, OverflowError)

# One row is an event, an unreadable line, or the file's counts, which come last in the file.
ROWS = pa.schema(
    [
        ("kind", pa.string()),
        ("path", pa.string()),
        ("trace_id", pa.string()),
        ("position", pa.int64()),
        *EVENT_FIELDS.items(),
        ("line", pa.string()),
        ("reason", pa.string()),
        ("raw", pa.binary()),
        ("length", pa.int64()),
        ("bytes", pa.int64()),
        ("inputs", pa.int64()),
        ("kept", pa.int64()),
        ("quarantined", pa.int64()),
        ("skipped", pa.int64()),
    ]
)


def traces_source(files: list[str]) -> SourceRows:
    """ROWS of all ``files``."""
    return SourceRows(
        ROWS,
        counts_of_files,
        lambda spark: read_traces(spark, files),
        lambda _: chain.from_iterable(map(trace_rows, files)),
        files=files,
    )


def read_traces(spark: SparkSession, files: list[str]) -> DataFrame:
    """ROWS of all ``files``."""
    return rows_of_files(spark, files, trace_rows, ROWS, most_tasks=TASKS)


def trace_rows(path: str) -> Iterator[pa.RecordBatch]:
    """Arrow batches of ROWS for one file."""
    buffer, counts = RowBuffer(ROWS), dict.fromkeys(("event", "quarantined", "skipped"), 0)
    with open_file(path) as stream:
        common = {"path": path, "trace_id": trace_id(path, stream)}
        size, position = stream.seek(0, 2), stream.seek(0)
        while line := stream.readline(LINE_BYTES + 1):
            length = len(line) if len(line) <= LINE_BYTES else to_line_end(stream, line)
            row = line_row(line) if length <= LINE_BYTES else _too_long(line, length)
            counts[row["kind"]] += 1
            if row["kind"] != "skipped":
                buffer.add(common | {"position": position} | row)
            if buffer.is_full:
                yield buffer.take()
            position += length
    inputs = {"bytes": size, "inputs": sum(counts.values()), "kept": counts.pop("event")}
    buffer.add(common | {"kind": "file"} | inputs | counts)
    yield buffer.take()


def trace_id(path: str, stream: BinaryIO) -> str:
    """A hash of name and content: different scenarios may have equal traces."""
    digest = hashlib.file_digest(stream, "sha256")  # type: ignore[arg-type]  # has readinto
    digest.update(path.rsplit("/", 1)[-1].encode())
    return digest.hexdigest()[:16]


def line_row(line: bytes) -> dict[str, Any]:
    """An event with EVENT_FIELDS, or the reason why it is unreadable; empty lines are skipped."""
    if not line.strip():
        return {"kind": "skipped"}
    try:
        fields = _event_fields(json.loads(line))
        for name, value in fields.items():
            pa.scalar(value, EVENT_FIELDS[name])
        text = line.decode()
    except _WRONG as error:
        return _unreadable(line.rstrip(b"\r\n"), f"not a trace event: {error}")
    except Exception as error:
        return _unreadable(line.rstrip(b"\r\n"), internal_error(error))
    return {"kind": "event", "line": text.rstrip("\r\n"), **fields}


def _unreadable(raw: bytes, reason: str) -> dict[str, Any]:
    text = reason.encode("utf-8", "backslashreplace").decode()
    return {"kind": "quarantined", "reason": text, "raw": raw, "length": len(raw)}


def _too_long(line: bytes, length: int) -> dict[str, Any]:
    return _unreadable(line[:KEPT_OF_LINE], too_long(length)) | {"length": length}


def _event_fields(event: Any) -> dict[str, Any]:
    """Raises one of _WRONG if this is not an event of a trace."""
    if not isinstance(event, dict) or event.get("event") not in EVENTS:
        raise ValueError(f"expected an object with an event of {', '.join(EVENTS)}")
    if event["event"] != "start" and not isinstance(event.get("at_ms"), int):
        raise ValueError(f"at_ms {event.get('at_ms')!r:.80}")
    fields = {name: event.get(TRACE_NAMES.get(name, name)) for name in EVENT_FIELDS}
    for name in ("assignment", "key", "value"):
        text = fields[name]
        fields[name] = None if text is None else base64.b64decode(text, validate=True)
    if event["event"] == "record":
        fields["group_id"] = decode(fields["key"] or b"", fields["value"]).key.get("group")
    listed = event.get("member_ids" if event["event"] == "start" else "members")
    fields["members"] = None if listed is None else [_member_id(member) for member in listed]
    return fields


def _member_id(member: Any) -> Any:
    """The id of a member, written as the id or as a list that begins with it."""
    return member[0] if isinstance(member, list) and member else member
