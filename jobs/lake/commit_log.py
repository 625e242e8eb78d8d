"""A table's commits, read from the JSON files of its Delta log: versions, labels, row counts.

Both engines read the log with this module.  Reading the log takes no job of the engine.  Spark and
delta-rs write the same actions, except for the names of their metrics.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote

from jobs.lake.files import names_in, open_file

# Number of newest commits of a table that are searched for a label; a run makes a few commits per
# table.
_COMMITS_SEARCHED = 100
# Number of newest commits that are checked: a power failure damages files that were not on disk
# yet.
_COMMITS_CHECKED = 3
_REMEDY = "`regroup maintain --repair`"
_PARQUET = b"PAR1"  # first and last bytes of each Parquet file
# Metrics with the number of rows that a commit changed, of a merge and of a write, by Spark and by
# delta-rs.  In a merge, `numOutputRows` also counts rows that were only copied.
_METRICS = (
    ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted"),
    ("num_target_rows_inserted", "num_target_rows_updated", "num_target_rows_deleted"),
    ("numOutputRows",),
    ("num_added_rows",),
)


class LogFolder(Protocol):
    """The files of a ``_delta_log`` folder, wherever it is."""

    def names(self) -> list[str]:
        """File names; an empty list if the folder does not exist."""

    def text(self, name: str) -> str:
        """The content of a file, which is UTF-8."""

    def is_parquet(self, name: str) -> bool:
        """Returns whether the file begins and ends as a Parquet file."""

    def fault_of_file(self, path: str, size: int) -> str | None:
        """What is wrong with a data file of this size; None if it is whole, and in an object
        store, which keeps only whole files."""


@dataclass(frozen=True)
class FileLogFolder:
    """A log folder at a local path or a URI of pyarrow's file systems."""

    path: str

    def names(self) -> list[str]:
        return names_in(self.path)

    def text(self, name: str) -> str:
        with open_file(f"{self.path}/{name}") as file:
            return file.read().decode()

    def is_parquet(self, name: str) -> bool:
        with open_file(f"{self.path}/{name}") as file:
            size = file.seek(0, 2)
            file.seek(0)
            first = file.read(len(_PARQUET))
            file.seek(max(0, size - len(_PARQUET)))
            return first == file.read() == _PARQUET

    def fault_of_file(self, path: str, size: int) -> str | None:
        if "://" in self.path:
            return None
        name = f"../{path}"
        try:
            size_on_disk = Path(self.path, name).stat().st_size
        except FileNotFoundError:
            return "is missing"
        if size_on_disk != size:
            return f"has {size_on_disk:,} bytes instead of {size:,}"
        return None if self.is_parquet(name) else "is no Parquet file"


@dataclass(frozen=True)
class CommitLog:
    """The commits of one table, as of the call."""

    folder: LogFolder

    def versions(self) -> list[int]:
        """The versions whose commits the log still has, oldest first."""
        stems = (name.removesuffix(".json") for name in self.folder.names() if ".json" in name)
        return sorted(int(stem) for stem in stems if stem.isdigit())

    def damage(self) -> str | None:
        """The newest file that is empty or damaged, what is wrong with it, and the remedy, or None
        if the newest commits, their data files and the newest checkpoint are whole.
        """
        return self.damage_of_log() or self._damage_of_files()

    def _damage_of_files(self) -> str | None:
        """As `damage`, of the data files of the newest commits, if the log is whole."""
        removed: set[str] = set()
        for version in reversed(self.versions()[-_COMMITS_CHECKED:]):
            actions = list(self._actions(version))
            for add in (action["add"] for action in actions if "add" in action):
                path = unquote(add["path"])
                fault = self.folder.fault_of_file(path, add["size"])
                if fault is not None and add["path"] not in removed:
                    return f"{path} {fault}; restore it, or run {_REMEDY}"
            removed |= {action["remove"]["path"] for action in actions if "remove" in action}
        return None

    def damage_of_log(self) -> str | None:
        """As `damage`, of the newest commits and the newest checkpoint."""
        for version in reversed(self.versions()[-_COMMITS_CHECKED:]):
            if (fault := self._fault(version)) is not None:
                return f"_delta_log/{_file_name(version)} {fault}; restore it, or run {_REMEDY}"
        checkpoints = [name for name in self.folder.names() if ".checkpoint." in name]
        newest = max((n for n in checkpoints if n.endswith(".parquet")), default=None)
        if newest is None or self.folder.is_parquet(newest):
            return None
        return f"_delta_log/{newest} is no Parquet file; restore it, or run {_REMEDY}"

    def _fault(self, version: int) -> str | None:
        try:
            actions = list(self._actions(version))
        except ValueError:  # The commit is not UTF-8, or not JSON.
            return "is damaged"
        return None if actions else "is empty"

    def days_with_new_rows(
        self, cluster_id: str, *, after: int, up_to: int
    ) -> list[tuple[int, date]] | None:
        """(version, event_date) of each version in (``after``, ``up_to``] that added rows of this
        cluster on this date, or None if the log no longer goes back to ``after``.
        """
        wanted = range(after + 1, up_to + 1)
        if not set(wanted) <= set(self.versions()):
            return None
        return [(version, day) for version in wanted for day in self._days(version, cluster_id)]

    def _days(self, version: int, cluster_id: str) -> list[date]:
        # Count only additions: a date whose files were only removed was deleted by retention.
        added = (action["add"] for action in self._actions(version) if "add" in action)
        values = [add["partitionValues"] for add in added if add["dataChange"]]
        own = {value["event_date"] for value in values if value["cluster_id"] == cluster_id}
        return sorted(map(date.fromisoformat, own))

    def files_added(self, *, after: int) -> list[str]:
        """The data files that later commits added, relative to the table's folder."""
        actions = (action for v in self.versions() if v > after for action in self._actions(v))
        return [unquote(action["add"]["path"]) for action in actions if "add" in action]

    def rows_written(self, label: str) -> int | None:
        """Rows that the newest commits with this label changed, or None without such a commit."""
        return self._rows_by_label(self.versions()[-_COMMITS_SEARCHED:]).get(label)

    def rows_by_label(self) -> dict[str, int] | None:
        """`rows_written` of every label, or None if the log no longer has its first commits."""
        versions = self.versions()
        return self._rows_by_label(versions) if versions[:1] == [0] else None

    def _rows_by_label(self, versions: list[int]) -> dict[str, int]:
        rows: dict[str, int] = {}
        for info in (action.get("commitInfo") for v in versions for action in self._actions(v)):
            if info and (label := info.get("userMetadata")):
                rows[label] = rows.get(label, 0) + _rows_changed(info)
        return rows

    def metric(self, version: int, *names: str) -> int:
        """The first of these metrics that the commit has; 0 if it has none of them."""
        infos = (action.get("commitInfo") for action in self._actions(version))
        metrics = [info.get("operationMetrics") or {} for info in infos if info]
        return next((int(each[name]) for each in metrics for name in names if name in each), 0)

    def _actions(self, version: int) -> Iterator[dict[str, Any]]:
        text = self.folder.text(_file_name(version))
        # Do not use str.splitlines, which also ends lines at U+2028, because a group id in the
        # statistics may contain this character.
        return (json.loads(line) for line in text.split("\n") if line.strip())


def _file_name(version: int) -> str:
    return f"{version:020}.json"


def _rows_changed(info: dict[str, Any]) -> int:
    metrics = info.get("operationMetrics") or {}
    names = next((names for names in _METRICS if names[0] in metrics), ())
    return sum(int(metrics.get(name, 0)) for name in names)
