"""Checks the places of output files before the work that takes time."""

from __future__ import annotations

import os
from pathlib import Path

from jobs.console.errors import UsageError


def require_writable(option: str, path: str | None) -> None:
    """Raises UsageError if the file cannot be written: it is a folder, or its folder is missing."""
    if path is None:
        return
    file = Path(path)
    if file.is_dir():
        raise UsageError(f"{option} {path}: a folder; give a file to write")
    if not file.parent.is_dir():
        raise UsageError(f"{option} {path}: no folder {file.parent}; give a file to write")
    written = file if file.exists() else file.parent
    if not os.access(written, os.W_OK):
        raise UsageError(f"{option} {path}: {written} is not writable; give a file to write")
