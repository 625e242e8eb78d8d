"""Repairs damaged tables: back to the newest whole version; damaged files are kept as evidence.

A table's log is repaired before its data files.  Each commit that is damaged, missing, or later
than a damaged or missing commit is replaced by a commit without changes.  Therefore a version
number is never used twice, and the versions in table ``runs`` remain right.  Then Delta removes
data files that are missing or damaged from the newest version; rows of other files are kept.

reads    each table's Delta log and every page of its Parquet files
writes   the Delta logs; damaged files move to folder DAMAGED of the lake, which no reader reads
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from jobs.console.errors import RunFailed
from jobs.lake.arrow_tables import has_ascii_paths
from jobs.lake.checksums import checksum_file
from jobs.lake.integrity import file_damage, tables_on_disk

DAMAGED = "_damaged"
_VERSION_DIGITS = 20


@dataclass(frozen=True)
class Repair:
    """``damage``: what was wrong and what is set aside.  ``has_lost_rows``: whether rows that the
    table had are gone from it.  ``is_gone``: no version was whole, so the table is set aside."""

    table: str
    damage: str
    has_lost_rows: bool = True
    is_gone: bool = False


def repair_tables(root: str) -> list[Repair]:
    """Repair each damaged table of a lake in a local folder; other processes must not write it.

    Raises RunFailed for a table that delta-rs cannot read although its log is whole.
    """
    stamp = f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%S}"
    aside = Path(root, DAMAGED)
    tables = ((name, aside / name / stamp) for name in tables_on_disk(root))
    repairs = (_repair(Path(root, name), name, folder) for name, folder in tables)
    return [each for each in repairs if each is not None]


@contextmanager
def all_locks(root: str) -> Iterator[None]:
    """Hold every lock of the lake: the locks of all runs of all clusters.

    No lock is held while waiting for another lock, because a run holds several locks in its own
    order.
    """
    while True:
        with ExitStack() as held:
            files = [held.enter_context(file.open("w")) for file in Path(root).glob(".*.lock")]
            other = next((file for file in files if not _lock(file)), None)
            if other is None:
                yield
                return
        with suppress(FileNotFoundError), open(other.name) as file:
            fcntl.flock(file, fcntl.LOCK_SH)


def _lock(file: IO[str]) -> bool:
    """Take the lock unless another process has it; returns whether it was taken."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _repair(path: Path, table: str, aside: Path) -> Repair | None:
    log = _Log(path / "_delta_log", aside / "_delta_log")
    if not log.versions():
        return None if log.is_new() else _set_table_aside(path, table, aside)
    damages, lost = log.repair_checkpoints(), False
    first, last = log.first_needed(), log.versions()[-1]
    old = [version for version in range(log.versions()[0], first) if log.is_damaged(version)]
    bad = next((version for version in range(first, last + 1) if log.is_damaged(version)), None)
    if bad == 0:
        return _set_table_aside(path, table, aside)
    if bad is not None:
        log.go_back_to(bad - 1)
        damages.append(f"damaged version {bad}, back to version {bad - 1} of {last}")
        lost = True
    for version in old:
        log.empty(version)
        damages.append(f"damaged commit {version}, older than the checkpoint")
    if files := _repair_files(path, table, aside):
        damages.append(files)
        lost = True
    return Repair(table, "; ".join(damages), lost) if damages else None


def _set_table_aside(path: Path, table: str, aside: Path) -> Repair:
    aside.parent.mkdir(parents=True, exist_ok=True)
    # A folder of this name contains damaged checkpoints of the same table.
    path.replace(aside / "table" if aside.exists() else aside)
    return Repair(table, "no whole version, all rows set aside", is_gone=True)


