"""Decides which of a rebalance's causes is its trigger.

reads   generations   the cause and the culprit that the start of the rebalance names
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.causes.modern_groups import STATIC_RETURN
from jobs.causes.triggers import NO_DEPARTURE
from jobs.lake.keys import GENERATION_KEY


def with_role(causes: DataFrame, generations: DataFrame) -> DataFrame:
    """The trigger is the cause of the member that the start names; without a culprit it is the
    generation's first cause.
    """
    absorbed = _is_absorbed()
    role = (
        F.when(absorbed, "absorbed")
        .when(_is_named() | _is_first(), "trigger")
        .otherwise("contributing")
    )
    # The generation in which a static member was replaced may be days old, so use the date of the
    # event itself.
    own_date = F.when(absorbed, F.to_date("event_time")).otherwise(F.col("event_date"))
    ranked = causes.join(_starts(generations), on=GENERATION_KEY, how="inner").withColumn(
        "role", role
    )
    return ranked.withColumns({"event_date": own_date, **_of_trigger()})


def _starts(generations: DataFrame) -> DataFrame:
    return generations.select(
        *GENERATION_KEY,
        "event_date",
        "culprit_member_id",
        "joined_time",
        F.col("cause").alias("start_cause"),
        F.col("reason").alias("start_reason"),
        F.col("client_reason").alias("start_client_reason"),
    )


def _is_absorbed() -> Column:
    after_join = F.coalesce(F.col("event_time") > F.col("joined_time"), F.lit(False))
    return ((F.col("cause") == "STATIC_REPLACED") & after_join) | F.col("absorbed")


def _is_named() -> Column:
    is_named = F.col("member_id").eqNullSafe(F.col("culprit_member_id")) & ~F.coalesce(
        (F.col("kind") == "departure") & F.col("start_cause").isin(NO_DEPARTURE), F.lit(False)
    )
    # A member may leave and join again before the next target.
    return is_named & (~F.col("is_new_type") | (F.col("cause") == F.col("start_cause")))


def _is_first() -> Column:
    # A cause on the broker's side has no member, e.g. a change of the group's protocol.
    in_order = Window.partitionBy(*GENERATION_KEY).orderBy(
        _is_absorbed(),
        F.col("member_id").isNotNull(),
        F.col("event_time").asc_nulls_last(),
        "kind",
        "member_id",
    )
    return F.col("culprit_member_id").isNull() & (F.row_number().over(in_order) == 1)


def _of_trigger() -> dict[str, Column]:
    """A trigger gets the cause and the reasons from the start of the rebalance."""
    is_trigger = F.col("role") == "trigger"
    returns = F.col("is_new_type") & (F.col("cause") == "STATIC_REPLACED")
    return {
        "cause": F.when(is_trigger & (F.col("kind") == "arrival"), F.col("start_cause"))
        .when(returns, STATIC_RETURN)
        .otherwise(F.col("cause")),
        "reason": F.coalesce(F.when(is_trigger, F.col("start_reason")), "reason"),
        "client_reason": F.coalesce(
            "client_reason", F.when(is_trigger, F.col("start_client_reason"))
        ),
    }
