"""An existing lake, with a session of the engine that its size and configuration require."""

from __future__ import annotations

from pathlib import Path

from jobs.configuration.config import Config
from jobs.console.errors import UsageError
from jobs.engine.choice import Workload, bytes_of, lake_only_for_spark
from jobs.engine.session import open_session
from jobs.lake.coverage import BRONZE
from jobs.lake.opening import open_lake
from jobs.lake.sql import existing_tables
from jobs.lake.tables import Lake


def require_lake(root: str) -> None:
    """Raises UsageError for a missing folder; object stores are not checked."""
    if "://" not in root and not Path(root).is_dir():
        raise UsageError(f"--lake {root}: no such folder; `regroup nightly` creates one")


def open_existing_lake(root: str, cluster_id: str, config: Config) -> Lake:
    """An existing lake, with a session of the engine that its size and configuration require.

    UsageError for a lake without tables.
    """
    require_lake(root)
    if not lake_only_for_spark(root) and not existing_tables(root):
        raise UsageError(f"--lake {root}: no table in it yet; run `regroup nightly` first")
    return open_new_or_existing_lake(root, cluster_id, config)


def open_new_or_existing_lake(root: str, cluster_id: str, config: Config) -> Lake:
    """Open a lake as `open_existing_lake` does, for commands that may create the lake.

    The lake's tables get their present names.
    """
    lake = open_lake(open_session(config, workload_of_lake(root)), root, cluster_id)
    lake.rename_old_names()
    return lake


def workload_of_lake(root: str) -> Workload:
    """The work of a command that computes from the bronze tables."""
    spark_only = lake_only_for_spark(root)
    bronze = () if spark_only else (f"{root.rstrip('/')}/{table}" for table in BRONZE)
    return Workload(bytes_of(bronze), spark_only)
