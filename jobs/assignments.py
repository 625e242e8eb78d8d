"""What the leader gave to whom, as the coordinator stored it.

reads   group_metadata, timeline, generation_members
writes  assignments   rows of assignor 'actual', one per partition given
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.command_line.arguments import main
from jobs.generation_members import RECORD
from jobs.group_metadata import members_with
from jobs.lake.tables import Lake
from jobs.timeline import GENERATION, LIFE

READS = ("timeline", "group_metadata", "generation_members")

ACTUAL = "actual"


def assignments(
    timeline: DataFrame, group_metadata: DataFrame, generation_members: DataFrame
) -> DataFrame:
    """The last record of a generation holds what its members have: replacements included."""
    later = Window.partitionBy(*LIFE, "event_generation").orderBy("seq")
    last = (
        timeline.where("event = 'RECORD' AND event_generation IS NOT NULL")
        .withColumn("next_seq", F.lead("seq").over(later))
        .where("next_seq IS NULL")
        .select(*RECORD, "incarnation")
    )
    each = F.explode(members_with("member_id", "assigned"))
    members = group_metadata.select(*RECORD, "generation", each.alias("member")).select(
        *RECORD, "generation", "member.*"
    )
    who = generation_members.select(*GENERATION, "member_id", "process", "event_date")
    given = members.join(last, on=RECORD, how="inner").join(
        who, on=[*GENERATION, "member_id"], how="inner"
    )
    by_topic = given.withColumn("assigned", F.explode("assigned"))
    return by_topic.select(
        *GENERATION,
        "event_date",
        F.lit(ACTUAL).alias("assignor"),
        "member_id",
        "process",
        F.col("assigned.topic").alias("topic"),
        F.explode("assigned.partitions").alias("partition"),
    )


def run(lake: Lake) -> None:
    given = assignments(*map(lake.read, READS))
    lake.replace("assignments", given, where=f"assignor = '{ACTUAL}'")


if __name__ == "__main__":
    main(__doc__, run)
