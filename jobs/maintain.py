"""Maintenance of a lake: deletes old dates, combines small files, deletes unreferenced files.
Repairs damaged tables.

reads and rewrites every table of the lake, for all clusters; the rows that are kept stay the same
spark-submit jobs/maintain.py --lake URI [--keep-days N] [--vacuum-hours H] [--repair]
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

from jobs.configuration.config import Config
from jobs.console.errors import UsageError
from jobs.console.spinner import spinner
from jobs.lake.arrow_tables import delta_schema
from jobs.lake.coverage import BRONZE, REPAIR
from jobs.lake.existing import open_existing_lake, require_lake
from jobs.lake.opening import open_without_engine
from jobs.lake.repair import Repair, all_locks, repair_tables
from jobs.lake.sql import query
from jobs.lake.tables import Lake, schema_of
from schemas import table_partitioning

# Hours of Delta's default retention: the snapshot of a reader or of a transaction may be this old.
VACUUM_HOURS = 168
# Tables whose rows are never deleted: the next incarnation of a group continues from the group's
# last row, however old.
KEPT_FOREVER = {"group_days"}
# Tables with rows of inputs.
INPUTS = {
    *BRONZE,
    *("trace_events", "quarantine", "ingested_files", "configurations"),
}
# Tables whose rows may be from the live topic.
OF_TOPIC = {"offsets_records", "quarantine"}
# Next steps for tables that no nightly run recomputes, which restore the tables' rows.
_SWEEP = "run `regroup what-if-sweep`, or `regroup nightly --advice`"
NEXT_STEPS = {
    **dict.fromkeys(("what_if", "advice", "process_lives", "migration_advice"), _SWEEP),
    "advice_outcomes": "earlier outcomes are lost; the next `regroup nightly --advice` adds others",
    "incident_replay": "run `regroup replay`",
    "topic_partitions": "run `regroup topic-partitions` with the file of topics",
    "group_snapshots": "these snapshots are lost; `regroup snapshot` adds others",
    "runs": "these runs are lost; the next `regroup nightly` computes their dates again",
}
REPAIR_COLUMNS = ["table", "damage", "next"]
COLUMNS = ["table", "oldest_kept", "rows_removed", "files_before", "files_after", "files_deleted"]


@dataclass(frozen=True)
class MaintainOptions:
    """``keep_days``: dates older than this many days are deleted; None keeps all.

    ``vacuum_hours`` say how long a file is kept after the last version that uses it.  Less than
    Delta's default is safe only while no other process reads or writes the lake.
    ``repair``: only repair damaged tables, see `repair_lake`.
    """

    lake: str
    keep_days: int | None = None
    vacuum_hours: int = VACUUM_HOURS
    repair: bool = False

    def check(self) -> None:
        if self.keep_days is not None and self.keep_days < 1:
            raise UsageError(f"--keep-days {self.keep_days}: use 1 or more, or omit it")
        if self.vacuum_hours < 0:
            raise UsageError(f"--vacuum-hours {self.vacuum_hours}: use 0 or more")
        if self.repair and (self.keep_days is not None or self.vacuum_hours != VACUUM_HOURS):
            raise UsageError("--repair: omit --keep-days and --vacuum-hours, and give them later")
        if self.repair and "://" in self.lake:
            raise UsageError(
                f"--repair: {self.lake} is an object store; repair needs a local folder"
            )
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


def repair_lake(options: MaintainOptions) -> list[list[str]]:
    """Repair damaged tables; returns rows of REPAIR_COLUMNS, one per table that was damaged.

    Bronze tables get their rows again from their inputs, because a run reads each given input in
    full.  Offsets of the live topic are set back to the first one.  If rows of a computed table are
    lost, or a bronze table is missing, the next run recomputes every date.
    """
    options.check()
    with spinner("repair"), all_locks(options.lake):
        repairs = repair_tables(options.lake)
        lossy = [each for each in repairs if each.has_lost_rows]
        if any(each.table in OF_TOPIC for each in lossy):
            _read_topic_again(options.lake)
        if names := [each.table for each in lossy if _is_recomputed(each)]:
            _forget_coverage(options.lake, names)
    return [[each.table, each.damage, _next_step(each)] for each in repairs]


def _is_recomputed(repair: Repair) -> bool:
    is_input = repair.table in INPUTS and not (repair.is_gone and repair.table in BRONZE)
    return not is_input and repair.table not in NEXT_STEPS


def _next_step(repair: Repair) -> str:
    if not repair.has_lost_rows:
        return "no row is lost"
    if repair.table in INPUTS:
        return "run `regroup nightly` with all inputs, also earlier ones; other rows are lost"
    return NEXT_STEPS.get(repair.table, "the next `regroup nightly` recomputes every date")


def _read_topic_again(root: str) -> None:
    """Let the next run read the live topic from the first offset that an earlier run read."""
    path = f"{root.rstrip('/')}/ingested_files"
    if DeltaTable.is_deltatable(path):
        again = {"next_offset": "COALESCE(first_offset, next_offset)"}
        DeltaTable(path).update(again, predicate="next_offset IS NOT NULL")


def _forget_coverage(root: str, repaired: list[str]) -> None:
    """Record the repair in `runs` for each cluster, so that the next run recomputes every date."""
    if not DeltaTable.is_deltatable(f"{root.rstrip('/')}/runs"):
        return
    now = datetime.now(UTC)
    for (cluster_id,) in query(root, "SELECT DISTINCT cluster_id FROM runs")[1]:
        row = {
            "cluster_id": cluster_id,
            "run_id": f"{now:%Y-%m-%dT%H:%M:%S}-{REPAIR}",
            "step": REPAIR,
            "from_time": now,
            "seconds": 0.0,
            "outcome": "done",
            "options": [("tables", ", ".join(repaired))],
            "bronze_versions": [],
        }
        schema = pa.schema(delta_schema(schema_of("runs")).to_arrow())
        rows = pa.Table.from_pylist([row], schema)
        open_without_engine(root, cluster_id).append_rows("runs", rows)


def _maintain_table(lake: Lake, table: str, oldest: date | None, vacuum_hours: int) -> list[Any]:
    removed = 0
    if oldest:
        # The condition selects whole Delta partitions, so no file is rewritten.  Rows without a
        # time have the date 1970-01-01 and are kept.
        old = f"event_date < DATE'{oldest}' AND event_date > DATE'1970-01-01'"
        removed = lake.delete_rows(table, old)
    files_before, files_after = lake.compact(table)
    deleted = lake.vacuum(table, vacuum_hours)
    return [table, oldest, removed, files_before, files_after, deleted]


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("maintain")
