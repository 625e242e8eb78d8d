"""The partitions that each member was assigned, as stored by the coordinator.

reads   group_metadata, timeline, generation_members
        group_records, committed_offsets, topic_ids   of consumer, share and streams groups
writes  assignments       rows of assignor 'actual' and of targets, one per assigned partition
        assignor_reruns   rows that lakes of older versions have in assignments
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.group_metadata import TASKS, members_with
from jobs.lake.client_rows import no_evidence
from jobs.lake.keys import GENERATION_KEY, INCARNATION_KEY, RECORD_KEY
from jobs.lake.scope import RunScope
from jobs.lake.tables import Lake
from jobs.modern_history.played import READS as PLAYED
from jobs.modern_history.played import with_played
from jobs.modern_history.rows import ACTUAL as ACTUAL

READS = ("timeline", "group_metadata", "generation_members", *PLAYED)

# Rows of members that consume, or run a Connect connector or task; standby tasks are excluded.
IS_OWNER = f"assignor = '{ACTUAL}' AND (role IS NULL OR role NOT IN ('standby', 'warmup'))"
# Rows of partitions of consumed topics. Connect tasks are excluded.
IS_CONSUMER = f"assignor = '{ACTUAL}' AND (role IS NULL OR role = 'active')"
RERUNS = "assignor_reruns"
# Older versions of the table also had the re-runs; rows of the oldest lakes have no is_target.
_RERUN = f"assignor <> '{ACTUAL}' AND (is_target IS NULL OR is_target = false)"


def assignments(
    timeline: DataFrame, group_metadata: DataFrame, generation_members: DataFrame
) -> DataFrame:
    """The last record of a generation has its final members, including members that replaced static
    members.
    """
    later = Window.partitionBy(*INCARNATION_KEY, "event_generation").orderBy("seq")
    last = (
        timeline.where("event = 'RECORD' AND event_generation IS NOT NULL")
        .withColumn("next_seq", F.lead("seq").over(later))
        .where("next_seq IS NULL")
        .select(*RECORD_KEY, "incarnation")
    )
    each = F.explode(members_with("member_id", "assigned", own={"tasks": TASKS}))
    members = group_metadata.select(*RECORD_KEY, "generation", each.alias("member")).select(
        *RECORD_KEY, "generation", "member.member_id", _assigned()
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
        "assigned.role",
        "assigned.subtopology",
        F.lit(False).alias("is_target"),
        no_evidence(),
    )


def _assigned() -> Column:
    """The partitions of a member, or what its own metadata say in a group of Connect or Streams,
    each with role, subtopology, topic and partitions.
    """
    tasks = F.transform(
        "member.tasks",
        lambda task: F.struct(
            task["role"].alias("role"),
            task["subtopology"].alias("subtopology"),
            task["topic"].alias("topic"),
            F.array(task["partition"]).alias("partitions"),
        ),
    )
    partitions = F.transform(
        "member.assigned",
        lambda assigned: F.struct(
            F.lit("active").alias("role"),
            F.lit(None).cast("string").alias("subtopology"),
            assigned["topic"].alias("topic"),
            assigned["partitions"].alias("partitions"),
        ),
    )
    return F.coalesce(tasks, partitions).alias("assigned")


def _move_reruns(lake: Lake) -> None:
    """Move re-runs from `assignments`, where older versions wrote them, to their own table."""
    if lake.rows_on_dates(RERUNS, None) or lake.rows_on_dates("assignments", None) == 0:
        return
    of_older_version = lake.read("assignments").where(_RERUN)
    if not of_older_version.isEmpty():
        lake.append(RERUNS, of_older_version)
        lake.replace("assignments", lake.frame("assignments", []), where=_RERUN)


def run(scope: RunScope) -> None:
    _move_reruns(scope.lake)
    events, classic, members = map(scope.read, READS[:3])
    actual = assignments(events, classic, members)
    rows = with_played(scope, actual, "assignments")
    scope.replace("assignments", rows)


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("assignments")
