"""Each generation: when it was prepared, joined, stable and ended, its cause and its outcome.

reads   timeline         all events of the group, in order
        group_metadata   members of each record: the culprit's client, causes that are not logged
        group_records, committed_offsets, topic_ids   of consumer, share and streams groups
writes  generations      one row per generation with a log line or a record
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from coordinator_core.coordinator.classic.group_type import CLASSIC
from jobs.group_metadata import members_with
from jobs.lake.keys import GENERATION_KEY, GROUP_KEY, INCARNATION_KEY, RECORD_KEY
from jobs.lake.scope import RunScope
from jobs.modern_history.played import READS as PLAYED
from jobs.modern_history.played import with_played
from jobs.timeline import CONVERSION_RECORD, DELETIONS, TARGET_RECORD

READS = ("timeline", "group_metadata", *PLAYED)

# A member id is the client.id (or group.instance.id), a dash and a UUID of 36 characters.
_CLIENT_OF_MEMBER = r"^(.*)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$"


# Causes of rebalances that only the metadata of Connect and Streams show.
CONFIG_CHANGE = "CONFIG_CHANGE"  # The config topic has new records about connectors or tasks.
SCHEDULED_REBALANCE = "SCHEDULED_REBALANCE"  # The scheduled rebalance delay expired.
# A probing rebalance checks whether warm-up tasks have caught up.
PROBING_REBALANCE = "PROBING_REBALANCE"
TASK_CAUSES = (CONFIG_CHANGE, SCHEDULED_REBALANCE, PROBING_REBALANCE)
REJOINS = ["LEADER_REJOIN", "METADATA_CHANGE", "REJOIN"]
# A worker's clock may be ahead by at most this much.
CLOCK_SLACK_MS = 1000
# A followup at time 0 is a rejoin after revoked tasks, not a probing rebalance.
_PROBING = r"^triggered followup rebalance scheduled for [1-9]"


def generations(timeline: DataFrame, group_metadata: DataFrame) -> DataFrame:
    caused = _with_task_cause(
        _with_cause(_one_row_per_generation(_evidence(timeline)), timeline),
        _task_facts(timeline, group_metadata),
    )
    clients = _clients(group_metadata, timeline)
    rows = caused.join(clients, on=[*GROUP_KEY, "culprit_member_id"], how="left")
    incarnation = Window.partitionBy(*INCARNATION_KEY).orderBy("generation")
    return rows.select(
        *GENERATION_KEY,
        "event_date",
        F.lit(CLASSIC.name).alias("group_type"),
        "preparing_time",
        "joined_time",
        "stable_time",
        "ended_time",
        F.lit(None).cast("bigint").alias("reconciling_ms"),
        "protocol",
        "protocol_type",
        "leader",
        "member_count",
        "cause",
        "reason",
        "client_reason",
        "culprit_member_id",
        F.coalesce("seen_client_id", client_of("culprit_member_id")).alias("culprit_client_id"),
        F.col("seen_client_host").alias("culprit_client_host"),
        "outcome",
        (F.col("generation") - F.lag("generation").over(incarnation) - 1).alias("gap_before"),
        "topic_partition",
        "first_offset",
        "last_offset",
        "evidence",
    )


def _evidence(timeline: DataFrame) -> DataFrame:
    """Each event with the generation for which it is evidence: a rebalance's start belongs to the
    generation that it makes, and also, as ``OVER``, to the generation that it ends.
    """
    is_own = (
        (F.col("event_generation") > 0)
        & (F.col("event") != "REBALANCE_START")
        & (F.col("event") != TARGET_RECORD)
    )
    own = timeline.where(is_own).withColumn("generation", F.col("event_generation"))
    # A truncated line may lack the generation.
    starts = timeline.where("event = 'REBALANCE_START' AND event_generation IS NOT NULL")
    prepared = starts.withColumn("generation", F.col("event_generation") + 1)
    ended = starts.withColumns({"generation": F.col("event_generation"), "event": F.lit("OVER")})
    # An upgrade also ends the classic generation: its tombstone names no type.
    is_upgrade = (F.col("event") == CONVERSION_RECORD) & F.col("protocol_type").isNull()
    deleted = timeline.where(F.col("event").isin(*DELETIONS) | is_upgrade).withColumns(
        {"generation": F.col("current_generation"), "event": F.lit("OVER")}
    )
    failures = timeline.where(
        "event = 'STORE_FAILED' AND current_generation IS NOT NULL"
    ).withColumn("generation", F.col("current_generation"))
    # Before Kafka 0.11 a group that loses its last member dies while it prepares a rebalance.
    dead = timeline.where("event = 'GROUP_DEAD' AND current_generation IS NOT NULL").withColumns(
        {"generation": F.col("current_generation") + 1, "event": F.lit("DEAD")}
    )
    parts = [
        prepared,
        ended.where("generation > 0"),
        deleted.where("generation > 0"),
        failures,
        dead,
    ]
    for part in parts:
        own = own.unionByName(part)
    return own


def _one_row_per_generation(evidence: DataFrame) -> DataFrame:
    def first(event: str, *columns: str) -> Column:
        """The first event of this kind, as a struct; null without one."""
        of_kind = F.when(F.col("event") == event, F.struct(*columns))
        return F.min_by(of_kind, F.when(F.col("event") == event, F.col("seq")))

    facts = evidence.groupBy(*GENERATION_KEY).agg(
        F.min("event_date").alias("event_date"),
        first("REBALANCE_START", "event_time", "cause", "reason", "client_reason", "member_id",
              "members", "seq").alias("start"),
        first("JOIN_COMPLETE", "event_time", "member_count").alias("joined"),
        first("ASSIGNMENT_RECEIVED", "event_time", "member_id", "member_count").alias("assigned"),
        F.coalesce(first("GROUP_EMPTY", "event_time"), _died(first)).alias("emptied"),
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
    # The start of a rebalance, which ends the previous generation, is not sufficient evidence for a
    # row about the previous generation.
    return facts.where(has_record | has_log).select(
        *GENERATION_KEY,
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


def _died(first: Callable[..., Column]) -> Column:
    """The end of a group that died before members had joined the rebalance."""
    is_forming = (
        first("REBALANCE_START", "seq").isNotNull() & first("JOIN_COMPLETE", "seq").isNull()
    )
    return F.when(is_forming, first("DEAD", "event_time"))


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
    """The reason of the rebalance's start; without one (before 2.1, or without a log) the cause is
    inferred from the members that joined and left.
    """
    departures = timeline.where("event IN ('LEFT', 'HEARTBEAT_EXPIRED')").groupBy(
        *INCARNATION_KEY, F.col("forming_generation").alias("generation")
    )
    first_departure = departures.agg(
        F.min_by(F.struct("event", "member_id", "client_reason", "client_cause"), "seq").alias(
            "departed"
        ),
        F.collect_list(F.struct("member_id", "client_reason", "client_cause")).alias("departures"),
    )
    history = Window.partitionBy(*INCARNATION_KEY).orderBy("generation")
    before = history.rowsBetween(Window.unboundedPreceding, -1)
    no_members = F.array().cast("array<string>")
    members = F.coalesce("record.members", F.when(F.col("outcome") == "empty", no_members))
    # Members before the first known generation are unknown, unless that generation is 1.
    before_first = F.when(F.col("generation") == 1, no_members)
    compared = (
        generations.withColumn("members", members)
        .withColumn(
            "previous_members",
            F.coalesce(F.last("members", ignorenulls=True).over(before), before_first),
        )
        .join(first_departure, on=GENERATION_KEY, how="left")
    )
    culprit = F.coalesce("start.member_id", F.get("start.members", F.lit(0)))
    own = F.get(F.filter("departures", lambda d: d["member_id"] == culprit), F.lit(0))
    joined = F.array_except("members", "previous_members")
    left = F.array_except("previous_members", "members")
    expired = F.col("departed.event") == "HEARTBEAT_EXPIRED"
    inferred = (
        F.when(expired, "SESSION_EXPIRY")
        .when(F.col("departed").isNotNull(), "LEAVE")
        .when(F.size(joined) > 0, "MEMBER_NEW")
        .when(F.size(left) > 0, "MEMBER_GONE")
        .when(F.col("record").isNotNull() & F.col("previous_members").isNotNull(), "REJOIN")
    )
    only = F.when(F.size(joined) == 1, F.get(joined, F.lit(0))).when(
        (F.size(joined) < 1) & (F.size(left) == 1), F.get(left, F.lit(0))
    )
    left_by_timeout = (F.col("start.cause") == "LEAVE") & (
        F.coalesce(own["client_cause"], F.lit("")) == "POLL_TIMEOUT"
    )
    is_inferred = F.col("start.cause").isNull()
    return compared.select(
        "*",
        F.when(left_by_timeout, "LEAVE_POLL_TIMEOUT")
        .otherwise(F.coalesce("start.cause", inferred))
        .alias("cause"),
        F.col("start.reason").alias("reason"),
        F.coalesce("start.client_reason", own["client_reason"]).alias("client_reason"),
        F.coalesce(culprit, F.when(is_inferred, F.coalesce("departed.member_id", only)))
        .alias("culprit_member_id"),
    )  # fmt: skip


def _task_facts(timeline: DataFrame, group_metadata: DataFrame) -> DataFrame:
    """What the members' own metadata of a generation say about the next generation, in groups of
    Kafka Connect or Streams: offset of Connect's config topic, scheduled delay or next rebalance.
    """
    placed = timeline.where("event = 'RECORD' AND event_generation IS NOT NULL").select(
        *RECORD_KEY, "incarnation", F.col("event_generation").alias("generation")
    )
    records = group_metadata.where("task_members IS NOT NULL").select(
        *RECORD_KEY, "append_time", "task_members"
    )
    scheduled = F.filter("task_members.next_rebalance_ms", lambda at_ms: at_ms > 0)
    return (
        records.join(placed, on=RECORD_KEY, how="inner")
        .groupBy(*GENERATION_KEY)
        .agg(
            F.max(F.array_max("task_members.assigned_config_offset")).alias("config_offset"),
            F.max(F.array_max("task_members.delay_ms")).alias("delay_ms"),
            F.min(F.array_min(scheduled)).alias("next_rebalance_ms"),
            F.unix_millis(F.max("append_time")).alias("assigned_ms"),
        )
    )


def _with_task_cause(generations: DataFrame, facts: DataFrame) -> DataFrame:
    """The reasons why members of Connect and Streams rejoined; the log only says that they
    rejoined.
    """
    before = (
        Window.partitionBy(*INCARNATION_KEY)
        .orderBy("generation")
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    own_facts = F.struct("config_offset", "delay_ms", "next_rebalance_ms", "assigned_ms")
    recorded = F.when(F.col("assigned_ms").isNotNull(), own_facts)
    earlier = F.last(recorded, ignorenulls=True).over(before)
    began_ms = F.unix_millis(F.coalesce("preparing_time", "joined_time")) + CLOCK_SLACK_MS
    delay_over = (F.col("earlier.delay_ms") > 0) & (
        began_ms >= F.col("earlier.assigned_ms") + F.col("earlier.delay_ms")
    )
    probing = F.col("client_reason").rlike(_PROBING) | (
        F.col("client_reason").isNull() & (began_ms >= F.col("earlier.next_rebalance_ms"))
    )
    cause = (
        F.when(~F.coalesce(F.col("cause").isin(REJOINS), F.lit(False)), F.col("cause"))
        .when(delay_over, SCHEDULED_REBALANCE)
        .when(F.col("config_offset") > F.col("earlier.config_offset"), CONFIG_CHANGE)
        .when(probing, PROBING_REBALANCE)
        .otherwise(F.col("cause"))
    )
    joined = generations.join(facts, on=GENERATION_KEY, how="left").withColumn("earlier", earlier)
    return joined.withColumn("cause", cause)


def _clients(group_metadata: DataFrame, timeline: DataFrame) -> DataFrame:
    """client.id and address of every member id in a record, or in a line that has them."""
    names = ("member_id", "client_id", "client_host")
    each = F.explode(members_with(*names))
    members = group_metadata.select(*GROUP_KEY, each.alias("member")).select(*GROUP_KEY, "member.*")
    logged = timeline.where("client_id IS NOT NULL").select(*GROUP_KEY, *names)
    seen = members.select(*GROUP_KEY, *names).unionByName(logged)
    return seen.groupBy(*GROUP_KEY, F.col("member_id").alias("culprit_member_id")).agg(
        F.max("client_id").alias("seen_client_id"),
        F.max("client_host").alias("seen_client_host"),
    )


def client_of(member_id: str) -> Column:
    """The client.id that a member id begins with; for a static member the instance id."""
    client = F.regexp_extract(member_id, _CLIENT_OF_MEMBER, 1)
    return F.when(client != "", client)


def _any_of(*columns: str) -> Column:
    present = F.col(columns[0]).isNotNull()
    for column in columns[1:]:
        present = present | F.col(column).isNotNull()
    return present


def _from_ms(column: str) -> Column:
    return F.timestamp_millis(F.col(column))


def run(scope: RunScope) -> None:
    events, classic = map(scope.read, READS[:2])
    rows = generations(events, classic)
    scope.replace("generations", with_played(scope, rows, "generations"))


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("generations")
