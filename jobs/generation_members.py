"""The members of each generation, how each joined and how each left.

reads   timeline, group_metadata
        group_records, committed_offsets, topic_ids   of consumer, share and streams groups
writes  generation_members   one row per member of a generation
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from jobs.engine.pieces import in_pieces
from jobs.group_metadata import members_with
from jobs.lake.client_rows import no_evidence
from jobs.lake.keys import INCARNATION_KEY, MEMBER_KEY, RECORD_KEY
from jobs.lake.scope import RunScope
from jobs.modern_history.played import READS as PLAYED
from jobs.modern_history.played import with_played
from jobs.timeline import IS_REMOVAL, RECORDS

READS = ("timeline", "group_metadata", *PLAYED)

# Maximum number of rows of group_metadata in memory, on the embedded engine.
RECORDS_AT_ONCE = 60_000

MEMBER_FIELDS = [
    "member_id", "instance_id", "client_id", "client_host", "session_timeout_ms",
    "rebalance_timeout_ms", "subscribed_topics",
]  # fmt: skip
# Fields of a member's own metadata, in Kafka Connect and in the classic protocol of Kafka Streams.
OWN_FIELDS = {"process_id": "string", "endpoint": "string", "config_offset": "bigint"}
CLIENT_KEY = [*INCARNATION_KEY, "client_id", "client_host"]

LEFT_HOW = {"LEFT": "left", "HEARTBEAT_EXPIRED": "session_expired"}


def generation_members(
    timeline: DataFrame, group_metadata: DataFrame, shared_clients: DataFrame | None = None
) -> DataFrame:
    """``shared_clients`` are clients of several processes, seen before these tables begin."""
    members = _one_row_per_generation(_members(_records(timeline, group_metadata)))
    return _with_departures(_with_process(members, shared_clients), _departures(timeline))


def _records(timeline: DataFrame, group_metadata: DataFrame) -> DataFrame:
    """Each record of a generation, with its ``number`` in the incarnation; ``has_next``: there is
    another one.
    """
    placed = timeline.where(
        F.col("event").isin(*RECORDS) & F.col("event_generation").isNotNull()
    ).select(*RECORD_KEY, "incarnation", "seq")
    incarnation = Window.partitionBy(*INCARNATION_KEY).orderBy("generation", "seq")
    records = group_metadata.select(
        *RECORD_KEY,
        "generation",
        "event_date",
        "leader",
        members_with(*MEMBER_FIELDS, own=OWN_FIELDS).alias("members"),
    )
    has_next = F.lead("members").over(incarnation).isNotNull()
    return records.join(placed, on=RECORD_KEY, how="inner").select(
        *INCARNATION_KEY,
        "generation",
        "event_date",
        "seq",
        "leader",
        "members",
        F.row_number().over(incarnation).alias("number"),
        has_next.alias("has_next"),
    )


def _members(records: DataFrame) -> DataFrame:
    """Members and instances that the previous or the next record has, too, are found by windows:
    with the members of these records in each row, the rows would be quadratic in the members.
    """
    each = records.withColumn("member", F.explode("members")).drop("members")
    rows = each.select(*each.columns, "member.*").drop("member")
    number, of_member = F.col("number"), _of_member()
    of_instance = by_instance().orderBy("generation", "seq")
    was_member = F.coalesce(number - F.lag(number).over(of_member) == 1, F.lit(False))
    stays = F.coalesce(F.lead(number).over(of_member) - number == 1, F.lit(False))
    had_instance = F.col("instance_id").isNotNull() & F.coalesce(
        number - F.lag(number).over(of_instance) == 1, F.lit(False)
    )
    return rows.select(
        *rows.drop("leader", "number", "has_next").columns,
        F.coalesce(F.col("member_id") == F.col("leader"), F.lit(False)).alias("is_leader"),
        F.when(was_member, "retained")
        .when(had_instance, "replaced")
        .otherwise("joined")
        .alias("change"),
        (F.col("has_next") & ~stays).alias("gone"),
    )


def _of_member() -> WindowSpec:
    return Window.partitionBy(*MEMBER_KEY).orderBy("generation", "seq")


def _with_process(members: DataFrame, shared_clients: DataFrame | None) -> DataFrame:
    """A client id and host are one process until the first date on which two of their members are
    in a group at the same time; from this date on, each member id is a process.
    """
    since: Column = F.min("concurrent_since").over(Window.partitionBy(*CLIENT_KEY))
    rows = members.withColumn("concurrent_since", _concurrent_since()).withColumn("since", since)
    if shared_clients is not None:
        earlier = shared_clients.withColumnRenamed("context_incarnation", "incarnation")
        first = earlier.groupBy(*CLIENT_KEY).agg(F.min("since").alias("earlier_since"))
        rows = rows.join(F.broadcast(first), on=CLIENT_KEY, how="left").withColumn(
            "since", F.least("since", "earlier_since")
        )
    host = F.ltrim(F.col("client_host"), F.lit("/"))
    process = (
        F.when(F.col("instance_id").isNotNull(), F.col("instance_id"))
        .when(F.col("since") <= F.col("event_date"), F.col("member_id"))
        .otherwise(F.coalesce(F.concat("client_id", F.lit("@"), host), "member_id"))
    )
    return rows.withColumn("process", process)


def concurrent_members(members: DataFrame) -> DataFrame:
    """Generations in which a client has several processes: CLIENT_KEY, generation, ``since`` (its
    date).
    """
    concurrent = members.withColumn("since", _concurrent_since()).where("since IS NOT NULL")
    return concurrent.select(*CLIENT_KEY, "generation", "since")


def _concurrent_since() -> Column:
    """The date of the generation, in rows after the first of a client's retained members in it.

    A rebalance removes a dynamic member whose process has ended, so two retained members are two
    processes.  A retained member and a member that joined may be a restart.
    """
    is_retained = (F.col("change") == "retained") & F.col("instance_id").isNull()
    client = Window.partitionBy(*CLIENT_KEY).orderBy(
        "generation", F.desc(is_retained), "event_date", "member_id"
    )
    previous_generation = F.lag(F.when(is_retained, F.col("generation"))).over(client)
    is_second = is_retained & previous_generation.eqNullSafe(F.col("generation"))
    return F.when(is_second, F.lag("event_date").over(client))


def _one_row_per_generation(members: DataFrame) -> DataFrame:
    """A static replacement writes a second record of the generation, and the members of both
    records count.

    ``is_final`` means that it is the last generation that the member was in.
    """
    # Use one window partition per member, because partitions of a single row cost more than their
    # rows.
    in_order = _of_member()
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    is_first = ~F.lag("generation").over(in_order).eqNullSafe(F.col("generation"))

    def of_first(column: str) -> Column:
        first = F.when(F.col("is_first"), F.col(column))
        return F.last(first, ignorenulls=True).over(so_far)

    return (
        members.withColumn("is_first", is_first)
        .withColumns({name: of_first(name) for name in ("change", "event_date")})
        .withColumn("next_generation", F.lead("generation").over(in_order))
        .where("NOT next_generation <=> generation")
        .withColumn("is_final", F.col("next_generation").isNull())
        .drop("is_first", "next_generation")
    )


def _departures(timeline: DataFrame) -> DataFrame:
    """The first event that ended each membership: how, when, and the client's reason."""
    unlisted = timeline.where(F.col("event").isin("LEFT", "HEARTBEAT_EXPIRED")).select(
        *MEMBER_KEY, "seq", _left_how(), "event_time", "client_reason"
    )
    listed = timeline.where(IS_REMOVAL).select(
        *INCARNATION_KEY,
        F.explode("members").alias("member_id"),
        "seq",
        F.lit("dropped").alias("how"),
        "event_time",
        "client_reason",
    )
    replaced = timeline.where("event = 'STATIC_REPLACED' AND old_member_id IS NOT NULL").select(
        *INCARNATION_KEY,
        F.col("old_member_id").alias("member_id"),
        "seq",
        F.lit("replaced").alias("how"),
        "event_time",
        "client_reason",
    )
    departures = unlisted.unionByName(listed).unionByName(replaced)
    return departures.groupBy(*MEMBER_KEY).agg(
        F.min_by(F.struct("how", "event_time", "client_reason"), "seq").alias("departure")
    )


