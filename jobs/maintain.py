"""Maintenance of a lake: deletes old dates, combines small files, deletes unreferenced files.

reads and rewrites every table of the lake, for all clusters; the rows that are kept stay the same
spark-submit jobs/maintain.py --lake URI [--keep-days N] [--vacuum-hours H]
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from jobs.configuration.config import Config
from jobs.console.errors import UsageError
from jobs.console.spinner import spinner
from jobs.lake.existing import open_existing_lake, require_lake
from jobs.lake.tables import Lake
from schemas import table_partitioning

# Delta's default: a reader's snapshot or a transaction may be this old.
VACUUM_HOURS = 168
# A group's next incarnation continues from the group's last row, at any age.
KEPT_FOREVER = {"group_days"}
COLUMNS = ["table", "oldest_kept", "rows_removed", "files_before", "files_after", "files_deleted"]


@dataclass(frozen=True)
class MaintainOptions:
    """``keep_days``: dates older than this many days are deleted; None keeps all.

    ``vacuum_hours`` say how long a file is kept after the last version that uses it.  Less than
    Delta's default is safe only while no other process reads or writes the lake.
    """

    lake: str
    keep_days: int | None = None
    vacuum_hours: int = VACUUM_HOURS

    def check(self) -> None:
        if self.keep_days is not None and self.keep_days < 1:
            raise UsageError(f"--keep-days {self.keep_days}: use 1 or more, or omit it")
        if self.vacuum_hours < 0:
            raise UsageError(f"--vacuum-hours {self.vacuum_hours}: use 0 or more")
        require_lake(self.lake)

    def oldest_kept(self, today: date) -> date | None:
        return None if self.keep_days is None else today - timedelta(days=self.keep_days)


def maintain(
    options: MaintainOptions, config: Config, today: date | None = None
) -> list[list[Any]]:
    """Rows of COLUMNS, one per existing table."""
    options.check()
    oldest = options.oldest_kept(today or datetime.now(UTC).date())
    lake = open_existing_lake(options.lake, cluster_id="", config=config)
    with spinner("maintain"):
        return [
            _maintain_table(lake, table, oldest if is_dated(table) else None, options.vacuum_hours)
            for table in lake.existing_tables()
        ]


def is_dated(table: str) -> bool:
    return "event_date" in table_partitioning(table) and table not in KEPT_FOREVER


def _maintain_table(lake: Lake, table: str, oldest: date | None, vacuum_hours: int) -> list[Any]:
    removed = 0
    if oldest:
        # Whole partitions, so no file is rewritten.  Rows without a time are on 1970-01-01 and are
        # kept.
        old = f"event_date < DATE'{oldest}' AND event_date > DATE'1970-01-01'"
        removed = lake.delete_rows(table, old)
    files_before, files_after = lake.compact(table)
    deleted = lake.vacuum(table, vacuum_hours)
    return [table, oldest, removed, files_before, files_after, deleted]


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("maintain")
