"""Static clients that a coordinator fenced, and that did not return.

The coordinator refuses a client whose member id is not the current one of its instance id, for
instance after it loaded an older id.  FENCED_INSTANCE_ID is fatal: the client ends.  The member
that the coordinator keeps for the instance id gets no heartbeat until its session expires.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.lake.keys import INCARNATION_KEY, MEMBER_KEY

# The session of the kept member expires within this time.
_EXPIRED_MS = 300_000


def fenced_clients(timeline: DataFrame) -> DataFrame:
    """MEMBER_KEY of the member that was kept, ``fenced_ms``: when its client was first refused,
    ``fenced_generation``: the generation that the group formed after its session had expired.
    """
    # A process that was replaced by another process with the same instance id is not the member's
    # client.
    replaced = timeline.where("event = 'STATIC_REPLACED' AND old_member_id IS NOT NULL").select(
        *INCARNATION_KEY, F.col("old_member_id").alias("refused_id")
    )
    refused = (
        timeline.where("event = 'STATIC_FENCED' AND COALESCE(step, '') <> 'join'")
        .select(
            *INCARNATION_KEY,
            F.col("member_id").alias("refused_id"),
            F.col("old_member_id").alias("member_id"),
            F.unix_millis("event_time").alias("fenced_ms"),
        )
        .join(replaced, on=[*INCARNATION_KEY, "refused_id"], how="left_anti")
    )
    expired = timeline.where("event = 'HEARTBEAT_EXPIRED'").select(
        *MEMBER_KEY, "forming_generation", F.unix_millis("event_time").alias("expired_ms")
    )
    return (
        refused.join(expired, on=MEMBER_KEY, how="inner")
        .where(f"expired_ms - fenced_ms BETWEEN 0 AND {_EXPIRED_MS}")
        .groupBy(*MEMBER_KEY)
        .agg(
            F.min("fenced_ms").alias("fenced_ms"),
            F.max("forming_generation").alias("fenced_generation"),
        )
    )
