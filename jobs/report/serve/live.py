"""The lake's present version, and the next one as soon as it is complete."""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime

from jobs.console.errors import UsageError, failure_line
from jobs.console.printing import printable
from jobs.lake.service_levels import SloSettings
from jobs.lake.sql import versions
from jobs.report.lake import OpenedLake
from jobs.report.queries import CLUSTERS
from jobs.report.serve.summary import ClusterSummary

# Memory of DuckDB; larger sorts, and rows that do not fit, are on the disk.
MEMORY = "100MB"  # for a version of the lake that is ready
_MEMORY_OF_NEXT = "150MB"  # for a version whose groups are read
_MOST_MEMORY = "400MB"  # for reading groups that need more than that
_MEMORY_OF_PREVIOUS = "50MB"  # for the version that readers have at the same time
# Each thread needs memory of its own.
_SETTINGS = {"memory_limit": _MEMORY_OF_NEXT, "threads": "1"}


class Version:
    """One version of the lake.  ``number`` is 1 for the version at the start of the server."""

    def __init__(self, root: str, slo: SloSettings | None, number: int, folder: str) -> None:
        """Raises UsageError for a missing lake, or for one without generations."""
        self.number = number
        # Read the versions before opening, so that a later check sees a commit in between.
        self.tables = versions(root)
        self.opened = OpenedLake(root, slo, _SETTINGS | {"temp_directory": folder})
        # Each request reads the metadata of the same files.
        self.opened.connection.execute("SET parquet_metadata_cache = true")
        self.opened_at = datetime.now(UTC)
        self.clusters = [row[0] for row in self.opened.connection.execute(CLUSTERS).fetchall()]
        if not self.clusters:
            raise UsageError(f"--lake {root}: no generations in it yet; run `regroup nightly`")
        self._summaries: dict[str, ClusterSummary] = {}
        self._lock = threading.Lock()

    def summary(self, cluster_id: str) -> ClusterSummary:
        """The groups of a cluster, read at the first call.  Raises UsageError for an unknown
        cluster.
        """
        with self._lock:
            if cluster_id not in self._summaries:
                self._summaries[cluster_id] = self._read_summary(cluster_id)
            return self._summaries[cluster_id]

    def _read_summary(self, cluster_id: str) -> ClusterSummary:
        import duckdb

        schema = f"cluster_{len(self._summaries)}"
        try:
            self.limit_memory(_MEMORY_OF_NEXT)
            with suppress(duckdb.OutOfMemoryException):
                return ClusterSummary(self.opened, cluster_id, schema)
            self.limit_memory(_MOST_MEMORY)
            return ClusterSummary(self.opened, cluster_id, f"{schema}_again")
        finally:
            self.limit_memory(MEMORY)

    def limit_memory(self, limit: str) -> None:
        """Limit DuckDB's memory for this version; data beyond the limit moves to the disk."""
        self.opened.connection.execute(f"SET memory_limit = '{limit}'")

    def prepared(self) -> list[str]:
        """The clusters that readers asked for."""
        return list(self._summaries)


class LiveLake:
    """``root`` is the folder or URI of the lake."""

    def __init__(self, root: str, slo: SloSettings | None = None) -> None:
        """Raises UsageError for a missing lake, or for one without generations."""
        self.root, self._slo = root, slo
        self._folder = tempfile.TemporaryDirectory(
            prefix="regroup-serve-", ignore_cleanup_errors=True
        )
        self._version = Version(root, slo, 1, self._folder.name)

    def close(self) -> None:
        """Delete the temporary files."""
        self._folder.cleanup()

    @property
    def version(self) -> Version:
        return self._version

    def refresh(self) -> bool:
        """Open the next version if the lake has new commits; readers have the previous one until
        its clusters are ready."""
        if versions(self.root) == self._version.tables:
            return False
        self._version.limit_memory(_MEMORY_OF_PREVIOUS)
        try:
            self._version = self._following()
        finally:
            self._version.limit_memory(MEMORY)
        return True

    def _following(self) -> Version:
        following = Version(self.root, self._slo, self._version.number + 1, self._folder.name)
        for cluster_id in self._version.prepared():
            if cluster_id in following.clusters:
                following.summary(cluster_id)
        return following

    def follow(self, every_s: float) -> None:
        """Look for new commits until the process ends; print a line per failure."""
        while True:
            time.sleep(every_s)
            try:
                self.refresh()
            except Exception as error:
                line = (
                    f"{datetime.now(UTC):%H:%M:%S} new version not readable: {failure_line(error)}"
                )
                print(printable(line), file=sys.stderr, flush=True)
