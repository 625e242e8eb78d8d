"""Tables that are not whole: files gone or altered, columns missing, a commit taken out of the log.

reads   each table's Delta log, and every page of its Parquet files
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from jobs.sources.files import open_file
from schemas import table_columns, table_names

Damage = tuple[str, str, str]  # where, expected, found


def tables_there(root: str) -> list[str]:
    """Tables of which there is anything, be it damaged."""
    return [table for table in table_names() if _is_there(f"{root.rstrip('/')}/{table}")]


def _is_there(path: str) -> bool:
    return DeltaTable.is_deltatable(path) or ("://" not in path and Path(path).is_dir())


def damages(root: str, table: str) -> Iterator[Damage]:
    """What is wrong with the table's log, its columns, or a file of it: then it is not read."""
    path = f"{root.rstrip('/')}/{table}"
    try:
        delta = DeltaTable(path)
        files = pa.table(delta.get_add_actions(flatten=True)).to_pylist()
        columns = {field.name for field in delta.schema().fields}
    except (DeltaError, OSError, ValueError) as error:
        yield table, "a Delta table", _first_line(error)
        return
    yield from _gaps(path, table)
    for name in table_columns(table):
        if name not in columns:
            older = "none: of an older version; the next `regroup nightly` adds it"
            yield f"{table}.{name}", "a column", older
    for file in files:
        found = _wrong_with(f"{path}/{unquote(file['path'])}", file)
        if found:
            yield f"{table} {file['path']}", "as it was written", found


def _gaps(path: str, table: str) -> Iterator[Damage]:
    """A commit missing between two others; of an object store Delta itself keeps watch."""
    log = Path(path) / "_delta_log"
    versions = sorted(int(file.stem) for file in log.glob("*.json") if file.stem.isdigit())
    for before, after in pairwise(versions):
        if after != before + 1:
            yield table, f"commit {before + 1} in its log", f"none between {before} and {after}"


def _wrong_with(path: str, written: dict[str, Any]) -> str | None:
    try:
        with open_file(path) as stream:
            size = stream.seek(0, 2)
            if size != written["size_bytes"]:
                return f"{size} bytes, not {written['size_bytes']}"
            stream.seek(0)
            file = pq.ParquetFile(stream, page_checksum_verification=True)
            rows = sum(batch.num_rows for batch in file.iter_batches())
        if "://" not in path and _fails_checksum(Path(path)):
            return "bytes that its checksums do not know"
    except FileNotFoundError:
        return "no such file"
    except (OSError, ValueError, pa.ArrowException) as error:
        return _first_line(error)
    expected = written.get("num_records")
    return None if expected in (None, rows) else f"{rows} rows, not {expected}"


def _fails_checksum(file: Path) -> bool:
    """Whether the checksums that Hadoop leaves beside a local file say that it is another now.

    `.NAME.crc`: four letters, the size of a chunk, and CRC-32 of each (ChecksumFileSystem).  They
    cover what Parquet's own, one a page, leave out.
    """
    beside = file.with_name(f".{file.name}.crc")
    if not beside.is_file():
        return False
    said = beside.read_bytes()
    (chunk,) = struct.unpack_from(">i", said, 4)
    with file.open("rb") as stream:
        chunks = iter(lambda: stream.read(chunk), b"")
        found = b"".join(struct.pack(">I", zlib.crc32(data)) for data in chunks)
    return said[8:] != found


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
