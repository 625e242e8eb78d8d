"""Who was in each generation, who came with it, and how everyone went.

reads   group_metadata, timeline
writes  generation_members   one row per member of a generation
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from jobs.command_line.arguments import main
from jobs.group_metadata import members_with
from jobs.lake.tables import Lake
from jobs.timeline import LIFE, PUTS_OUT, RECORDS

READS = ("timeline", "group_metadata")

MEMBER = [*LIFE, "member_id"]
OF_MEMBER = [
    "member_id", "instance_id", "client_id", "client_host", "session_timeout_ms",
    "rebalance_timeout_ms", "subscribed_topics",
]  # fmt: skip
CLIENT = [*LIFE, "client_id", "client_host"]
RECORD = ["cluster_id", "group_id", "topic_partition", "log_offset"]
HOW = {"LEFT": "left", "HEARTBEAT_EXPIRED": "expired"}


def generation_members(
    timeline: DataFrame, group_metadata: DataFrame, known_shared: DataFrame | None = None
) -> DataFrame:
    """``known_shared``: clients that several processes have, by what was before these tables."""
    members = _one_row_a_generation(_members(_records(timeline, group_metadata)))
    return _with_departures(_with_process(members, known_shared), _departures(timeline))


def _records(timeline: DataFrame, group_metadata: DataFrame) -> DataFrame:
    """Every record that makes a generation, beside the members of the ones before and after it."""
    placed = timeline.where(
        F.col("event").isin(*RECORDS) & F.col("event_generation").isNotNull()
    ).select(*RECORD, "incarnation", "seq")
    life = Window.partitionBy(*LIFE).orderBy("seq")
    records = group_metadata.select(
        *RECORD, "generation", "event_date", "leader", members_with(*OF_MEMBER).alias("members")
    )
    return records.join(placed, on=RECORD, how="inner").select(
        *LIFE,
        "generation",
        "event_date",
        "seq",
        "leader",
        "members",
        F.lag("members.member_id").over(life).alias("ids_before"),
        F.lag("members.instance_id").over(life).alias("instances_before"),
        F.lead("members.member_id").over(life).alias("ids_after"),
    )


def _members(records: DataFrame) -> DataFrame:
    each = records.withColumn("member", F.explode("members"))
    member_id, instance_id = F.col("member.member_id"), F.col("member.instance_id")
    was_there = F.coalesce(F.array_contains("ids_before", member_id), F.lit(False))
    had_instance = instance_id.isNotNull() & F.coalesce(
        F.array_contains("instances_before", instance_id), F.lit(False)
    )
    stays = F.array_contains("ids_after", member_id)
    return each.select(
        *LIFE,
        "generation",
        "event_date",
        "seq",
        "member.*",
        (member_id == F.col("leader")).alias("is_leader"),
        F.when(was_there, "retained")
        .when(had_instance, "replaced")
        .otherwise("joined")
        .alias("change"),
        (~F.coalesce(stays, F.lit(True))).alias("gone"),
    )


def _with_process(members: DataFrame, known_shared: DataFrame | None) -> DataFrame:
    """A client id and host name one process, unless two of their members live side by side, from
    the date on which that first shows.
    """
    shared = side_by_side(members)
    if known_shared is not None:
        known = known_shared.withColumnRenamed("context_incarnation", "incarnation")
        shared = shared.unionByName(known).groupBy(*CLIENT).agg(F.min("since").alias("since"))
    process = (
        F.when(F.col("instance_id").isNotNull(), F.col("instance_id"))
        .when(F.col("since") <= F.col("event_date"), F.col("member_id"))
        .otherwise(F.concat("client_id", F.lit("@"), F.ltrim(F.col("client_host"), F.lit("/"))))
    )
    return members.join(F.broadcast(shared), on=CLIENT, how="left").withColumn("process", process)


def side_by_side(members: DataFrame) -> DataFrame:
    """Clients of several processes: CLIENT, and ``since`` which date that is known."""
    return together(members).groupBy(*CLIENT).agg(F.min("since").alias("since"))


def together(members: DataFrame) -> DataFrame:
    """Generations that show it: CLIENT, generation, and ``since``, its date.

    A dead dynamic member cannot come through a rebalance, so two members retained together are two
    processes; one of them retained beside a new one may be a restart.
    """
    retained = members.where("change = 'retained' AND instance_id IS NULL")
    counted = retained.groupBy(*CLIENT, "generation").agg(
        F.count("*").alias("count"), F.min("event_date").alias("since")
    )
    return counted.where("count > 1").drop("count")


def _one_row_a_generation(members: DataFrame) -> DataFrame:
    """A static replacement writes a second record of the generation: either's members count."""
    in_order = Window.partitionBy(*MEMBER, "generation").orderBy("seq")
    # By member from here on: Spark would shuffle by generation first, and for the next step again.
    return (
        members.repartition(*MEMBER)
        .withColumn("change", F.first("change").over(in_order))
        .withColumn("event_date", F.first("event_date").over(in_order))
        .withColumn("next_seq", F.lead("seq").over(in_order))
        .where("next_seq IS NULL")
    )


