"""Times in which a partition had no owner: partition downtime.

reads   timeline, group_metadata, generations, generation_members, assignments, committed_offsets
writes  ownership_gaps   one row per partition and time without an owner

A member owns a partition from its assignment until it revokes the partition or its process ends.
Log and records have every assignment, but no revocation, and of most ends only a consequence: the
session expired, or a static member was replaced.  docs/metrics.md lists how these times are
inferred.
"""

from __future__ import annotations

from datetime import UTC, datetime

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from coordinator_core.whatif.baseline import SHUT_DOWN_MS
from jobs.assignments import ACTUAL
from jobs.engine.keeping import computed
from jobs.engine.union import union_of
from jobs.group_metadata import members_with
from jobs.lake.keys import (
    GENERATION_KEY,
    GROUP_KEY,
    INCARNATION_KEY,
    MEMBER_KEY,
    PARTITION_KEY,
)
from jobs.lake.scope import RunScope
from jobs.timeline import IS_REMOVAL, SAME_CALL_MS

READS = (
    "timeline",
    "group_metadata",
    "generations",
    "generation_members",
    "assignments",
    "committed_offsets",
)

# heartbeat.interval.ms, which no request contains: its default.
HEARTBEAT_MS = 3000
# Members that were assigned at the same time send heartbeats at the same times for this long.
IN_STEP_MS = 60_000
HEARTBEAT_JITTER_MS = 150
# A join that lasts a heartbeat interval and this did not wait for a slow or dead member.
JOIN_SLACK_MS = 500
# auto.commit.interval.ms, its default, and how exactly clients keep it.
COMMIT_INTERVAL_MS = 5000
COMMIT_JITTER_MS = 250
# After a slow poll a member leaves max.poll.interval.ms after its last commit, give or take this.
COMMIT_SLACK_MS = 6000
SAME_MOMENT_MS = 50
_NEVER_MS = 1 << 62
# The end of a ConsumerProtocolSubscription of version 1 to 3: user data with a generation, no owned
# partitions; from version 2 on no generation, from version 3 on a rack or none.
_STICKY_GENERATION = "00000004[0-7][0-9A-F]{7}00000000(FFFFFFFF(FFFF|0[0-9A-F]+)?)?$"
_ARRIVALS = ("MEMBER_JOIN", "STATIC_NEW", "STATIC_REPLACED")
_BY_EXPIRY = ("HEARTBEAT_EXPIRY", "SYNC_TIMEOUT", "NOT_REJOINED")
COOPERATIVE = ("cooperative-sticky", "stream")


def ownership_gaps(
    timeline: DataFrame,
    group_metadata: DataFrame,
    generations: DataFrame,
    generation_members: DataFrame,
    assignments: DataFrame,
    committed_offsets: DataFrame,
    last_events: DataFrame,
    earlier: DataFrame | None = None,
) -> DataFrame:
    """``last_events``: see `_last_events`.  ``earlier``: see `_earlier`."""
    rebalances = computed(_rebalances(generations, timeline, generation_members))
    owners = assignments.where(F.col("assignor") == ACTUAL).select(
        *GENERATION_KEY, *PARTITION_KEY, "member_id", "process"
    )
    members = computed(_members(timeline, generation_members, rebalances))
    tenures = _tenures(
        _with_end(
            members.join(
                _last_commits(members, owners, committed_offsets),
                on=[*MEMBER_KEY, "generation"],
                how="left",
            ).join(_returned(members, timeline, group_metadata), on=MEMBER_KEY, how="left")
        )
    )
    owned = _owned(owners.join(tenures, on=[*GENERATION_KEY, "member_id"], how="inner"))
    if earlier is not None:
        owned = union_of(owned, _continued(earlier, rebalances))
    return _columns(_gaps(owned), last_events)


# -- rebalances ------------------------------------------------------------------------------------


