"""New members and replaced static members, by the first generation that has them.

Records show that a member is new, but not when it joined.  The time is the time of its line, or
else of the group epoch that its join began.  Records also have the settings of both members of a
replacement.  If a generation has no record, lines show who joined.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.causes.rows import cause_rows
from jobs.generation_members import by_instance
from jobs.lake.group_types import COUNTS_AS_CLASSIC
from jobs.lake.keys import GENERATION_KEY, GROUP_KEY, INCARNATION_KEY, MEMBER_KEY
from jobs.timeline import MEMBER_RECORD

# Consumer settings that records have, by their column in generation_members.
SETTINGS = {
    "session.timeout.ms": "session_timeout_ms",
    "max.poll.interval.ms": "rebalance_timeout_ms",
    "topics": "subscribed_topics",
}


def arrivals(
    timeline: DataFrame,
    generations: DataFrame,
    generation_members: DataFrame,
    group_epochs: DataFrame | None,
) -> DataFrame:
    """One row per generation and member that the previous generation did not have."""
    recorded = _recorded(timeline, generation_members, group_epochs)
    return recorded.unionByName(_logged(timeline, generations, generation_members))


def _recorded(
    timeline: DataFrame, generation_members: DataFrame, group_epochs: DataFrame | None
) -> DataFrame:
    joined = _with_join_time(_new_members(generation_members), timeline)
    replaced = _replacements(timeline)
    logged = joined.join(replaced, on=[*INCARNATION_KEY, "instance_id", "replaces"], how="left")
    dated = _with_record_time(_with_epoch_time(logged, group_epochs), timeline)
    is_replacement = F.col("change") == "replaced"
    is_unlogged = F.coalesce("replaced_time", "join_time").isNull()
    return cause_rows(
        dated,
        *("generation", "member_id", "replaces", "settings"),
        event_time=F.coalesce("replaced_time", "join_time", "record_time", "epoch_time"),
        cause=F.when(is_replacement, "STATIC_REPLACED").otherwise("MEMBER_NEW"),
        kind=F.lit("arrival"),
        evidence=F.when(is_unlogged, "records").otherwise("log"),
        absorbed=F.lit(False),
    )


def _logged(
    timeline: DataFrame, generations: DataFrame, generation_members: DataFrame
) -> DataFrame:
    """Members that no record has, in generations of classic groups without a record."""
    joined = _join_times(timeline, [*MEMBER_KEY]).select(
        *MEMBER_KEY, "generation", F.col("join_time").alias("event_time"),
        F.lit("MEMBER_NEW").alias("cause"), F.lit(None).cast("string").alias("replaces"),
    )  # fmt: skip
    replaced = timeline.where("event = 'STATIC_REPLACED'").select(
        *MEMBER_KEY, F.col("current_generation").alias("generation"), "event_time",
        F.lit("STATIC_REPLACED").alias("cause"), F.col("old_member_id").alias("replaces"),
    )  # fmt: skip
    unrecorded = generations.where(COUNTS_AS_CLASSIC).where("evidence = 'log'")
    recorded = generation_members.select(*MEMBER_KEY).distinct()
    rows = (
        joined.unionByName(replaced)
        .join(unrecorded.select(*GENERATION_KEY), on=GENERATION_KEY, how="left_semi")
        .join(recorded, on=MEMBER_KEY, how="left_anti")
    )
    return cause_rows(
        rows,
        *("generation", "member_id", "event_time", "cause", "replaces"),
        kind=F.lit("arrival"),
        evidence=F.lit("log"),
        absorbed=F.lit(False),
    )


def _join_times(timeline: DataFrame, key: list[str]) -> DataFrame:
    """``join_time`` is the time of each member's join line; ``generation`` is the generation that
    formed at that time.
    """
    # Later joins without an id from the broker are not arrivals: a classic member joins again
    # whenever the assignment of its consumer group changes.  The line may precede the tombstone of
    # an empty group of another type; this tombstone ends an incarnation.
    pending = F.max(F.when(F.col("step") == "pending", F.col("event_time")))
    return (
        timeline.where("event IN ('MEMBER_JOIN', 'STATIC_NEW')")
        .groupBy(*key)
        .agg(
            F.coalesce(pending, F.min("event_time")).alias("join_time"),
            F.max("forming_generation").alias("generation"),
        )
    )


def _new_members(generation_members: DataFrame) -> DataFrame:
    """Members, with the member that each replaces, and the settings in which the two differ."""
    is_replaced = F.col("change") == "replaced"
    # Within one generation, replaced members come first, and among these the member that did not
    # replace another member.
    instance = by_instance().orderBy(
        "generation",
        F.col("left_time").asc_nulls_last(),
        F.col("left_how").asc_nulls_last(),
        is_replaced,
    )
    predecessor = F.lag(F.struct("member_id", *SETTINGS.values())).over(instance)
    # Test the field, not the struct: for a condition on the struct, the embedded engine would still
    # read its fields.
    return (
        generation_members.withColumn("before", predecessor)
        .where("change <> 'retained'")
        .withColumns(
            {
                "replaces": F.when(is_replaced, F.col("before.member_id")),
                "settings": F.when(is_replaced, _changed_settings()),
            }
        )
    )


def _with_join_time(members: DataFrame, timeline: DataFrame) -> DataFrame:
    """``join_time`` is the time of the line about the member's join, null without a line."""
    joins = _join_times(timeline, [*GROUP_KEY, "member_id"]).drop("generation")
    # A member of a new type that was removed or left joins again under its id.
    again = (
        timeline.where("event = 'MEMBER_JOIN' AND NOT step <=> 'id_required'")
        .groupBy(*MEMBER_KEY, F.col("forming_generation").alias("generation"))
        .agg(F.min("event_time").alias("own_join_time"))
    )
    return (
        members.join(joins, on=[*GROUP_KEY, "member_id"], how="left")
        .join(again, on=[*GENERATION_KEY, "member_id"], how="left")
        .withColumn("join_time", F.coalesce("own_join_time", "join_time"))
    )


