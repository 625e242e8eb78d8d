"""Finds damage of tables: missing or altered files, missing columns or commits.

reads   each table's Delta log and every page of its Parquet files
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from jobs.lake.checksums import fails_checksums
from jobs.lake.commit_log import CommitLog, FileLogFolder
from jobs.lake.compatibility import unknown_column
from jobs.lake.files import open_file
from jobs.lake.store_errors import unreadable
from schemas import table_columns, table_names
from schemas.renamed import renamed_in

Damage = tuple[str, str, str]  # where, expected, found


def tables_on_disk(root: str) -> list[str]:
    """The tables that exist, including damaged tables."""
    try:
        return [table for table in table_names() if _exists(f"{root.rstrip('/')}/{table}")]
    except OSError as error:  # of an object store
        raise unreadable(root, "it", error) from None


def _exists(path: str) -> bool:
    return DeltaTable.is_deltatable(path) or ("://" not in path and Path(path).is_dir())


def damages(root: str, table: str) -> Iterator[Damage]:
    """Damage of the table's log, columns and files.  A damaged table must not be read."""
    path = f"{root.rstrip('/')}/{table}"
    try:
        if (damage := CommitLog(FileLogFolder(f"{path}/_delta_log")).damage_of_log()) is not None:
            yield table, "whole newest commits", damage
            return
        delta = DeltaTable(path)
        files = pa.table(delta.get_add_actions(flatten=True)).to_pylist()
        columns = {field.name for field in delta.schema().fields}
    except (DeltaError, OSError, ValueError) as error:
        yield table, "a Delta table", _first_line(error)
        return
    yield from _gaps(path, table)
    renamed = renamed_in(table, columns)
    for old, new in renamed.items():
        yield (
            f"{table}.{old}",
            f"column {new}",
            "a column name of an older version; the next run renames it",
        )
    columns = {renamed.get(name, name) for name in columns}
    for name in table_columns(table):
        if name not in columns:
            older = "missing: table of an older version; the next `regroup nightly` adds it"
            yield f"{table}.{name}", "a column", older
    for name in sorted(columns - set(table_columns(table))):
        yield f"{table}.{name}", "no such column", unknown_column(path, name)
    for file in files:
        damage = file_damage(f"{path}/{unquote(file['path'])}", file)
        if damage:
            yield f"{table} {file['path']}", "the file as it was written", damage


def _gaps(path: str, table: str) -> Iterator[Damage]:
    """Commits that are missing between two other commits, in a local log."""
    log = Path(path) / "_delta_log"
    versions = sorted(int(file.stem) for file in log.glob("*.json") if file.stem.isdigit())
    for version, following in pairwise(versions):
        if following != version + 1:
            missing = f"commits between {version} and {following} are missing"
            yield table, f"commit {version + 1} in its log", missing


def file_damage(path: str, written: dict[str, Any]) -> str | None:
    """What is wrong with a data file, or None if it is whole.

    ``written``: its entry in the log.
    """
    try:
        with open_file(path) as stream:
            size = stream.seek(0, 2)
            if size != written["size_bytes"]:
                return f"{size} bytes, not {written['size_bytes']}"
            stream.seek(0)
            file = pq.ParquetFile(stream, page_checksum_verification=True)
            rows = sum(batch.num_rows for batch in file.iter_batches())
        if "://" not in path and fails_checksums(Path(path)):
            return "bytes that do not match its checksums"
    except FileNotFoundError:
        return "no such file"
    except (OSError, ValueError, pa.ArrowException) as error:
        return _first_line(error)
    expected = written.get("num_records")
    return None if expected in (None, rows) else f"{rows} rows, not {expected}"


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