def _rebalances(
    generations: DataFrame, timeline: DataFrame, generation_members: DataFrame
) -> DataFrame:
    """Each generation with its times in ms, the rebalance that ended it (``revoking``), the next
    generation with a record (``next``), and the group's next shutdown: it became empty, and none of
    its members was back in time.  Dynamic members whose sessions expired were not shut down; static
    ones do not leave when they are.
    """
    static = generation_members.groupBy(*GENERATION_KEY).agg(
        F.min(F.col("instance_id").isNotNull().cast("int")).alias("all_static")
    )
    departures = (
        timeline.where(F.expr(f"event IN ('LEFT', 'HEARTBEAT_EXPIRED') OR {IS_REMOVAL}"))
        .groupBy(*INCARNATION_KEY, F.col("forming_generation").alias("generation"))
        .agg(F.max(F.unix_millis("event_time")).alias("departed_ms"))
    )
    incarnation = Window.partitionBy(*INCARNATION_KEY)
    history = incarnation.orderBy("generation")
    # Descending: Spark reads a frame that ends with the last row in full for every row.
    ahead = incarnation.orderBy(F.desc("generation")).rowsBetween(Window.unboundedPreceding, -1)
    timed = generations.select(
        *GENERATION_KEY,
        "event_date",
        ((F.col("outcome") == "stable") & (F.col("evidence") != "log")).alias("is_assigned"),
        (F.col("outcome") == "empty").alias("is_empty"),
        F.coalesce(F.col("cause").isin(*_BY_EXPIRY), F.lit(False)).alias("is_by_expiry"),
        F.coalesce(F.col("protocol").isin(*COOPERATIVE), F.lit(False)).alias("is_cooperative"),
        F.col("preparing_time").isNotNull().alias("is_logged"),
        F.unix_millis("joined_time").alias("joined_ms"),
        F.unix_millis("stable_time").alias("assigned_ms"),
        F.coalesce(
            F.unix_millis("preparing_time"), F.unix_millis("joined_time") - HEARTBEAT_MS
        ).alias("began_ms"),
    )
    timed = (
        timed.join(departures, on=GENERATION_KEY, how="left")
        .join(static, on=GENERATION_KEY, how="left")
        .withColumn("has_departure", F.col("departed_ms") > F.col("began_ms") + SAME_CALL_MS)
    )
    followed = timed.withColumns(
        {
            "revoking": F.lead(
                F.struct("began_ms", "joined_ms", "is_logged", "has_departure")
            ).over(history),
            "next": F.last(
                F.when(
                    F.col("is_assigned"), F.struct("generation", "assigned_ms", "is_cooperative")
                ),
                ignorenulls=True,
            ).over(ahead),
            "was_static": F.last("all_static", ignorenulls=True).over(
                history.rowsBetween(Window.unboundedPreceding, -1)
            ),
        }
    )
    is_shutdown = (
        F.col("is_empty")
        & (~F.col("is_by_expiry") | F.col("was_static").eqNullSafe(1))
        & F.coalesce(F.col("revoking.began_ms") - F.col("joined_ms") > SHUT_DOWN_MS, F.lit(True))
    )
    shutdown = F.when(
        is_shutdown, F.struct(F.col("joined_ms").alias("at_ms"), "generation", "event_date")
    )
    return followed.withColumn("shutdown", F.last(shutdown, ignorenulls=True).over(ahead))


def _stays_cooperative() -> Column:
    return F.col("is_cooperative") & F.coalesce("next.is_cooperative", F.lit(True))


# -- members ---------------------------------------------------------------------------------------


