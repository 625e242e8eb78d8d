"""Find the columns of a dump (key, value, partition, ...) by the names in common use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from jobs.console.errors import UsageError

# Names are in this order: Spark's Kafka source, `kcat -J` (ts, payload), usual configurations of
# Connect's InsertField, and envelopes that have partition and offset in `metadata`.
SPELLINGS = {
    "key": ("key", "record_key", "kafka_key", "message_key"),
    "value": ("value", "record_value", "kafka_value", "message_value", "payload", "message"),
    "partition": ("partition", "kafka_partition", "record_partition", "topic_partition_id"),
    "offset": ("offset", "kafka_offset", "record_offset", "message_offset"),
    "timestamp": (
        "timestamp",
        "ts",
        "kafka_timestamp",
        "record_timestamp",
        "timestamp_ms",
        "append_time",
        "create_time",
    ),
    "topic": ("topic", "kafka_topic", "record_topic", "topic_name"),
}
OPTIONAL = {"topic"}
ENVELOPES = ("metadata", "kafka", "meta")

Path = tuple[str, ...]
Columns = Mapping[str, Path]


def columns_of(names: Iterable[Path], where: str) -> Columns:
    """The path in ``names`` of each column of SPELLINGS: one name, or two for a field of an
    envelope.  Case, ``_`` and ``-`` are ignored.

    UsageError with the existing names if a required column is missing.
    """
    paths = {_plain(path): path for path in reversed(sorted(names, key=len))}
    columns: dict[str, Path] = {}
    for column, spellings in SPELLINGS.items():
        for spelling in _with_envelopes(spellings):
            if spelling in paths:
                columns[column] = paths[spelling]
                break
    missing = sorted(SPELLINGS.keys() - OPTIONAL - columns.keys())
    if missing:
        existing = ", ".join(sorted(".".join(path) for path in paths.values())) or "none"
        raise UsageError(
            f"--dump {where}: no column for {' and '.join(missing)}; it has {existing}; "
            f"a dump needs key, value, partition, offset and timestamp"
        )
    return columns


def paths_in(record: Mapping[str, Any]) -> list[Path]:
    """The field names of a record and of its envelopes."""
    inner = [
        (name, field)
        for name, value in record.items()
        if isinstance(value, dict) and _bare(name) in ENVELOPES
        for field in value
    ]
    return [*((name,) for name in record), *inner]


def value_at(record: Mapping[str, Any], path: Path | None) -> Any:
    """Returns None if the record, or its envelope, has no such field."""
    value: Any = record if path else None
    for name in path or ():
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _with_envelopes(spellings: Iterable[str]) -> list[Path]:
    plain = [_bare(spelling) for spelling in spellings]
    return [(name,) for name in plain] + [
        (envelope, name) for envelope in ENVELOPES for name in plain
    ]


def _plain(path: Path) -> Path:
    return tuple(_bare(name) for name in path)


def _bare(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")
