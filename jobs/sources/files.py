"""Finding and opening input files: local paths and globs, or any URI that pyarrow has a file system for."""

from __future__ import annotations

import fnmatch
import glob
import os
from pathlib import Path
from typing import BinaryIO, cast

from pyarrow import fs

from jobs.errors import UsageError


def list_files(pattern: str, option: str, *, name_like: str) -> list[str]:
    """Files that ``pattern`` names, sorted: a file, a glob (``**`` too) or a folder.

    A folder means every file below it whose name is like ``name_like``.  Nothing found is a
    UsageError that names ``option``: a run over zero files would look like a quiet cluster.
    """
    found = _list_uri(pattern, name_like) if "://" in pattern else _list_local(pattern, name_like)
    if not found:
        raise UsageError(
            f"{option} {pattern}: no such file; give a path, a folder or a quoted glob"
        )
    return sorted(found)


def open_file(path: str) -> BinaryIO:
    """``path`` as listed above, as a binary stream."""
    if "://" not in path:
        return open(path, "rb")  # noqa: SIM115 - the caller closes it
    filesystem, inner = fs.FileSystem.from_uri(path)
    return cast(BinaryIO, filesystem.open_input_file(inner))


def _list_local(pattern: str, name_like: str) -> list[str]:
    found: list[str] = []
    for path in glob.glob(os.path.expanduser(pattern), recursive=True):
        if os.path.isdir(path):
            found += [str(p) for p in Path(path).rglob(name_like) if p.is_file()]
        else:
            found.append(path)
    return [os.path.abspath(path) for path in dict.fromkeys(found)]


def _list_uri(pattern: str, name_like: str) -> list[str]:
    scheme = pattern.split("://", 1)[0]
    base = pattern
    while any(mark in base for mark in "*?["):
        base = base.rsplit("/", 1)[0]
    filesystem, inner = fs.FileSystem.from_uri(base)
    _, wanted = fs.FileSystem.from_uri(pattern) if base == pattern else (None, "")
    wanted = wanted or inner + pattern.removeprefix(base)
    info = filesystem.get_file_info(inner)
    if info.type == fs.FileType.File:
        return [pattern]
    below = filesystem.get_file_info(fs.FileSelector(inner, recursive=True, allow_not_found=True))
    files = [f.path for f in below if f.type == fs.FileType.File]
    if base == pattern:
        matching = [path for path in files if fnmatch.fnmatch(path.rsplit("/", 1)[-1], name_like)]
    else:
        matching = [path for path in files if fnmatch.fnmatch(path, wanted)]
    return [f"{scheme}://{path}" for path in matching]