def _members(
    timeline: DataFrame, generation_members: DataFrame, rebalances: DataFrame
) -> DataFrame:
    """Each member of each generation: when it arrived, how and when it departed, and ``back``, the
    next arrival of the same client.

    ``assigned_as``: the member id under which the generation's last record has the member, as a
    static replacement writes another record of the generation.
    """
    arrivals = (
        timeline.where(F.col("event").isin(*_ARRIVALS) & F.col("member_id").isNotNull())
        .groupBy(*MEMBER_KEY)
        .agg(F.min(F.unix_millis("event_time")).alias("arrived_ms"))
    )
    leaves = (
        timeline.where("event = 'LEFT' AND member_id IS NOT NULL")
        .groupBy(*MEMBER_KEY)
        .agg(
            F.max("client_cause").alias("client_cause"),
            F.max("client_reason").alias("client_reason"),
        )
    )
    members = (
        generation_members.select(
            *MEMBER_KEY,
            "generation",
            "instance_id",
            F.coalesce("instance_id", F.concat_ws("@", "client_id", "client_host")).alias("client"),
            "session_timeout_ms",
            "rebalance_timeout_ms",
            (F.col("change") != "retained").alias("is_new"),
            "left_how",
            F.unix_millis("left_time").alias("left_ms"),
            "gone",
        )
        .join(rebalances, on=GENERATION_KEY, how="inner")
        .join(arrivals, on=MEMBER_KEY, how="left")
        .join(leaves, on=MEMBER_KEY, how="left")
        .join(_first_records(timeline, generation_members), on=MEMBER_KEY, how="left")
        .withColumn(
            "arrived_ms", F.coalesce("arrived_ms", "recorded_ms", "began_ms", "assigned_ms")
        )
    )
    backwards = Window.partitionBy(*GROUP_KEY, "client").orderBy(
        F.desc("arrived_ms"), F.desc("generation"), "member_id"
    )
    arrival = F.struct(F.col("arrived_ms").alias("at_ms"), "generation", "member_id")
    back = F.last(F.when(F.col("is_new"), arrival), ignorenulls=True).over(
        backwards.rowsBetween(Window.unboundedPreceding, -1)
    )
    same_client = Window.partitionBy(
        *GENERATION_KEY, F.coalesce("instance_id", "member_id")
    ).orderBy(F.desc("arrived_ms"), "member_id")
    return members.withColumns(
        {"back": back, "assigned_as": F.first("member_id").over(same_client)}
    )


def _first_records(timeline: DataFrame, generation_members: DataFrame) -> DataFrame:
    """The time of the first record with each static member: no log line has the member id of the
    next process with an instance id.
    """
    static = generation_members.where("instance_id IS NOT NULL").select(*MEMBER_KEY).distinct()
    recorded = timeline.where("event = 'RECORD'").select(
        *INCARNATION_KEY, F.explode("members").alias("member_id"), "event_time"
    )
    return (
        recorded.join(static, on=MEMBER_KEY, how="left_semi")
        .groupBy(*MEMBER_KEY)
        .agg(F.min(F.unix_millis("event_time")).alias("recorded_ms"))
    )


def _last_commits(members: DataFrame, owners: DataFrame, committed_offsets: DataFrame) -> DataFrame:
    """Per member of a generation, the last commits of its partitions: ``committed_ms`` before it
    departed, ``earlier_ms`` before that by more than a timer's jitter; and ``rejoined_ms`` before
    the end of the next join, as eager members commit before they rejoin.
    """
    member = [*MEMBER_KEY, "generation"]
    marks = union_of(
        _marks(members.where("left_ms IS NOT NULL"), "departure", F.col("left_ms")),
        _marks(members.where(~_stays_cooperative()), "rejoin", F.col("revoking.joined_ms")),
    )
    owned = owners.select(*GENERATION_KEY, *PARTITION_KEY, F.col("member_id").alias("owner"))
    marks = marks.join(owned, on=[*GENERATION_KEY, "owner"], how="inner").drop("owner")
    of_partition = Window.partitionBy(*GROUP_KEY, *PARTITION_KEY)
    commits = (
        committed_offsets.where("NOT tombstone AND append_time IS NOT NULL")
        .select(*GROUP_KEY, *PARTITION_KEY, F.unix_millis("append_time").alias("at_ms"))
        .withColumn("previous_ms", F.lag("at_ms").over(of_partition.orderBy("at_ms")))
        .withColumn("commit", F.struct(F.col("at_ms").alias("last_ms"), "previous_ms"))
        .drop("previous_ms")
    )
    so_far = of_partition.orderBy(
        "at_ms", F.col("mark").isNotNull(), "generation", "member_id", "mark"
    ).rowsBetween(Window.unboundedPreceding, Window.currentRow)
    last = (
        union_of(commits, marks)
        .withColumn("commit", F.last("commit", ignorenulls=True).over(so_far))
        .where("mark IS NOT NULL AND commit IS NOT NULL")
        .select(*member, "mark", "commit.*")
        .withColumn("latest_ms", F.max("last_ms").over(Window.partitionBy(*member, "mark")))
    )
    is_departure = F.col("mark") == "departure"
    is_earlier = F.col("last_ms") < F.col("latest_ms") - COMMIT_JITTER_MS
    earlier_ms = F.when(is_earlier, F.col("last_ms")).otherwise(F.col("previous_ms"))
    return last.groupBy(*member).agg(
        F.max(F.when(is_departure, F.col("last_ms"))).alias("committed_ms"),
        F.max(F.when(is_departure, earlier_ms)).alias("earlier_ms"),
        F.max(F.when(~is_departure, F.col("last_ms"))).alias("rejoined_ms"),
    )