def _replacements(timeline: DataFrame) -> DataFrame:
    """The time at which each static member was replaced."""
    # The line about a replaced static member names the old member id, not the new one.
    return timeline.where("event = 'STATIC_REPLACED'").select(
        *INCARNATION_KEY,
        "instance_id",
        F.col("old_member_id").alias("replaces"),
        F.col("event_time").alias("replaced_time"),
    )


def _with_epoch_time(members: DataFrame, group_epochs: DataFrame | None) -> DataFrame:
    """``epoch_time`` is the time of the group epoch that the member's join began, null without an
    epoch.
    """
    if group_epochs is None:
        return members.withColumn("epoch_time", F.lit(None).cast("timestamp"))
    begun = (
        group_epochs.where("cause = 'MEMBER_NEW'")
        .groupBy(*GENERATION_KEY, "member_id")
        .agg(F.min("time").alias("epoch_time"))
    )
    return members.join(begun, on=[*GENERATION_KEY, "member_id"], how="left")


def _with_record_time(members: DataFrame, timeline: DataFrame) -> DataFrame:
    """``record_time`` is the time of the record of a static member's replacement, null without a
    record.
    """
    static = members.where("change = 'replaced'").select(*INCARNATION_KEY, "member_id").distinct()
    columns = [*INCARNATION_KEY, "member_id", "event_time"]
    of_groups = timeline.where("event = 'RECORD'").withColumn("member_id", F.explode("members"))
    of_members = timeline.where(F.col("event") == MEMBER_RECORD)
    first = (
        of_groups.select(*columns)
        .unionByName(of_members.select(*columns))
        .join(static, on=[*INCARNATION_KEY, "member_id"], how="left_semi")
        .groupBy(*INCARNATION_KEY, "member_id")
        .agg(F.min("event_time").alias("record_time"))
    )
    return members.join(first, on=[*INCARNATION_KEY, "member_id"], how="left")


def _changed_settings() -> Column:
    """The settings in which a member differs from the member ``before``; null if all are equal."""
    changes = [
        F.when(
            _shown(f"before.{column}") != _shown(column),
            F.concat(F.lit(f"{name} "), _shown(f"before.{column}"), F.lit(" -> "), _shown(column)),
        )
        for name, column in SETTINGS.items()
    ]
    changed = F.filter(F.array(*changes), lambda each: each.isNotNull())
    return F.when(F.size(changed) > 0, changed)


def _shown(column: str) -> Column:
    value = F.col(column)
    return F.array_join(value, ",") if column.endswith("topics") else value.cast("string")
