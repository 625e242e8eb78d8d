"""The process lives of groups that are not, or not always, classic.

reads   generations, rebalance_causes, ownership_gaps
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from coordinator_core.episodes.evidence import Cause, Rebalance
from coordinator_core.episodes.lives import LastPolls, process_lives
from coordinator_core.lives import ConsumerProcess, Silences
from jobs.engine.union import union_of
from jobs.lake.evidence import Row, Rows, evidence
from jobs.lake.group_types import HAS_EPOCHS
from jobs.lake.keys import GROUP_KEY
from jobs.lake.tables import schema_of

# Kinds of evidence from which processes are derived.
REBALANCES, CAUSES, SILENCES = KINDS = ("rebalance_times", "causes", "silences")
READS = ("generations", "rebalance_causes", "ownership_gaps")
LivesRows = Callable[[list[ConsumerProcess], dict[str, int]], Iterator[Row]]
"""Processes, and the incarnation of each member id -> rows of process_lives."""
# Number of calls in which groups are processed, as for episodes.
_BUCKETS = 64
_group = itemgetter(*GROUP_KEY)


def modern_groups(generations: DataFrame) -> DataFrame:
    return generations.where(HAS_EPOCHS).select(*GROUP_KEY).distinct()


def lives_of_modern_groups(tables: Mapping[str, DataFrame], rows_of: LivesRows) -> DataFrame:
    """Rows of process_lives for groups with a generation of a modern type.

    ``tables`` are the tables READS.
    """
    groups = modern_groups(tables["generations"])
    rows = [evidence(kind, tables).withColumn("kind", F.lit(kind)) for kind in KINDS]
    own = union_of(*rows).join(groups, on=GROUP_KEY, how="left_semi")
    bucket = F.pmod(F.xxhash64(*GROUP_KEY), F.lit(_BUCKETS)).alias("bucket")
    schema = schema_of("process_lives")
    arrow_schema = to_arrow_schema(schema, timezone="UTC")
    of_groups = _of_groups(arrow_schema, rows_of)
    return own.select("*", bucket).groupBy("bucket").applyInArrow(of_groups, schema)


def _of_groups(schema: pa.Schema, rows_of: LivesRows) -> Callable[[pa.Table], pa.Table]:
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


def _rows_of_group(rows: list[Row], rows_of: LivesRows) -> Iterator[Row]:
    by_kind = {kind: [row for row in rows if row["kind"] == kind] for kind in KINDS}
    yield from rows_of(*processes_of(by_kind))


def processes_of(
    rows: Rows, last_polls: LastPolls | None = None
) -> tuple[list[ConsumerProcess], dict[str, int]]:
    """The processes of one group, and the incarnation of each member id.

    ``rows`` are the group's rows by kind of evidence, KINDS.
    """
    causes = sorted(
        rows[CAUSES], key=lambda row: (row["incarnation"], row["generation"], row["cause_seq"])
    )
    rebalances = [Rebalance(**_fields(row, Rebalance)) for row in rows[REBALANCES]]
    absent: Row = {"at_ms": None, "story": None}
    processes = process_lives(
        sorted(rebalances, key=lambda each: each.id),
        [Cause(**absent | _fields(row, Cause)) for row in causes],
        silences_of(rows[SILENCES]),
        last_polls,
    )
    return processes, {row["member_id"]: row["incarnation"] for row in reversed(causes)}


def silences_of(rows: Iterable[Row]) -> Silences:
    """``rows`` are rows of the kind SILENCES."""
    silences: dict[str, list[tuple[int, int]]] = {}
    for row in rows:
        silences.setdefault(row["process"], []).append((row["from_ms"], row["to_ms"]))
    return silences


def _fields(row: Row, of: type[Rebalance | Cause]) -> Row:
    """The row's values of this type's fields; a null has the field's default."""
    return {name: row[name] for name in of._fields if row.get(name) is not None}