def _marks(members: DataFrame, mark: str, at_ms: Column) -> DataFrame:
    return members.where(at_ms.isNotNull()).select(
        *MEMBER_KEY,
        "generation",
        F.col("assigned_as").alias("owner"),
        F.lit(mark).alias("mark"),
        at_ms.alias("at_ms"),
    )


def _returned(members: DataFrame, timeline: DataFrame, group_metadata: DataFrame) -> DataFrame:
    """The departed members whose process was back with the state of its earlier membership.

    The client names the error response because of which it joins again (KIP-800), or its
    subscription has a generation, although its member id is new: of the partitions that it owned,
    or in the user data of Java's CooperativeStickyAssignor.
    """
    departed = members.where("left_how IS NOT NULL AND back IS NOT NULL").select(
        *MEMBER_KEY,
        F.col("back.generation").alias("back_generation"),
        F.col("back.member_id").alias("back_id"),
    )
    after_error = timeline.where("client_cause = 'ERROR_RESPONSE' AND event <> 'LEFT'").select(
        *GROUP_KEY, F.col("member_id").alias("back_id")
    )
    subscribed = F.explode(members_with("member_id", "owned_generation", "subscription"))
    with_generation = (
        group_metadata.select(
            *GROUP_KEY, F.col("generation").alias("back_generation"), subscribed.alias("member")
        )
        .withColumn("back_id", F.col("member.member_id"))
        .join(
            departed.select(*GROUP_KEY, "back_generation", "back_id").distinct(),
            on=[*GROUP_KEY, "back_generation", "back_id"],
            how="left_semi",
        )
        .where(
            F.col("member.owned_generation").isNotNull()
            | F.hex("member.subscription").rlike(_STICKY_GENERATION)
        )
        .select(*GROUP_KEY, "back_id")
    )
    back = after_error.unionByName(with_generation).distinct()
    return departed.join(back, on=[*GROUP_KEY, "back_id"], how="inner").select(
        *MEMBER_KEY, F.lit(True).alias("has_returned")
    )


# -- ends of processes -----------------------------------------------------------------------------


def _with_end(members: DataFrame) -> DataFrame:
    """``end``: when a departed member stopped to own partitions, by which evidence; null while the
    member lasts, and if nothing shows how it departed.
    """
    has_returned = F.coalesce("has_returned", F.lit(False))
    end = (
        F.when(has_returned, _end(F.col("back.at_ms"), "log", True))
        .when(F.col("left_how") == "left", _left())
        .when(F.col("left_how") == "expired", _expired())
        .when(F.col("left_how") == "replaced", _replaced())
        .when(
            F.col("left_how") == "dropped", _end(F.coalesce("back.at_ms", "left_ms"), "log", True)
        )
    )
    return members.withColumn("end", end)


