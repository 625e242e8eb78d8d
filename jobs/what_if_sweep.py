"""Predict other settings for every group: its process lives, a grid of changes, advice, and whether
to migrate it to the consumer protocol.

reads   timeline, group_events, group_metadata, committed_offsets, generations, generation_members,
        assignments, ownership_gaps, handover_costs, group_records; of groups that were not always
        classic also rebalance_causes, churn, rebalance_latency, topic_ids
writes  process_lives      one row per start of a process
        what_if            one row per group and setting
        advice             one row per group
        migration_advice   one row per group

Each group is predicted in the period of `jobs.what_if.periods`, for any dates.  A task predicts one
group at a time, see `jobs.what_if.predicted_groups`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, GroupedData, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType, StructField, StructType

from coordinator_core.whatif import SettingsChange
from coordinator_core.whatif.judgement import ADVICE_SEEDS
from jobs.engine.keeping import kept
from jobs.engine.pieces import in_pieces
from jobs.lake.evidence import by_group, evidence, packed, reads, unpacked
from jobs.lake.keys import GROUP_KEY
from jobs.lake.tables import Lake, schema_of
from jobs.modern_history import lives
from jobs.what_if.evidence import (
    CLASSIC_KINDS,
    CLUSTER_KINDS,
    LAST_TIMES,
    MODERN_GROUPS,
    MODERN_KINDS,
    PERIOD_KINDS,
    ClusterEvidence,
    PredictionEvidence,
    cluster_evidence_of,
)
from jobs.what_if.migration_rows import ORDER
from jobs.what_if.periods import (
    TIMED_REBALANCES,
    EvaluatedPeriod,
    period_of,
    timed_rebalances,
)
from jobs.what_if.predicted_groups import WRITES, rows_of
from jobs.what_if.result_rows import rows_of_lives
from jobs.what_if.shared_advice import shared_row
from jobs.what_if.sweep import Sweep, times_of

_KINDS = (*CLASSIC_KINDS, *MODERN_KINDS, *CLUSTER_KINDS, *PERIOD_KINDS)
EVENTS_AT_ONCE = 4000
READS = tuple(sorted(reads((*_KINDS, MODERN_GROUPS, TIMED_REBALANCES))))


def what_if(
    tables: dict[str, DataFrame],
    changes: tuple[SettingsChange, ...] | None = None,
    seeds: int = ADVICE_SEEDS,
    prefer: str = "downtime",
) -> DataFrame:
    """One row per group, with a column per table of WRITES, which has an array of the group's rows.

    ``changes`` is None for the candidates of each group, in the period of its advice.  Otherwise,
    the changes that its brokers and clients accept are predicted, in its whole history.
    """
    spans = {} if changes is not None else periods_of(tables)
    sweep = Sweep(spans, cluster_evidence(tables), seeds, changes, prefer)
    # Predict in pieces, because the embedded engine counts the memory of all of a plan's evidence
    # once per row.
    return in_pieces(
        lambda **some: predicted(some, sweep),
        tables,
        largest="timeline",
        at_once=EVENTS_AT_ONCE,
    )


def periods_of(tables: Mapping[str, DataFrame]) -> dict[str, EvaluatedPeriod]:
    """The periods by group, for groups that rebalanced."""
    of_groups: dict[str, list[Any]] = {}
    for row in evidence(TIMED_REBALANCES, tables).collect():
        of_groups.setdefault(row["group_id"], []).append(row)
    periods = {group: period_of(timed_rebalances(rows)) for group, rows in of_groups.items()}
    return {group: period for group, period in periods.items() if period is not None}


def cluster_evidence(
    tables: Mapping[str, DataFrame], timed: Mapping[str, DataFrame] | None = None
) -> ClusterEvidence:
    """``timed`` has the tables to look for the last event in, if not in all rows."""
    read = {kind: tables for kind in CLUSTER_KINDS} | {LAST_TIMES: timed or tables}
    return cluster_evidence_of(*(evidence(kind, read[kind]).collect() for kind in CLUSTER_KINDS))


def predicted(tables: Mapping[str, DataFrame], sweep: Sweep) -> DataFrame:
    """The rows of the groups in ``tables``, as of `what_if`."""
    schema = StructType(
        [StructField(name, ArrayType(schema_of(name)), nullable=False) for name in WRITES]
    )
    predict = _predict_group(to_arrow_schema(schema, timezone="UTC"), sweep)
    return evidence_by_group(tables, sweep.spans).applyInArrow(predict, schema)


def shared(
    tables: Mapping[str, DataFrame], sweep: Sweep, like: Mapping[str, Mapping[str, Any]]
) -> DataFrame:
    """Rows of advice of groups that are not simulated.  ``like`` has, by group, the row of the
    simulated group that it is like.
    """
    of_advice = schema_of("advice")
    schema = to_arrow_schema(of_advice, timezone="UTC")

    def shared_with(of_group: pa.Table) -> pa.Table:
        keys, rows = unpacked(of_group)
        own = PredictionEvidence(keys["group_id"], rows, sweep.cluster)
        row = keys | shared_row(own, sweep, like[keys["group_id"]])
        return pa.Table.from_pylist([row], schema)

    return evidence_by_group(tables, sweep.spans).applyInArrow(shared_with, of_advice)


def evidence_by_group(
    tables: Mapping[str, DataFrame], spans: Mapping[str, EvaluatedPeriod]
) -> GroupedData:
    """The rows of each group's `PredictionEvidence`, by group, on the dates of its period."""
    modern = evidence(MODERN_GROUPS, tables)
    names = {row["group_id"] for row in modern.collect()}
    dates = {name: span.dates for name, span in spans.items() if name not in names}
    of_dates = on_dates(tables, dates)
    times = times_of(spans)
    kinds = {kind: evidence(kind, of_dates) for kind in CLASSIC_KINDS}
    of_all = packed(kinds | {kind: evidence(kind, tables, **times) for kind in PERIOD_KINDS})
    if not names:
        return by_group(of_all)
    of_modern = packed({kind: evidence(kind, tables) for kind in MODERN_KINDS})
    return by_group(of_all, of_modern.join(modern, on=GROUP_KEY, how="left_semi"))


