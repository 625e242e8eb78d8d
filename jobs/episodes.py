"""The root causes of rebalances: rolling deployments, lost processes, slow polls, scaling, ...

reads   generations, churn, rebalance_latency, rebalance_causes, generation_members, ownership_gaps,
        group_metadata, timeline
writes  episodes   one row per episode

coordinator_core.episodes infers them, one group at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from coordinator_core.client.libraries import protocols_of_expiring_when_slow
from coordinator_core.episodes.downtime import Gap, downtimes
from coordinator_core.episodes.evidence import Cause, Rebalance
from coordinator_core.episodes.inference import Episode, infer_episodes
from coordinator_core.episodes.sentences import summary
from coordinator_core.figures import Downtime
from jobs.engine.pieces import in_pieces
from jobs.engine.union import union_of
from jobs.group_metadata import kept_states
from jobs.lake.group_types import COUNTS_AS_CLASSIC, IS_CLASSIC
from jobs.lake.keys import GENERATION_KEY, GROUP_KEY, INCARNATION_KEY
from jobs.lake.scope import RunScope
from jobs.lake.tables import schema_of

READS = (
    "generations",
    "churn",
    "rebalance_latency",
    "rebalance_causes",
    "generation_members",
    "ownership_gaps",
    "group_metadata",
    "timeline",
)

# Maximum number of rows of generation_members in memory, on the embedded engine.
MEMBERS_AT_ONCE = 500_000
# Number of calls in which groups are inferred: the embedded engine reserves memory for whole
# batches of rows per call, so a call per group fails from some hundred groups on.
BUCKETS = 64

Row = dict[str, Any]
Group = tuple[str, ...]


def episodes(
    generations: DataFrame,
    churn: DataFrame,
    rebalance_latency: DataFrame,
    rebalance_causes: DataFrame,
    generation_members: DataFrame,
    ownership_gaps: DataFrame,
    group_metadata: DataFrame,
    timeline: DataFrame,
) -> DataFrame:
    schema = schema_of("episodes")
    rows = union_of(
        _named(_rebalances(generations, churn, rebalance_latency, generation_members), "rebalance"),
        _named(_causes(rebalance_causes, kept_states(group_metadata)), "cause"),
        _named(_loads(timeline), "load"),
        _named(_gaps(ownership_gaps), "gap"),
    )
    bucket = F.pmod(F.xxhash64(*GROUP_KEY), F.lit(BUCKETS)).alias("bucket")
    grouped = rows.select("*", bucket).groupBy("bucket")
    return grouped.applyInArrow(_of_groups(to_arrow_schema(schema, timezone="UTC")), schema)


def _named(rows: DataFrame, name: str) -> DataFrame:
    return rows.withColumn("row", F.lit(name))


def _rebalances(
    generations: DataFrame, churn: DataFrame, latency: DataFrame, members: DataFrame
) -> DataFrame:
    of_host = members.where("client_host IS NOT NULL")
    hosts = of_host.groupBy(*GENERATION_KEY, "client_host").agg(F.sum(F.lit(1)).alias("number"))
    by_host = hosts.groupBy(*GENERATION_KEY).agg(
        F.collect_list(F.struct("client_host", "number")).alias("hosts")
    )
    counts = churn.select(*GENERATION_KEY, "partitions_moved", "members_retained", "members_gone")
    phases = latency.select(*GENERATION_KEY, "to_time", "total_ms", "round")
    incarnation = Window.partitionBy(*INCARNATION_KEY).orderBy("generation")
    had_nobody = (F.col("members_retained") == 0) & (F.col("members_gone") == 0)
    was_emptied = F.lag("outcome").over(incarnation) == "empty"
    # Modern groups begin with an epoch from 1 to 3.
    first = F.when(F.expr(IS_CLASSIC), 1).otherwise(3)
    is_first = F.col("gap_before").isNull() & (F.col("generation") > first)
    # Lines count the members of a modern group only if they show the group's first epoch.
    is_logged_start = (
        ~F.expr(IS_CLASSIC)
        & (F.col("evidence") == "log")
        & F.col("member_count").isNotNull()
        & F.lag("generation").over(incarnation).isNull()
    )
    # If the start of a rebalance is logged, the evidence shows its causes, as for later rebalances.
    is_logged = F.expr(IS_CLASSIC) & F.col("preparing_time").isNotNull()
    first_seen = is_first & ~F.coalesce(is_logged, F.lit(False))
    joined = generations.join(counts, on=GENERATION_KEY, how="left").join(
        phases, on=GENERATION_KEY, how="left"
    )
    # A record without a time has the date 1970-01-01.
    dated = F.col("event_date").cast("timestamp")
    # Nulls get their defaults in `_rebalance`, because a column that is never null changes the type
    # of the struct, and the embedded engine cannot unite that type with nulls.
    begin = F.coalesce("preparing_time", "joined_time", "stable_time", "ended_time", dated)
    end = F.coalesce("to_time", "stable_time", "joined_time", "ended_time", "preparing_time")
    made = generations.select(*GENERATION_KEY, "joined_time")
    present = members.join(made, on=GENERATION_KEY, how="inner").where(
        "NOT gone OR left_time > joined_time"
    )
    processes = present.groupBy(*GENERATION_KEY).agg(
        F.count_distinct("process").alias("process_count")
    )
    joined = joined.join(processes, on=GENERATION_KEY, how="left")
    described = joined.join(by_host, on=GENERATION_KEY, how="left").join(
        _settings(members, generations), on=GENERATION_KEY, how="left"
    )
    expires_when_slow = F.col("protocol").isin(*protocols_of_expiring_when_slow())
    return described.select(
        *GENERATION_KEY,
        _ms(begin, "from_ms"),
        F.greatest(F.unix_millis(begin), F.coalesce(F.unix_millis(end), F.lit(0))).alias("to_ms"),
        "outcome",
        "group_type",
        F.col("total_ms").alias("not_stable_ms"),
        "partitions_moved",
        F.when(F.expr(IS_CLASSIC), F.col("member_count"))
        .otherwise(F.coalesce(F.col("process_count").cast("int"), "member_count"))
        .alias("member_count"),
        (F.col("round") > 1).alias("continues"),
        (
            (F.col("generation") == 1)
            | F.coalesce(was_emptied, F.lit(False))
            | is_logged_start
            | (had_nobody & ~is_first)
        ).alias("was_empty"),
        first_seen.alias("is_first_seen"),
        F.coalesce(expires_when_slow, F.lit(False)).alias("expires_when_slow"),
        "hosts",
        "settings",
    )  # fmt: skip


def _settings(members: DataFrame, generations: DataFrame) -> DataFrame:
    """The settings that changed per generation, as ``generation before: text``: settings of a
    process since the last generation with it, and the assignor.
    """
    values = ("session_timeout_ms", "rebalance_timeout_ms", "subscribed_topics")
    process = Window.partitionBy(*INCARNATION_KEY, "process").orderBy("generation", "member_id")
    of_process = members.withColumn("before", F.lag(F.struct("generation", *values)).over(process))
    incarnation = Window.partitionBy(*INCARNATION_KEY).orderBy("generation")
    # A change of the group type changes the assignor, too.
    assignor = F.struct("generation", "protocol", "group_type")
    recorded = (
        generations.where("protocol IS NOT NULL")
        .withColumn("before", F.lag(assignor).over(incarnation))
        .where("before.group_type <=> group_type")
    )
    topics = (F.array_join("before.subscribed_topics", ","), F.array_join("subscribed_topics", ","))
    changes = union_of(
        _changed(of_process, "session.timeout.ms", "before.session_timeout_ms", values[0]),
        _changed(of_process, "max.poll.interval.ms", "before.rebalance_timeout_ms", values[1]),
        _changed(of_process, "topics", *topics),
        _changed(
            recorded.where(COUNTS_AS_CLASSIC),
            "partition.assignment.strategy",
            "before.protocol",
            "protocol",
        ),
        _changed(
            recorded.where(~F.expr(COUNTS_AS_CLASSIC)),
            "server assignor",
            "before.protocol",
            "protocol",
        ),
    )
    return changes.groupBy(*GENERATION_KEY).agg(
        F.sort_array(F.collect_set("change")).alias("settings")
    )


def _changed(rows: DataFrame, name: str, before: Column | str, now: Column | str) -> DataFrame:
    was, is_ = (F.col(value) if isinstance(value, str) else value for value in (before, now))
    text = F.concat(
        F.col("before.generation").cast("string"), F.lit(f":{name} "), was.cast("string"),
        F.lit(" -> "), is_.cast("string"),
    )  # fmt: skip
    return rows.where(was != is_).select(*GENERATION_KEY, text.alias("change"))


def _causes(causes: DataFrame, kept_states: DataFrame) -> DataFrame:
    return causes.join(kept_states, on=[*GROUP_KEY, "member_id"], how="left").select(
        *GENERATION_KEY,
        "cause_seq",
        _ms(F.col("event_time"), "at_ms"),
        "role",
        "cause",
        "story",
        "member_id",
        "instance_id",
        "client_id",
        "client_host",
        "process",
        "client_reason",
        "evidence",
        "session_timeout_ms",
        "rebalance_timeout_ms",
        "kept_state",
        F.col("settings").alias("member_settings"),
    )


def _loads(timeline: DataFrame) -> DataFrame:
    """The times at which a broker had loaded the group as its coordinator."""
    return timeline.where("event = 'LOADED'").select(*GROUP_KEY, _ms(F.col("event_time"), "at_ms"))


def _gaps(ownership_gaps: DataFrame) -> DataFrame:
    end = ["incarnation", "generation", "to_time"]
    ended = ownership_gaps.groupBy(*GROUP_KEY, *end).agg(
        F.min("from_time").alias("from_time"),
        F.sum("unowned_ms").alias("unowned_ms"),
        F.sum(F.coalesce("unowned_ms_low", "unowned_ms")).alias("low_ms"),
        F.sum(F.coalesce("unowned_ms_high", "unowned_ms")).alias("high_ms"),
    )
    return ended.select(
        *GROUP_KEY,
        "incarnation",
        "generation",
        _ms(F.col("from_time"), "from_ms"),
        _ms(F.col("to_time"), "to_ms"),
        F.struct("unowned_ms", "low_ms", "high_ms").alias("downtime"),
    )


def _ms(time: Column, name: str) -> Column:
    return F.unix_millis(time).alias(name)


def _of_groups(schema: pa.Schema) -> Callable[[pa.Table], pa.Table]:
    """Infers some groups; ``schema`` comes from the driver, as workers have no SparkSession."""

    def inferred(table: pa.Table) -> pa.Table:
        of_kind = {kind: _by_group(table, kind) for kind in _ITEMS}
        groups = sorted(set[Group]().union(*of_kind.values()))
        results = [
            dict(zip(GROUP_KEY, group, strict=True)) | row
            for group in groups
            for row in _rows_of_group(*(of_kind[kind].get(group, []) for kind in _ITEMS))
        ]
        return pa.Table.from_pylist(results, schema)

    return inferred


def _by_group(table: pa.Table, kind: str) -> dict[Group, list[Any]]:
    """The items of one kind in order, see `_ITEMS`."""
    make, columns, order = _ITEMS[kind]
    of_kind = table.filter(pc.equal(table["row"], kind))
    of_kind = of_kind.sort_by([(name, "ascending") for name in (*GROUP_KEY, *order)])
    items = map(make, *(_values(of_kind[name], default) for name, default in columns.items()))
    keys = zip(*(of_kind[name].to_pylist() for name in GROUP_KEY), strict=True)
    grouped: dict[Group, list[Any]] = {}
    for key, item in zip(keys, items, strict=True):
        grouped.setdefault(key, []).append(item)
    return grouped


def _values(column: pa.ChunkedArray, default: Any) -> list[Any]:
    values: list[Any] = column.to_pylist()
    if default is None or not column.null_count:
        return values
    return [default if value is None else value for value in values]


def _rows_of_group(
    rebalances: list[Rebalance], causes: list[Cause], loads: list[int], gaps: list[Gap]
) -> Iterator[Row]:
    """Rows of episodes without cluster and group."""
    inferred = infer_episodes(rebalances, causes, loads)
    unowned = downtimes(inferred, gaps)
    last: dict[int, int] = {}
    for each in inferred:
        generation = each.generation_span[1]
        last[each.activity_ms] = max(generation, last.get(each.activity_ms, generation))
    for each, downtime in zip(inferred, unowned, strict=True):
        yield episode_row(each, downtime) | {"activity_last_generation": last[each.activity_ms]}


def _rebalance(*values: Any) -> Rebalance:
    row = dict(zip(_REBALANCE, values, strict=True))
    hosts = sorted((each["client_host"], each["number"]) for each in row.pop("hosts"))
    changes = (text.split(":", 1) for text in row.pop("settings"))
    return Rebalance(**row, hosts=hosts, settings=[(int(before), text) for before, text in changes])


def _gap(*values: Any) -> Gap:
    row = dict(zip(Gap._fields, values, strict=True))
    return Gap(**row | {"downtime": Downtime(**row["downtime"])})


# Only clients' logs show how long a rebalance had lasted when the log ended.
_REBALANCE = tuple(name for name in Rebalance._fields if name != "open_ms")
_CAUSE = {name: "member_settings" if name == "settings" else name for name in Cause._fields}
_GENERATION = ("incarnation", "generation")
# By kind of row: the class of its item, the columns of the item's values with the value for null,
# and the order of the items of a group.
_ITEMS: Mapping[str, tuple[Callable[..., Any], Row, tuple[str, ...]]] = {
    "rebalance": (
        _rebalance,
        {name: Rebalance._field_defaults.get(name) for name in _REBALANCE},
        _GENERATION,
    ),
    "cause": (
        Cause,
        {column: Cause._field_defaults.get(name) for name, column in _CAUSE.items()},
        (*_GENERATION, "cause_seq"),
    ),
    "load": (int, {"at_ms": None}, ("at_ms",)),
    "gap": (_gap, dict.fromkeys(Gap._fields), ()),
}


def episode_row(each: Episode, downtime: Downtime | None) -> Row:
    first, last = each.generation_span
    return {
        "incarnation": each.incarnation,
        "activity_time": _time(each.activity_ms),
        "episode": each.number,
        "event_date": _time(each.event_ms).date(),
        "kind": each.kind.value,
        "from_time": _time(each.from_ms),
        "to_time": _time(each.to_ms),
        "processes": each.recorded_processes,
        "hosts": each.hosts,
        "first_generation": first,
        "last_generation": last,
        "generations": each.generations,
        "rebalances": each.counted_rebalances,
        "not_stable_ms": each.not_stable_ms,
        "unowned_partition_ms": None if downtime is None else downtime.unowned_ms,
        "unowned_partition_ms_low": None if downtime is None else downtime.low_ms,
        "unowned_partition_ms_high": None if downtime is None else downtime.high_ms,
        "rebalances_without_begin": each.rebalances_without_begin,
        "partitions_moved": each.partitions_moved,
        "summary": summary(each, downtime),
        "evidence": each.evidence,
        "confidence": each.confidence,
    }


def _time(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, UTC)


def run(scope: RunScope) -> None:
    tables = {name: scope.read_recent(name) for name in READS}
    rows = in_pieces(episodes, tables, largest="generation_members", at_once=MEMBERS_AT_ONCE)
    scope.replace("episodes", rows)


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("episodes")
