"""Which input files changed since they were last read, according to their file system."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from pyarrow import fs

# None: the file is missing.
FileState = tuple[Any, ...] | None


@dataclass
class ReadFiles:
    """Files by their state when they were read; `changed` and `remember` are called in turn."""

    _read: dict[str, FileState] = field(default_factory=dict)

    def changed(self, files: Iterable[str]) -> dict[str, FileState]:
        """The files whose state is new, each with its current state.

        A file that is missing at the moment, for example because it is being renamed, is left to
        the next call.
        """
        with ThreadPoolExecutor() as pool:  # This sends a request per file of an object store.
            paths = list(files)
            states = dict(zip(paths, pool.map(state_of, paths), strict=True))
        return {
            path: state
            for path, state in states.items()
            if state is not None and self._read.get(path) != state
        }

    def remember(self, states: dict[str, FileState]) -> None:
        self._read |= states

    def forget_missing(self, files: Iterable[str]) -> None:
        """Drop files that are no longer listed, so that a rolling log does not fill the memory."""
        self._read = {path: self._read[path] for path in files if path in self._read}


def state_of(path: str) -> FileState:
    """Changes with each write, rename or replacement: of a local file its inode, size and times,
    of an object its size and time.  A folder is a Delta table, which changes with its log; in a
    store it counts as changed at any time.  Returns None for a missing file."""
    if "://" in path:
        store, inner = fs.FileSystem.from_uri(path)
        info = store.get_file_info(inner)
        if info.type == fs.FileType.Directory:
            return (time.monotonic_ns(),)
        return None if info.type == fs.FileType.NotFound else (info.size, info.mtime_ns)
    try:
        stat = os.stat(f"{path}/_delta_log" if os.path.isdir(path) else path)
    except FileNotFoundError:
        return None
    return (stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