def _end(at_ms: Column, by: str, is_estimated: bool) -> Column:
    return F.struct(
        at_ms.alias("at_ms"), F.lit(by).alias("by"), F.lit(is_estimated).alias("is_estimated")
    )


def _left() -> Column:
    """When it left; after a slow poll, when its application polled and joined again."""
    poll_ms, quiet_ms = F.col("rebalance_timeout_ms"), F.col("left_ms") - F.col("committed_ms")
    stopped_committing = (
        F.col("client_reason").isNull()
        & (poll_ms > 0)
        & (quiet_ms > COMMIT_SLACK_MS)
        & (F.abs(quiet_ms - poll_ms) <= COMMIT_SLACK_MS)
    )
    is_slow = F.col("client_cause").eqNullSafe("POLL_TIMEOUT") | stopped_committing
    polled = F.coalesce(is_slow, F.lit(False)) & F.col("back.at_ms").isNotNull()
    return F.when(polled, _end(F.col("back.at_ms"), "log", True)).otherwise(
        _end(F.col("left_ms"), "log", False)
    )


def _expired() -> Column:
    """Between the last contact, a session timeout before the expiry, and the next heartbeat."""
    contact_ms = F.col("left_ms") - F.col("session_timeout_ms")
    # The end of a join and the assignment count as contact: a member may have ended in a long join.
    since_assigned_ms, join_ms = (
        contact_ms - F.col("joined_ms"),
        F.col("joined_ms") - F.col("began_ms"),
    )
    waited = since_assigned_ms.between(-SAME_MOMENT_MS, SAME_MOMENT_MS) & (
        join_ms > 2 * HEARTBEAT_MS
    )
    in_join_ms = ((F.greatest("began_ms", "arrived_ms") + F.col("joined_ms")) / 2).cast("long")
    earliest_ms = F.greatest(contact_ms, "committed_ms")
    back_ms = F.when(F.col("back.at_ms") >= earliest_ms, F.col("back.at_ms"))
    latest_ms = F.greatest(
        F.least(contact_ms + HEARTBEAT_MS, F.col("left_ms"), back_ms), earliest_ms
    )
    return (
        F.when(F.coalesce(waited, F.lit(False)), _end(in_join_ms, "log", True))
        .when(
            _is_closing() & (F.col("committed_ms") >= contact_ms),
            _end(F.col("committed_ms"), "commits", True),
        )
        .otherwise(_end(((earliest_ms + latest_ms) / 2).cast("long"), "log", True))
    )


def _replaced() -> Column:
    """At its last commit, which a client sends when it is closed, or half a commit interval later.

    Without a commit since the oldest last contact, nothing shows that the process ended earlier.
    """
    replaced_ms = F.coalesce("left_ms", "back.at_ms")
    quiet_ms = replaced_ms - F.col("committed_ms")
    session_ms = F.col("session_timeout_ms")
    is_recent = F.coalesce(quiet_ms <= session_ms + COMMIT_INTERVAL_MS, F.lit(False))
    half_later_ms = F.greatest(
        F.col("committed_ms") + COMMIT_INTERVAL_MS // 2, replaced_ms - session_ms
    )
    later_ms = F.least(half_later_ms, replaced_ms)
    return (
        F.when(is_recent & _is_closing(), _end(F.col("committed_ms"), "commits", True))
        .when(is_recent, _end(later_ms, "commits", True))
        .otherwise(_end(replaced_ms, "log", True))
    )


def _is_closing() -> Column:
    """Whether the last commit is off the interval of the automatic ones."""
    since_ms = F.col("committed_ms") - F.col("earlier_ms")
    phase_ms = F.pmod(since_ms + COMMIT_JITTER_MS, F.lit(COMMIT_INTERVAL_MS))
    return F.coalesce(phase_ms > 2 * COMMIT_JITTER_MS, F.lit(False))


# -- ownership -------------------------------------------------------------------------------------


