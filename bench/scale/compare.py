"""Compares the rows of two lakes, by sums of the rows' hashes."""

from __future__ import annotations

from collections.abc import Iterable

import duckdb
from deltalake import DeltaTable

from jobs.lake.tables import schema_of


def differing_tables(lake: str, other: str, tables: Iterable[str]) -> list[str]:
    """The tables that either lake has and whose rows differ; the order of rows does not count."""
    return [table for table in tables if _fingerprint(lake, table) != _fingerprint(other, table)]


def _fingerprint(lake: str, table: str) -> tuple[int, int] | None:
    """The number of rows and the sum of their hashes, or None without such a table."""
    if not DeltaTable.is_deltatable(f"{lake}/{table}"):
        return None
    files = DeltaTable(f"{lake}/{table}").file_uris()
    if not files:
        return 0, 0
    # Engines store times in different Parquet types.
    columns = ", ".join(
        f'epoch_us("{field.name}")'
        if field.dataType.typeName() == "timestamp"
        else f'"{field.name}"'
        for field in schema_of(table)
    )
    with duckdb.connect() as connection:
        rows = connection.read_parquet(files, hive_partitioning=True)
        count, hashes = rows.aggregate(f"count(*), sum(hash({columns})::HUGEINT)").fetchall()[0]
    return count, hashes
