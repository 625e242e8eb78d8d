"""The columns of a cause before its process is looked up, and keys that the modules here share."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.lake.keys import GENERATION_KEY, INCARNATION_KEY, MEMBER_KEY

MEMBER_AND_TIME = [*MEMBER_KEY, "event_time"]
# ``kind`` is departure, arrival or other. ``replaces`` is a static member's previous id.
# ``absorbed`` means that the cause triggered no rebalance.
COLUMNS = {
    "generation": "int",
    "member_id": "string",
    "event_time": "timestamp",
    "cause": "string",
    "kind": "string",
    "replaces": "string",
    "reason": "string",
    "client_reason": "string",
    "evidence": "string",
    "settings": "array<string>",
    "absorbed": "boolean",
}


def cause_rows(rows: DataFrame, *names: str, **values: Column) -> DataFrame:
    """Rows with COLUMNS:

    The columns ``names`` are unchanged, ``values`` are computed, and all other columns are null.
    """
    columns = {name: F.col(name) for name in names}
    columns |= {name: value.alias(name) for name, value in values.items()}
    return rows.select(
        *INCARNATION_KEY,
        *(
            columns[name] if name in columns else F.lit(None).cast(of_type).alias(name)
            for name, of_type in COLUMNS.items()
        ),
    )


def predecessors(generations: DataFrame) -> DataFrame:
    """Each generation with the ``previous`` generation, because numbers of modern groups have
    gaps.
    """
    in_order = Window.partitionBy(*INCARNATION_KEY).orderBy("generation")
    return generations.select(*GENERATION_KEY, F.lag("generation").over(in_order).alias("previous"))
