"""Locks of a lake in an object store, which has no locks of its own.

A lock is a Delta table without rows, `_locks/HASH` in the lake, whose description names the holder.
A process takes or releases the lock by committing a version; Delta's commits are conditional puts,
so of several processes that saw the same version, one commits.  The holder renews the lock, also by
commits.  A waiting process counts the lock as left by a dead one if no version followed within
LEASE_S on the waiting process's own clock: clocks of machines are not compared.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256

from deltalake import CommitProperties, DeltaTable
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.schema import Schema
from pyarrow import fs

from jobs.console.errors import RunFailed
from jobs.console.secrets import without_secrets
from jobs.lake.files import file_system

# Stores to which delta-rs commits by a conditional put, or by an equivalent operation.
LOCKABLE = {"s3", "s3a", "gs", "abfs", "abfss"}
RENEW_S = 10.0
# The lease is long, because a process on an overloaded machine may not run for a minute.
LEASE_S = 180.0
POLL_S = 2.0
_FREE = ""
TAKEN_OVER = "taken over"
# A table must have a column; this table's log is kept short.
_COLUMN = {"name": "unused", "type": "string", "nullable": True, "metadata": {}}
_SCHEMA = Schema.from_json(json.dumps({"type": "struct", "fields": [_COLUMN]}))
_PROPERTIES = {
    "delta.logRetentionDuration": "interval 1 hours",
    "delta.enableExpiredLogCleanup": "true",
}
_ONCE = CommitProperties(max_commit_retries=0)


def is_lockable(root: str) -> bool:
    return root.partition("://")[0] in LOCKABLE


def is_s3(root: str) -> bool:
    return root.partition("://")[0] in {"s3", "s3a"}


def lock_path(root: str, name: str) -> str:
    return f"{root.rstrip('/')}/_locks/{sha256(name.encode()).hexdigest()[:16]}"


@dataclass(kw_only=True)
class StoreLock:
    """The lock ``name`` of the lake ``root``.  Threads of this process share it: `held` may be
    nested and concurrent, and the last one releases it."""

    root: str
    name: str
    is_required: bool = True  # if false, an unreachable lock causes a message instead of an error
    lease_s: float = LEASE_S
    renew_s: float = RENEW_S
    poll_s: float = POLL_S
    _users: int = 0
    _mutex: threading.Lock = field(default_factory=threading.Lock)
    _works: dict[str, threading.Lock] = field(default_factory=dict)
    _table: DeltaTable | None = None
    _ended: threading.Event = field(default_factory=threading.Event)
    _renewing: threading.Thread | None = None
    _lost: str | None = None

    @contextmanager
    def held(self, work: str | None = None) -> Iterator[None]:
        """Hold the lock, and for ``work`` exclude this process's other threads with the same work.

        Raises RunFailed if another process took the lock over, as this one had not renewed it in
        time.
        """
        with self._mutex:
            if not self._users:
                self._acquire()
            self._users += 1
            of_work = self._works.setdefault(work, threading.Lock()) if work else threading.Lock()
        try:
            with of_work:
                self.require_held()
                yield
                self.require_held()
        finally:
            with self._mutex:
                self._users -= 1
                if not self._users:
                    self._release()
        # Whether another process took over the lock is certain only after the release.
        self.require_held()

    def require_held(self) -> None:
        if self._lost:
            raise RunFailed(
                f"the lock of {self.root} was lost ({self._lost}): another run may write the same "
                "tables; start this run again"
            )

    def _acquire(self) -> None:
        self._lost = self._table = None
        try:
            self._table = self._take(f"{socket.gethostname()} {os.getpid()} {secrets.token_hex(4)}")
        except (DeltaError, OSError) as error:
            if self.is_required:
                raise
            why = without_secrets(next(iter(str(error).splitlines()), type(error).__name__))
            _say(f"no lock in {self.root} ({why}): run one command at a time on this lake")
            return
        self._ended = threading.Event()
        self._renewing = threading.Thread(target=self._renew, daemon=True)
        self._renewing.start()

    def _take(self, holder: str) -> DeltaTable:
        table, seen, since, has_said = self._opened(), -1, time.monotonic(), False
        while True:
            table.update_incremental()
            if table.version() != seen:
                seen, since = table.version(), time.monotonic()
            owner = table.metadata().description or _FREE
            # The store had carried out this process's own commit, and refused its repetition.
            if owner == holder:
                return table
            is_dead = time.monotonic() - since >= self.lease_s
            if (owner == _FREE or is_dead) and _committed(table, holder):
                if is_dead:
                    _say(f"the lock of {owner} was not renewed for {self.lease_s:g} s: taken over")
                return table
            if not has_said and owner != _FREE:
                has_said = True
                _say(f"waiting for {owner}, which writes {self.root}")
            time.sleep(self.poll_s)

    def _opened(self) -> DeltaTable:
        path = lock_path(self.root, self.name)
        with suppress(TableNotFoundError):
            return DeltaTable(path)
        with suppress(DeltaError):  # Another process has just created the table.
            DeltaTable.create(
                path, _SCHEMA, name=self.name, description=_FREE, configuration=_PROPERTIES
            )
        return DeltaTable(path)

    def _renew(self) -> None:
        table, ended = self._table, self._ended
        assert table is not None
        holder, renewed = table.metadata().description, time.monotonic()
        while not ended.wait(self.renew_s):
            try:
                table.alter.set_table_description(holder, commit_properties=_ONCE)
                renewed = time.monotonic()
            except CommitFailedError:
                table.update_incremental()
                if table.metadata().description != holder:
                    self._lost = TAKEN_OVER
                    return
                # The store had carried out the renewal, and refused its repetition.
                renewed = time.monotonic()
            except (DeltaError, OSError) as error:  # The store may respond to the next attempt.
                if time.monotonic() - renewed >= self.lease_s:
                    self._lost = next(iter(str(error).splitlines()), "not renewed")
                    return

    def _release(self) -> None:
        if self._table is None or self._renewing is None:
            return
        self._ended.set()
        self._renewing.join()
        if not self._lost:
            with suppress(DeltaError, OSError):  # The next run takes over the lock.
                self._lost = None if self._freed(self._table) else TAKEN_OVER

    @staticmethod
    def _freed(table: DeltaTable) -> bool:
        last = table.version()
        if _committed(table, _FREE):
            return True
        # The table is one version newer if the store had carried out the commit and refused its
        # repetition.
        table.update_incremental()
        return table.version() == last + 1 and (table.metadata().description or _FREE) == _FREE


_locks: dict[tuple[str, str], StoreLock] = {}
_locks_mutex = threading.Lock()


def store_lock(root: str, name: str, *, is_required: bool = True) -> StoreLock:
    """This process's lock with this name, which all its threads share."""
    with _locks_mutex:
        key = (root.rstrip("/"), name)
        lock = StoreLock(root=key[0], name=name, is_required=is_required)
        return _locks.setdefault(key, lock)


def has_renewals(root: str, within_s: float = RENEW_S * 1.5) -> bool:
    """Returns whether a process renews a lock of the lake, or takes one, within this time."""
    if not is_lockable(root):
        return False
    tables = list(_held_tables(root))
    versions = [table.version() for table in tables]
    until = time.monotonic() + within_s
    while tables and time.monotonic() < until:
        time.sleep(min(1.0, within_s / 10))
        for table in tables:
            table.update_incremental()
        if [table.version() for table in tables] != versions:
            return True
    return False


def _held_tables(root: str) -> Iterator[DeltaTable]:
    files, folder = file_system(f"{root.rstrip('/')}/_locks")
    for each in files.get_file_info(fs.FileSelector(folder, allow_not_found=True)):
        table = DeltaTable(f"{root.rstrip('/')}/_locks/{each.base_name}")
        if table.metadata().description:
            yield table


def _committed(table: DeltaTable, description: str) -> bool:
    """Returns whether the version after the last seen version is this process's version."""
    try:
        table.alter.set_table_description(description, commit_properties=_ONCE)
    except CommitFailedError:
        return False
    return True


def _say(text: str) -> None:
    print(f"regroup: {text}", file=sys.stderr, flush=True)
