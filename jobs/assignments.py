"""The partitions that each member was assigned, as stored by the coordinator.

reads   group_metadata, timeline, generation_members
        group_records, topic_ids   of consumer, share and streams groups
writes  assignments   rows of assignor 'actual' and of targets, one per assigned partition
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.epochs.inputs import new_records, topic_names
from jobs.epochs.played import with_played
from jobs.epochs.rows import ACTUAL as ACTUAL
from jobs.group_metadata import members_with
from jobs.lake.keys import GENERATION_KEY, INCARNATION_KEY, RECORD_KEY
from jobs.lake.scope import RunScope

READS = ("timeline", "group_metadata", "generation_members", "group_records", "topic_ids")

# The rows that this job writes.
STORED = f"assignor = '{ACTUAL}' OR is_target = true"


def assignments(
    timeline: DataFrame, group_metadata: DataFrame, generation_members: DataFrame
) -> DataFrame:
    """The last record of a generation has its final members: those that replaced static members."""
    later = Window.partitionBy(*INCARNATION_KEY, "event_generation").orderBy("seq")
    last = (
        timeline.where("event = 'RECORD' AND event_generation IS NOT NULL")
        .withColumn("next_seq", F.lead("seq").over(later))
        .where("next_seq IS NULL")
        .select(*RECORD_KEY, "incarnation")
    )
    each = F.explode(members_with("member_id", "assigned"))
    members = group_metadata.select(*RECORD_KEY, "generation", each.alias("member")).select(
        *RECORD_KEY, "generation", "member.*"
    )
    processes = generation_members.select(*GENERATION_KEY, "member_id", "process", "event_date")
    assigned = members.join(last, on=RECORD_KEY, how="inner").join(
        processes, on=[*GENERATION_KEY, "member_id"], how="inner"
    )
    by_topic = assigned.withColumn("assigned", F.explode("assigned"))
    return by_topic.select(
        *GENERATION_KEY,
        "event_date",
        F.lit(ACTUAL).alias("assignor"),
        "member_id",
        "process",
        F.col("assigned.topic").alias("topic"),
        F.explode("assigned.partitions").alias("partition"),
        F.lit("active").alias("role"),
        F.lit(None).cast("string").alias("subtopology"),
        F.lit(False).alias("is_target"),
    )


def run(scope: RunScope) -> None:
    events, classic, members = map(scope.read, READS[:3])
    actual = assignments(events, classic, members)
    new = new_records(scope)
    names = None if new is None else topic_names(scope)
    rows = with_played(actual, "assignments", events, new, names)
    scope.replace("assignments", rows, where=STORED)


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("assignments")