@dataclass(frozen=True)
class _Log:
    """A table's ``_delta_log``, and the folder for its damaged files."""

    folder: Path
    aside: Path

    def versions(self) -> list[int]:
        stems = (file.stem for file in self.folder.glob("*.json"))
        return sorted(int(stem) for stem in stems if stem.isdigit())

    def is_new(self) -> bool:
        """Returns whether the table was never written: a killed run left folders without any
        file.
        """
        return not any(file.is_file() for file in self.folder.parent.rglob("*"))

    def is_damaged(self, version: int) -> bool:
        try:
            lines = self._commit(version).read_text(encoding="utf-8").split("\n")
            actions = [json.loads(line) for line in lines if line.strip()]
        except (FileNotFoundError, ValueError):
            return True
        return not actions or not all(isinstance(action, dict) for action in actions)

    def first_needed(self) -> int:
        """The first version after the newest checkpoint; 0 without a checkpoint."""
        return max(map(_version_of, self.folder.glob("*.checkpoint.*")), default=-1) + 1

    def repair_checkpoints(self) -> list[str]:
        """Set damaged checkpoints aside; returns what was damaged."""
        damaged = {
            _version_of(file)
            for file in self.folder.glob("*.checkpoint.*parquet")
            if not _is_whole_parquet(file)
        }
        for version in damaged:
            self._set_aside(self.folder.glob(f"*{version:0{_VERSION_DIGITS}}.checkpoint.*"))
        is_pointer_damaged = not self._is_pointer_whole()
        if damaged or is_pointer_damaged:
            self._set_aside(self.folder.glob("*_last_checkpoint*"))
        names = [f"damaged checkpoint {version}" for version in sorted(damaged)]
        return names + (["damaged _last_checkpoint"] if is_pointer_damaged else [])

    def _is_pointer_whole(self) -> bool:
        with suppress(FileNotFoundError):
            try:
                pointer = json.loads((self.folder / "_last_checkpoint").read_bytes())
            except ValueError:
                return False
            return isinstance(pointer, dict)
        return True

    def go_back_to(self, version: int) -> None:
        """Empty all later commits, newest first, so that an interrupted repair can continue."""
        for later in range(self.versions()[-1], version, -1):
            self.empty(later)

    def empty(self, version: int) -> None:
        """Replace a commit by a commit without changes; the files about it are set aside."""
        commit = self._commit(version)
        self.aside.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            shutil.copy2(commit, self.aside)
        information = {
            "timestamp": time.time_ns() // 1_000_000,
            "operation": "REPAIR",
            "operationParameters": {},
        }
        new = commit.with_name(f".{commit.name}.repair")
        with new.open("w", encoding="utf-8") as file:
            file.write(json.dumps({"commitInfo": information}) + "\n")
            file.flush()
            os.fsync(file.fileno())
        new.replace(commit)
        # Spark's checksums no longer match the commit and the version.
        prefix = f"{version:0{_VERSION_DIGITS}}"
        self._set_aside([*self.folder.glob(f".{prefix}*.crc"), *self.folder.glob(f"{prefix}*.crc")])

    def _set_aside(self, files: Iterable[Path]) -> None:
        for file in list(files):
            self.aside.mkdir(parents=True, exist_ok=True)
            file.replace(self.aside / file.name)

    def _commit(self, version: int) -> Path:
        return self.folder / f"{version:0{_VERSION_DIGITS}}.json"


def _version_of(file: Path) -> int:
    return int(file.name.lstrip(".")[:_VERSION_DIGITS])


def _is_whole_parquet(path: Path) -> bool:
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            return all(batch.num_columns for batch in file.iter_batches())
    except (OSError, ValueError, pa.ArrowException):
        return False


def _repair_files(path: Path, table: str, aside: Path) -> str | None:
    """Remove missing and damaged data files from the newest version; returns what was damaged."""
    try:
        delta = DeltaTable(path)
        written = pa.table(delta.get_add_actions(flatten=True)).to_pylist()
    except (DeltaError, OSError, ValueError) as error:
        first_line = next(iter(str(error).splitlines()), type(error).__name__)
        raise RunFailed(f"table {table} is not repaired, its log is whole: {first_line}") from error
    damaged = [
        (file, damage)
        for file in written
        if (damage := file_damage(str(path / unquote(file["path"])), file)) is not None
    ]
    if not damaged:
        return None
    if not has_ascii_paths(delta):
        raise RunFailed(
            f"table {table} is not repaired: Spark wrote its files for a cluster whose name is not "
            f"ASCII; {damaged[0][0]['path']}: {damaged[0][1]}"
        )
    for file, _ in damaged:
        _set_file_aside(path, unquote(file["path"]), aside)
    delta.repair()
    counts = [file.get("num_records") for file, _ in damaged]
    rows = "an unknown number of" if None in counts else f"{sum(counts):,}"
    return f"{len(damaged)} missing or damaged data file(s) with {rows} row(s)"


def _set_file_aside(path: Path, name: str, aside: Path) -> None:
    for file in (path / name, checksum_file(path / name)):
        target = aside / file.relative_to(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            file.replace(target)
