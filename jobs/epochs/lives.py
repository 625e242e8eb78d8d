"""The process lives of groups that are not, or not always, classic.

reads   generations, rebalance_causes, ownership_gaps
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from coordinator_core.episodes import Cause, Rebalance
from coordinator_core.episodes.lives import process_lives
from coordinator_core.lives import ConsumerProcess
from jobs.engine.union import union_of
from jobs.lake.keys import GENERATION_KEY, GROUP_KEY
from jobs.lake.tables import schema_of

READS = ("generations", "rebalance_causes", "ownership_gaps")
Row = dict[str, Any]
Rows = Callable[[list[ConsumerProcess], dict[str, int]], Iterator[Row]]
"""Rows of process_lives, of processes and the incarnation of each member id."""
# Groups are handled in this many calls, as of episodes.
_BUCKETS = 64
_group = itemgetter(*GROUP_KEY)


def groups_of_new_types(generations: DataFrame) -> DataFrame:
    return generations.where("group_type <> 'classic'").select(*GROUP_KEY).distinct()


def lives_of_new_types(
    generations: DataFrame, rebalance_causes: DataFrame, ownership_gaps: DataFrame, rows_of: Rows
) -> DataFrame:
    """Rows of process_lives of groups with a generation of another type than classic."""
    groups = groups_of_new_types(generations)
    rows = life_rows(generations, rebalance_causes, ownership_gaps)
    own = rows.join(groups, on=GROUP_KEY, how="left_semi")
    bucket = F.pmod(F.xxhash64(*GROUP_KEY), F.lit(_BUCKETS)).alias("bucket")
    schema = schema_of("process_lives")
    arrow_schema = to_arrow_schema(schema, timezone="UTC")
    of_groups = _of_groups(arrow_schema, rows_of)
    return own.select("*", bucket).groupBy("bucket").applyInArrow(of_groups, schema)


def life_rows(
    generations: DataFrame, rebalance_causes: DataFrame, ownership_gaps: DataFrame
) -> DataFrame:
    """The rows that `processes_of` needs, of all groups."""
    return union_of(_rebalances(generations), _causes(rebalance_causes), _silences(ownership_gaps))


def _rebalances(generations: DataFrame) -> DataFrame:
    begin = F.coalesce("preparing_time", "joined_time", "stable_time", "ended_time")
    end = F.coalesce("stable_time", "joined_time", "ended_time", "preparing_time")
    return generations.where(begin.isNotNull()).select(
        *GENERATION_KEY,
        F.lit("rebalance").alias("row"),
        F.unix_millis(begin).alias("from_ms"),
        F.unix_millis(end).alias("to_ms"),
        "outcome",
    )


def _causes(causes: DataFrame) -> DataFrame:
    return causes.where("event_time IS NOT NULL").select(
        *GENERATION_KEY,
        F.lit("cause").alias("row"),
        "cause_seq",
        F.unix_millis("event_time").alias("at_ms"),
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
    )


def _silences(gaps: DataFrame) -> DataFrame:
    return gaps.where("from_process IS NOT NULL AND to_time IS NOT NULL").select(
        *GROUP_KEY,
        F.lit("silence").alias("row"),
        F.col("from_process").alias("process"),
        F.unix_millis("from_time").alias("from_ms"),
        F.unix_millis("to_time").alias("to_ms"),
    )


def _of_groups(schema: pa.Schema, rows_of: Rows) -> Callable[[pa.Table], pa.Table]:
    """``schema`` comes from the driver, as workers have no SparkSession."""

    def lives(table: pa.Table) -> pa.Table:
        rows = sorted(table.to_pylist(), key=_group)
        results = [
            dict(zip(GROUP_KEY, group, strict=True)) | row
            for group, of_group in groupby(rows, key=_group)
            for row in _rows_of_group(list(of_group), rows_of)
        ]
        return pa.Table.from_pylist(results, schema)

    return lives


def _rows_of_group(rows: list[Row], rows_of: Rows) -> Iterator[Row]:
    processes, incarnation_of = processes_of(rows)
    yield from rows_of(processes, incarnation_of)


def processes_of(rows: list[Row]) -> tuple[list[ConsumerProcess], dict[str, int]]:
    """The processes of one group's rows, and the incarnation of each member id.

    ``rows``: of generations, rebalance_causes and ownership_gaps, each with its kind in ``row``
    (rebalance, cause or silence) and its times in ms.
    """
    causes = sorted(
        (row for row in rows if row["row"] == "cause"),
        key=lambda row: (row["incarnation"], row["generation"], row["cause_seq"]),
    )
    silences: dict[str, list[tuple[int, int]]] = {}
    for row in rows:
        if row["row"] == "silence":
            silences.setdefault(row["process"], []).append((row["from_ms"], row["to_ms"]))
    rebalances = [Rebalance(**_fields(row, Rebalance)) for row in rows if row["row"] == "rebalance"]
    absent: Row = {"at_ms": None, "story": None}
    processes = process_lives(
        sorted(rebalances, key=lambda each: each.id),
        [Cause(**absent | _fields(row, Cause)) for row in causes],
        silences,
    )
    return processes, {row["member_id"]: row["incarnation"] for row in reversed(causes)}


def _fields(row: Row, of: type[Rebalance | Cause]) -> Row:
    """The row's values of this type's fields; a null has the field's default."""
    return {name: row[name] for name in of._fields if row.get(name) is not None}
