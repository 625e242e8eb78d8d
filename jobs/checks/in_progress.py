"""Tells whether a process is writing a lake, by the locks of the lake."""

from __future__ import annotations

import fcntl
from pathlib import Path

from jobs.lake.store_lock import has_renewals

IN_PROGRESS = (
    "a run is writing this lake: tables may disagree until the run ends; check again later"
)


def is_written(root: str) -> bool:
    """A dead process holds no lock; in an object store it does not renew its lock."""
    if "://" in root:
        return has_renewals(root)
    return any(map(_is_held, Path(root).glob(".*.lock")))


def _is_held(file: Path) -> bool:
    try:
        with file.open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # The process belongs to another user, or the file system has no locks.
        return False
    return False
