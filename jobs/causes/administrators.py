"""Actions of administrators on a group: causes of its current generation that start no
rebalance.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.causes.modern_groups import in_current
from jobs.causes.rows import cause_rows
from jobs.lake.keys import GROUP_KEY

# Event of a deleted group: its line names no member, and no rebalance follows.
GROUP_DELETED = "GROUP_DELETED"
# Event of a change of the group's dynamic configuration.
GROUP_CONFIG = "GROUP_CONFIG"


def deletions(timeline: DataFrame, generations: DataFrame) -> DataFrame:
    """Causes of the last generation of each group that an administrator deleted."""
    deleted = timeline.where("event = 'ADMIN_DELETE'")
    # Lines about consumer, share and streams groups name no generation.
    unnamed = deleted.where("current_generation IS NULL").withColumn("time", F.col("event_time"))
    placed = in_current(unnamed, generations).withColumn("current_generation", F.col("generation"))
    rows = deleted.unionByName(placed.select(*deleted.columns))
    return _of_current(rows, GROUP_DELETED, F.lit(None).cast("array<string>"))


def configurations(timeline: DataFrame) -> DataFrame:
    """Changes of groups' dynamic configurations, with the settings that differ from the previous
    configuration.  A line has all settings of the group.
    """
    history = Window.partitionBy(*GROUP_KEY).orderBy("seq")
    now = F.split("reason", ",")
    before = F.coalesce(F.lag("reason").over(history), F.lit(""))
    lines = timeline.where("event = 'GROUP_CONFIG'").withColumn("before", F.split(before, ","))
    changed = F.filter(now, lambda each: ~F.array_contains("before", each) & (each != ""))
    return _of_current(lines, GROUP_CONFIG, changed)


def _of_current(events: DataFrame, cause: str, settings: Column) -> DataFrame:
    return cause_rows(
        events.where("current_generation IS NOT NULL"),
        *("event_time", "reason"),
        generation=F.col("current_generation"),
        cause=F.lit(cause),
        kind=F.lit("other"),
        evidence=F.lit("log"),
        settings=settings,
        absorbed=F.lit(True),
    )
