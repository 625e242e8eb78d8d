"""Causes in consumer, share and streams groups.

reads   group_epochs, member_epochs   epochs, and static members that left for a while
        timeline                      lines about departures and refused joins
        generations                   targets, in order
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from coordinator_core.modern_history import causes
from coordinator_core.modern_history.evidence import SAME_REQUEST_MS
from coordinator_core.modern_history.members import AWAY
from jobs.causes.rows import cause_rows
from jobs.lake.keys import GENERATION_KEY, INCARNATION_KEY, MEMBER_KEY

STATIC_LEAVE, STATIC_RETURN = causes.STATIC_LEAVE, causes.STATIC_RETURN
# Cause of a second process that could not join with the instance id of a member.
STATIC_REFUSED = "STATIC_REFUSED"
# Causes of a group epoch, other than logged departures and arrivals.
EPOCH_CAUSES = (
    causes.SUBSCRIPTION_CHANGE,
    causes.ASSIGNOR_CHANGE,
    causes.REGEX,
    causes.TOPIC_CHANGE,
    causes.CONVERSION,
    causes.MEMBER_GONE,
)
DEPARTURES = (*causes.DEPARTURES.values(), causes.MEMBER_GONE)


def epoch_causes(group_epochs: DataFrame, generations: DataFrame) -> DataFrame:
    """Epochs that no arrival and no logged departure explains: topics, settings, conversions, and
    members that are gone without a line.
    """
    caused = group_epochs.where(F.col("cause").isin(*EPOCH_CAUSES))
    is_departure = F.col("cause") == causes.MEMBER_GONE
    taken_up = caused.where("generation IS NOT NULL").withColumn("absorbed", F.lit(False))
    dropped = in_current(caused.where((F.col("generation").isNull()) & is_departure), generations)
    kind = F.when(is_departure, "departure").otherwise("other")
    return _rows(taken_up.unionByName(dropped), kind, F.col("reason"), F.col("evidence"))


def static_leaves(member_epochs: DataFrame, timeline: DataFrame) -> DataFrame:
    """Static members that closed, and stay in the group until their session expires."""
    lines = timeline.where("event = 'LEFT' AND step = 'temporarily'").select(
        *MEMBER_KEY, F.col("event_time").alias("line_time")
    )
    left = member_epochs.where(f"epoch = {AWAY} AND generation IS NOT NULL").select(
        *GENERATION_KEY, "member_id", "time"
    )
    # The line has its place among the other lines, but the record may have the time of its batch.
    logged = left.alias("l").join(
        lines.alias("t"), on=_same_request(MEMBER_KEY, "l.time", "t.line_time"), how="left"
    )
    line_time = F.min("line_time").over(
        Window.partitionBy(*_of("l", GENERATION_KEY), "l.member_id", "l.time")
    )
    timed = (
        logged.select("l.*", line_time.alias("line_time"))
        .distinct()
        .withColumns(
            {
                "evidence": F.when(F.col("line_time").isNull(), "records").otherwise("log"),
                "time": F.coalesce("line_time", "time"),
                "cause": F.lit(STATIC_LEAVE),
                "absorbed": F.lit(True),
            }
        )
    )
    return _rows(timed, F.lit("departure"), F.lit(None), F.col("evidence"))


def logged_members(
    group_epochs: DataFrame, timeline: DataFrame, generations: DataFrame
) -> DataFrame:
    """New members, and static members that left temporarily or are back, known from lines alone."""
    logged = group_epochs.where("evidence = 'log'")
    joined = logged.where(F.col("cause") == causes.MEMBER_NEW).where("generation IS NOT NULL")
    arrivals = joined.select(
        *GENERATION_KEY, "member_id", "time", "cause", F.lit(False).alias("absorbed")
    )
    static = (
        timeline.join(
            logged.select(*INCARNATION_KEY).distinct(), on=INCARNATION_KEY, how="left_semi"
        )
        .where("event = 'STATIC_REPLACED' OR (event = 'LEFT' AND step = 'temporarily')")
        .withColumn(
            "cause", F.when(F.col("event") == "LEFT", STATIC_LEAVE).otherwise("STATIC_REPLACED")
        )
        .select(*INCARNATION_KEY, "member_id", F.col("event_time").alias("time"), "cause")
    )
    rows = arrivals.unionByName(in_current(static, generations).select(*arrivals.columns))
    kind = F.when(F.col("cause") == STATIC_LEAVE, "departure").otherwise("arrival")
    return _rows(rows, kind, F.lit(None), F.lit("log"))


def refused_joins(timeline: DataFrame, generations: DataFrame) -> DataFrame:
    """Processes that could not join because a member has their instance id: causes of this member,
    as the refused process never is one.
    """
    owner = F.col("old_member_id")
    refused = timeline.where("event = 'STATIC_FENCED' AND step = 'join'").select(
        *INCARNATION_KEY,
        owner.alias("member_id"),
        F.col("event_time").alias("time"),
        F.lit(STATIC_REFUSED).alias("cause"),
        F.concat(
            F.lit("Static member "), F.col("member_id"), F.lit(" with instance id "),
            F.col("instance_id"), F.lit(" cannot join the group because the instance id is owned"),
            F.lit(" by member "), owner,
        ).alias("reason"),
    )  # fmt: skip
    return _rows(in_current(refused, generations), F.lit("other"), F.col("reason"), F.lit("log"))


def in_generations(
    departures: DataFrame, generations: DataFrame, group_epochs: DataFrame
) -> DataFrame:
    """Logged departures in the generation that took them up; in the current one, as ``absorbed``,
    if no target did: before Kafka 4.4 none does for a group that becomes empty.
    """
    incarnations = group_epochs.select(*INCARNATION_KEY).distinct()
    epochs = group_epochs.where(F.col("cause").isin(*DEPARTURES)).select(
        *MEMBER_KEY, "time", F.col("generation").alias("taken_up"), F.lit(True).alias("has_epoch")
    )
    made = _spans(generations).drop("since", "until")
    own = departures.join(incarnations, on=INCARNATION_KEY, how="left_semi")
    matched = own.alias("d").join(
        epochs.alias("e"), on=_same_request(MEMBER_KEY, "d.event_time", "e.time"), how="left"
    )
    columns = [name for name in departures.columns if name not in ("generation", "absorbed")]
    placed = matched.select(
        *(F.col(f"d.{name}") for name in columns),
        F.when(F.col("e.has_epoch"), F.col("e.taken_up")).otherwise(F.col("d.generation"))
        .alias("generation"),
    ).join(made, on=GENERATION_KEY, how="left")  # fmt: skip
    # The record that a conversion writes repeats the number of a generation, after which the member
    # left.
    is_after = F.unix_millis("event_time") - F.unix_millis("begin") > SAME_REQUEST_MS
    generation = F.when(F.coalesce(is_after, F.lit(False)), F.col("following")).otherwise(
        F.when(F.col("is_made"), F.col("generation"))
    )
    placed = placed.withColumn("generation", generation).drop("is_made", "begin", "following")
    taken_up = placed.where("generation IS NOT NULL").withColumn("absorbed", F.lit(False))
    dropped = placed.where("generation IS NULL").withColumnRenamed("event_time", "time")
    absorbed = in_current(dropped, generations)
    others = departures.join(incarnations, on=INCARNATION_KEY, how="left_anti")
    return (
        others.unionByName(taken_up.select(*others.columns))
        .unionByName(absorbed.withColumnRenamed("time", "event_time").select(*others.columns))
    )  # fmt: skip


def in_current(rows: DataFrame, generations: DataFrame) -> DataFrame:
    """Rows in the generation that the group has at their ``time``, or in its first one."""
    spans = _spans(generations)
    is_current = F.coalesce(F.col("s.since") <= F.col("r.time"), F.lit(True)) & F.coalesce(
        F.col("r.time") < F.col("s.until"), F.lit(True)
    )
    same = [F.col(f"r.{name}") == F.col(f"s.{name}") for name in INCARNATION_KEY]
    columns = [
        F.col(f"r.{name}") for name in rows.columns if name not in ("generation", "absorbed")
    ]
    joined = rows.alias("r").join(spans.alias("s"), on=[*same, is_current], how="inner")
    return joined.select(*columns, F.col("s.generation"), F.lit(True).alias("absorbed"))


def _spans(generations: DataFrame) -> DataFrame:
    """The times at which each generation, and the ``following`` generation, began; ``since`` and
    ``until`` are null before the first and after the last one.
    """
    in_order = Window.partitionBy(*INCARNATION_KEY).orderBy("generation")
    begin = F.coalesce("joined_time", "preparing_time", "stable_time", "ended_time")
    return generations.withColumn("begin", begin).select(
        *GENERATION_KEY,
        "begin",
        F.when(F.lag("generation").over(in_order).isNotNull(), F.col("begin")).alias("since"),
        F.lead("begin").over(in_order).alias("until"),
        F.lead("generation").over(in_order).alias("following"),
        F.lit(True).alias("is_made"),
    )


def _same_request(key: list[str], left: str, right: str) -> list[Column]:
    same = [F.col(f"{left[0]}.{name}") == F.col(f"{right[0]}.{name}") for name in key]
    since_ms = F.abs(F.unix_millis(left) - F.unix_millis(right))
    return [*same, since_ms <= SAME_REQUEST_MS]


def _of(alias: str, names: list[str]) -> list[str]:
    return [f"{alias}.{name}" for name in names]


def _rows(rows: DataFrame, kind: Column, reason: Column, evidence: Column) -> DataFrame:
    return cause_rows(
        rows,
        "generation",
        "member_id",
        "cause",
        "absorbed",
        event_time=F.col("time"),
        kind=kind,
        reason=reason.cast("string"),
        evidence=evidence,
    )
