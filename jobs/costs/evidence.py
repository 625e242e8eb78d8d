"""The evidence for the costs of handovers as one frame: assignments, commits, log ends.

Each row has one kind of evidence and its time ``at_ms``: an assignment of a partition, as a list of
values per type; ``offset``, a commit; ``log_end``; or ``failed``, the position that a client logged
when its commit failed, with the hash ``client`` of its client id.  Partitions are hashes, and an
assignment has three columns: the engine groups the many commits by bucket, which takes four times
as long with a column per value.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
)

from coordinator_core.protocol.processes import HOST_OF_NAME
from jobs.engine.union import union_of
from jobs.lake.keys import GENERATION_KEY, GROUP_KEY, INCARNATION_KEY, PARTITION_KEY
from jobs.ownership.rebalances import COOPERATIVE

# Number of calls in which groups are computed; see `jobs.modern_history.played`.
BUCKETS = 64
# A partition in a client's line: topic, hyphen, number.
_PARTITION = r"^(.*)-([0-9]+)$"
# Columns of an assignment; times in ms, dates in days.  See `jobs.ownership.tenures`.
_ASSIGNMENT: dict[str, DataType] = {
    **{name: StringType() for name in GROUP_KEY},
    "incarnation": IntegerType(),
    "generation": IntegerType(),
    "topic": StringType(),
    "partition": IntegerType(),
    "event_date": IntegerType(),
    "process": StringType(),
    "member_id": StringType(),
    "from_ms": LongType(),
    "until_ms": LongType(),
    "last_ms": LongType(),
    "how": StringType(),
    "evidence": StringType(),
    "is_estimated": BooleanType(),
    "revoking_ms": LongType(),
    "departed_ms": LongType(),
    "heard_ms": LongType(),
    "due_ms": LongType(),
    "back_ms": LongType(),
    "polled_ms": LongType(),
    "poll_ms": LongType(),
    "is_static": BooleanType(),
    "is_modern": BooleanType(),
    "client": LongType(),
    "next_generation": IntegerType(),
    "shutdown_ms": LongType(),
    "shutdown_generation": IntegerType(),
    "shutdown_date": IntegerType(),
}
# Columns of a tenure from an earlier run, whose commits are not read again.
_STORED: dict[str, DataType] = {
    "stored_low_ms": LongType(),
    "stored_high_ms": LongType(),
    "stored_last_ms": LongType(),
    "stored_offset": LongType(),
    "stored_handled": DoubleType(),
    "stored_records": DoubleType(),
    "stored_low": DoubleType(),
    "stored_high": DoubleType(),
    "stored_bounded": BooleanType(),
    "stored_rate": DoubleType(),
    "stored_interval_ms": LongType(),
}
OWNED = _ASSIGNMENT | _STORED
# Columns of the frame, with the type of their lists.
_LISTS: dict[str, DataType] = {
    "integers": LongType(),
    "doubles": DoubleType(),
    "texts": StringType(),
}
SHUTDOWN = ("shutdown_ms", "shutdown_generation", "shutdown_date")


def names_of_lists() -> dict[str, list[str]]:
    """The columns of an assignment in each list, in order."""
    names: dict[str, list[str]] = {column: [] for column in _LISTS}
    for name, type_ in OWNED.items():
        column = next((each for each, of_list in _LISTS.items() if type_ == of_list), "integers")
        names[column].append(name)
    return names


def rows_of_evidence(
    owned: DataFrame,
    committed_offsets: DataFrame,
    end_offsets: DataFrame | None,
    client_events: DataFrame | None,
) -> DataFrame:
    """``bucket``, the hashes ``group`` and ``part``, and one of the four kinds."""
    owned = owned.withColumn("client", F.xxhash64(F.regexp_replace("process", HOST_OF_NAME, "")))
    lists = (
        F.array(*(_value(owned, name).cast(_LISTS[column]) for name in names)).alias(column)
        for column, names in names_of_lists().items()
    )
    frames = [
        owned.select(*_keys(), *lists),
        committed_offsets.where(
            "NOT tombstone AND append_time IS NOT NULL AND outcome IN ('plain', 'committed')"
        ).select(
            *_keys(),
            F.unix_millis("append_time").alias("at_ms"),
            F.col("committed_offset").alias("offset"),
            F.lit(None).cast("long").alias("log_end"),
        ),
    ]
    if client_events is not None:
        frames.append(_failed_commits(client_events))
    if end_offsets is not None:
        frames.append(_log_ends(owned, end_offsets))
    return union_of(*frames)


def _value(owned: DataFrame, name: str) -> Column:
    if name not in owned.columns:
        return F.lit(None)
    return F.unix_date(name) if name.endswith("_date") else F.col(name)


def _keys() -> list[Column]:
    return [
        F.pmod(F.xxhash64(*GROUP_KEY), F.lit(BUCKETS)).alias("bucket"),
        F.xxhash64(*GROUP_KEY).alias("group"),
        F.xxhash64(*GROUP_KEY, *PARTITION_KEY).alias("part"),
    ]


def _failed_commits(client_events: DataFrame) -> DataFrame:
    """The positions that lines about failed commits name."""
    named = client_events.where("event = 'COMMIT_FAILED' AND offsets IS NOT NULL").select(
        *GROUP_KEY,
        F.when(F.col("client_id").isNotNull(), F.xxhash64("client_id")).alias("client"),
        F.unix_millis("event_time").alias("at_ms"),
        F.explode(F.arrays_zip("partitions", "offsets")).alias("position"),
    )
    name = F.col("position.partitions")
    return named.select(
        *GROUP_KEY,
        F.regexp_extract(name, _PARTITION, 1).alias("topic"),
        F.regexp_extract(name, _PARTITION, 2).cast("int").alias("partition"),
        "at_ms",
        "client",
        F.col("position.offsets").alias("failed"),
    ).select(*_keys(), "at_ms", "client", "failed")


def _log_ends(owned: DataFrame, end_offsets: DataFrame) -> DataFrame:
    """The log end offsets of each partition, once per group that consumes the partition."""
    consumed = owned.select(*GROUP_KEY, *PARTITION_KEY).distinct()
    return end_offsets.join(consumed, on=["cluster_id", *PARTITION_KEY], how="inner").select(
        *_keys(),
        F.unix_millis("seen_time").alias("at_ms"),
        F.col("log_end_offset").alias("log_end"),
    )


def continued(earlier: DataFrame, tenures: DataFrame) -> DataFrame:
    """Stored rows of tenures whose partition had no next owner yet, as assignments."""
    shutdown = tenures.where("shutdown_ms IS NOT NULL")
    first = shutdown.groupBy(*INCARNATION_KEY).agg(*(F.min(name).alias(name) for name in SHUTDOWN))
    columns = {
        "generation": F.col("from_generation"),
        "from_ms": F.unix_millis("from_time"),
        "until_ms": F.unix_millis("to_time"),
        "how": F.col("how_ended"),
        "is_estimated": F.col("estimated"),
        "stored_low_ms": F.unix_millis("to_time_low"),
        "stored_high_ms": F.unix_millis("to_time_high"),
        "stored_last_ms": F.unix_millis("last_commit_time"),
        "stored_offset": F.col("last_commit_offset"),
        "stored_handled": F.col("handled_offset").cast("double"),
        "stored_records": F.col("records_reprocessed"),
        "stored_low": F.col("records_reprocessed_low"),
        "stored_high": F.col("records_reprocessed_high"),
        "stored_bounded": F.col("bounded"),
        "stored_rate": F.col("records_per_second") / 1000,
        "stored_interval_ms": F.col("commit_interval_ms"),
    }
    return earlier.join(first, on=INCARNATION_KEY, how="left").select(
        *INCARNATION_KEY,
        *PARTITION_KEY,
        "process",
        "member_id",
        "evidence",
        *(column.alias(name) for name, column in columns.items()),
        *SHUTDOWN,
    )


def before_context(owners: DataFrame, generations: DataFrame, contexts: DataFrame) -> DataFrame:
    """The assignments of cooperative generations before the context generation: members kept
    partitions since then.  ``contexts``: INCARNATION_KEY and ``context_generation``.
    """
    is_assigned = (F.col("outcome") == "stable") & (F.col("evidence") != "log")
    in_order = Window.partitionBy(*INCARNATION_KEY).orderBy("generation")
    assigned = (
        generations.where(is_assigned & F.col("protocol").isin(*COOPERATIVE))
        .select(*GENERATION_KEY, "event_date", F.unix_millis("stable_time").alias("from_ms"))
        .withColumn("until_ms", F.lead("from_ms").over(in_order))
    )
    earlier = assigned.join(F.broadcast(contexts), on=INCARNATION_KEY, how="inner").where(
        "generation < context_generation AND until_ms IS NOT NULL"
    )
    return owners.join(earlier.drop("context_generation"), on=GENERATION_KEY, how="inner").select(
        "*",
        F.lit("revoked").alias("how"),
        F.lit("records").alias("evidence"),
        F.lit(False).alias("is_estimated"),
    )
