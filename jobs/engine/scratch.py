"""The folder of temporary files of a process, including those of the engines and of delta-rs.

A process that ends deletes its folder; the folder of a killed process is deleted by the next one.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TextIO

PREFIX = "regroup-scratch-"
# The process of a folder holds this lock, which the kernel releases even after SIGKILL.
_LOCK = "lock"


@cache
def scratch_folder() -> Path:
    """A folder of this process, which every call returns; deletes the folders of killed
    processes.
    """
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        _delete_if_abandoned(folder)
    folder, lock = _locked_folder()
    atexit.register(_delete, folder, lock, os.getpid())
    return folder


def _locked_folder() -> tuple[Path, TextIO]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        # Another process may find the folder before it is locked, and delete the folder.
        with suppress(FileNotFoundError):
            lock = (folder / _LOCK).open("w")
            fcntl.flock(lock, fcntl.LOCK_EX)
            if (folder / _LOCK).exists():
                return folder, lock
            lock.close()


def _delete_if_abandoned(folder: Path) -> None:
    # An error means that the folder's process runs, or that another process deletes the folder.
    with suppress(OSError):
        if folder.lstat().st_uid == os.getuid():
            with (folder / _LOCK).open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)


def _delete(folder: Path, lock: TextIO, owner: int) -> None:
    if os.getpid() == owner:  # A forked process must not run this.
        shutil.rmtree(folder, ignore_errors=True)
        lock.close()
