"""Damages tables of a lake directly on disk."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from jobs.lake.sql import query
from schemas import table_names, table_partitioning

# Table that differs between two runs over the same inputs.
RUNS = "runs"


def tables_of(lake: str) -> dict[str, list[str]]:
    """All rows of all tables, for comparison."""
    return {
        table: sorted(map(repr, query(lake, f"SELECT * FROM {table}")[1]))
        for table in table_names()
        if table != RUNS and DeltaTable.is_deltatable(f"{lake}/{table}")
    }


def files_of(lake: str, table: str) -> list[Path]:
    """The data files of the table's newest version, the largest first."""
    added = pa.table(DeltaTable(f"{lake}/{table}").get_add_actions(flatten=True)).to_pylist()
    paths = [Path(lake, table, unquote(file["path"])) for file in added]
    return sorted(paths, key=lambda path: path.stat().st_size, reverse=True)


def data_file_deleted(lake: str, table: str) -> None:
    files_of(lake, table)[0].unlink()


def bytes_flipped(lake: str, table: str) -> None:
    file = files_of(lake, table)[0]
    data = bytearray(file.read_bytes())
    middle = len(data) // 3
    data[middle : middle + 8] = bytes(byte ^ 0xFF for byte in data[middle : middle + 8])
    file.write_bytes(data)


def log_entry_deleted(lake: str, table: str) -> None:
    """Delete the second entry, or the first if there is only one."""
    entries = sorted(Path(lake, table, "_delta_log").glob("*.json"))
    entries[1 if len(entries) > 1 else 0].unlink()


def table_dropped(lake: str, table: str) -> None:
    shutil.rmtree(Path(lake, table))


def rows_deleted(lake: str, table: str) -> None:
    _rewritten(lake, table, lambda rows: rows.slice(1))


def rows_doubled(lake: str, table: str) -> None:
    _rewritten(lake, table, lambda rows: pa.concat_tables([rows, rows.slice(0, 1)]))


def column_dropped(lake: str, table: str) -> None:
    """Drop the last column, as if an older version had written the table."""
    _rewritten(lake, table, lambda rows: rows.drop_columns(rows.column_names[-1]))


def _rewritten(lake: str, table: str, change: Callable[[pa.Table], pa.Table]) -> None:
    path = f"{lake}/{table}"
    rows = change(DeltaTable(path).to_pyarrow_table())
    shutil.rmtree(path)
    write_deltalake(path, rows, partition_by=table_partitioning(table))


def value_changed(lake: str, table: str, column: str) -> None:
    """Change the first value that is not null, keeping its length."""

    def change(rows: pa.Table) -> pa.Table:
        cells = rows.column(column).to_pylist()
        first = next(n for n, cell in enumerate(cells) if cell is not None)
        cells[first] = _other(cells[first])
        index = rows.column_names.index(column)
        field = rows.schema.field(index)
        return rows.set_column(index, field, [pa.array(cells, field.type)])

    _rewritten(lake, table, change)


def _other(cell: Any) -> Any:
    if isinstance(cell, str):
        return cell[:-1] + ("x" if cell[-1:] != "x" else "y")
    if isinstance(cell, bytes):
        return cell[:-1] + bytes([cell[-1] ^ 1])
    if isinstance(cell, bool):
        return not cell
    return cell + (timedelta(seconds=1) if isinstance(cell, datetime) else 1)


DAMAGES: dict[str, Callable[[str, str], None]] = {
    "a data file deleted": data_file_deleted,
    "bytes of a data file flipped": bytes_flipped,
    "an entry of the Delta log deleted": log_entry_deleted,
    "the table dropped": table_dropped,
    "a row deleted": rows_deleted,
    "a row doubled": rows_doubled,
    "a column dropped": column_dropped,
}
