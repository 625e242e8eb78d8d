"""Store the newest value of each setting in force, from files or the Admin API."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.bronze.live_end_offsets import say_once
from jobs.bronze.table_rows import arrow_schema
from jobs.lake.literals import quoted
from jobs.sources.configurations.files import BROKER, Setting, settings_in
from jobs.sources.configurations.live import describe_settings
from jobs.sources.topic.kafka import Kafka

if TYPE_CHECKING:
    from jobs.lake.arrow_tables import ArrowLake
    from jobs.lake.tables import Lake

TABLE = "configurations"
ADMIN_API = "Admin API"
# Suffix of the source of settings from a log, after the log's path.
START_UP = ": KafkaConfig values"


def store_files(lake: Lake, files: Iterable[str]) -> None:
    for file in files:
        _replace(lake, settings_in(file), file)


def store_start_ups(lake: Lake, rows: DataFrame) -> None:
    """Store the settings that brokers logged at their last start, unless another source has them.

    ``rows`` are the read rows of brokers' logs; rows of kind ``file`` count what was read.
    """
    printed = rows.where("kind = 'file' AND start_ups IS NOT NULL").select(
        *("path", "position", "start_ups", F.array_max(F.map_keys("kept_by_date")).alias("day"))
    )
    blocks = [
        _StartUp(broker, row.day or datetime.now(UTC).date(), row.path, row.position, settings)
        for row in printed.collect()
        for broker, settings in json.loads(row.start_ups).items()
    ]
    if not blocks:
        return
    stored: dict[str, dict[str, str]] = {}
    days: dict[str, date] = {}
    described = set()
    brokers = lake.read(TABLE).where(F.col("entity_type") == BROKER)
    for row in brokers.withColumn("day", F.to_date("seen_time")).collect():
        stored.setdefault(row.entity, {})[row.name] = row.value
        days[row.entity] = row.day
        if not row.source.endswith(START_UP):
            described.add(row.entity)
    for broker, of_broker in groupby(sorted(blocks), key=attrgetter("broker")):
        last, settings = _last(list(of_broker))
        is_older = broker in days and last.day < days[broker]
        # A run may read logs that an earlier run has read.  Unchanged settings are not written
        # again, because each change of this table renews the advice.
        if broker not in described and not is_older and stored.get(broker) != settings:
            own = [Setting(BROKER, broker, *each) for each in settings.items()]
            seen_time = datetime.combine(last.day, time(), UTC)
            _replace(lake, own, last.path + START_UP, seen_time)


@dataclass(frozen=True, order=True)
class _StartUp:
    """``day`` is the date of the last line kept; ``position`` is the position of the range of
    bytes.
    """

    broker: str
    day: date
    path: str
    position: int
    settings: dict[str, str] = field(compare=False)


def _last(start_ups: list[_StartUp]) -> tuple[_StartUp, dict[str, str]]:
    """The broker's last start, and the settings that all its logs of that day have in common."""
    last_of_log = {each.path: each for each in start_ups if each.day == start_ups[-1].day}
    common = set.intersection(*({*each.settings.items()} for each in last_of_log.values()))
    return start_ups[-1], dict(common)


def store_live(lake: Lake, kafka: Kafka) -> None:
    """Settings that cannot be described are reported on stderr, once per process."""
    live = describe_settings(kafka)
    _replace(lake, live.settings, ADMIN_API)
    for problem in live.problems:
        say_once(problem)


def add_live(lake: ArrowLake, kafka: Kafka, groups: Collection[str]) -> None:
    """Store values as `store_live` does, but without an engine: changed values replace the stored
    values.
    """
    live = describe_settings(kafka, groups)
    rows = list(_rows(lake, live.settings, ADMIN_API))
    if rows:
        lake.add_new(TABLE, pa.Table.from_pylist(rows, arrow_schema(TABLE)), replaces="value")
    for problem in live.problems:
        say_once(problem)


def _replace(
    lake: Lake, settings: Collection[Setting], source: str, seen_time: datetime | None = None
) -> None:
    """Replace all rows of each entity, so that settings that it no longer has are removed.

    ``seen_time`` is now by default.
    """
    if not settings:
        return
    entities = sorted({(each.entity_type, each.entity) for each in settings})
    where = " OR ".join(
        f"(entity_type = {quoted(entity_type)} AND entity = {quoted(entity)})"
        for entity_type, entity in entities
    )
    names = arrow_schema(TABLE).names
    rows = [[row[name] for name in names] for row in _rows(lake, settings, source, seen_time)]
    lake.replace(TABLE, lake.frame(TABLE, rows), where=where, few=True)


def _rows(
    lake: Lake, settings: Iterable[Setting], source: str, seen_time: datetime | None = None
) -> Iterable[dict[str, Any]]:
    seen_time = seen_time or datetime.now(UTC)
    for each in settings:
        own = {"cluster_id": lake.cluster_id, "source": source, "seen_time": seen_time}
        yield each._asdict() | own
