"""Union of frames with different columns."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def union_of(*frames: DataFrame) -> DataFrame:
    """The rows of all frames by column name, null where a frame lacks a column.

    As `unionByName` with allowMissingColumns, whose missing columns have no type in the embedded
    engine, so that the other frames' values would be lost.
    """
    types = {field.name: field.dataType for frame in frames for field in frame.schema}
    complete = [
        frame.select(
            *(
                F.col(name) if name in frame.columns else F.lit(None).cast(type_).alias(name)
                for name, type_ in types.items()
            )
        )
        for frame in frames
    ]
    union = complete[0]
    for frame in complete[1:]:
        union = union.unionByName(frame)
    return union