def on_dates(
    tables: Mapping[str, DataFrame], dates: Mapping[str, tuple[date, date]]
) -> dict[str, DataFrame]:
    """The tables without rows of these groups on other dates.  Groups of another type than classic
    need all dates: each of their records has only one member.
    """
    if not dates:
        return dict(tables)
    limits = [(name, first, last) for name, (first, last) in dates.items()]
    session = next(iter(tables.values())).sparkSession
    frame = session.createDataFrame(limits, "group_id STRING, first_date DATE, last_date DATE")
    is_within = "first_date IS NULL OR event_date BETWEEN first_date AND last_date"
    return {
        name: rows.join(F.broadcast(frame), on="group_id", how="left")
        .where(is_within)
        .select(*rows.columns)
        if {"group_id", "event_date"} <= set(rows.columns)
        else rows
        for name, rows in tables.items()
    }


def _predict_group(schema: pa.Schema, sweep: Sweep) -> Callable[[pa.Table], pa.Table]:
    """Predicts one group; ``schema`` comes from the driver, as workers have no SparkSession."""

    def predicted(of_group: pa.Table) -> pa.Table:
        keys, rows = unpacked(of_group)
        own = PredictionEvidence(keys["group_id"], rows, sweep.cluster)
        return pa.Table.from_pylist([rows_of(keys, own, sweep)], schema)

    return predicted


def run(
    lake: Lake,
    changes: tuple[SettingsChange, ...] | None = None,
    seeds: int = ADVICE_SEEDS,
    prefer: str = "downtime",
) -> None:
    tables = {name: lake.read(name) for name in READS}
    with kept(what_if(tables, changes, seeds, prefer)) as predictions:
        for table in WRITES:
            rows = predictions.select(F.explode(table).alias("row")).select("row.*")
            if table == "process_lives":
                lives_of_all = _with_modern_groups(rows, lake)
                rows = with_member_process(lives_of_all, lake.read("generation_members"))
            elif table == "migration_advice":
                rows = ranked(rows)
            lake.replace(table, rows)


def ranked(rows: DataFrame) -> DataFrame:
    """Rows of migration_advice with their rank in the cluster."""
    verdict = F.coalesce(*(F.when(F.col("verdict") == name, n) for n, name in enumerate(ORDER)))
    saved = F.coalesce(
        F.col("unowned_unchanged_partition_ms") - F.col("unowned_predicted_partition_ms"),
        F.lit(0),
    )
    in_order = Window.partitionBy("cluster_id").orderBy(verdict, F.desc(saved), "group_id")
    return rows.withColumn("rank", F.row_number().over(in_order))


def with_member_process(process_lives: DataFrame, generation_members: DataFrame) -> DataFrame:
    """``process`` as in generation_members, of the life's last member in that table."""
    key = [*GROUP_KEY, "name", "life"]
    of_member = generation_members.groupBy(*GROUP_KEY, "member_id").agg(
        F.max_by("process", "generation").alias("member_process"),
        F.max("generation").alias("member_until"),
    )
    members = process_lives.select(*key, F.explode("member_ids").alias("member_id"))
    of_life = (
        members.join(of_member, on=[*GROUP_KEY, "member_id"], how="inner")
        .groupBy(*key)
        .agg(F.max_by("member_process", "member_until").alias("member_process"))
    )
    joined = process_lives.join(of_life, on=key, how="left")
    return joined.withColumn("process", F.coalesce("member_process", "name")).drop("member_process")


def _with_modern_groups(classic: DataFrame, lake: Lake) -> DataFrame:
    """For a group that is not always classic, the lives come from the causes of all its
    generations.
    """
    tables = {name: lake.read(name) for name in lives.READS}
    groups = lives.modern_groups(tables["generations"])
    rows = lives.lives_of_modern_groups(tables, rows_of_lives)
    own = classic.join(groups, on=["cluster_id", "group_id"], how="left_anti")
    return own.select(*rows.columns).unionByName(rows)


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("what_if_sweep")