def _left_how() -> Column:
    pairs = [F.lit(word) for pair in LEFT_HOW.items() for word in pair]
    return F.create_map(*pairs)[F.col("event")].alias("how")


def _with_departures(members: DataFrame, departures: DataFrame) -> DataFrame:
    """Each departure in the row of the last generation that the member was in."""
    departed = members.join(departures, on=MEMBER_KEY, how="left")

    def if_final(column: str) -> Column:
        return F.when(F.col("is_final"), F.col(column))

    # An instance that had left or expired before the next record did not replace a member.
    instance = by_instance().orderBy("seq")
    had_left = F.lag("departure.how").over(instance).isin("left", "session_expired", "dropped")
    change = F.when(
        (F.col("change") == "replaced") & F.coalesce(had_left, F.lit(False)), "joined"
    ).otherwise(F.col("change"))
    # Records alone show a replacement if the next record has the instance id with a new member id.
    replaced = F.when(F.col("gone") & F.col("next_of_instance").isNotNull(), F.lit("replaced"))
    next_of_instance = F.when(
        F.col("instance_id").isNotNull() & (F.lead("change").over(instance) == "replaced"),
        F.lead("member_id").over(instance),
    )
    rows = departed.withColumn("change", change).withColumn("next_of_instance", next_of_instance)
    return rows.select(
        *INCARNATION_KEY,
        "generation",
        "event_date",
        "member_id",
        "instance_id",
        "client_id",
        "client_host",
        "process",
        "session_timeout_ms",
        "rebalance_timeout_ms",
        "subscribed_topics",
        *OWN_FIELDS,
        "is_leader",
        "change",
        F.coalesce(if_final("departure.how"), replaced).alias("left_how"),
        if_final("departure.event_time").alias("left_time"),
        if_final("departure.client_reason").alias("left_reason"),
        "gone",
        no_evidence(),
    )


def by_instance() -> WindowSpec:
    """The successive members of an instance id.

    Each member without an instance id has its own window partition, because a partition for all of
    them would be as large as the incarnation.
    """
    alone = F.when(F.col("instance_id").isNull(), F.col("member_id"))
    return Window.partitionBy(*INCARNATION_KEY, "instance_id", alone)


def run(scope: RunScope) -> None:
    tables = {name: scope.read(name) for name in READS[:2]}
    if (clients := scope.carried("shared_clients")) is not None:
        tables["shared_clients"] = clients
    classic = in_pieces(generation_members, tables, largest=READS[1], at_once=RECORDS_AT_ONCE)
    rows = with_played(scope, classic, "generation_members")
    scope.replace("generation_members", rows)


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("generation_members")
