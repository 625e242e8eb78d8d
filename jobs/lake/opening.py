"""Opens a lake with the engine of a session."""

from __future__ import annotations

from pyspark.sql import SparkSession

from jobs.engine.embedded import is_embedded
from jobs.lake.tables import Lake


def open_lake(session: SparkSession, root: str, cluster_id: str) -> Lake:
    """The lake below ``root``, read and written by the session's engine."""
    # Each engine's module imports its own Delta library.
    if is_embedded(session):
        from jobs.lake.embedded_tables import EmbeddedLake

        return EmbeddedLake(session, root, cluster_id)
    from jobs.lake.spark_tables import SparkLake

    return SparkLake(session, root, cluster_id)
