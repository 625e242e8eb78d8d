"""Each partition that changed its process: when it was requested, released and assigned, and what
took longest.

reads   generations, ownership_gaps   of classic groups
        timeline, group_records, committed_offsets, topic_ids   of consumer and streams groups
writes  handovers   one row per partition and change of its process
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from coordinator_core.modern_history.handovers import REVOCATION, SESSION
from jobs.lake.group_types import COUNTS_AS_CLASSIC
from jobs.lake.keys import GENERATION_KEY, PARTITION_KEY
from jobs.lake.scope import RunScope
from jobs.modern_history.played import READS as PLAYED
from jobs.modern_history.played import with_played

READS = ("generations", "ownership_gaps", *PLAYED)

TABLE = "handovers"


def classic_handovers(generations: DataFrame, ownership_gaps: DataFrame) -> DataFrame:
    """The gaps of ownership that end with another process; a rebalance asks all members at once."""
    began = generations.where(COUNTS_AS_CLASSIC).select(
        *GENERATION_KEY, F.col("preparing_time").alias("requested_time")
    )
    is_change = "to_process IS NOT NULL AND generation IS NOT NULL AND to_process <> from_process"
    waited_for = F.when(F.col("why") == "session_expired", SESSION).otherwise(REVOCATION)
    absent = F.lit(None).cast("string")
    gaps = ownership_gaps.where(is_change).join(began, on=GENERATION_KEY, how="inner")
    return gaps.select(
        *GENERATION_KEY,
        "event_date",
        *PARTITION_KEY,
        absent.alias("subtopology"),
        "from_process",
        "to_process",
        absent.alias("from_member_id"),
        absent.alias("to_member_id"),
        "requested_time",
        F.col("from_time").alias("released_time"),
        F.col("to_time").alias("assigned_time"),
        "unowned_ms",
        waited_for.alias("waited_for"),
        "evidence",
        F.lit(True).alias("estimated"),
    )


def run(scope: RunScope) -> None:
    classic = classic_handovers(*map(scope.read, READS[:2]))
    scope.replace(TABLE, with_played(scope, classic, TABLE))


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("handovers")
