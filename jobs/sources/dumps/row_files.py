"""Dumps read in Python, row by row: JSON Lines with base64 (plain or gzip) and Avro.

Rows are dicts of RAW (jobs.sources.topic.raw_records); an unreadable one has its position and
bytes.
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
from typing import Any

import fastavro

from jobs.console.errors import internal_error
from jobs.lake.files import open_file
from jobs.sources.dumps.columns import Columns, Path, columns_of, paths_in, value_at
from jobs.sources.logs.file_bytes import KEPT_OF_LINE, LINE_BYTES, LongLine, to_line_end, too_long

GZIP, AVRO, PARQUET = b"\x1f\x8b", b"Obj\x01", b"PAR1"
SAMPLE = 1000
KEPT_BYTES = 16 << 20
_LONG = range(-(1 << 63), 1 << 63)
DAMAGE = (EOFError, OSError, zlib.error)


def json_columns(file: str) -> Columns:
    """The columns by the names in the first SAMPLE lines, because writers may omit null fields."""
    names: set[Path] = set()
    for _, line in islice(_lines(file), SAMPLE):
        record = _parsed(line)
        if isinstance(record, dict):
            names.update(paths_in(record))
    return columns_of(names, file)


def json_rows(file: str, columns: Columns) -> Iterator[dict[str, Any]]:
    """``position`` is the byte offset of the line in the uncompressed file."""
    for position, line in _lines(file):
        record = _parsed(line) if isinstance(line, bytes) else line
        if isinstance(record, dict):
            yield {"position": position, **record_row(record, columns, line)}
        elif not isinstance(line, bytes):
            yield {"position": position, **not_read(line)}
        elif line.strip():
            reason = "not a JSON object"
            yield {"position": position, "key": line[:KEPT_BYTES], "reason": reason}


def not_read(line: LongLine | Exception) -> dict[str, Any]:
    """The row about a line that is too long, or about the place where decompression fails."""
    if isinstance(line, LongLine):
        return {"key": line.beginning, "reason": too_long(line.size)}
    return {"key": b"", "unread_bytes": 0, "reason": f"cannot be decompressed: {line}"}


def uncompressed(stream: Any) -> Any:
    is_gzip = stream.read(2) == GZIP
    stream.seek(0)
    return gzip.open(stream) if is_gzip else stream


def avro_columns(file: str) -> Columns:
    with open_file(file) as stream:
        schema: Any = fastavro.reader(stream).writer_schema
    fields = schema.get("fields", []) if isinstance(schema, dict) else []
    return columns_of(paths_in({f["name"]: _fields_of(f["type"]) for f in fields}), file)


def avro_rows(file: str, columns: Columns) -> Iterator[dict[str, Any]]:
    """``position`` is the number of the record in the file.  The rest after damage is one row."""
    with open_file(file) as stream:
        size = stream.seek(0, 2)
        stream.seek(0)
        blocks = fastavro.block_reader(stream)
        number, end = 0, stream.tell()
        try:
            for block in blocks:
                for record in list(block):  # A damaged block yields no records.
                    yield {"position": number, **record_row(record, columns, b"")}  # type: ignore[arg-type]
                    number += 1
                end = stream.tell()
        # A damaged block makes its decoder raise any class of exception.
        except Exception as error:
            stream.seek(end)
            yield {
                "position": number,
                "key": stream.read(KEPT_BYTES),
                "unread_bytes": size - end,
                "reason": f"no Avro block from byte {end} on: {type(error).__name__}",
            }


def record_row(record: Mapping[str, Any], columns: Columns, raw: bytes) -> dict[str, Any]:
    """A row of RAW; an invalid record keeps ``raw``, its bytes, and the reason."""
    row: dict[str, Any] = {}
    try:
        row["topic"] = _text(value_at(record, columns.get("topic")), "topic")
        row["partition"] = _number(value_at(record, columns["partition"]), "partition", 1 << 31)
        row["log_offset"] = _number(value_at(record, columns["offset"]), "offset", 1 << 63)
        row["time_ms"] = _time_ms(value_at(record, columns["timestamp"]))
        row["key"] = _bytes(value_at(record, columns["key"]), "key")
        row["value"] = _bytes(value_at(record, columns["value"]), "value")
    except ValueError as error:
        row |= {"reason": str(error), "key": raw[:KEPT_BYTES], "value": None}
    except Exception as error:
        row |= {"reason": internal_error(error), "key": raw[:KEPT_BYTES], "value": None}
    return row


def _lines(file: str) -> Iterator[tuple[int, Any]]:
    """Yield byte position and line; instead of a line its LongLine, or the exception at which
    decompression fails.
    """
    with open_file(file) as stream:
        lines, position = uncompressed(stream), 0
        while True:
            try:
                line = lines.readline(LINE_BYTES + 1)
                length = len(line) if len(line) <= LINE_BYTES else to_line_end(lines, line)
            except DAMAGE as error:
                yield position, error
                return
            if not line:
                return
            if length > LINE_BYTES:
                yield position, LongLine(length, line[:KEPT_OF_LINE])
            else:
                yield position, line.removeprefix(b"\xef\xbb\xbf") if position == 0 else line
            position += length


def _parsed(line: Any) -> Any:
    if not isinstance(line, bytes):
        return line
    try:
        return json.loads(line)
    except UnicodeDecodeError:  # kcat prints bytes unchanged, even if they are not UTF-8.
        return _parsed_text(line.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError):
        return None


def _parsed_text(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _fields_of(avro_type: Any) -> dict[str, None] | None:
    """The fields of a record or an optional record, or None for other types."""
    for choice in avro_type if isinstance(avro_type, list) else [avro_type]:
        if isinstance(choice, dict) and choice.get("type") == "record":
            return {field["name"]: None for field in choice["fields"]}
    return None


def _text(field: Any, name: str) -> str | None:
    try:
        if field is not None:
            str(field).encode()
    except UnicodeEncodeError:  # JSON may escape half of a surrogate pair.
        raise ValueError(f"{name} {_shown(field)}") from None
    return None if field is None else str(field)


def _number(field: Any, name: str, limit: int) -> int:
    try:
        number = int(field) if isinstance(field, int | str) and field is not True else -1
    except ValueError:
        number = -1
    if not 0 <= number < limit:
        raise ValueError(f"{name} {_shown(field)}")
    return number


def _time_ms(field: Any) -> int | None:
    """Milliseconds since the epoch, or a time in ISO 8601 (UTC unless it has an offset)."""
    if field is None:
        return None
    try:
        if isinstance(field, str) and not field.lstrip("-").isdigit():
            field = datetime.fromisoformat(field)
        if isinstance(field, datetime):
            in_zone = field if field.tzinfo else field.replace(tzinfo=UTC)
            return round(in_zone.timestamp() * 1000)
        time_ms = int(field)
    except (ValueError, TypeError, OverflowError):
        time_ms = _LONG.stop
    if time_ms not in _LONG:
        raise ValueError(f"timestamp {_shown(field)}")
    return time_ms


def _bytes(field: Any, name: str) -> bytes | None:
    if field is None or isinstance(field, bytes):
        return field
    if isinstance(field, str) and field.startswith("\0"):
        return _bytes_of_text(field, name)
    data = decoded_base64(field)
    if data is None:
        raise ValueError(f"{name} is not base64")
    return data


def _bytes_of_text(text: str, name: str) -> bytes:
    """Bytes that kcat prints as text: keys and values begin with a byte 0, base64 does not."""
    if "\N{REPLACEMENT CHARACTER}" in text:
        raise ValueError(
            f"{name} has lost bytes: jq and other tools replace bytes that are not UTF-8"
        )
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise ValueError(f"{name} ends with an incomplete character") from None


def decoded_base64(text: Any) -> bytes | None:
    """Returns None for anything but base64.  Spark's base64() and MIME break it into lines."""
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, AttributeError, TypeError, ValueError):
        return None


def _shown(field: Any) -> str:
    """The value as Python writes it, without characters that are not text; an integer may be too
    long.
    """
    try:
        text = repr(field)
    except ValueError:
        text = "a number of more than 4300 digits"
    return text[:80].encode("ascii", "backslashreplace").decode()