def _tenures(members: DataFrame) -> DataFrame:
    """When each member owned the partitions that a generation assigns to it: GENERATION_KEY,
    ``member_id`` (of the assignment), ``from_ms``, ``until``: at_ms (_NEVER_MS: it still does),
    how, evidence, is_estimated, and the generation.  A dead member owns them for no time.
    """
    stays_cooperative = _stays_cooperative()
    is_unexplained = F.col("gone") & F.col("end").isNull()
    # A member that does not rejoin learns of the rebalance only when it is back.
    did_not_rejoin = F.col("gone") & ((F.col("left_how") != "left") | F.col("end.is_estimated"))
    released_ms = (
        F.when(is_unexplained, F.col("revoking.began_ms"))
        .when(did_not_rejoin, None)
        .when(stays_cooperative, F.col("next.assigned_ms"))
        .otherwise(_revoked_ms())
    )
    from_ms = F.when(
        F.col("is_new") & F.col("instance_id").isNotNull(),
        F.greatest("assigned_ms", "arrived_ms"),
    ).otherwise(F.col("assigned_ms"))
    at_ms = F.least(F.col("end.at_ms"), released_ms, F.col("next.assigned_ms"))
    at_ms = F.greatest(F.coalesce(at_ms, F.lit(_NEVER_MS)), "assigned_ms")
    by_end = F.coalesce(F.col("end.at_ms") <= at_ms, F.lit(False))
    has_commit = ~stays_cooperative & _commit_before_rejoin().isNotNull()
    shown_by = (
        F.when(has_commit, "commits").when(F.col("revoking.is_logged"), "log").otherwise("records")
    )
    until = F.struct(
        at_ms.alias("at_ms"),
        F.col("generation"),
        F.when(by_end, F.col("left_how"))
        .when(is_unexplained, "left")
        .otherwise("revoked")
        .alias("how"),
        F.when(by_end, F.col("end.by")).otherwise(shown_by).alias("evidence"),
        F.when(by_end, F.col("end.is_estimated"))
        .otherwise(~stays_cooperative | is_unexplained)
        .alias("is_estimated"),
        F.when(~stays_cooperative, F.col("next.generation")).alias("next_generation"),
        F.col("shutdown"),
    )
    return members.where("is_assigned").select(
        *GENERATION_KEY,
        F.col("assigned_as").alias("member_id"),
        "event_date",
        from_ms.alias("from_ms"),
        until.alias("until"),
    )


def _commit_before_rejoin() -> Column:
    is_in_join = (F.col("rejoined_ms") > F.col("revoking.began_ms")) & F.col("revoking.is_logged")
    return F.when(is_in_join, F.col("rejoined_ms"))


