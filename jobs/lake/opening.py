"""Opens a lake with the engine of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pyspark.sql import SparkSession

from jobs.console.errors import UsageError
from jobs.engine.choice import EMBEDDED_STORES, lake_only_for_spark
from jobs.engine.embedded import is_embedded
from jobs.lake.path_alias import plain_path, require_openable
from jobs.lake.tables import Lake

if TYPE_CHECKING:
    from jobs.lake.arrow_tables import ArrowLake


def open_lake(session: SparkSession, root: str, cluster_id: str) -> Lake:
    """The lake below ``root``, read and written by the session's engine.

    Raises UsageError for a table with damaged newest commits.
    """
    lake = _opened(session, root, cluster_id)
    lake.require_whole()
    return lake


def _opened(session: SparkSession, root: str, cluster_id: str) -> Lake:
    # Each engine's module imports its own Delta library.
    if is_embedded(session):
        from jobs.lake.embedded_tables import EmbeddedLake

        return EmbeddedLake(session, plain_path(root), cluster_id)
    from jobs.lake.spark_tables import SparkLake

    require_openable(root)  # This check reads Delta logs of local folders with delta-rs.
    return SparkLake(session, root, cluster_id)


def open_without_engine(root: str, cluster_id: str) -> ArrowLake:
    """The lake below ``root`` for rows in Arrow, which delta-rs appends and compacts: it has no
    session, so it neither reads nor derives rows.

    Raises UsageError for a store that delta-rs cannot write, and for a table with damaged newest
    commits.
    """
    from jobs.lake.embedded_tables import EmbeddedLake

    if lake := lake_only_for_spark(root):
        raise UsageError(f"{lake}: give a folder, or a URI of {', '.join(sorted(EMBEDDED_STORES))}")
    opened = EmbeddedLake(cast(SparkSession, None), plain_path(root), cluster_id)
    opened.require_whole()
    return opened
