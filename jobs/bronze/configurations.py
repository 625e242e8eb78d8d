"""Store the newest value of each setting in force, from files or the Admin API."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from jobs.bronze.live_end_offsets import say_once
from jobs.bronze.table_rows import arrow_schema
from jobs.lake.literals import quoted
from jobs.sources.configurations.files import Setting, settings_in
from jobs.sources.configurations.live import describe_settings
from jobs.sources.topic.kafka import Kafka

if TYPE_CHECKING:
    from jobs.lake.arrow_tables import ArrowLake
    from jobs.lake.tables import Lake

TABLE = "configurations"
ADMIN_API = "Admin API"


def store_files(lake: Lake, files: Iterable[str]) -> None:
    for file in files:
        _replace(lake, settings_in(file), file)


def store_live(lake: Lake, kafka: Kafka) -> None:
    """Settings that cannot be described are reported on stderr, once per process."""
    live = describe_settings(kafka)
    _replace(lake, live.settings, ADMIN_API)
    for problem in live.problems:
        say_once(problem)


def add_live(lake: ArrowLake, kafka: Kafka, groups: Collection[str]) -> None:
    """As `store_live`, without an engine: values that changed replace the stored ones."""
    live = describe_settings(kafka, groups)
    rows = list(_rows(lake, live.settings, ADMIN_API))
    if rows:
        lake.add_new(TABLE, pa.Table.from_pylist(rows, arrow_schema(TABLE)), replaces="value")
    for problem in live.problems:
        say_once(problem)


def _replace(lake: Lake, settings: Collection[Setting], source: str) -> None:
    """Replace all rows of each entity, so that settings that it no longer has are removed."""
    if not settings:
        return
    entities = sorted({(each.entity_type, each.entity) for each in settings})
    where = " OR ".join(
        f"(entity_type = {quoted(entity_type)} AND entity = {quoted(entity)})"
        for entity_type, entity in entities
    )
    names = arrow_schema(TABLE).names
    rows = [[row[name] for name in names] for row in _rows(lake, settings, source)]
    lake.replace(TABLE, lake.frame(TABLE, rows), where=where, few=True)


def _rows(lake: Lake, settings: Iterable[Setting], source: str) -> Iterable[dict[str, Any]]:
    seen_time = datetime.now(UTC)
    for each in settings:
        own = {"cluster_id": lake.cluster_id, "source": source, "seen_time": seen_time}
        yield each._asdict() | own