def _revoked_ms() -> Column:
    """When an eager member revokes: at the heartbeat that shows the rebalance, before it rejoins.
    It commits then, if it has new offsets.

    Otherwise: heartbeats coincide after an assignment.  If the join ends with the next one, they
    still do; if it ends later, they are spread over the join, unless the join waited for a slow or
    dead member.
    """
    began_ms, joined_ms = F.col("revoking.began_ms"), F.col("revoking.joined_ms")
    since_ms, join_ms = began_ms - F.col("assigned_ms"), joined_ms - began_ms
    next_heartbeat_ms = F.when(since_ms <= IN_STEP_MS, F.pmod(-since_ms, F.lit(HEARTBEAT_MS)))
    is_spread = (
        F.col("revoking.is_logged")
        & ~F.coalesce("revoking.has_departure", F.lit(False))
        & (join_ms <= HEARTBEAT_MS + JOIN_SLACK_MS)
        & (F.abs(join_ms - F.coalesce(next_heartbeat_ms, F.lit(0))) > HEARTBEAT_JITTER_MS)
    )
    spread_ms = (join_ms * 2 / 3).cast("long")
    after_ms = F.when(is_spread, spread_ms).otherwise(
        F.coalesce(next_heartbeat_ms, F.lit(HEARTBEAT_MS // 2))
    )
    return F.coalesce(_commit_before_rejoin(), began_ms + F.least(after_ms, join_ms))


def _owned(assigned: DataFrame) -> DataFrame:
    """The tenures of living members, each with its ``end``: when, and how the member departed or
    whether the next generation assigned the partition to nobody, or to a dead member.
    """
    partition = Window.partitionBy(*INCARNATION_KEY, *PARTITION_KEY).orderBy(
        "generation", "from_ms"
    )
    is_dead = F.col("until.at_ms") <= F.col("from_ms")
    following = F.lead(F.struct("generation", "until.how", is_dead.alias("is_dead")))
    is_unassigned = F.coalesce(F.col("following.generation"), F.lit(_NEVER_MS)) > F.col(
        "until.next_generation"
    )
    how = (
        F.when(F.col("until.how") != "revoked", F.col("until.how"))
        .when(F.col("following.is_dead"), F.col("following.how"))
        .when(is_unassigned, "not_assigned")
        .otherwise("revoked")
    )
    owned = assigned.withColumn("following", following.over(partition)).where(
        "until.at_ms > from_ms"
    )
    return owned.select(
        *GENERATION_KEY,
        *PARTITION_KEY,
        "event_date",
        "process",
        "from_ms",
        _tenure_end(
            F.col("until.at_ms"),
            how,
            F.col("until.evidence"),
            F.col("until.is_estimated"),
            F.col("until.shutdown"),
        ),
    )


def _tenure_end(
    at_ms: Column, how: Column, evidence: Column, is_estimated: Column, shutdown: Column
) -> Column:
    """Compared by time first."""
    return F.struct(
        at_ms.alias("at_ms"),
        F.col("generation"),
        F.col("process"),
        how.alias("how"),
        evidence.alias("evidence"),
        is_estimated.alias("is_estimated"),
        shutdown.alias("shutdown"),
    ).alias("end")


def _continued(earlier: DataFrame, rebalances: DataFrame) -> DataFrame:
    """Earlier gaps as tenures that ended."""
    shutdowns = (
        rebalances.where("shutdown IS NOT NULL")
        .groupBy(*INCARNATION_KEY)
        .agg(F.min("shutdown").alias("shutdown"))
    )
    how = (
        F.when(F.col("why") == "session_expired", "expired")
        .when(F.col("why") == "rebalance", "revoked")
        .otherwise(F.col("why"))
    )
    gaps = earlier.join(shutdowns, on=INCARNATION_KEY, how="left").select(
        *INCARNATION_KEY,
        *PARTITION_KEY,
        F.col("from_generation").alias("generation"),
        F.col("from_process").alias("process"),
        F.unix_millis("from_time").alias("from_ms"),
        how.alias("how"),
        "evidence",
        "estimated",
        "shutdown",
    )
    end = _tenure_end(
        F.col("from_ms"), F.col("how"), F.col("evidence"), F.col("estimated"), F.col("shutdown")
    )
    return gaps.select(*GENERATION_KEY, *PARTITION_KEY, "process", "from_ms", end)


def _gaps(owned: DataFrame) -> DataFrame:
    """The times between tenures of a partition, from its first owner on; if the group was shut
    down, until its last process stopped.
    """
    in_order = Window.partitionBy(*INCARNATION_KEY, *PARTITION_KEY).orderBy(
        "from_ms", "generation", "end.at_ms"
    )
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    owner = F.struct(F.col("from_ms").alias("at_ms"), "generation", "event_date", "process")
    is_shut_down = F.col("last.shutdown.at_ms") < F.coalesce("owner.at_ms", F.lit(_NEVER_MS))
    followed = (
        owned.select(
            *INCARNATION_KEY,
            *PARTITION_KEY,
            F.max("end").over(so_far).alias("last"),
            F.lead(owner).over(in_order).alias("owner"),
        )
        .where(F.col("last.at_ms") < F.coalesce("owner.at_ms", F.lit(_NEVER_MS)))
        .withColumn("is_shut_down", F.coalesce(is_shut_down, F.lit(False)))
    )
    # Other gaps have small window partitions: one for all of them would be as large as the group.
    shutdown = Window.partitionBy(
        *INCARNATION_KEY,
        "is_shut_down",
        F.when(F.col("is_shut_down"), F.col("last.shutdown.generation")).otherwise(
            F.col("last.generation")
        ),
    )
    stopped = F.struct(
        F.max("last.at_ms").over(shutdown).alias("at_ms"),
        F.col("last.shutdown.generation").alias("generation"),
        F.col("last.shutdown.event_date").alias("event_date"),
        F.lit(None).cast("string").alias("process"),
    )
    ended = followed.withColumn(
        "ended", F.when(F.col("is_shut_down"), stopped).otherwise(F.col("owner"))
    )
    return ended.where(F.col("last.at_ms") < F.coalesce("ended.at_ms", F.lit(_NEVER_MS)))


def _columns(gaps: DataFrame, last_events: DataFrame) -> DataFrame:
    is_same = F.col("ended.process") == F.col("last.process")
    why = (
        F.when(F.col("last.how") == "expired", "session_expired")
        .when((F.col("last.how") == "revoked") & is_same, "rebalance")
        .otherwise(F.col("last.how"))
    )
    until_ms = F.coalesce(F.col("ended.at_ms"), F.greatest("last_ms", "last.at_ms"))
    return gaps.join(F.broadcast(last_events), on=GROUP_KEY, how="left").select(
        *INCARNATION_KEY,
        *PARTITION_KEY,
        F.coalesce("ended.event_date", "last_date").alias("event_date"),
        F.timestamp_millis("last.at_ms").alias("from_time"),
        F.timestamp_millis("ended.at_ms").alias("to_time"),
        (until_ms - F.col("last.at_ms")).alias("unowned_ms"),
        F.col("last.process").alias("from_process"),
        F.col("ended.process").alias("to_process"),
        F.col("last.generation").alias("from_generation"),
        F.col("ended.generation").alias("generation"),
        why.alias("why"),
        F.col("last.evidence").alias("evidence"),
        F.col("last.is_estimated").alias("estimated"),
    )


# -- the run ---------------------------------------------------------------------------------------


def _last_events(scope: RunScope) -> DataFrame:
    """Per group, ``last_date``: the date of its last event, and ``last_ms``: the time of the last
    event of its cluster on this date.
    """
    first = datetime.fromtimestamp(scope.first_ms / 1000, UTC).date()
    times = [
        scope.lake.read(table)
        .where(f"event_date >= DATE'{first}'")  # as text: it prunes partitions
        .select("cluster_id", "event_date", F.unix_millis(time).alias("at_ms"))
        for table, time in (("timeline", "event_time"), ("committed_offsets", "append_time"))
    ]
    dates = (
        times[0]
        .unionByName(times[1])
        .groupBy("cluster_id", "event_date")
        .agg(F.max("at_ms").alias("last_ms"))
    )
    last = scope.read("timeline").groupBy(*GROUP_KEY).agg(F.max("event_date").alias("event_date"))
    return last.join(dates, on=["cluster_id", "event_date"], how="left").withColumnRenamed(
        "event_date", "last_date"
    )


def _earlier(scope: RunScope) -> DataFrame | None:
    """The rows that began before the context generation and end after it; None if histories are
    read in full.
    """
    contexts = scope.context_rows("generations")
    if contexts is None:
        return None
    generations = contexts.select(*INCARNATION_KEY, F.col("generation").alias("context_generation"))
    return (
        scope.read("ownership_gaps")
        .join(F.broadcast(generations), on=INCARNATION_KEY, how="inner")
        .where("from_generation < context_generation")
        .where("generation IS NULL OR generation > context_generation")
        .drop("context_generation")
    )


def run(scope: RunScope) -> None:
    tables = {name: scope.read(name) for name in READS if name != "committed_offsets"}
    gaps = ownership_gaps(
        **tables,
        committed_offsets=scope.read_recent("committed_offsets"),
        last_events=_last_events(scope),
        earlier=_earlier(scope),
    )
    scope.replace("ownership_gaps", gaps)


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("ownership_gaps")
