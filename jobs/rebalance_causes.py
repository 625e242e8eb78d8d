"""The causes of each rebalance, its trigger and the others, and what the processes did.

reads   timeline, generations, generation_members, assignments, committed_offsets, churn
        group_epochs, member_epochs   of consumer, share and streams groups
writes  rebalance_causes   one row per cause
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from coordinator_core.epochs.causes import COMPLETIONS
from coordinator_core.lives.processes import COMMIT_SLACK_MS, RESTART_MS
from jobs.assignments import IS_CONSUMER
from jobs.engine.keeping import computed
from jobs.engine.union import union_of
from jobs.epochs.causes import (
    STATIC_LEAVE,
    STATIC_REFUSED,
    STATIC_RETURN,
    epoch_causes,
    in_generations,
    refused_joins,
    static_leaves,
)
from jobs.generation_members import by_instance
from jobs.generations import PROBING_REBALANCE, SCHEDULED_REBALANCE, TASK_CAUSES
from jobs.lake.keys import (
    GENERATION_KEY,
    GROUP_KEY,
    INCARNATION_KEY,
    MEMBER_KEY,
    PARTITION_KEY,
)
from jobs.lake.scope import RunScope
from jobs.rebalance_latency import REJOINS
from jobs.timeline import IS_EXPIRY, IS_LEAVE, IS_REMOVAL

READS_OF_CLASSIC = ("timeline", "generations", "generation_members", "assignments", "churn")
READS = (*READS_OF_CLASSIC, "committed_offsets", "group_epochs", "member_epochs")

# Triggers that are not departures: a member named here that also leaves before the join completes
# gets both causes.
NO_DEPARTURE = [*REJOINS, *TASK_CAUSES, "STORE_ERROR"]

# Consumer settings that records have, by their column in generation_members.
SETTINGS = {
    "session.timeout.ms": "session_timeout_ms",
    "max.poll.interval.ms": "rebalance_timeout_ms",
    "topics": "subscribed_topics",
}
# Its line names no member, and no rebalance follows.
GROUP_DELETED = "GROUP_DELETED"
# The group's dynamic configuration changed.
GROUP_CONFIG = "GROUP_CONFIG"
MEMBER_AND_TIME = [*MEMBER_KEY, "event_time"]
# A process that comes back more than this many days after it left counts as new.
REMEMBERED_DAYS = 7
# A replaced process that still runs is fenced at its next heartbeat, within this time.
FENCED_MS = 300_000
# Members with a longer max.poll.interval.ms are not examined: only the commits of the date of the
# leave and of the previous date are read.
LONGEST_POLL_MS = 80_000_000


def rebalance_causes(
    timeline: DataFrame,
    generations: DataFrame,
    generation_members: DataFrame,
    assignments: DataFrame,
    churn: DataFrame,
    committed_offsets: DataFrame | None = None,
    group_epochs: DataFrame | None = None,
    member_epochs: DataFrame | None = None,
    gone_processes: DataFrame | None = None,
) -> DataFrame:
    """``gone_processes``: processes that left not long before these tables begin; ``group_epochs``
    and ``member_epochs``: None without groups of the new types; ``committed_offsets``: None if no
    cause has a time, so that no commit is before it.
    """
    departures = _departures(timeline)
    if group_epochs is not None:
        departures = in_generations(departures, generations, group_epochs)
    members = departures.unionByName(_arrivals(timeline, generation_members, group_epochs))
    is_classic = F.coalesce(F.col("group_type") == "classic", F.lit(True))
    causes = members.unionByName(_other_triggers(generations.where(is_classic), members))
    causes = causes.unionByName(_deletions(timeline)).unionByName(_configurations(timeline))
    if group_epochs is not None and member_epochs is not None:
        causes = (
            causes.unionByName(epoch_causes(group_epochs, generations))
            .unionByName(static_leaves(member_epochs, timeline))
            .unionByName(refused_joins(timeline, generations))
        )
    seen = _seen_before(generations, generation_members, gone_processes)
    # A small result that all branches below use: the checkpoint truncates its plan.
    with_process = _with_process(_with_group_type(causes, generations), generation_members)
    named = computed(with_process.join(seen, on=[*GENERATION_KEY, "member_id"], how="left"))
    compared = _with_neighbors(named)
    examined = (
        _with_slow(compared, generations, assignments, committed_offsets)
        .join(_fenced_after_replacement(timeline), on=[*INCARNATION_KEY, "replaces"], how="left")
        .join(_beside_previous(compared, generation_members), on=MEMBER_AND_TIME, how="left")
    )
    return _numbered(_with_role(_with_story(examined, churn, generations), generations))


def _with_group_type(causes: DataFrame, generations: DataFrame) -> DataFrame:
    is_new = F.coalesce(F.col("group_type") != "classic", F.lit(False))
    return causes.join(
        generations.select(*GENERATION_KEY, is_new.alias("is_new_type")),
        on=GENERATION_KEY,
        how="inner",
    )


def _with_process(causes: DataFrame, generation_members: DataFrame) -> DataFrame:
    """Each cause with its member's client and process: from the last generation with the member up
    to that of the cause, else from the first one.
    """
    history = Window.partitionBy(*MEMBER_KEY).orderBy("generation")
    is_first = F.lag("generation").over(history).isNull()
    members = generation_members.select(
        *MEMBER_KEY,
        "instance_id",
        "client_id",
        "client_host",
        "process",
        "session_timeout_ms",
        "rebalance_timeout_ms",
        "process_id",
        F.col("generation").alias("last_generation"),
        F.when(is_first, F.lit(0)).otherwise(F.col("generation")).alias("valid_from"),
        F.lead("generation").over(history).alias("valid_until"),
    ).alias("m")
    same = [F.col(f"c.{name}").eqNullSafe(F.col(f"m.{name}")) for name in MEMBER_KEY]
    # A member that left may be back, under its id, in the generation that its departure led to.
    has_left = F.col("c.is_new_type") & (F.col("c.kind") == "departure") & ~F.col("c.absorbed")
    until = F.col("c.generation") - F.when(has_left, 1).otherwise(0)
    valid = (until >= F.col("m.valid_from")) & F.coalesce(
        until < F.col("m.valid_until"), F.lit(True)
    )
    added = [name for name in members.columns if name not in MEMBER_KEY]
    return causes.alias("c").join(members, on=[*same, valid], how="left").select("c.*", *added)


def _seen_before(
    generations: DataFrame, generation_members: DataFrame, gone_processes: DataFrame | None
) -> DataFrame:
    """Members whose process was in an earlier generation, at most REMEMBERED_DAYS before."""
    history = Window.partitionBy(*GROUP_KEY).orderBy("incarnation", "generation")
    recorded = generations.where("evidence <> 'log'").select(
        *GENERATION_KEY,
        F.row_number().over(history).alias("record_no"),
        F.lead("event_date").over(history).alias("until"),
    )
    rows = generation_members.join(recorded, on=GENERATION_KEY, how="inner").select(
        *GENERATION_KEY, "member_id", "event_date", "process", "record_no", "until"
    )
    if gone_processes is not None:
        gone = gone_processes.select(*GROUP_KEY, "process", "until", F.lit(0).alias("record_no"))
        rows = union_of(rows, gone)
    earlier = Window.partitionBy(*GROUP_KEY, "process").orderBy("record_no")
    last = F.max("until").over(earlier.rangeBetween(Window.unboundedPreceding, -1))
    remembered = F.datediff("event_date", last) <= REMEMBERED_DAYS
    return rows.withColumn("was_seen", remembered).where("was_seen").select(
        *GENERATION_KEY, "member_id", "was_seen"
    )  # fmt: skip


def _departures(timeline: DataFrame) -> DataFrame:
    single = timeline.where(f"({IS_LEAVE}) OR event IN ('HEARTBEAT_EXPIRED', 'FENCED')").withColumn(
        "departed_id", F.col("member_id")
    )
    listed = timeline.where(IS_REMOVAL).withColumn("departed_id", F.explode("members"))
    poll_timeout = F.col("client_cause") == "POLL_TIMEOUT"
    cause = (
        F.when(F.col("event") == "HEARTBEAT_EXPIRED", "HEARTBEAT_EXPIRY")
        .when(F.col("event") == "DROPPED_NOT_REJOINED", "NOT_REJOINED")
        .when(F.col("event") == "REBALANCE_START", "SYNC_TIMEOUT")
        .when(F.expr(IS_EXPIRY), "SESSION_EXPIRY")
        .when(F.col("event") == "FENCED", "REBALANCE_TIMEOUT")
        .when(poll_timeout, "LEAVE_POLL_TIMEOUT")
        .otherwise("LEAVE")
    )
    return single.unionByName(listed).select(
        *INCARNATION_KEY,
        F.col("forming_generation").alias("generation"),
        F.col("departed_id").alias("member_id"),
        "event_time",
        cause.alias("cause"),
        F.lit("departure").alias("kind"),
        F.lit(None).cast("string").alias("replaces"),
        "reason",
        "client_reason",
        F.lit("log").alias("evidence"),
        F.lit(None).cast("array<string>").alias("settings"),
        F.lit(False).alias("absorbed"),
    )


def _arrivals(
    timeline: DataFrame, generation_members: DataFrame, group_epochs: DataFrame | None
) -> DataFrame:
    """New and replacing members by their first record; the time of their join by the log, else of
    the group epoch that it counted up.
    """
    # Later joins without an id of the broker are no arrivals: a classic member joins again whenever
    # the assignment of its consumer group changes.  The line may precede the tombstone of an empty
    # group of another type, which ends an incarnation.
    pending = F.max(F.when(F.col("step") == "pending", F.col("event_time")))
    joins = (
        timeline.where("event IN ('MEMBER_JOIN', 'STATIC_NEW')")
        .groupBy(*GROUP_KEY, "member_id")
        .agg(F.coalesce(pending, F.min("event_time")).alias("join_time"))
    )
    # A member of a new type that was removed or left joins again under its id.
    again = (
        timeline.where("event = 'MEMBER_JOIN' AND NOT step <=> 'id_required'")
        .groupBy(*MEMBER_KEY, F.col("forming_generation").alias("generation"))
        .agg(F.min("event_time").alias("own_join_time"))
    )
    # The line about a replaced static member names the old member id, not the new one.
    replaced = timeline.where("event = 'STATIC_REPLACED'").select(
        *INCARNATION_KEY,
        "instance_id",
        F.col("old_member_id").alias("replaces"),
        F.col("event_time").alias("replaced_time"),
    )
    # Within one generation the replaced member comes first.
    instance = by_instance().orderBy(
        "generation", F.col("left_time").asc_nulls_last(), F.col("left_how").asc_nulls_last()
    )
    predecessor = F.lag(F.struct("member_id", *SETTINGS.values())).over(instance)
    new = (
        generation_members.withColumn("before", F.when(F.col("change") == "replaced", predecessor))
        .where("change <> 'retained'")
        .withColumns({"replaces": F.col("before.member_id"), "settings": _changed_settings()})
    )
    own_join_time = F.coalesce("own_join_time", "join_time")
    joined = (
        new.join(joins, on=[*GROUP_KEY, "member_id"], how="left")
        .join(again, on=[*GENERATION_KEY, "member_id"], how="left")
        .withColumn("join_time", own_join_time)
    )
    dated = joined.join(replaced, on=[*INCARNATION_KEY, "instance_id", "replaces"], how="left")
    is_replacement = F.col("change") == "replaced"
    dated = _with_epoch_time(dated, group_epochs)
    return dated.select(
        *GENERATION_KEY,
        "member_id",
        F.coalesce("replaced_time", "join_time", "epoch_time").alias("event_time"),
        F.when(is_replacement, "STATIC_REPLACED").otherwise("MEMBER_NEW").alias("cause"),
        F.lit("arrival").alias("kind"),
        "replaces",
        F.lit(None).cast("string").alias("reason"),
        F.lit(None).cast("string").alias("client_reason"),
        F.when(F.coalesce("replaced_time", "join_time").isNull(), "records")
        .otherwise("log")
        .alias("evidence"),
        "settings",
        F.lit(False).alias("absorbed"),
    )


def _with_epoch_time(arrivals: DataFrame, group_epochs: DataFrame | None) -> DataFrame:
    if group_epochs is None:
        return arrivals.withColumn("epoch_time", F.lit(None).cast("timestamp"))
    counted = (
        group_epochs.where("cause = 'MEMBER_NEW'")
        .groupBy(*GENERATION_KEY, "member_id")
        .agg(F.min("time").alias("epoch_time"))
    )
    return arrivals.join(counted, on=[*GENERATION_KEY, "member_id"], how="left")


def _changed_settings() -> Column:
    """The settings in which a member differs from the one ``before``; null if in none."""
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


def _other_triggers(generations: DataFrame, members: DataFrame) -> DataFrame:
    """Causes of generations that are neither an arrival nor a departure in ``members``; for a
    generation without a logged start only if ``members`` has no cause of it.
    """
    caused = generations.where("cause IS NOT NULL")
    explained = members.select(
        *GENERATION_KEY, "kind", F.col("member_id").alias("culprit_member_id")
    )
    explains = (F.col("kind") != "departure") | ~F.col("cause").isin(NO_DEPARTURE)
    same = [
        F.col(f"start.{name}") == F.col(f"explained.{name}")
        for name in (*GENERATION_KEY, "culprit_member_id")
    ]
    by_log = (
        caused.where("preparing_time IS NOT NULL")
        .alias("start")
        .join(explained.alias("explained"), on=[*same, explains], how="left_anti")
    )
    by_records = caused.where("preparing_time IS NULL").join(
        explained, on=GENERATION_KEY, how="left_anti"
    )
    evidence = F.when(F.col("preparing_time").isNull(), "records").otherwise("log")
    return by_log.unionByName(by_records).select(
        *GENERATION_KEY,
        F.col("culprit_member_id").alias("member_id"),
        F.col("preparing_time").alias("event_time"),
        "cause",
        F.lit("other").alias("kind"),
        F.lit(None).cast("string").alias("replaces"),
        "reason",
        "client_reason",
        evidence.alias("evidence"),
        F.lit(None).cast("array<string>").alias("settings"),
        F.lit(False).alias("absorbed"),
    )


def _with_neighbors(causes: DataFrame) -> DataFrame:
    """Each cause with the process's arrivals around it: ``earlier_arrivals`` in its generation, the
    next one, and the last time a static process left.
    """
    arrived = F.col("kind") == "arrival"
    in_generation = Window.partitionBy(*GENERATION_KEY, "process").orderBy(
        "event_time", "member_id"
    )
    earlier_arrivals = F.count(F.when(arrived, 1)).over(
        in_generation.rowsBetween(Window.unboundedPreceding, -1)
    )
    process = Window.partitionBy(*GROUP_KEY, "process")
    # Of one moment, a departure precedes the arrival that it makes room for.
    forwards = process.orderBy("event_time", "generation", F.desc("kind"))
    backwards = process.orderBy(F.desc("event_time"), F.desc("generation"), "kind")
    arrival = F.when(arrived, F.struct("event_time", "member_id"))
    next_arrival = F.last(arrival, ignorenulls=True).over(
        backwards.rowsBetween(Window.unboundedPreceding, -1)
    )
    # The expiry of a static member that had left: its session ends later than its process.
    away = F.when(F.col("cause") == STATIC_LEAVE, F.col("event_time"))
    away_time = F.last(F.when(arrived | away.isNotNull(), F.struct(away.alias("time"))), True)
    return causes.withColumns(
        {
            "earlier_arrivals": earlier_arrivals,
            "next_arrival": next_arrival,
            "away": away_time.over(forwards.rowsBetween(Window.unboundedPreceding, -1)),
        }
    ).withColumns(
        {
            "next_arrival_time": F.col("next_arrival.event_time"),
            # Only a process that never stopped joins again under its member id.
            "is_own_return": F.col("is_new_type")
            & F.coalesce(F.col("next_arrival.member_id") == F.col("member_id"), F.lit(False)),
            "away_time": F.col("away.time"),
        }
    )


def _beside_previous(causes: DataFrame, generation_members: DataFrame) -> DataFrame:
    """Members that joined while the previous member of their process was still in the group: the
    process had ended without leaving.
    """
    joined = causes.where("is_new_type AND cause = 'MEMBER_NEW' AND instance_id IS NULL").select(
        *GENERATION_KEY, "member_id", "event_time", "process", "client_id"
    )
    previous = generation_members.where(
        "change = 'retained' AND instance_id IS NULL AND process <> member_id"
    ).select(*GENERATION_KEY, "process", "client_id", "gone", "left_time")
    is_present = ~F.col("gone") | (F.col("left_time") > F.col("event_time"))
    return (
        joined.join(previous, on=[*GENERATION_KEY, "process", "client_id"], how="inner")
        .where(is_present)
        .select(*MEMBER_AND_TIME, F.lit(True).alias("was_killed"))
        .distinct()
    )


def _deletions(timeline: DataFrame) -> DataFrame:
    """Groups that an administrator deleted: causes without a rebalance, of the last generation."""
    deleted = timeline.where("event = 'ADMIN_DELETE'")
    return _of_administrators(deleted, GROUP_DELETED, F.lit(None).cast("array<string>"))


def _configurations(timeline: DataFrame) -> DataFrame:
    """Changes of groups' dynamic configurations, with the settings that differ from the previous
    one: a line has all settings of the group.
    """
    history = Window.partitionBy(*GROUP_KEY).orderBy("seq")
    now = F.split("reason", ",")
    before = F.coalesce(F.lag("reason").over(history), F.lit(""))
    lines = timeline.where("event = 'GROUP_CONFIG'").withColumn("before", F.split(before, ","))
    changed = F.filter(now, lambda each: ~F.array_contains("before", each) & (each != ""))
    return _of_administrators(lines, GROUP_CONFIG, changed)


def _of_administrators(events: DataFrame, cause: str, settings: Column) -> DataFrame:
    text = F.lit(None).cast("string")
    return events.where("current_generation IS NOT NULL").select(
        *INCARNATION_KEY,
        F.col("current_generation").alias("generation"),
        text.alias("member_id"),
        "event_time",
        F.lit(cause).alias("cause"),
        F.lit("other").alias("kind"),
        text.alias("replaces"),
        "reason",
        text.alias("client_reason"),
        F.lit("log").alias("evidence"),
        settings.alias("settings"),
        F.lit(True).alias("absorbed"),
    )


def _with_slow(
    causes: DataFrame,
    generations: DataFrame,
    assignments: DataFrame,
    committed_offsets: DataFrame | None,
) -> DataFrame:
    if committed_offsets is None:
        return causes.withColumn("was_slow", F.lit(False))
    slow = _slow_before_leaving(causes, generations, assignments, committed_offsets)
    return causes.join(slow, on=MEMBER_AND_TIME, how="left")


def _slow_before_leaving(
    causes: DataFrame,
    generations: DataFrame,
    assignments: DataFrame,
    committed_offsets: DataFrame,
) -> DataFrame:
    """Members that left max.poll.interval.ms after the last commit for a partition they owned;
    members that are back after their session expired, if their last commit was longer ago; and
    static members that took their own place later than that, although their session lasted.

    A commit in an aborted transaction counts as well: it shows that the member was running.
    """
    ended = causes.where(
        "(cause IN ('LEAVE', 'STATIC_REPLACED') OR cause = 'SESSION_EXPIRY' AND is_own_return)"
        f" AND rebalance_timeout_ms BETWEEN 1 AND {LONGEST_POLL_MS}"
    ).select(
        *MEMBER_KEY, "process", "cause", "event_time", "rebalance_timeout_ms",
        "session_timeout_ms", F.col("last_generation").alias("generation"),
    )  # fmt: skip
    commits = committed_offsets.where("NOT tombstone").select(
        *GROUP_KEY, *PARTITION_KEY, F.col("append_time").alias("committed")
    )
    last = (
        _with_partitions(ended, assignments, _predecessors(generations))
        .join(_rebalance_times(generations), on=GENERATION_KEY, how="left")
        .join(commits, on=[*GROUP_KEY, *PARTITION_KEY], how="inner")
        .where("committed <= event_time AND (NOT is_new OR committed >= stable_time)")
        .groupBy(*ended.columns, "preparing_time", "stable_time")
        .agg(F.max("committed").alias("committed"))
    )
    slow = last.where(_shows_slow_poll()).select(*MEMBER_AND_TIME).distinct()
    return slow.withColumn("was_slow", F.lit(True))


def _predecessors(generations: DataFrame) -> DataFrame:
    """Each generation with the ``previous`` one: numbers of the new types have gaps."""
    in_order = Window.partitionBy(*INCARNATION_KEY).orderBy("generation")
    return generations.select(*GENERATION_KEY, F.lag("generation").over(in_order).alias("previous"))


def _with_partitions(
    ended: DataFrame, assignments: DataFrame, predecessors: DataFrame
) -> DataFrame:
    """Each member with the partitions of its last generation; ``is_new``: another process had the
    partition in the previous one, and committed for it.
    """
    actual = assignments.where(IS_CONSUMER)
    owned = actual.select(*GENERATION_KEY, "process", *PARTITION_KEY)
    previous = actual.select(
        *INCARNATION_KEY,
        F.col("generation").alias("previous"),
        *PARTITION_KEY,
        F.col("process").alias("previous_process"),
    )
    of_members = ended.join(owned, on=[*GENERATION_KEY, "process"], how="inner")
    is_new = F.coalesce(F.col("previous_process") != F.col("process"), F.lit(False))
    return (
        of_members.join(predecessors, on=GENERATION_KEY, how="left")
        .join(previous, on=[*INCARNATION_KEY, "previous", *PARTITION_KEY], how="left")
        .drop("previous")
        .withColumn("is_new", is_new)
    )


def _rebalance_times(generations: DataFrame) -> DataFrame:
    """When each rebalance began, with a superseded one before it, and when it ended."""
    before = Window.partitionBy(*INCARNATION_KEY).orderBy("generation")
    superseded = F.when(F.col("outcome") == "superseded", F.col("preparing_time"))
    began = F.coalesce(F.lag(superseded).over(before), "preparing_time")
    return generations.select(*GENERATION_KEY, began.alias("preparing_time"), "stable_time")


def _shows_slow_poll() -> Column:
    """A member commits nothing while it does not poll, nor during a rebalance."""
    ended, committed, prepared = (
        F.unix_millis(name) for name in ("event_time", "committed", "preparing_time")
    )
    poll_ms, session_ms = F.col("rebalance_timeout_ms"), F.col("session_timeout_ms")
    polled = ended - poll_ms
    in_rebalance = (prepared <= polled + COMMIT_SLACK_MS) & (
        F.unix_millis("stable_time") >= polled - COMMIT_SLACK_MS
    )
    # Spark's least ignores nulls.
    earliest = F.least(polled, F.when(in_rebalance, prepared))
    left = (
        (ended - committed > COMMIT_SLACK_MS)
        & (committed >= earliest - COMMIT_SLACK_MS)
        & (committed <= polled + COMMIT_SLACK_MS)
    )
    # It kept sending heartbeats: otherwise its session would have expired.
    replaced = (
        (committed <= polled)
        & (ended - committed >= session_ms + COMMIT_SLACK_MS)
        & (committed >= polled - poll_ms - COMMIT_SLACK_MS)
    )
    # It sent heartbeats for max.poll.interval.ms, and its session lasted after that.
    expired = ended - committed > poll_ms
    return (
        F.when(F.col("cause") == "LEAVE", left)
        .when(F.col("cause") == "SESSION_EXPIRY", expired)
        .otherwise(replaced)
    )


def _fenced_after_replacement(timeline: DataFrame) -> DataFrame:
    """Replaced static members that still sent requests: a second process took over their id."""
    fenced = timeline.where("event = 'STATIC_FENCED'").select(
        *INCARNATION_KEY, F.col("member_id").alias("replaces"), "event_time"
    )
    replaced = timeline.where("event = 'STATIC_REPLACED'").select(
        *INCARNATION_KEY,
        F.col("old_member_id").alias("replaces"),
        F.col("event_time").alias("replaced_time"),
    )
    since_ms = F.unix_millis("event_time") - F.unix_millis("replaced_time")
    return (
        replaced.join(fenced, on=[*INCARNATION_KEY, "replaces"], how="inner")
        .where(since_ms <= FENCED_MS)
        .select(*INCARNATION_KEY, "replaces", F.lit(True).alias("was_alive"))
        .distinct()
    )


def _with_story(causes: DataFrame, churn: DataFrame, generations: DataFrame) -> DataFrame:
    changes = churn.select(*GENERATION_KEY, F.col("partitions_new").alias("new_partitions"))
    unowned = churn.select(
        *INCARNATION_KEY,
        F.col("generation").alias("previous"),
        F.col("partitions_orphaned").alias("unowned_before"),
    )
    by_commits = F.coalesce("was_slow", F.lit(False)) & F.col("cause").isin(
        "LEAVE", "STATIC_REPLACED", "SESSION_EXPIRY"
    )
    return (
        causes.join(changes, on=GENERATION_KEY, how="left")
        .join(_predecessors(generations), on=GENERATION_KEY, how="left")
        .join(unowned, on=[*INCARNATION_KEY, "previous"], how="left")
        .withColumns(
            {
                "story": F.when(F.col("kind") == "departure", _departure_story())
                .when(F.col("kind") == "arrival", _arrival_story())
                .otherwise(_other_story()),
                "evidence": F.when(by_commits, "commits").otherwise(F.col("evidence")),
            }
        )
    )


def _departure_story() -> Column:
    was_slow = F.coalesce("was_slow", F.lit(False))
    slow = (F.col("cause") == "LEAVE_POLL_TIMEOUT") | was_slow
    # Neither static members leave when they are closed, nor Kafka Streams' classic members.
    never_leaves = F.col("instance_id").isNotNull() | F.col("process_id").isNotNull()
    expired = F.col("cause").isin("HEARTBEAT_EXPIRY", "SESSION_EXPIRY")
    is_back = F.col("is_own_return")
    ended_ms = F.unix_millis(F.coalesce(F.when(expired, F.col("away_time")), "event_time"))
    back_in_ms = F.unix_millis("next_arrival_time") - ended_ms
    closed = F.when(F.coalesce(back_in_ms <= RESTART_MS, F.lit(False)), "restart").otherwise("stop")
    return (
        F.when(F.col("cause") == "NOT_REJOINED", "slow_rejoin")
        .when(F.col("cause") == "SYNC_TIMEOUT", "no_sync")
        .when(F.col("cause") == "REBALANCE_TIMEOUT", "slow_revoke")
        .when(expired & F.col("away_time").isNotNull(), closed)
        .when(expired & is_back, F.when(was_slow, "slow_poll").otherwise("frozen"))
        # A static member of a classic group does not leave when it is closed.
        .when(expired & never_leaves & ~F.col("is_new_type"), "stop_or_crash")
        .when(expired, "crash")
        .when(slow | is_back, "slow_poll")
        .otherwise(closed)
    )


def _arrival_story() -> Column:
    is_replacement = F.col("cause") == "STATIC_REPLACED"
    own_id = F.coalesce(F.col("replaces") == F.col("member_id"), F.lit(False))
    return (
        F.when(is_replacement & F.col("was_alive"), "takeover")
        .when(is_replacement & F.col("was_slow"), "slow_poll")
        .when(is_replacement & own_id, "return")
        .when(is_replacement, "restart")
        .when(F.col("was_killed") & F.col("is_new_type"), "crash_restart")
        .when((F.col("earlier_arrivals") > 0) | F.col("was_seen"), "return")
        .otherwise("start")
    )


def _other_story() -> Column:
    rejoin = (
        F.when(F.col("unowned_before") > 0, "follow_up")
        .when(F.col("new_partitions") > 0, "topic_change")
        .otherwise("rejoin")
    )
    return (
        F.when(F.col("cause").isin(*REJOINS), rejoin)
        .when(F.col("cause").isin(SCHEDULED_REBALANCE, PROBING_REBALANCE), "scheduled")
        .when(F.col("cause") == STATIC_REFUSED, "refused")
        .when(F.col("cause") == GROUP_DELETED, "deleted")
        .when(F.col("cause") == GROUP_CONFIG, "group_config")
        .when(F.col("is_new_type") & F.col("reason").isin(*COMPLETIONS), "follow_up")
        .when(F.col("is_new_type") & F.col("cause").isin("REGEX", "TOPIC_CHANGE"), "topic_change")
    )


def _with_role(causes: DataFrame, generations: DataFrame) -> DataFrame:
    """The trigger is the cause of the member that the start names; without a culprit it is the
    generation's first cause.
    """
    starts = generations.select(
        *GENERATION_KEY,
        "event_date",
        "culprit_member_id",
        "joined_time",
        F.col("cause").alias("start_cause"),
        F.col("reason").alias("start_reason"),
        F.col("client_reason").alias("start_client_reason"),
    )
    # A cause that is the broker's own, such as a change of the group's protocol, has no member.
    in_order = Window.partitionBy(*GENERATION_KEY).orderBy(
        "absorbed",
        F.col("member_id").isNotNull(),
        F.col("event_time").asc_nulls_last(),
        "kind",
        "member_id",
    )
    is_named = F.col("member_id").eqNullSafe(F.col("culprit_member_id")) & ~F.coalesce(
        (F.col("kind") == "departure") & F.col("start_cause").isin(NO_DEPARTURE), F.lit(False)
    )
    is_new = F.col("is_new_type")
    # A member may leave and join again before one target.
    is_named = is_named & (~is_new | (F.col("cause") == F.col("start_cause")))
    after_join = F.coalesce(F.col("event_time") > F.col("joined_time"), F.lit(False))
    absorbed = ((F.col("cause") == "STATIC_REPLACED") & after_join) | F.col("absorbed")
    returns = is_new & (F.col("cause") == "STATIC_REPLACED")
    is_first = F.col("culprit_member_id").isNull() & (F.row_number().over(in_order) == 1)
    role = (
        F.when(absorbed, "absorbed").when(is_named | is_first, "trigger").otherwise("contributing")
    )
    is_trigger = F.col("role") == "trigger"
    # The generation of a static replacement may be days old: what happened belongs to its own date.
    own_date = F.when(absorbed, F.to_date("event_time")).otherwise(F.col("event_date"))
    ranked = causes.join(starts, on=GENERATION_KEY, how="inner").withColumn("role", role)
    return ranked.withColumns(
        {
            "event_date": own_date,
            "cause": F.when(is_trigger & (F.col("kind") == "arrival"), F.col("start_cause"))
            .when(returns, STATIC_RETURN)
            .otherwise(F.col("cause")),
            "reason": F.coalesce(F.when(is_trigger, F.col("start_reason")), "reason"),
            "client_reason": F.coalesce(
                "client_reason", F.when(is_trigger, F.col("start_client_reason"))
            ),
        }
    )


def _numbered(causes: DataFrame) -> DataFrame:
    order = Window.partitionBy(*GENERATION_KEY).orderBy(
        (F.col("role") != "trigger"), F.col("event_time").asc_nulls_last(), "kind", "member_id"
    )
    return causes.withColumn("cause_seq", F.row_number().over(order)).select(
        *GENERATION_KEY,
        "cause_seq",
        "event_date",
        "event_time",
        "role",
        F.coalesce("cause", F.lit("UNKNOWN")).alias("cause"),
        "story",
        "member_id",
        "instance_id",
        "client_id",
        "client_host",
        "process",
        "session_timeout_ms",
        "rebalance_timeout_ms",
        "reason",
        "client_reason",
        "evidence",
        "settings",
    )


def run(scope: RunScope) -> None:
    has_epochs = scope.has_rows("group_epochs")
    epochs = ("group_epochs", "member_epochs") if has_epochs else ()
    tables = {name: scope.read(name) for name in (*READS_OF_CLASSIC, *epochs)}
    # Without log lines, only group epochs give causes a time.
    if has_epochs or scope.has_rows("group_events"):
        tables["committed_offsets"] = scope.read_recent("committed_offsets")
    causes = rebalance_causes(**tables, gone_processes=scope.carried("gone_processes"))
    scope.replace("rebalance_causes", causes)


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("rebalance_causes")
