"""Departed members whose process was back with the state of its earlier membership."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.group_metadata import members_with
from jobs.lake.keys import GROUP_KEY, MEMBER_KEY

_BACK = [*GROUP_KEY, "back_id"]


def with_shared_clients(members: DataFrame, kept_states: DataFrame) -> DataFrame:
    """``members`` with ``back_id`` and ``back_ms`` also of clients with several processes, if the
    first subscription of the next member has the last generation of the removed one
    (`jobs.group_metadata.kept_states`); ``next_ms`` says when any process of this client arrived
    within another session timeout after the removal.
    """
    kept = kept_states.where("kept_generation IS NOT NULL").drop("kept_state")
    again = (
        members.where("is_new AND is_shared")
        .join(kept, on=[*GROUP_KEY, "member_id"], how="inner")
        .select(
            *(*GROUP_KEY, "client", "kept_generation"),
            F.col("member_id").alias("again_id"),
            F.col("arrived_ms").alias("again_ms"),
        )
    )
    expired = members.where("is_shared AND left_how = 'session_expired'")
    arrived = members.where("is_new AND is_shared").select(
        *GROUP_KEY, "client", F.col("arrived_ms").alias("next_ms")
    )
    following = (
        expired.select(*MEMBER_KEY, "client", "left_ms", "session_timeout_ms")
        .join(arrived, on=[*GROUP_KEY, "client"], how="inner")
        .where("next_ms BETWEEN left_ms AND left_ms + session_timeout_ms")
        .groupBy(*MEMBER_KEY)
        .agg(F.min("next_ms").alias("next_ms"))
    )
    removed = expired.select(
        *(*MEMBER_KEY, "client", "left_ms"),
        F.lpad(F.hex("generation"), 8, "0").alias("kept_generation"),
    )
    back = (
        removed.join(again, on=[*GROUP_KEY, "client", "kept_generation"], how="inner")
        .where("again_ms > left_ms")
        .groupBy(*MEMBER_KEY)
        .agg(
            F.min_by("again_id", "again_ms").alias("again_id"), F.min("again_ms").alias("again_ms")
        )
    )
    columns = {
        "back_id": F.coalesce("back_id", "again_id"),
        "back_ms": F.coalesce("back_ms", "again_ms"),
    }
    joined = members.join(back, on=MEMBER_KEY, how="left").join(
        following, on=MEMBER_KEY, how="left"
    )
    return joined.withColumns(columns).drop("again_id", "again_ms")


def returned(
    members: DataFrame,
    timeline: DataFrame,
    group_metadata: DataFrame,
    kept_states: DataFrame,
    frozen: DataFrame | None,
) -> DataFrame:
    """MEMBER_KEY of these members, with ``has_returned``; ``frozen``: further ones.

    The client names the error response because of which it joins again (KIP-800), or its first
    subscription has state of the previous membership: a generation from before it joined, or what
    `jobs.group_metadata.kept_states` reads.
    """
    departed = members.where("left_how IS NOT NULL AND back_id IS NOT NULL").select(
        *MEMBER_KEY, "back_generation", "back_id"
    )
    after_error = timeline.where("client_cause = 'ERROR_RESPONSE' AND event <> 'LEFT'").select(
        *GROUP_KEY, F.col("member_id").alias("back_id")
    )
    kept = kept_states.where("kept_state").select(*GROUP_KEY, F.col("member_id").alias("back_id"))
    back = (
        after_error.unionByName(kept)
        .unionByName(_with_generation(departed, timeline, group_metadata))
        .distinct()
    )
    of_members = departed.join(back, on=_BACK, how="inner").select(*MEMBER_KEY)
    if frozen is not None:
        of_members = of_members.unionByName(frozen)
    return of_members.distinct().withColumn("has_returned", F.lit(True))


def _with_generation(
    departed: DataFrame, timeline: DataFrame, group_metadata: DataFrame
) -> DataFrame:
    """Members whose first subscription has a generation from before they joined.

    A generation from after their join belongs to a rebalance that did not complete.
    """
    first_record = [*GROUP_KEY, "back_generation", "back_id"]
    subscribed = F.explode(members_with("member_id", "owned_generation"))
    joined = (
        timeline.where("event = 'MEMBER_JOIN'")
        .groupBy(*GROUP_KEY, F.col("member_id").alias("back_id"))
        .agg(F.min("forming_generation").alias("joined_in"))
    )
    return (
        group_metadata.select(
            *GROUP_KEY, F.col("generation").alias("back_generation"), subscribed.alias("member")
        )
        .withColumn("back_id", F.col("member.member_id"))
        .join(departed.select(*first_record).distinct(), on=first_record, how="left_semi")
        .join(joined, on=_BACK, how="left")
        .where("member.owned_generation < COALESCE(joined_in, back_generation)")
        .select(*_BACK)
    )
