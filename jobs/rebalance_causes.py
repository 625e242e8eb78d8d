"""What made each rebalance and what fed it, and what the processes behind it did.

reads   timeline, generations, generation_members, assignments, committed_offsets, churn
writes  rebalance_causes   one row per cause
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from coordinator_core.lives.processes import COMMIT_SLACK_MS, RESTART_MS
from jobs.assignments import ACTUAL
from jobs.command_line.arguments import main
from jobs.generation_members import by_instance
from jobs.lake.tables import Lake
from jobs.rebalance_latency import REJOINS
from jobs.timeline import GENERATION, GROUP, LIFE, PUTS_OUT

READS = (
    "timeline",
    "generations",
    "generation_members",
    "assignments",
    "committed_offsets",
    "churn",
)

PARTITION = ["topic", "partition"]

# What begins a rebalance, but no departure: whoever it names and leaves before all have joined did
# both.
NO_DEPARTURE = [*REJOINS, "STORE_ERROR"]

# One that comes later than so many days after it went is new.
REMEMBERED_DAYS = 7
# A process that was replaced and lives learns it by its next heartbeat.
HEARD_AGAIN_MS = 300_000
# Whoever may take longer than this between two polls is not looked at: commits are read of the
# date of the leave and the one before.
LONGEST_POLL_MS = 80_000_000


def rebalance_causes(
    timeline: DataFrame,
    generations: DataFrame,
    generation_members: DataFrame,
    assignments: DataFrame,
    committed_offsets: DataFrame,
    churn: DataFrame,
    gone_processes: DataFrame | None = None,
) -> DataFrame:
    """``gone_processes``: who had left not long before these tables begin."""
    told = _departures(timeline).unionByName(_arrivals(timeline, generation_members))
    causes = told.unionByName(_other_starts(generations, told))
    seen = _seen_before(generations, generation_members, gone_processes)
    # Small, and in every branch of what follows: without its history, or plans grow large.
    named = (
        _named(causes, generation_members)
        .join(seen, on=[*GENERATION, "member_id"], how="left")
        .localCheckpoint()
    )
    silent = _silent_before_leaving(named, assignments, committed_offsets)
    watched = named.join(silent, on=[*LIFE, "member_id"], how="left").join(
        _heard_again(timeline), on=[*LIFE, "replaces"], how="left"
    )
    with_story = _story(watched, churn)
    return _numbered(_with_role(with_story, generations))


def _named(causes: DataFrame, generation_members: DataFrame) -> DataFrame:
    """Whose cause it is, by the last generation that the member was in up to the cause's own; of
    one who was in none yet, by the first.
    """
    history = Window.partitionBy(*LIFE, "member_id").orderBy("generation")
    is_first = F.lag("generation").over(history).isNull()
    rows = generation_members.select(
        *LIFE,
        "member_id",
        "instance_id",
        "client_id",
        "client_host",
        "process",
        "rebalance_timeout_ms",
        F.col("generation").alias("last_generation"),
        F.when(is_first, F.lit(0)).otherwise(F.col("generation")).alias("valid_from"),
        F.lead("generation").over(history).alias("valid_until"),
    ).alias("m")
    told = causes.alias("c")
    same = [F.col(f"c.{name}").eqNullSafe(F.col(f"m.{name}")) for name in [*LIFE, "member_id"]]
    valid = (F.col("c.generation") >= F.col("m.valid_from")) & F.coalesce(
        F.col("c.generation") < F.col("m.valid_until"), F.lit(True)
    )
    taken = [name for name in rows.columns if name not in (*LIFE, "member_id")]
    return told.join(rows, on=[*same, valid], how="left").select("c.*", *taken)


def _seen_before(
    generations: DataFrame, generation_members: DataFrame, gone_processes: DataFrame | None
) -> DataFrame:
    """Members whose process had been in an earlier generation, not more than some days before."""
    history = Window.partitionBy(*GROUP).orderBy("incarnation", "generation")
    recorded = generations.where("evidence <> 'log'").select(
        *GENERATION,
        F.row_number().over(history).alias("record_no"),
        F.lead("event_date").over(history).alias("until"),
    )
    rows = generation_members.join(recorded, on=GENERATION, how="inner").select(
        *GENERATION, "member_id", "event_date", "process", "record_no", "until"
    )
    if gone_processes is not None:
        rows = rows.unionByName(
            gone_processes.select(*GROUP, "process", "until", F.lit(0).alias("record_no")),
            allowMissingColumns=True,
        )
    earlier = Window.partitionBy(*GROUP, "process").orderBy("record_no")
    last = F.max("until").over(earlier.rangeBetween(Window.unboundedPreceding, -1))
    remembered = F.datediff("event_date", last) <= REMEMBERED_DAYS
    return rows.withColumn("was_seen", remembered).where("was_seen").select(
        *GENERATION, "member_id", "was_seen"
    )  # fmt: skip


def _departures(timeline: DataFrame) -> DataFrame:
    told = timeline.where(
        "event = 'HEARTBEAT_EXPIRED' OR (event = 'LEFT' AND NOT step <=> 'pending')"
    ).withColumn("who", F.col("member_id"))
    listed = timeline.where(PUTS_OUT).withColumn("who", F.explode("members"))
    poll_timeout = F.col("client_cause") == "POLL_TIMEOUT"
    cause = (
        F.when(F.col("event") == "HEARTBEAT_EXPIRED", "HEARTBEAT_EXPIRY")
        .when(F.col("event") == "DROPPED_NOT_REJOINED", "NOT_REJOINED")
        .when(F.col("event") == "REBALANCE_START", "SYNC_TIMEOUT")
        .when(poll_timeout, "LEAVE_POLL_TIMEOUT")
        .otherwise("LEAVE")
    )
    return told.unionByName(listed).select(
        *LIFE,
        F.col("forming_generation").alias("generation"),
        F.col("who").alias("member_id"),
        F.col("event_time").alias("event_time"),
        cause.alias("cause"),
        F.lit("departure").alias("kind"),
        F.lit(None).cast("string").alias("replaces"),
        "reason",
        "client_reason",
        F.lit("log").alias("evidence"),
    )


def _arrivals(timeline: DataFrame, generation_members: DataFrame) -> DataFrame:
    """Members by the first record that has them; when they came, by the log where it says."""
    came = (
        timeline.where("event IN ('MEMBER_JOIN', 'STATIC_NEW')")
        .groupBy(*LIFE, "member_id")
        .agg(F.max("event_time").alias("came"))
    )
    # The line that replaces an instance's member names the old id, not the new one.
    replaced = timeline.where("event = 'STATIC_REPLACED'").select(
        *LIFE,
        "instance_id",
        F.col("old_member_id").alias("replaces"),
        F.col("event_time").alias("replaced_time"),
    )
    # Within one generation whoever was replaced went first.
    instance = by_instance().orderBy(
        "generation", F.col("left_time").asc_nulls_last(), F.col("left_how").asc_nulls_last()
    )
    predecessor = F.lag("member_id").over(instance)
    new = generation_members.withColumn(
        "replaces", F.when(F.col("change") == "replaced", predecessor)
    ).where("change <> 'retained'")
    dated = new.join(came, on=[*LIFE, "member_id"], how="left").join(
        replaced, on=[*LIFE, "instance_id", "replaces"], how="left"
    )
    is_replacement = F.col("change") == "replaced"
    return dated.select(
        *GENERATION,
        "member_id",
        F.coalesce("replaced_time", "came").alias("event_time"),
        F.when(is_replacement, "STATIC_REPLACED").otherwise("MEMBER_NEW").alias("cause"),
        F.lit("arrival").alias("kind"),
        "replaces",
        F.lit(None).cast("string").alias("reason"),
        F.lit(None).cast("string").alias("client_reason"),
        F.when(F.coalesce("replaced_time", "came").isNull(), "records")
        .otherwise("log")
        .alias("evidence"),
    )


def _other_starts(generations: DataFrame, told: DataFrame) -> DataFrame:
    """What began a rebalance and is neither an arrival nor a departure found above; of one without
    a start in the log (its members went, or came again), if nothing else is."""
    starts = generations.where("cause IS NOT NULL")
    known = told.select(*GENERATION, "kind", F.col("member_id").alias("culprit_member_id"))
    logged = starts.where("preparing_time IS NOT NULL").alias("start")
    tells = (F.col("kind") != "departure") | ~F.col("cause").isin(NO_DEPARTURE)
    same = [F.col(f"start.{n}") == F.col(f"known.{n}") for n in [*GENERATION, "culprit_member_id"]]
    by_log = logged.join(known.alias("known"), on=[*same, tells], how="left_anti")
    by_records = starts.where("preparing_time IS NULL").join(known, on=GENERATION, how="left_anti")
    evidence = F.when(F.col("preparing_time").isNull(), "records").otherwise("log")
    return by_log.unionByName(by_records).select(
        *GENERATION,
        F.col("culprit_member_id").alias("member_id"),
        F.col("preparing_time").alias("event_time"),
        "cause",
        F.lit("other").alias("kind"),
        F.lit(None).cast("string").alias("replaces"),
        "reason",
        "client_reason",
        evidence.alias("evidence"),
    )


def _silent_before_leaving(
    causes: DataFrame, assignments: DataFrame, committed_offsets: DataFrame
) -> DataFrame:
    """Members that left one max.poll.interval.ms after the last commit for what they owned.

    One made in a transaction counts whether it was committed or not: the member was alive.
    """
    leaves = causes.where(
        f"cause = 'LEAVE' AND rebalance_timeout_ms BETWEEN 1 AND {LONGEST_POLL_MS}"
    ).select(
        *LIFE, "member_id", "event_time", "rebalance_timeout_ms",
        F.col("last_generation").alias("generation"),
    )  # fmt: skip
    owned = assignments.where(F.col("assignor") == ACTUAL).select(
        *GENERATION, "member_id", *PARTITION
    )
    commits = committed_offsets.where("NOT tombstone").select(
        *GROUP, *PARTITION, F.col("append_time").alias("committed")
    )
    last = (
        leaves.join(owned, on=[*GENERATION, "member_id"], how="inner")
        .join(commits, on=[*GROUP, *PARTITION], how="inner")
        .where("committed <= event_time")
        .groupBy(*LIFE, "member_id", "event_time", "rebalance_timeout_ms")
        .agg(F.max("committed").alias("committed"))
    )
    gap_ms = F.unix_millis("event_time") - F.unix_millis("committed")
    beyond_poll = F.abs(gap_ms - F.col("rebalance_timeout_ms")) <= COMMIT_SLACK_MS
    return last.where(beyond_poll & (gap_ms > COMMIT_SLACK_MS)).select(
        *LIFE, "member_id", F.lit(True).alias("was_silent")
    )


def _heard_again(timeline: DataFrame) -> DataFrame:
    """Replaced static members that went on asking: their process was not restarted but doubled."""
    fenced = timeline.where("event = 'STATIC_FENCED'").select(
        *LIFE, F.col("member_id").alias("replaces"), "event_time"
    )
    replaced = timeline.where("event = 'STATIC_REPLACED'").select(
        *LIFE, F.col("old_member_id").alias("replaces"), F.col("event_time").alias("replaced_time")
    )
    since_ms = F.unix_millis("event_time") - F.unix_millis("replaced_time")
    return (
        replaced.join(fenced, on=[*LIFE, "replaces"], how="inner")
        .where(since_ms <= HEARD_AGAIN_MS)
        .select(*LIFE, "replaces", F.lit(True).alias("was_alive"))
        .distinct()
    )


def _story(causes: DataFrame, churn: DataFrame) -> DataFrame:
    backwards = Window.partitionBy(*GROUP, "process").orderBy(
        F.desc("event_time"), F.desc("generation"), "kind"
    )
    arrived = F.col("kind") == "arrival"
    in_generation = Window.partitionBy(*GENERATION, "process").orderBy("event_time", "member_id")
    just_now = F.count(F.when(arrived, 1)).over(
        in_generation.rowsBetween(Window.unboundedPreceding, -1)
    )
    next_arrival = F.last(F.when(arrived, F.col("event_time")), ignorenulls=True).over(
        backwards.rowsBetween(Window.unboundedPreceding, -1)
    )
    back_in_ms = F.unix_millis("next_arrival") - F.unix_millis("event_time")
    told = causes.withColumn("just_now", just_now).withColumn("next_arrival", next_arrival)
    slow = (F.col("cause") == "LEAVE_POLL_TIMEOUT") | F.coalesce("was_silent", F.lit(False))
    is_static = F.col("instance_id").isNotNull()
    departure = (
        F.when(F.col("cause") == "NOT_REJOINED", "slow_rejoin")
        .when(F.col("cause") == "SYNC_TIMEOUT", "no_sync")
        # A static member does not leave when it is closed: nobody can tell this from a crash.
        .when((F.col("cause") == "HEARTBEAT_EXPIRY") & is_static, "stop_or_crash")
        .when(F.col("cause") == "HEARTBEAT_EXPIRY", "crash")
        .when(slow, "slow_poll")
        .when(F.coalesce(back_in_ms <= RESTART_MS, F.lit(False)), "restart")
        .otherwise("stop")
    )
    arrival = (
        F.when((F.col("cause") == "STATIC_REPLACED") & F.col("was_alive"), "takeover")
        .when(F.col("cause") == "STATIC_REPLACED", "restart")
        .when((F.col("just_now") > 0) | F.col("was_seen"), "return")
        .otherwise("start")
    )
    changes = churn.select(*GENERATION, F.col("partitions_new").alias("new_here"))
    withheld = churn.select(
        *LIFE,
        (F.col("generation") + 1).alias("generation"),
        F.col("partitions_orphaned").alias("withheld"),
    )
    rejoin = (
        F.when(F.col("withheld") > 0, "follow_up")
        .when(F.col("new_here") > 0, "topic_change")
        .otherwise("rejoin")
    )
    story = (
        F.when(F.col("kind") == "departure", departure)
        .when(arrived, arrival)
        .when(F.col("cause").isin(*REJOINS), rejoin)
    )
    evidence = F.when(
        F.coalesce("was_silent", F.lit(False)) & (F.col("cause") == "LEAVE"), "commits"
    ).otherwise(F.col("evidence"))
    return (
        told.join(changes, on=GENERATION, how="left")
        .join(withheld, on=GENERATION, how="left")
        .withColumns({"story": story, "evidence": evidence})
    )


def _with_role(causes: DataFrame, generations: DataFrame) -> DataFrame:
    """The trigger is whom the start names; without a log, the first cause there is."""
    made = generations.select(
        *GENERATION,
        "event_date",
        "culprit_member_id",
        "joined_time",
        F.col("cause").alias("start_cause"),
        F.col("reason").alias("start_reason"),
        F.col("client_reason").alias("start_client_reason"),
    )
    in_order = Window.partitionBy(*GENERATION).orderBy(
        F.col("event_time").asc_nulls_last(), "kind", "member_id"
    )
    named = F.col("member_id").eqNullSafe(F.col("culprit_member_id")) & ~F.coalesce(
        (F.col("kind") == "departure") & F.col("start_cause").isin(NO_DEPARTURE), F.lit(False)
    )
    after_the_barrier = F.coalesce(F.col("event_time") > F.col("joined_time"), F.lit(False))
    absorbed = (F.col("cause") == "STATIC_REPLACED") & after_the_barrier
    first_of_unknown = F.col("culprit_member_id").isNull() & (F.row_number().over(in_order) == 1)
    role = (
        F.when(absorbed, "absorbed")
        .when(named | first_of_unknown, "trigger")
        .otherwise("contributing")
    )
    is_trigger = F.col("role") == "trigger"
    told = causes.join(made, on=GENERATION, how="inner").withColumn("role", role)
    return told.withColumns(
        {
            "cause": F.when(is_trigger & (F.col("kind") == "arrival"), F.col("start_cause"))
            .when(F.col("kind") == "arrival", F.col("cause"))
            .otherwise(F.col("cause")),
            "reason": F.coalesce(F.when(is_trigger, F.col("start_reason")), "reason"),
            "client_reason": F.coalesce(
                "client_reason", F.when(is_trigger, F.col("start_client_reason"))
            ),
        }
    )


def _numbered(causes: DataFrame) -> DataFrame:
    order = Window.partitionBy(*GENERATION).orderBy(
        (F.col("role") != "trigger"), F.col("event_time").asc_nulls_last(), "kind", "member_id"
    )
    return causes.withColumn("cause_seq", F.row_number().over(order)).select(
        *GENERATION,
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
        "reason",
        "client_reason",
        "evidence",
    )


def run(lake: Lake) -> None:
    tables = {name: lake.read(name) for name in READS}
    tables["committed_offsets"] = lake.read_recent("committed_offsets")
    causes = rebalance_causes(**tables, gone_processes=lake.carried("gone_processes"))
    lake.replace("rebalance_causes", causes)


if __name__ == "__main__":
    main(__doc__, run)
