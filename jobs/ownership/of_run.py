"""The classic rebalances and tenures of a run, computed once for all tables derived from them."""

from __future__ import annotations

from datetime import UTC, datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.assignments import IS_CONSUMER
from jobs.engine.keeping import computed
from jobs.engine.pieces import in_pieces
from jobs.group_metadata import kept_states
from jobs.lake.fenced_clients import fenced_clients
from jobs.lake.group_types import COUNTS_AS_CLASSIC
from jobs.lake.keys import GENERATION_KEY, GROUP_KEY, INCARNATION_KEY, MEMBER_KEY, PARTITION_KEY
from jobs.lake.outages import lost_by_most, lost_session_ms, outages_of
from jobs.lake.scope import RunScope
from jobs.modern_history.played import READS as PLAYED
from jobs.modern_history.played import TENURES, played
from jobs.ownership.commits import last_commits
from jobs.ownership.members import members_of
from jobs.ownership.modern_groups import until_revoked
from jobs.ownership.process_ends import process_ends
from jobs.ownership.rebalances import rebalances
from jobs.ownership.returns import returned, with_shared_clients
from jobs.ownership.tenures import tenures
from jobs.timeline import CONVERSION_RECORD

READS = (
    "timeline",
    "group_metadata",
    "generations",
    "generation_members",
    "assignments",
    "rebalance_causes",
    *PLAYED,
)
# Maximum number of rows of assignments in memory, on the embedded engine.
PARTITIONS_AT_ONCE = 2_000_000


def classic_rebalances(scope: RunScope) -> DataFrame:
    """One row per classic generation, see `jobs.ownership.rebalances`."""

    def make() -> DataFrame:
        generations = scope.read("generations").where(COUNTS_AS_CLASSIC)
        others = map(scope.read, ("timeline", "generation_members"))
        return computed(rebalances(generations, *others))

    return scope.shared("classic_rebalances", make)


def classic_tenures(scope: RunScope) -> DataFrame:
    """Tenures of classic groups per member and generation, see `tenures_by_member`."""
    names = ("timeline", "group_metadata", "generation_members", "assignments")
    tables = {"classic_rebalances": classic_rebalances(scope)}
    tables |= {name: scope.read(name) for name in names}
    tables["committed_offsets"] = scope.read_recent("committed_offsets")
    if scope.has_rows("group_events"):
        tables["outages"] = outages_of(scope)
    if scope.has_rows("client_events"):
        frozen = scope.read("rebalance_causes").where("story = 'frozen'")
        tables["frozen"] = frozen.select(*MEMBER_KEY).distinct()

    def make() -> DataFrame:
        return in_pieces(
            tenures_by_member, tables, largest="assignments", at_once=PARTITIONS_AT_ONCE
        )

    return scope.shared("classic_tenures", make)


def modern_tenures(scope: RunScope) -> DataFrame | None:
    """Tenures of modern groups per partition, or None if the scope has no modern groups."""
    owned = played(scope, TENURES)
    return None if owned is None else until_revoked(owned, classic_rebalances(scope))


def owners_of(assignments: DataFrame) -> DataFrame:
    """The member and process that each generation assigns a partition to."""
    return assignments.where(IS_CONSUMER).select(
        *GENERATION_KEY, *PARTITION_KEY, "member_id", "process"
    )


def last_events(scope: RunScope) -> DataFrame:
    """Returns one row per group.  ``last_date`` is the date of its last event; ``last_ms`` is the
    time of the last event of its cluster on this date.
    """

    return scope.shared("last_events", lambda: computed(_last_events(scope)))


