"""What the leader gave to whom, as the coordinator stored it.

reads   group_metadata, timeline, generation_members
writes  assignments   rows of assignor 'actual', one per partition given
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.arguments import main
from jobs.generation_members import RECORD
from jobs.tables import Lake
from jobs.timeline import LIFE

READS = ("timeline", "group_metadata", "generation_members")

ACTUAL = "actual"


def assignments(
    timeline: DataFrame, group_metadata: DataFrame, generation_members: DataFrame
) -> DataFrame:
    """The last record of a generation holds what its members have: replacements included."""
    placed = timeline.where("sign = 'RECORD' AND level IS NOT NULL").select(
        *RECORD, "incarnation", "seq"
    )
    newest = Window.partitionBy(*LIFE, "generation").orderBy(F.col("seq").desc())
    records = (
        group_metadata.join(placed, on=RECORD, how="inner")
        .withColumn("age", F.row_number().over(newest))
        .where("age = 1")
    )
    given = (
        records.withColumn("member", F.explode("members"))
        .withColumn("assigned", F.explode("member.assigned"))
        .withColumn("partition", F.explode("assigned.partitions"))
        .select(
            *LIFE,
            "generation",
            "member.member_id",
            F.col("assigned.topic").alias("topic"),
            "partition",
        )
    )
    who = generation_members.select(*LIFE, "generation", "member_id", "process", "event_date")
    return given.join(who, on=[*LIFE, "generation", "member_id"], how="inner").select(
        *LIFE,
        "generation",
        "event_date",
        F.lit(ACTUAL).alias("assignor"),
        "member_id",
        "process",
        "topic",
        "partition",
    )


def run(lake: Lake) -> None:
    given = assignments(*map(lake.read, READS))
    lake.replace("assignments", given, where=f"assignor = '{ACTUAL}'")


if __name__ == "__main__":
    main(__doc__, run)
