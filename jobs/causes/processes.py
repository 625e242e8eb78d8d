"""The process behind each cause: its arrivals around the cause, and whether it was still running.

A cause names a member id, and a process gets another one with each start; generation_members says
which process a member is.  When and how a process comes back shows whether it had stopped or only
sent no heartbeats.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from coordinator_core.lives.processes import RESTART_MS
from jobs.causes.modern_groups import STATIC_LEAVE
from jobs.causes.rows import MEMBER_AND_TIME
from jobs.engine.union import union_of
from jobs.generations import client_of
from jobs.lake.fenced_clients import fenced_clients
from jobs.lake.keys import GENERATION_KEY, GROUP_KEY, INCARNATION_KEY, MEMBER_KEY
from jobs.lake.outages import lost_by_most, lost_session_ms

# A process that comes back more than this many days after it left counts as new.
REMEMBERED_DAYS = 7
# A replaced process that still runs is fenced at its next heartbeat, within this time.
FENCED_MS = 300_000


def with_process(
    causes: DataFrame, generation_members: DataFrame, timeline: DataFrame
) -> DataFrame:
    """Each cause with its member's client and process, from the last generation up to the cause's
    that has the member, else from the first generation with the member.  If no generation has the
    member, the client comes from lines.
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
    # A member that left may return with its member id in the generation that its departure
    # triggered.
    has_left = F.col("c.is_new_type") & (F.col("c.kind") == "departure") & ~F.col("c.absorbed")
    until = F.col("c.generation") - F.when(has_left, 1).otherwise(0)
    valid = (until >= F.col("m.valid_from")) & F.coalesce(
        until < F.col("m.valid_until"), F.lit(True)
    )
    added = [name for name in members.columns if name not in MEMBER_KEY]
    recorded = causes.alias("c").join(members, on=[*same, valid], how="left").select("c.*", *added)
    return _with_logged_clients(recorded, timeline)


def _with_logged_clients(causes: DataFrame, timeline: DataFrame) -> DataFrame:
    """The clients of members without a record, by lines: instance id, client id, host."""
    names = ("instance_id", "client_id", "client_host")
    named = timeline.where("instance_id IS NOT NULL OR client_id IS NOT NULL")
    # The line about a replaced static member names the old member id; in some versions it does not
    # name the new member id.
    ids = F.array_compact(F.array("member_id", "old_member_id"))
    logged = (
        named.withColumn("logged_id", F.explode(ids))
        .groupBy(*INCARNATION_KEY, "logged_id")
        .agg(*(F.max(name).alias(f"logged_{name}") for name in names))
    )
    # The id of a static member begins with the member's instance id.
    prefix = client_of("member_id")
    instances = named.where("instance_id IS NOT NULL").select(
        *INCARNATION_KEY, F.col("instance_id").alias("prefix"), F.lit(True).alias("is_instance")
    )
    joined = (
        causes.withColumns({"logged_id": F.coalesce("member_id", "replaces"), "prefix": prefix})
        .join(logged, on=[*INCARNATION_KEY, "logged_id"], how="left")
        .join(instances.distinct(), on=[*INCARNATION_KEY, "prefix"], how="left")
    )
    is_recorded = F.col("process").isNotNull()
    by_prefix = F.when(~is_recorded & F.col("is_instance"), F.col("prefix"))
    instance_id = F.coalesce("instance_id", "logged_instance_id", by_prefix)
    by_member_id = F.when(instance_id.isNull(), F.col("prefix"))
    return joined.withColumns(
        {
            "instance_id": instance_id,
            "client_id": F.coalesce("client_id", "logged_client_id", by_member_id),
            "client_host": F.coalesce("client_host", "logged_client_host"),
        }
    ).drop("logged_id", "prefix", "is_instance", *(f"logged_{name}" for name in names))


def seen_before(
    generations: DataFrame, generation_members: DataFrame, gone_processes: DataFrame | None
) -> DataFrame:
    """Members whose process was in an earlier generation, at most REMEMBERED_DAYS before;
    ``has_new_id`` means that it was in the group under another id until RESTART_MS before, and no
    line says how that member ended.
    """
    history = Window.partitionBy(*GROUP_KEY).orderBy("incarnation", "generation")
    at_ms = F.unix_millis(F.coalesce("joined_time", "stable_time"))
    recorded = generations.where("evidence <> 'log'").select(
        *GENERATION_KEY,
        F.row_number().over(history).alias("record_no"),
        F.lead("event_date").over(history).alias("until"),
        at_ms.alias("at_ms"),
        F.lead(at_ms).over(history).alias("gone_ms"),
    )
    rows = generation_members.join(recorded, on=GENERATION_KEY, how="inner").select(
        *GENERATION_KEY, "member_id", "event_date", "process", "record_no", "until",
        "at_ms", F.when(F.expr("gone AND left_how IS NULL"), F.col("gone_ms")).alias("gone_ms"),
    )  # fmt: skip
    if gone_processes is not None:
        gone = gone_processes.select(*GROUP_KEY, "process", "until", F.lit(0).alias("record_no"))
        rows = union_of(rows, gone)
    earlier = Window.partitionBy(*GROUP_KEY, "process").orderBy("record_no")
    before = earlier.rangeBetween(Window.unboundedPreceding, -1)
    remembered = F.datediff("event_date", F.max("until").over(before)) <= REMEMBERED_DAYS
    away_ms = F.col("at_ms") - F.max("gone_ms").over(before)
    return (
        rows.withColumns({"was_seen": remembered, "away_ms": away_ms})
        .where("was_seen")
        .select(
            *GENERATION_KEY,
            "member_id",
            "was_seen",
            (F.col("away_ms") <= RESTART_MS).alias("has_new_id"),
        )
    )


