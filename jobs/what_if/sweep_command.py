"""`regroup what-if-sweep`: predict all groups of a cluster, and print the advice."""

from __future__ import annotations

from typing import NamedTuple

from coordinator_core.whatif import InvalidSetting, SettingsChange
from coordinator_core.whatif.currencies import PREFERENCES
from jobs import advice_outcomes
from jobs.configuration.config import Config
from jobs.console.errors import UsageError
from jobs.console.printing import Format, print_rows
from jobs.console.spinner import spinner
from jobs.lake.existing import open_existing_lake
from jobs.lake.literals import quoted
from jobs.lake.sql import missing_table, query
from jobs.what_if.result_rows import saved_column
from jobs.what_if_sweep import run

_MIGRATIONS = """
    SELECT rank, group_id, verdict,
        unowned_observed_partition_ms AS observed_ms,
        unowned_unchanged_partition_ms AS unchanged_ms,
        unowned_predicted_partition_ms AS predicted_ms,
        reason,
        ARRAY_TO_STRING(LIST_DISTINCT([b.blocker FOR b IN blockers]), ', ')
            AS blockers
    FROM migration_advice WHERE cluster_id = {cluster} ORDER BY rank"""


class SweepOptions(NamedTuple):
    """``combinations``: KEY=VALUE texts, each of one change; without any the candidates."""

    lake: str
    cluster_id: str
    combinations: tuple[str, ...]
    seeds: int
    prefer: str


def run_all(options: SweepOptions, config: Config, format: Format) -> None:
    """Predict all groups of a cluster into the tables, and print each group's advice; as a table,
    also whether to migrate it.
    """
    lake, cluster_id, combinations, seeds, prefer = options
    try:
        changes = tuple(SettingsChange.of(text.split()) for text in combinations)
    except InvalidSetting as error:
        raise UsageError(f"--set {error}") from None
    if seeds < 1:
        raise UsageError(f"--seeds {seeds}: must be at least 1")
    if prefer not in PREFERENCES:
        raise UsageError(f"--prefer {prefer}: not one of {', '.join(PREFERENCES)}")
    opened_lake = open_existing_lake(lake, cluster_id, config)
    if not opened_lake.has("ownership_gaps"):
        raise UsageError(missing_table(lake, "ownership_gaps"))
    with spinner("what-if-sweep"):
        run(opened_lake, changes or None, seeds, prefer)
        advice_outcomes.run(opened_lake)
    sql = f"""SELECT group_id, setting, ROUND(100 * share_saved) AS percent_saved, sentence
        FROM advice WHERE cluster_id = {quoted(cluster_id)} ORDER BY setting IS NULL,
        {saved_column(PREFERENCES[prefer].figure)} DESC, saved_unowned_partition_ms DESC,
        group_id"""
    print_rows(*query(lake, sql), format)
    if format is Format.TABLE:
        print_rows(*query(lake, _MIGRATIONS.format(cluster=quoted(cluster_id))), format)
