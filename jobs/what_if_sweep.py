"""Predict other settings for every group: its process lives, a grid of changes, advice, and whether
to migrate it to the consumer protocol.

reads   timeline, group_events, group_metadata, committed_offsets, generations, generation_members,
        assignments, ownership_gaps; of groups of the new types also group_records,
        rebalance_causes, churn, rebalance_latency
writes  process_lives      one row per start of a process
        what_if            one row per group and setting
        advice             one row per group
        migration_advice   one row per group

Covers a cluster's whole history, whatever the dates.  A task predicts one group at a time, see
`jobs.what_if.predicted_groups`.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType, StructField, StructType

from coordinator_core.whatif import Outcomes, SettingsChange
from jobs.engine.keeping import kept
from jobs.epochs import lives
from jobs.lake.tables import Lake, schema_of
from jobs.replay.group_rows import unpacked
from jobs.what_if import classic_evidence, consumer_evidence
from jobs.what_if.classic_evidence import downtime_rows, evidence_of_classic
from jobs.what_if.consumer_evidence import ConsumerRows, groups_of_new_types
from jobs.what_if.migration_rows import ORDER
from jobs.what_if.predicted_groups import WRITES, rows_of_classic, rows_of_new_type
from jobs.what_if.result_rows import rows_of_lives
from jobs.what_if.sweep import Span, Sweep, lasted_ms

READS = tuple(dict.fromkeys((*classic_evidence.READS, "ownership_gaps", *consumer_evidence.READS)))
SEEDS = 3


def what_if(
    tables: dict[str, DataFrame],
    changes: tuple[SettingsChange, ...] | None = None,
    seeds: int = SEEDS,
) -> DataFrame:
    """One row per group, with a column per table of WRITES: an array of the group's rows.

    ``changes`` None: the candidates of each group; else those that its brokers and clients accept.
    """
    until_ms = max(
        _last_ms(tables["group_metadata"], "append_time"),
        _last_ms(tables["committed_offsets"], "append_time"),
        _last_ms(tables["group_events"], "event_time"),
    )
    span = Span(None, until_ms, seeds)
    return _predicted(tables, lasted_ms(span), Sweep(lambda _: span, changes))


def what_if_of_spans(
    tables: dict[str, DataFrame],
    spans: dict[str, Span],
    earlier: dict[str, dict[str, Outcomes]],
) -> DataFrame:
    """`what_if` of these groups, each in its own period, without the changes that only
    migration_advice needs.  ``earlier``: by group, outcomes that are not simulated again.
    """
    lasted = [F.when(F.col("group_id") == name, lasted_ms(span)) for name, span in spans.items()]
    sweep = Sweep(spans.__getitem__, None, migrations=False, earlier=earlier)
    return _predicted(tables, F.coalesce(*lasted), sweep)


def _predicted(tables: dict[str, DataFrame], lasted: Column, sweep: Sweep) -> DataFrame:
    """``lasted``: the part of a gap of ownership that is within its group's period, in ms."""
    sweep = sweep._replace(era=consumer_evidence.consumer_era(tables["group_records"]))
    schema = StructType(
        [StructField(name, ArrayType(schema_of(name)), nullable=False) for name in WRITES]
    )
    arrow_schema = to_arrow_schema(schema, timezone="UTC")
    downtime = downtime_rows(tables["ownership_gaps"], lasted)
    groups = groups_of_new_types(tables["generations"], tables["group_records"])
    classic = evidence_of_classic(tables, downtime, groups).applyInArrow(
        _predict_group(arrow_schema, sweep), schema
    )
    if tables["group_records"].limit(1).count() == 0:
        return classic
    new = consumer_evidence.evidence_of_new_types(tables, groups, downtime).applyInArrow(
        _predict_new_type(arrow_schema, sweep), schema
    )
    return classic.unionByName(new)


def _last_ms(table: DataFrame, time: str) -> int:
    last = table.agg(F.max(F.unix_millis(time))).first()
    return 0 if last is None else last[0] or 0


def _predict_group(schema: pa.Schema, sweep: Sweep) -> Callable[[pa.Table], pa.Table]:
    """Predicts one group; ``schema`` comes from the driver, as workers have no SparkSession."""

    def predicted(evidence: pa.Table) -> pa.Table:
        keys, event_rows, record_rows = unpacked(evidence)
        row = rows_of_classic(keys, event_rows, record_rows, sweep)
        return pa.Table.from_pylist([row], schema)

    return predicted


def _predict_new_type(schema: pa.Schema, sweep: Sweep) -> Callable[[pa.Table], pa.Table]:
    """Likewise, of a group that is not classic."""

    def predicted(evidence: pa.Table) -> pa.Table:
        row = rows_of_new_type(ConsumerRows(evidence), sweep)
        return pa.Table.from_pylist([row], schema)

    return predicted


def run(lake: Lake, changes: tuple[SettingsChange, ...] | None = None, seeds: int = SEEDS) -> None:
    tables = {name: lake.read(name) for name in READS}
    with kept(what_if(tables, changes, seeds)) as predictions:
        for table in WRITES:
            rows = predictions.select(F.explode(table).alias("row")).select("row.*")
            if table == "process_lives":
                rows = _with_new_types(rows, lake)
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


def _with_new_types(classic: DataFrame, lake: Lake) -> DataFrame:
    """Of a group that is not always classic, the lives by the causes of all its generations."""
    tables = {name: lake.read(name) for name in lives.READS}
    groups = lives.groups_of_new_types(tables["generations"])
    rows = lives.lives_of_new_types(**tables, rows_of=rows_of_lives)
    own = classic.join(groups, on=["cluster_id", "group_id"], how="left_anti")
    return own.select(*rows.columns).unionByName(rows)


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("what_if_sweep")