def with_neighbors(causes: DataFrame) -> DataFrame:
    """Each cause with the arrivals of its process before and after it: ``earlier_arrivals`` in its
    generation, the next one, and the last time a static process left.
    """
    arrived = F.col("kind") == "arrival"
    # Without a record the client stands for its process: a member that joins after another member
    # of the same client left may be a restart of the same process.
    process_key = F.coalesce("process", "instance_id", F.concat(F.lit("client "), "client_id"))
    causes = causes.withColumn("process_key", F.coalesce(process_key, "member_id"))
    in_generation = Window.partitionBy(*GENERATION_KEY, "process_key").orderBy(
        "event_time", "member_id"
    )
    earlier_arrivals = F.count(F.when(arrived, 1)).over(
        in_generation.rowsBetween(Window.unboundedPreceding, -1)
    )
    process = Window.partitionBy(*GROUP_KEY, "process_key")
    # If both have the same time, a departure precedes the arrival that it makes room for.
    forwards = process.orderBy("event_time", "generation", F.desc("kind"))
    backwards = process.orderBy(F.desc("event_time"), F.desc("generation"), "kind")
    arrival = F.when(arrived, F.struct("event_time", "member_id"))
    next_arrival = F.last(arrival, ignorenulls=True).over(
        backwards.rowsBetween(Window.unboundedPreceding, -1)
    )
    # The session of a static member that left expires later than its process ends.
    away = F.when(F.col("cause") == STATIC_LEAVE, F.col("event_time"))
    away_time = F.last(F.when(arrived | away.isNotNull(), F.struct(away.alias("time"))), True)
    return (
        causes.withColumns(
            {
                "earlier_arrivals": earlier_arrivals,
                "next_arrival": next_arrival,
                "away": away_time.over(forwards.rowsBetween(Window.unboundedPreceding, -1)),
            }
        )
        .withColumns(
            {
                "next_arrival_time": F.col("next_arrival.event_time"),
                # Only a process that did not stop joins again under its member id.
                "is_own_return": F.col("is_new_type")
                & F.coalesce(F.col("next_arrival.member_id") == F.col("member_id"), F.lit(False)),
                "away_time": F.col("away.time"),
            }
        )
        .drop("process_key")
    )


def with_lost_session(
    causes: DataFrame, generation_members: DataFrame, outages: DataFrame | None
) -> DataFrame:
    """``lost_session`` says whether the client of an arrival had lost its session in an outage of
    the coordinator, so that its process may have run on.
    """
    if outages is None:
        return causes.withColumn("lost_session", F.lit(False))
    joined_ms = F.unix_millis("event_time")
    arrived = causes.where("kind = 'arrival' AND NOT is_new_type").select(
        *MEMBER_AND_TIME,
        "generation",
        "session_timeout_ms",
        F.coalesce("process", "instance_id", "member_id").alias("process"),
    )
    sizes = generation_members.groupBy(*GENERATION_KEY).agg(
        F.count_distinct("process").alias("size")
    )
    lost = (
        arrived.join(F.broadcast(outages), on=GROUP_KEY, how="inner")
        .where(lost_session_ms(joined_ms, F.col("session_timeout_ms")).isNotNull())
        .join(sizes, on=GENERATION_KEY, how="left")
    )
    of_most = lost_by_most(lost).select(*MEMBER_AND_TIME, F.lit(True).alias("lost_session"))
    return causes.join(of_most.distinct(), on=MEMBER_AND_TIME, how="left")


def beside_previous(causes: DataFrame, generation_members: DataFrame) -> DataFrame:
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


def fenced_after_replacement(timeline: DataFrame) -> DataFrame:
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


def fenced_out(timeline: DataFrame) -> DataFrame:
    """Static members whose client ended when it was fenced, see `jobs.lake.fenced_clients`."""
    return fenced_clients(timeline).select(*MEMBER_KEY, F.lit(True).alias("was_fenced"))
