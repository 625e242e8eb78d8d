"""Dumps that Python reads: JSON Lines with base64 (plain or gzip) and Avro, a row at a time.

Rows are dicts of RAW (jobs.sources.raw_records): what cannot be read keeps its place and bytes.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Any, BinaryIO

import fastavro

from jobs.sources.dump_columns import Columns, Path, columns_of, paths_in, value_at
from jobs.sources.files import open_file

GZIP, AVRO, PARQUET = b"\x1f\x8b", b"Obj\x01", b"PAR1"
SAMPLE = 1000
LINE_LIMIT = 64 << 20
KEPT_BYTES = 16 << 20
_LONG = range(-(1 << 63), 1 << 63)
_DAMAGE = (EOFError, OSError, zlib.error)


def json_columns(file: str) -> Columns:
    """By the names in the first SAMPLE lines: a writer may leave out what is null."""
    names: set[Path] = set()
    for _, line in islice(_lines(file), SAMPLE):
        record = _parsed(line)
        if isinstance(record, dict):
            names.update(paths_in(record))
    return columns_of(names, file)


def json_rows(file: str, columns: Columns) -> Iterator[dict[str, Any]]:
    """``position``: byte of the line's start, in the unpacked file."""
    for position, line in _lines(file):
        record = _parsed(line) if isinstance(line, bytes) else line
        if isinstance(record, dict):
            yield {"position": position, **record_row(record, columns, line)}
        elif isinstance(record, Exception):
            damage = {"key": b"", "unread_bytes": 0, "reason": f"cannot be unpacked: {record}"}
            yield {"position": position, **damage}
        elif line.strip():
            reason = "not a JSON object"
            yield {"position": position, "key": line[:KEPT_BYTES], "reason": reason}


def avro_columns(file: str) -> Columns:
    with open_file(file) as stream:
        schema: Any = fastavro.reader(stream).writer_schema
    fields = schema.get("fields", []) if isinstance(schema, dict) else []
    return columns_of(paths_in({f["name"]: _fields_of(f["type"]) for f in fields}), file)


def avro_rows(file: str, columns: Columns) -> Iterator[dict[str, Any]]:
    """``position``: number of the record in the file.  From damage on the file is one stretch."""
    with open_file(file) as stream:
        size = stream.seek(0, 2)
        stream.seek(0)
        blocks = fastavro.block_reader(stream)
        number, end = 0, stream.tell()
        try:
            for block in blocks:
                for record in list(block):  # all of a block or nothing: it has one fate
                    yield {"position": number, **record_row(record, columns, b"")}  # type: ignore[arg-type]
                    number += 1
                end = stream.tell()
        except Exception as error:  # whatever a damaged block makes its decoder raise
            stream.seek(end)
            yield {
                "position": number,
                "key": stream.read(KEPT_BYTES),
                "unread_bytes": size - end,
                "reason": f"no Avro block from byte {end} on: {type(error).__name__}",
            }


def record_row(record: Mapping[str, Any], columns: Columns, raw: bytes) -> dict[str, Any]:
    """A row of RAW; of a record that cannot be one ``raw`` is kept, where there is any."""
    row: dict[str, Any] = {}
    try:
        topic = value_at(record, columns.get("topic"))
        row["topic"] = None if topic is None else str(topic)
        row["partition"] = _number(value_at(record, columns["partition"]), "partition", 1 << 31)
        row["log_offset"] = _number(value_at(record, columns["offset"]), "offset", 1 << 63)
        row["time_ms"] = _time_ms(value_at(record, columns["timestamp"]))
        row["key"] = _bytes(value_at(record, columns["key"]), "key")
        row["value"] = _bytes(value_at(record, columns["value"]), "value")
    except ValueError as error:
        row |= {"reason": str(error), "key": raw[:KEPT_BYTES], "value": None}
    return row


def _lines(file: str) -> Iterator[tuple[int, Any]]:
    """Byte position and line; an exception in the place of the line where unpacking ends."""
    with open_file(file) as stream:
        packed = stream.read(2) == GZIP
        stream.seek(0)
        lines: BinaryIO = gzip.open(stream) if packed else stream  # type: ignore[assignment]  # noqa: SIM115
        position = 0
        while True:
            try:
                line = lines.readline(LINE_LIMIT)
            except _DAMAGE as error:
                yield position, error
                return
            if not line:
                return
            yield position, line.removeprefix(b"\xef\xbb\xbf") if position == 0 else line
            position += len(line)


def _parsed(line: Any) -> Any:
    if not isinstance(line, bytes):
        return line
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _fields_of(avro_type: Any) -> dict[str, None] | None:
    """The fields of a record, also of an optional one; None of anything else."""
    for choice in avro_type if isinstance(avro_type, list) else [avro_type]:
        if isinstance(choice, dict) and choice.get("type") == "record":
            return {field["name"]: None for field in choice["fields"]}
    return None


def _number(given: Any, name: str, limit: int) -> int:
    try:
        number = int(given) if isinstance(given, int | str) and given is not True else -1
    except ValueError:
        number = -1
    if not 0 <= number < limit:
        raise ValueError(f"{name} {_shown(given)}")
    return number


def _time_ms(given: Any) -> int | None:
    """Milliseconds since the epoch, or a time in ISO 8601 (in UTC where it does not say)."""
    if given is None:
        return None
    try:
        if isinstance(given, str) and not given.lstrip("-").isdigit():
            given = datetime.fromisoformat(given)
        if isinstance(given, datetime):
            in_zone = given if given.tzinfo else given.replace(tzinfo=UTC)
            return round(in_zone.timestamp() * 1000)
        time_ms = int(given)
    except (ValueError, TypeError, OverflowError):
        time_ms = _LONG.stop
    if time_ms not in _LONG:
        raise ValueError(f"timestamp {_shown(given)}")
    return time_ms


def _bytes(given: Any, name: str) -> bytes | None:
    if given is None or isinstance(given, bytes):
        return given
    try:
        # Spark's base64() and MIME break it into lines.
        return base64.b64decode("".join(given.split()), validate=True)
    except (binascii.Error, AttributeError, TypeError, ValueError):
        raise ValueError(f"{name} is not base64") from None


def _shown(given: Any) -> str:
    return f"{given!r:.80}"