def _departures(timeline: DataFrame) -> DataFrame:
    """The first thing that ended each member, with its time."""
    told = timeline.where(F.col("event").isin("LEFT", "HEARTBEAT_EXPIRED")).select(
        *MEMBER, "seq", _how(F.col("event")), "event_time", "client_reason"
    )
    listed = timeline.where(PUTS_OUT).select(
        *LIFE,
        F.explode("members").alias("member_id"),
        "seq",
        F.lit("dropped").alias("how"),
        "event_time",
        "client_reason",
    )
    replaced = timeline.where("event = 'STATIC_REPLACED' AND old_member_id IS NOT NULL").select(
        *LIFE,
        F.col("old_member_id").alias("member_id"),
        "seq",
        F.lit("replaced").alias("how"),
        "event_time",
        "client_reason",
    )
    departures = told.unionByName(listed).unionByName(replaced)
    return departures.groupBy(*MEMBER).agg(
        F.min_by(F.struct("how", "event_time", "client_reason"), "seq").alias("departure")
    )


def _how(event: Column) -> Column:
    pairs = [F.lit(word) for pair in HOW.items() for word in pair]
    return F.create_map(*pairs)[event].alias("how")


def _with_departures(members: DataFrame, departures: DataFrame) -> DataFrame:
    """A departure stands beside the last generation that the member was in."""
    history = Window.partitionBy(*MEMBER).orderBy("generation")
    is_final = F.lead("generation").over(history).isNull()
    told = members.withColumn("is_final", is_final).join(departures, on=MEMBER, how="left")

    def if_final(column: str) -> Column:
        return F.when(F.col("is_final"), F.col(column))

    # An instance that had expired and came back before the next record replaced nobody.
    instance = by_instance().orderBy("seq")
    was_gone = F.lag("departure.how").over(instance).isin("left", "expired", "dropped")
    change = F.when(
        (F.col("change") == "replaced") & F.coalesce(was_gone, F.lit(False)), "joined"
    ).otherwise(F.col("change"))
    # Without a log a replacement still shows: the instance goes on under another member id.
    replaced = F.when(F.col("gone") & F.col("next_of_instance").isNotNull(), F.lit("replaced"))
    heir = F.when(
        F.col("instance_id").isNotNull() & (F.lead("change").over(instance) == "replaced"),
        F.lead("member_id").over(instance),
    )
    dated = told.withColumn("change", change).withColumn("next_of_instance", heir)
    return dated.select(
        *LIFE,
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
        "is_leader",
        "change",
        F.coalesce(if_final("departure.how"), replaced).alias("left_how"),
        if_final("departure.event_time").alias("left_time"),
        if_final("departure.client_reason").alias("left_reason"),
        "gone",
    )


def by_instance() -> WindowSpec:
    """Who goes on as the same instance. Each member without one is by itself: together they would
    be a partition as large as the life."""
    alone = F.when(F.col("instance_id").isNull(), F.col("member_id"))
    return Window.partitionBy(*LIFE, "instance_id", alone)


def run(lake: Lake) -> None:
    known_shared = lake.carried("shared_clients")
    lake.replace("generation_members", generation_members(*map(lake.read, READS), known_shared))


if __name__ == "__main__":
    main(__doc__, run)
