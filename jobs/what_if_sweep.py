"""Predict other settings for every group: its process lives, a grid of changes, advice, and whether
to migrate it to the consumer protocol.

reads   timeline, group_events, group_metadata, committed_offsets, generations, generation_members,
        assignments, ownership_gaps, handover_costs, group_records; of groups that were not always
        classic also rebalance_causes, churn, rebalance_latency, topic_ids
writes  process_lives      one row per start of a process
        what_if            one row per group and setting
        advice             one row per group
        migration_advice   one row per group

Covers a cluster's whole history, whatever the dates.  A task predicts one group at a time, see
`jobs.what_if.predicted_groups`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa
from pyspark.sql import DataFrame, GroupedData, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType, StructField, StructType

from coordinator_core.coordinator.era_evidence import EraEvidence
from coordinator_core.whatif import Outcomes, SettingsChange
from jobs.engine.keeping import kept
from jobs.lake.evidence import by_group, evidence, packed, reads, unpacked
from jobs.lake.keys import GROUP_KEY
from jobs.lake.tables import Lake, schema_of
from jobs.modern_history import lives
from jobs.replay.group_rows import FOREVER_MS
from jobs.what_if.evidence import (
    CLASSIC_KINDS,
    CLUSTER_KINDS,
    LAST_TIMES,
    MODERN_GROUPS,
    MODERN_KINDS,
    PERIOD_KINDS,
    TARGET_TIMES,
    ClusterEvidence,
    PredictionEvidence,
    era_evidence,
    last_of,
)
from jobs.what_if.migration_rows import ORDER
from jobs.what_if.predicted_groups import WRITES, rows_of
from jobs.what_if.result_rows import rows_of_lives
from jobs.what_if.sweep import EvaluatedPeriod, Sweep, times_of

READS = tuple(
    sorted(reads((*CLASSIC_KINDS, *MODERN_KINDS, *CLUSTER_KINDS, *PERIOD_KINDS, MODERN_GROUPS)))
)
SEEDS = 3


def what_if(
    tables: dict[str, DataFrame],
    changes: tuple[SettingsChange, ...] | None = None,
    seeds: int = SEEDS,
) -> DataFrame:
    """One row per group, with a column per table of WRITES: an array of the group's rows.

    ``changes`` None: the candidates of each group; else those that its brokers and clients accept.
    """
    cluster = cluster_evidence(tables)
    span = EvaluatedPeriod(None, cluster.until_ms, seeds)
    of_all = {"begin_ms": 0, "end_ms": FOREVER_MS}
    return _predicted(tables, of_all, Sweep(lambda _: span, changes, cluster))


def what_if_of_spans(
    tables: dict[str, DataFrame],
    spans: dict[str, EvaluatedPeriod],
    era: EraEvidence,
    earlier: dict[str, dict[str, Outcomes]],
) -> DataFrame:
    """Rows of `what_if` for these groups, each in its own period.

    The changes that only migration_advice needs are left out.  ``era``: evidence of the cluster's
    era, see `era_of_cluster`.  ``earlier``: outcomes by group that are not simulated again.
    """
    cluster = ClusterEvidence(max(span.to_ms for span in spans.values()), era)
    sweep = Sweep(spans.__getitem__, None, cluster, migrations=False, earlier=earlier)
    return _predicted(tables, times_of(spans), sweep)


def cluster_evidence(tables: Mapping[str, DataFrame]) -> ClusterEvidence:
    last_ms = last_of(evidence(LAST_TIMES, tables).collect())
    return ClusterEvidence(last_ms, era_of_cluster(tables))


def era_of_cluster(tables: Mapping[str, DataFrame]) -> EraEvidence:
    """What the records of modern groups show of the brokers' era."""
    return era_evidence(evidence(TARGET_TIMES, tables).collect())


def _predicted(
    tables: dict[str, DataFrame], times: Mapping[str, str | int], sweep: Sweep
) -> DataFrame:
    """``times``: parameters of the evidence PERIOD_KINDS: the period of each group."""
    schema = StructType(
        [StructField(name, ArrayType(schema_of(name)), nullable=False) for name in WRITES]
    )
    predict = _predict_group(to_arrow_schema(schema, timezone="UTC"), sweep)
    return evidence_by_group(tables, times).applyInArrow(predict, schema)


def evidence_by_group(
    tables: Mapping[str, DataFrame], times: Mapping[str, str | int]
) -> GroupedData:
    """The rows of each group's `PredictionEvidence`, by group."""
    kinds = {kind: evidence(kind, tables) for kind in CLASSIC_KINDS}
    of_all = packed(kinds | {kind: evidence(kind, tables, **times) for kind in PERIOD_KINDS})
    modern = evidence(MODERN_GROUPS, tables)
    if modern.isEmpty():
        return by_group(of_all)
    of_modern = packed({kind: evidence(kind, tables) for kind in MODERN_KINDS})
    return by_group(of_all, of_modern.join(modern, on=GROUP_KEY, how="left_semi"))


def _predict_group(schema: pa.Schema, sweep: Sweep) -> Callable[[pa.Table], pa.Table]:
    """Predicts one group; ``schema`` comes from the driver, as workers have no SparkSession."""

    def predicted(of_group: pa.Table) -> pa.Table:
        keys, rows = unpacked(of_group)
        own = PredictionEvidence(keys["group_id"], rows, sweep.cluster)
        return pa.Table.from_pylist([rows_of(keys, own, sweep)], schema)

    return predicted


def run(lake: Lake, changes: tuple[SettingsChange, ...] | None = None, seeds: int = SEEDS) -> None:
    tables = {name: lake.read(name) for name in READS}
    with kept(what_if(tables, changes, seeds)) as predictions:
        for table in WRITES:
            rows = predictions.select(F.explode(table).alias("row")).select("row.*")
            if table == "process_lives":
                rows = _with_modern_groups(rows, lake)
            elif table == "migration_advice":
                rows = ranked(rows)
            lake.replace(table, rows)


def ranked(rows: DataFrame) -> DataFrame:
    """Rows of migration_advice with their rank in the cluster."""
    verdict = F.coalesce(*(F.when(F.col("verdict") == name, n) for n, name in enumerate(ORDER)))
    saved = F.coalesce(
        F.col("unavailable_unchanged_partition_ms") - F.col("unavailable_predicted_partition_ms"),
        F.lit(0),
    )
    in_order = Window.partitionBy("cluster_id").orderBy(verdict, F.desc(saved), "group_id")
    return rows.withColumn("rank", F.row_number().over(in_order))


def _with_modern_groups(classic: DataFrame, lake: Lake) -> DataFrame:
    """Of a group that is not always classic, the lives by the causes of all its generations."""
    tables = {name: lake.read(name) for name in lives.READS}
    groups = lives.modern_groups(tables["generations"])
    rows = lives.lives_of_modern_groups(tables, rows_of_lives)
    own = classic.join(groups, on=["cluster_id", "group_id"], how="left_anti")
    return own.select(*rows.columns).unionByName(rows)


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("what_if_sweep")
