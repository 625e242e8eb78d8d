"""Union of frames with different columns."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from jobs.engine.embedded import with_schema


def union_of(*frames: DataFrame) -> DataFrame:
    """The rows of all frames by column name; a column that a frame lacks is null.

    `unionByName` with allowMissingColumns differs: its missing columns have no type in the embedded
    engine, so the other frames' values would be lost.
    """
    schemas = [frame.schema for frame in frames]
    types = {field.name: field.dataType for schema in schemas for field in schema}
    complete = [
        frame.select(
            *(
                F.col(name) if name in present else F.lit(None).cast(type_).alias(name)
                for name, type_ in types.items()
            )
        )
        for frame, present in zip(frames, (set(schema.names) for schema in schemas), strict=True)
    ]
    union = complete[0]
    for frame in complete[1:]:
        union = union.unionByName(frame)
    return with_schema(union, StructType([StructField(*each) for each in types.items()]))
