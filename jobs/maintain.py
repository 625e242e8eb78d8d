"""Housekeeping: old dates go, small files are put together, files that nobody reads are deleted.

reads and rewrites every table of the lake, all clusters' rows; what is kept stays as it is.
spark-submit jobs/maintain.py --lake URI [--keep-days N] [--vacuum-hours H]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from delta.tables import DeltaTable

from jobs.command_line.arguments import require_lake, run_script
from jobs.command_line.config import Config, load_config
from jobs.console.errors import UsageError
from jobs.console.working import working
from jobs.engine.session import build_session
from jobs.lake.tables import Lake, again_if_overtaken
from schemas import table_names, table_partitioning

# Delta's own default: a reader's snapshot, or a transaction, may be that old.
VACUUM_HOURS = 168
# What a group's next life begins from, however long ago the last one was.
KEPT = {"group_days"}
COLUMNS = ["table", "oldest_kept", "rows_removed", "files_before", "files_after", "files_deleted"]


@dataclass(frozen=True)
class MaintainOptions:
    """``keep_days``: dates more than so many days ago go; None keeps all.

    ``vacuum_hours``: how long a file outlives the last version that has it.  Less than Delta's own
    default is for a lake that nobody reads or writes meanwhile.
    """

    lake: str
    keep_days: int | None = None
    vacuum_hours: int = VACUUM_HOURS

    def check(self) -> None:
        if self.keep_days is not None and self.keep_days < 1:
            raise UsageError(f"--keep-days {self.keep_days}: give at least 1, or leave it out")
        if self.vacuum_hours < 0:
            raise UsageError(f"--vacuum-hours {self.vacuum_hours}: give hours from 0 on")
        require_lake(self.lake)

    def oldest_kept(self, today: date) -> date | None:
        return None if self.keep_days is None else today - timedelta(days=self.keep_days)


def maintain(
    options: MaintainOptions, config: Config, today: date | None = None
) -> list[list[Any]]:
    """Rows of COLUMNS, one for each table that is there."""
    options.check()
    oldest = options.oldest_kept(today or datetime.now(UTC).date())
    spark = build_session(config)
    # VACUUM refuses less than its default, unless told that somebody thought about it.
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    spark.conf.set("spark.databricks.delta.vacuum.logging.enabled", "true")
    # VACUUM lists folders in so many tasks, 10,000 by default, however few there are.
    at_once = str(spark.sparkContext.defaultParallelism)
    spark.conf.set("spark.sql.sources.parallelPartitionDiscovery.parallelism", at_once)
    lake = Lake(spark, options.lake, cluster_id="")
    with working("maintain"):
        return [
            [name, oldest if is_dated(name) else None, *_maintained(table, name, oldest, options)]
            for name, table in _tables(lake)
        ]


def is_dated(table: str) -> bool:
    return "event_date" in table_partitioning(table) and table not in KEPT


def _tables(lake: Lake) -> Iterator[tuple[str, DeltaTable]]:
    for name in table_names():
        if DeltaTable.isDeltaTable(lake.spark, lake.path(name)):
            yield name, DeltaTable.forPath(lake.spark, lake.path(name))


def _maintained(
    table: DeltaTable, name: str, oldest: date | None, options: MaintainOptions
) -> list[Any]:
    removed = 0
    if oldest and is_dated(name):
        # Whole partitions: no file is rewritten.  What has no time is on day 0, and stays.
        old = f"event_date < DATE'{oldest}' AND event_date > DATE'1970-01-01'"
        version = _version(table)
        again_if_overtaken(lambda: table.delete(old))
        if _version(table) > version:  # where nothing matches, nothing is committed
            removed = _last_operation(table).get("numDeletedRows", 0)
    before = _file_count(table)
    again_if_overtaken(lambda: table.optimize().executeCompaction())
    after = _file_count(table)
    table.vacuum(options.vacuum_hours)
    return [removed, before, after, _last_operation(table).get("numDeletedFiles", 0)]


def _file_count(table: DeltaTable) -> int:
    return int(table.detail().select("numFiles").first()[0])


def _version(table: DeltaTable) -> int:
    return int(table.history(1).select("version").first()[0])


def _last_operation(table: DeltaTable) -> dict[str, int]:
    metrics = table.history(1).select("operationMetrics").first()[0]
    return {name: int(value) for name, value in metrics.items() if value.isdigit()}


def main() -> None:
    """The script for spark-submit; `regroup maintain` prints what it did."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lake", required=True, help="folder or URI of the Delta tables")
    parser.add_argument("--keep-days", type=int, help="dates before that go; default: none")
    parser.add_argument("--vacuum-hours", type=int, default=VACUUM_HOURS)
    parser.add_argument("--conf", help="TOML file with settings (default: conf/local.toml)")
    arguments = vars(parser.parse_args())
    conf = arguments.pop("conf")

    def act() -> None:
        for row in maintain(MaintainOptions(**arguments), load_config(conf)):
            print(*row)

    run_script(act)


if __name__ == "__main__":
    main()
