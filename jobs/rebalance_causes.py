"""The causes of each rebalance, its trigger and the others, and what the processes did.

reads   timeline, generations, generation_members, assignments, committed_offsets, churn
        group_epochs, member_epochs   of consumer, share and streams groups
writes  rebalance_causes   one row per cause
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from coordinator_core.epochs import causes as epoch_causes
from coordinator_core.epochs.members import AWAY
from coordinator_core.lives.processes import COMMIT_SLACK_MS, RESTART_MS
from jobs.assignments import ACTUAL
from jobs.engine.keeping import computed
from jobs.engine.union import union_of
from jobs.generation_members import by_instance
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

READS = (
    "timeline",
    "generations",
    "generation_members",
    "assignments",
    "committed_offsets",
    "churn",
    "group_epochs",
    "member_epochs",
)

# Triggers that are not departures: a member named here that also leaves before the join completes
# gets both causes.
NO_DEPARTURE = [*REJOINS, "STORE_ERROR"]

# Consumer settings that records have, by their column in generation_members.
SETTINGS = {
    "session.timeout.ms": "session_timeout_ms",
    "max.poll.interval.ms": "rebalance_timeout_ms",
    "topics": "subscribed_topics",
}
# Causes of a group epoch that are neither a logged departure nor an arrival.
EPOCH_CAUSES = (
    epoch_causes.SUBSCRIPTION_CHANGE,
    epoch_causes.ASSIGNOR_CHANGE,
    epoch_causes.REGEX,
    epoch_causes.TOPIC_CHANGE,
    epoch_causes.CONVERSION,
    epoch_causes.MEMBER_GONE,
)
STATIC_LEAVE, STATIC_RETURN = epoch_causes.STATIC_LEAVE, epoch_causes.STATIC_RETURN
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
    committed_offsets: DataFrame,
    churn: DataFrame,
    group_epochs: DataFrame | None = None,
    member_epochs: DataFrame | None = None,
    gone_processes: DataFrame | None = None,
) -> DataFrame:
    """``gone_processes``: processes that left not long before these tables begin; ``group_epochs``
    and ``member_epochs``: None without groups of the new types.
    """
    members = _departures(timeline).unionByName(_arrivals(timeline, generation_members))
    is_classic = F.coalesce(F.col("group_type") == "classic", F.lit(True))
    causes = members.unionByName(_other_triggers(generations.where(is_classic), members))
    if group_epochs is not None and member_epochs is not None:
        causes = causes.unionByName(_epoch_causes(group_epochs)).unionByName(_away(member_epochs))
    seen = _seen_before(generations, generation_members, gone_processes)
    # A small result that all branches below use: the checkpoint truncates its plan.
    with_process = _with_process(causes, generation_members)
    named = computed(with_process.join(seen, on=[*GENERATION_KEY, "member_id"], how="left"))
    slow = _slow_before_leaving(named, generations, assignments, committed_offsets)
    examined = named.join(slow, on=MEMBER_KEY, how="left").join(
        _fenced_after_replacement(timeline), on=[*INCARNATION_KEY, "replaces"], how="left"
    )
    return _numbered(_with_role(_with_story(examined, churn), generations))


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
        F.col("generation").alias("last_generation"),
        F.when(is_first, F.lit(0)).otherwise(F.col("generation")).alias("valid_from"),
        F.lead("generation").over(history).alias("valid_until"),
    ).alias("m")
    same = [F.col(f"c.{name}").eqNullSafe(F.col(f"m.{name}")) for name in MEMBER_KEY]
    valid = (F.col("c.generation") >= F.col("m.valid_from")) & F.coalesce(
        F.col("c.generation") < F.col("m.valid_until"), F.lit(True)
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
    )


def _arrivals(timeline: DataFrame, generation_members: DataFrame) -> DataFrame:
    """New and replacing members by their first record; the time of their join by the log."""
    # Later joins without an id of the broker are no arrivals: a classic member joins again whenever
    # the assignment of its consumer group changes.
    pending = F.max(F.when(F.col("step") == "pending", F.col("event_time")))
    joins = (
        timeline.where("event IN ('MEMBER_JOIN', 'STATIC_NEW')")
        .groupBy(*MEMBER_KEY)
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
        new.join(joins, on=MEMBER_KEY, how="left")
        .join(again, on=[*GENERATION_KEY, "member_id"], how="left")
        .withColumn("join_time", own_join_time)
    )
    dated = joined.join(replaced, on=[*INCARNATION_KEY, "instance_id", "replaces"], how="left")
    is_replacement = F.col("change") == "replaced"
    return dated.select(
        *GENERATION_KEY,
        "member_id",
        F.coalesce("replaced_time", "join_time").alias("event_time"),
        F.when(is_replacement, "STATIC_REPLACED").otherwise("MEMBER_NEW").alias("cause"),
        F.lit("arrival").alias("kind"),
        "replaces",
        F.lit(None).cast("string").alias("reason"),
        F.lit(None).cast("string").alias("client_reason"),
        F.when(F.coalesce("replaced_time", "join_time").isNull(), "records")
        .otherwise("log")
        .alias("evidence"),
        "settings",
    )


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
    )


def _epoch_causes(group_epochs: DataFrame) -> DataFrame:
    """Epochs that no arrival and no logged departure explains: topics, settings, conversions."""
    caused = group_epochs.where(
        F.col("generation").isNotNull() & F.col("cause").isin(*EPOCH_CAUSES)
    )
    return _cause_rows(caused, F.col("cause"), "other", F.col("evidence"))


def _away(member_epochs: DataFrame) -> DataFrame:
    """Static members that closed, and stay in the group until their session expires."""
    left = member_epochs.where(f"epoch = {AWAY} AND generation IS NOT NULL")
    return _cause_rows(left, F.lit(STATIC_LEAVE), "departure", F.lit("records"))


def _cause_rows(rows: DataFrame, cause: Column, kind: str, evidence: Column) -> DataFrame:
    text = F.lit(None).cast("string")
    return rows.select(
        *GENERATION_KEY,
        "member_id",
        F.col("time").alias("event_time"),
        cause.alias("cause"),
        F.lit(kind).alias("kind"),
        text.alias("replaces"),
        text.alias("reason"),
        text.alias("client_reason"),
        evidence.alias("evidence"),
        F.lit(None).cast("array<string>").alias("settings"),
    )


def _slow_before_leaving(
    causes: DataFrame,
    generations: DataFrame,
    assignments: DataFrame,
    committed_offsets: DataFrame,
) -> DataFrame:
    """Members that left max.poll.interval.ms after the last commit for a partition they owned, and
    static members that took their own place later than that, although their session lasted.

    A commit in an aborted transaction counts as well: it shows that the member was running.
    """
    ended = causes.where(
        "cause IN ('LEAVE', 'STATIC_REPLACED')"
        f" AND rebalance_timeout_ms BETWEEN 1 AND {LONGEST_POLL_MS}"
    ).select(
        *MEMBER_KEY, "process", "cause", "event_time", "rebalance_timeout_ms",
        "session_timeout_ms", F.col("last_generation").alias("generation"),
    )  # fmt: skip
    commits = committed_offsets.where("NOT tombstone").select(
        *GROUP_KEY, *PARTITION_KEY, F.col("append_time").alias("committed")
    )
    last = (
        _with_partitions(ended, assignments)
        .join(_rebalance_times(generations), on=GENERATION_KEY, how="left")
        .join(commits, on=[*GROUP_KEY, *PARTITION_KEY], how="inner")
        .where("committed <= event_time AND (NOT is_new OR committed >= stable_time)")
        .groupBy(*ended.columns, "preparing_time", "stable_time")
        .agg(F.max("committed").alias("committed"))
    )
    return last.where(_shows_slow_poll()).select(*MEMBER_KEY, F.lit(True).alias("was_slow"))


def _with_partitions(ended: DataFrame, assignments: DataFrame) -> DataFrame:
    """Each member with the partitions of its last generation; ``is_new``: another process had the
    partition in the previous one, and committed for it.
    """
    actual = assignments.where(F.col("assignor") == ACTUAL)
    owned = actual.select(*GENERATION_KEY, "process", *PARTITION_KEY)
    previous = actual.select(
        *INCARNATION_KEY,
        (F.col("generation") + 1).alias("generation"),
        *PARTITION_KEY,
        F.col("process").alias("previous_process"),
    )
    of_members = ended.join(owned, on=[*GENERATION_KEY, "process"], how="inner")
    is_new = F.coalesce(F.col("previous_process") != F.col("process"), F.lit(False))
    return of_members.join(
        previous, on=[*GENERATION_KEY, *PARTITION_KEY], how="left"
    ).withColumn("is_new", is_new)  # fmt: skip


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
    return F.when(F.col("cause") == "LEAVE", left).otherwise(replaced)


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


def _with_story(causes: DataFrame, churn: DataFrame) -> DataFrame:
    backwards = Window.partitionBy(*GROUP_KEY, "process").orderBy(
        F.desc("event_time"), F.desc("generation"), "kind"
    )
    arrived = F.col("kind") == "arrival"
    in_generation = Window.partitionBy(*GENERATION_KEY, "process").orderBy(
        "event_time", "member_id"
    )
    earlier_arrivals = F.count(F.when(arrived, 1)).over(
        in_generation.rowsBetween(Window.unboundedPreceding, -1)
    )
    next_arrival = F.last(F.when(arrived, F.col("event_time")), ignorenulls=True).over(
        backwards.rowsBetween(Window.unboundedPreceding, -1)
    )
    back_in_ms = F.unix_millis("next_arrival") - F.unix_millis("event_time")
    compared = causes.withColumn("earlier_arrivals", earlier_arrivals).withColumn(
        "next_arrival", next_arrival
    )
    slow = (F.col("cause") == "LEAVE_POLL_TIMEOUT") | F.coalesce("was_slow", F.lit(False))
    is_static = F.col("instance_id").isNotNull()
    expired = F.col("cause").isin("HEARTBEAT_EXPIRY", "SESSION_EXPIRY")
    departure = (
        F.when(F.col("cause") == "NOT_REJOINED", "slow_rejoin")
        .when(F.col("cause") == "SYNC_TIMEOUT", "no_sync")
        # A static member does not leave when it is closed: a stop looks like a crash.
        .when(expired & is_static, "stop_or_crash")
        .when(expired, "crash")
        .when(F.col("cause") == "REBALANCE_TIMEOUT", "slow_revoke")
        .when(slow, "slow_poll")
        .when(F.coalesce(back_in_ms <= RESTART_MS, F.lit(False)), "restart")
        .otherwise("stop")
    )
    arrival = (
        F.when((F.col("cause") == "STATIC_REPLACED") & F.col("was_alive"), "takeover")
        .when((F.col("cause") == "STATIC_REPLACED") & F.col("was_slow"), "slow_poll")
        .when(F.col("cause") == "STATIC_REPLACED", "restart")
        .when((F.col("earlier_arrivals") > 0) | F.col("was_seen"), "return")
        .otherwise("start")
    )
    changes = churn.select(*GENERATION_KEY, F.col("partitions_new").alias("new_partitions"))
    unowned = churn.select(
        *INCARNATION_KEY,
        (F.col("generation") + 1).alias("generation"),
        F.col("partitions_orphaned").alias("unowned_before"),
    )
    rejoin = (
        F.when(F.col("unowned_before") > 0, "follow_up")
        .when(F.col("new_partitions") > 0, "topic_change")
        .otherwise("rejoin")
    )
    story = (
        F.when(F.col("kind") == "departure", departure)
        .when(arrived, arrival)
        .when(F.col("cause").isin(*REJOINS), rejoin)
    )
    evidence = F.when(
        F.coalesce("was_slow", F.lit(False)) & F.col("cause").isin("LEAVE", "STATIC_REPLACED"),
        "commits",
    ).otherwise(F.col("evidence"))
    return (
        compared.join(changes, on=GENERATION_KEY, how="left")
        .join(unowned, on=GENERATION_KEY, how="left")
        .withColumns({"story": story, "evidence": evidence})
    )


def _with_role(causes: DataFrame, generations: DataFrame) -> DataFrame:
    """The trigger is the cause of the member that the start names; without a culprit it is the
    generation's first cause.
    """
    starts = generations.select(
        *GENERATION_KEY,
        "event_date",
        (F.col("group_type") != "classic").alias("is_new_type"),
        "culprit_member_id",
        "joined_time",
        F.col("cause").alias("start_cause"),
        F.col("reason").alias("start_reason"),
        F.col("client_reason").alias("start_client_reason"),
    )
    # A cause that is the broker's own, such as a change of the group's protocol, has no member.
    in_order = Window.partitionBy(*GENERATION_KEY).orderBy(
        F.col("member_id").isNotNull(), F.col("event_time").asc_nulls_last(), "kind", "member_id"
    )
    is_named = F.col("member_id").eqNullSafe(F.col("culprit_member_id")) & ~F.coalesce(
        (F.col("kind") == "departure") & F.col("start_cause").isin(NO_DEPARTURE), F.lit(False)
    )
    is_new = F.coalesce("is_new_type", F.lit(False))
    # A member may leave and join again before one target.
    is_named = is_named & (~is_new | (F.col("cause") == F.col("start_cause")))
    after_join = F.coalesce(F.col("event_time") > F.col("joined_time"), F.lit(False))
    absorbed = ((F.col("cause") == "STATIC_REPLACED") & after_join) | (
        F.col("cause") == STATIC_LEAVE
    )
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
    tables = {name: scope.read(name) for name in READS}
    tables["committed_offsets"] = scope.read_recent("committed_offsets")
    if not scope.has_rows("group_epochs"):
        del tables["group_epochs"], tables["member_epochs"]
    causes = rebalance_causes(**tables, gone_processes=scope.carried("gone_processes"))
    scope.replace("rebalance_causes", causes)


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("rebalance_causes")
