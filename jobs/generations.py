"""One row per generation: when it was prepared, joined, stable and over, why it came, how it ended.

reads   timeline         all events of the group, in order
        group_metadata   members of each record: the culprit's client, and causes nobody logged
writes  generations      one row per generation that left a trace
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.command_line.arguments import main
from jobs.group_metadata import members_with
from jobs.lake.tables import Lake
from jobs.timeline import DEATHS, GENERATION, GROUP, LIFE

READS = ("timeline", "group_metadata")


# member id = client.id (or group.instance.id), a dash, a UUID of 36 characters
_CLIENT_OF_MEMBER = r"^(.*)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$"


def generations(timeline: DataFrame, group_metadata: DataFrame) -> DataFrame:
    known = _with_cause(_aggregate(_evidence(timeline)), timeline)
    clients = _clients(group_metadata)
    named = known.join(clients, on=[*GROUP, "culprit_member_id"], how="left")
    in_life = Window.partitionBy(*LIFE).orderBy("generation")
    return named.select(
        *GENERATION,
        "event_date",
        "preparing_time",
        "joined_time",
        "stable_time",
        "ended_time",
        "protocol",
        "protocol_type",
        "leader",
        "member_count",
        "cause",
        "reason",
        "client_reason",
        "culprit_member_id",
        F.coalesce("known_client_id", _client_of("culprit_member_id")).alias("culprit_client_id"),
        F.col("known_client_host").alias("culprit_client_host"),
        "outcome",
        (F.col("generation") - F.lag("generation").over(in_life) - 1).alias("gap_before"),
        "topic_partition",
        "first_offset",
        "last_offset",
        "evidence",
    )


def _evidence(timeline: DataFrame) -> DataFrame:
    """Each event beside the generation it says something of; a start says something of two."""
    own = timeline.where("event_generation > 0 AND event <> 'REBALANCE_START'").withColumn(
        "generation", F.col("event_generation")
    )
    starts = timeline.where("event = 'REBALANCE_START'")
    made = starts.withColumn("generation", F.col("event_generation") + 1)
    over = starts.withColumns({"generation": F.col("event_generation"), "event": F.lit("OVER")})
    deaths = timeline.where(F.col("event").isin(*DEATHS)).withColumns(
        {"generation": F.col("current_generation"), "event": F.lit("OVER")}
    )
    failures = timeline.where("event = 'STORE_FAILED'").withColumn(
        "generation", F.col("current_generation")
    )
    parts = [made, over.where("generation > 0"), deaths.where("generation > 0"), failures]
    for part in parts:
        own = own.unionByName(part)
    return own


def _aggregate(evidence: DataFrame) -> DataFrame:
    def first(event: str, *columns: str) -> Column:
        """The earliest event of a kind, as a struct; null where there is none."""
        is_it = F.when(F.col("event") == event, F.struct(*columns))
        return F.min_by(is_it, F.when(F.col("event") == event, F.col("seq")))

    facts = evidence.groupBy(*GENERATION).agg(
        F.min("event_date").alias("event_date"),
        first("REBALANCE_START", "event_time", "cause", "reason", "client_reason", "member_id",
              "members", "seq").alias("start"),
        first("JOIN_COMPLETE", "event_time", "member_count").alias("joined"),
        first("ASSIGNMENT_RECEIVED", "event_time", "member_id", "member_count").alias("assigned"),
        first("GROUP_EMPTY", "event_time").alias("emptied"),
        first("RECORD", "event_time", "member_id", "member_count", "protocol", "protocol_type",
              "state_timestamp_ms", "members").alias("record"),
        first("RECORD_EMPTY", "event_time", "protocol_type", "state_timestamp_ms").alias("empty"),
        first("OVER", "event_time", "cause").alias("over"),
        first("STORE_FAILED", "event_time").alias("store_failed"),
        F.min("log_offset").alias("first_offset"),
        F.max("log_offset").alias("last_offset"),
        F.max("topic_partition").alias("topic_partition"),
    )  # fmt: skip
    has_record = F.col("record").isNotNull() | F.col("empty").isNotNull()
    has_log = _any_of("start", "joined", "assigned", "emptied")
    # A start that names an old generation of which nothing else is known tells nothing about it.
    known = facts.where(has_record | has_log)
    return known.select(
        *GENERATION,
        "event_date",
        "start",
        "record",
        F.col("start.event_time").alias("preparing_time"),
        F.coalesce(
            "joined.event_time",
            "emptied.event_time",
            _from_ms("record.state_timestamp_ms"),
            _from_ms("empty.state_timestamp_ms"),
        ).alias("joined_time"),
        F.coalesce("assigned.event_time", "record.event_time").alias("stable_time"),
        F.col("over.event_time").alias("ended_time"),
        F.col("record.protocol").alias("protocol"),
        F.coalesce("record.protocol_type", "empty.protocol_type").alias("protocol_type"),
        F.coalesce("record.member_id", "assigned.member_id").alias("leader"),
        F.coalesce(
            "joined.member_count",
            "assigned.member_count",
            "record.member_count",
            F.when(_any_of("emptied", "empty"), F.lit(0)),
        ).alias("member_count"),
        _outcome().alias("outcome"),
        "topic_partition",
        "first_offset",
        "last_offset",
        F.when(has_record & has_log, "both")
        .when(has_log, "log")
        .otherwise("records")
        .alias("evidence"),
    )


def _outcome() -> Column:
    store_failed = F.col("store_failed").isNotNull() | (F.col("over.cause") == "STORE_ERROR")
    return (
        F.when(_any_of("emptied", "empty"), "empty")
        .when(F.col("record").isNotNull(), "stable")
        .when(F.coalesce(store_failed, F.lit(False)), "failed")
        .when(F.col("assigned").isNotNull(), "stable")
        .when(F.col("joined").isNotNull() & F.col("over").isNotNull(), "superseded")
        .otherwise("unknown")
    )


def _with_cause(generations: DataFrame, timeline: DataFrame) -> DataFrame:
    """The start's own reason; where there is none (before 2.1, or no log), who came and went."""
    departures = timeline.where("event IN ('LEFT', 'HEARTBEAT_EXPIRED')").groupBy(
        *LIFE, F.col("forming_generation").alias("generation")
    )
    first_departure = departures.agg(
        F.min_by(F.struct("event", "member_id", "client_reason", "client_cause"), "seq").alias(
            "gone"
        ),
        F.collect_list(F.struct("member_id", "client_reason", "client_cause")).alias("departures"),
    )
    history = Window.partitionBy(*LIFE).orderBy("generation")
    before = history.rowsBetween(Window.unboundedPreceding, -1)
    nobody = F.array().cast("array<string>")
    now = F.coalesce("record.members", F.when(F.col("outcome") == "empty", nobody))
    # Of the first generation seen only a group's very first is known to follow on nobody.
    nobody_yet = F.when(F.col("generation") == 1, nobody)
    told = (
        generations.withColumn("members_now", now)
        .withColumn(
            "members_before",
            F.coalesce(F.last("members_now", ignorenulls=True).over(before), nobody_yet),
        )
        .join(first_departure, on=GENERATION, how="left")
    )
    culprit = F.coalesce("start.member_id", F.get("start.members", F.lit(0)))
    mine = F.get(F.filter("departures", lambda d: d["member_id"] == culprit), F.lit(0))
    arrived = F.array_except("members_now", "members_before")
    went = F.array_except("members_before", "members_now")
    expired = F.col("gone.event") == "HEARTBEAT_EXPIRED"
    inferred = (
        F.when(expired, "HEARTBEAT_EXPIRY")
        .when(F.col("gone").isNotNull(), "LEAVE")
        .when(F.size(arrived) > 0, "MEMBER_NEW")
        .when(F.size(went) > 0, "MEMBER_GONE")
        .when(F.col("record").isNotNull() & F.col("members_before").isNotNull(), "REJOIN")
    )
    only = F.when(F.size(arrived) == 1, F.get(arrived, F.lit(0))).when(
        (F.size(arrived) < 1) & (F.size(went) == 1), F.get(went, F.lit(0))
    )
    left_by_timeout = (F.col("start.cause") == "LEAVE") & (
        F.coalesce(mine["client_cause"], F.lit("")) == "POLL_TIMEOUT"
    )
    not_told = F.col("start.cause").isNull()
    return told.select(
        "*",
        F.when(left_by_timeout, "LEAVE_POLL_TIMEOUT")
        .otherwise(F.coalesce("start.cause", inferred))
        .alias("cause"),
        F.col("start.reason").alias("reason"),
        F.coalesce("start.client_reason", mine["client_reason"]).alias("client_reason"),
        F.coalesce(culprit, F.when(not_told, F.coalesce("gone.member_id", only)))
        .alias("culprit_member_id"),
    )  # fmt: skip


def _clients(group_metadata: DataFrame) -> DataFrame:
    """client.id and address of every member id that a record has."""
    each = F.explode(members_with("member_id", "client_id", "client_host"))
    members = group_metadata.select(*GROUP, each.alias("member"))
    return members.groupBy(*GROUP, F.col("member.member_id").alias("culprit_member_id")).agg(
        F.max("member.client_id").alias("known_client_id"),
        F.max("member.client_host").alias("known_client_host"),
    )


def _client_of(member_id: str) -> Column:
    client = F.regexp_extract(member_id, _CLIENT_OF_MEMBER, 1)
    return F.when(client != "", client)


def _any_of(*columns: str) -> Column:
    present = F.col(columns[0]).isNotNull()
    for column in columns[1:]:
        present = present | F.col(column).isNotNull()
    return present


def _from_ms(column: str) -> Column:
    return F.timestamp_millis(F.col(column))


def run(lake: Lake) -> None:
    lake.replace("generations", generations(*map(lake.read, READS)))


if __name__ == "__main__":
    main(__doc__, run)
