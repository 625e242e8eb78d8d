"""Departed members whose process was back with the state of its earlier membership."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.group_metadata import members_with
from jobs.lake.keys import GROUP_KEY, MEMBER_KEY

# The end of a ConsumerProtocolSubscription of version 1 to 3: user data with a generation, no owned
# partitions; from version 2 on no generation, from version 3 on a rack or none.
_STICKY_GENERATION = "00000004[0-7][0-9A-F]{7}00000000(FFFFFFFF(FFFF|0[0-9A-F]+)?)?$"


def returned(members: DataFrame, timeline: DataFrame, group_metadata: DataFrame) -> DataFrame:
    """MEMBER_KEY of these members, with ``has_returned``.

    The client names the error response because of which it joins again (KIP-800), or its
    subscription has a generation, although its member id is new: of the partitions that it owned,
    or in the user data of Java's CooperativeStickyAssignor.
    """
    departed = members.where("left_how IS NOT NULL AND back_id IS NOT NULL").select(
        *MEMBER_KEY, "back_generation", "back_id"
    )
    after_error = timeline.where("client_cause = 'ERROR_RESPONSE' AND event <> 'LEFT'").select(
        *GROUP_KEY, F.col("member_id").alias("back_id")
    )
    back = after_error.unionByName(_with_generation(departed, group_metadata)).distinct()
    return departed.join(back, on=[*GROUP_KEY, "back_id"], how="inner").select(
        *MEMBER_KEY, F.lit(True).alias("has_returned")
    )


def _with_generation(departed: DataFrame, group_metadata: DataFrame) -> DataFrame:
    first_record = [*GROUP_KEY, "back_generation", "back_id"]
    subscribed = F.explode(members_with("member_id", "owned_generation", "subscription"))
    return (
        group_metadata.select(
            *GROUP_KEY, F.col("generation").alias("back_generation"), subscribed.alias("member")
        )
        .withColumn("back_id", F.col("member.member_id"))
        .join(departed.select(*first_record).distinct(), on=first_record, how="left_semi")
        .where(
            F.col("member.owned_generation").isNotNull()
            | F.hex("member.subscription").rlike(_STICKY_GENERATION)
        )
        .select(*GROUP_KEY, "back_id")
    )