def _last_events(scope: RunScope) -> DataFrame:
    first = datetime.fromtimestamp(scope.first_ms / 1000, UTC).date()
    times = [
        scope.lake.read(table)
        .where(f"event_date >= DATE'{first}'")  # text prunes partitions
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


def earlier_rows(scope: RunScope, table: str, *, up_to_context: bool = False) -> DataFrame | None:
    """Rows of tenures that began before the context generation and whose partition had no next
    owner up to that generation, or None if histories are read in full.  ``up_to_context``: also
    rows whose next owner got the partition in that generation.
    """
    contexts = scope.context_rows("generations")
    if contexts is None:
        return None
    generations = contexts.select(*INCARNATION_KEY, F.col("generation").alias("context_generation"))
    is_after = ">=" if up_to_context else ">"
    return (
        scope.read(table)
        .join(F.broadcast(generations), on=INCARNATION_KEY, how="inner")
        .where("from_generation < context_generation")
        .where(f"generation IS NULL OR generation {is_after} context_generation")
        .drop("context_generation")
    )


def tenures_by_member(
    timeline: DataFrame,
    group_metadata: DataFrame,
    generation_members: DataFrame,
    assignments: DataFrame,
    committed_offsets: DataFrame,
    classic_rebalances: DataFrame,
    outages: DataFrame | None = None,
    frozen: DataFrame | None = None,
) -> DataFrame:
    """The time in which each member of each classic generation owned its partitions, see `tenures`.
    The rows are already computed.  ``outages`` has the rows of `jobs.lake.outages`, or is None
    without log lines.  ``frozen`` has removed members whose processes were frozen by their own
    logs, or None without these.
    """
    kept = computed(kept_states(group_metadata))
    members = members_of(timeline, generation_members, classic_rebalances)
    members = computed(with_shared_clients(members, kept))
    committed = computed(last_commits(members, owners_of(assignments), committed_offsets))
    departed = (
        members.where("left_how IS NOT NULL")
        .join(committed, on=[*MEMBER_KEY, "generation"], how="left")
        .join(returned(members, timeline, group_metadata, kept, frozen), on=MEMBER_KEY, how="left")
        .join(_lost_sessions(members, outages), on=MEMBER_KEY, how="left")
        .join(fenced_clients(timeline), on=MEMBER_KEY, how="left")
    )
    rejoined = committed.select(*MEMBER_KEY, "generation", "rejoined_ms")
    owning = members.join(process_ends(departed), on=MEMBER_KEY, how="left").join(
        rejoined, on=[*MEMBER_KEY, "generation"], how="left"
    )
    return computed(_converted(tenures(owning), timeline))


def _lost_sessions(members: DataFrame, outages: DataFrame | None) -> DataFrame:
    """MEMBER_KEY, ``lost_ms``: when the client lost its session in an outage of the coordinator,
    ``outage_ms``: when the outage began.
    """
    if outages is None:
        absent = F.lit(None).cast("bigint")
        none = members.select(*MEMBER_KEY).where("false")
        return none.withColumns({"lost_ms": absent, "outage_ms": absent})
    back_ms = F.when(F.col("left_how") == "replaced", F.col("left_ms")).otherwise(F.col("back_ms"))
    sizes = members.groupBy(*GENERATION_KEY).agg(F.count_distinct("client").alias("size"))
    gone = (
        members.where("left_how IN ('replaced', 'session_expired')")
        .join(sizes, on=GENERATION_KEY, how="left")
        .select(
            *MEMBER_KEY,
            back_ms.alias("joined_ms"),
            "session_timeout_ms",
            "size",
            F.col("client").alias("process"),
        )
    )
    lost = gone.join(F.broadcast(outages), on=GROUP_KEY, how="inner").withColumn(
        "lost_ms", lost_session_ms(F.col("joined_ms"), F.col("session_timeout_ms"))
    )
    return (
        lost_by_most(lost.where("lost_ms IS NOT NULL"))
        .groupBy(*MEMBER_KEY)
        .agg(F.min("lost_ms").alias("lost_ms"), F.max("since_ms").alias("outage_ms"))
    )


def _converted(tenures: DataFrame, timeline: DataFrame) -> DataFrame:
    """End the tenures of a classic generation when its group is converted to another type."""
    converted = timeline.where(F.col("event") == CONVERSION_RECORD).select(
        *INCARNATION_KEY, F.unix_millis("event_time").alias("converted_ms")
    )
    later = (
        tenures.select(*GENERATION_KEY, "from_ms")
        .join(converted, on=INCARNATION_KEY, how="inner")
        .where("converted_ms >= from_ms")
        .groupBy(*GENERATION_KEY)
        .agg(F.min("converted_ms").alias("converted_ms"))
    )
    until_ms = F.least("until_ms", "converted_ms")
    return tenures.join(later, on=GENERATION_KEY, how="left").withColumn("until_ms", until_ms)
