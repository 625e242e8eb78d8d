"""Find and open input files: local paths and globs, or URIs of pyarrow's file systems."""

from __future__ import annotations

import fnmatch
import glob
import os
import re
import shutil
import stat
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast
from urllib.parse import urlsplit

from jobs.console.errors import UsageError
from jobs.console.printing import printable
from jobs.engine.scratch import scratch_folder

# Importing pyarrow takes longer than a query of a local lake, and only object stores need it.
if TYPE_CHECKING:
    from pyarrow import fs

_STDIN = "/dev/stdin"
_MOST_CHARACTERS = 4096  # limit of a path's length in Linux; some longer globs take minutes


def list_files(pattern: str, option: str, *, name_like: str) -> list[str]:
    """Files of ``pattern``, sorted: a file, a glob (``**`` too) or a folder.

    A folder stands for all files below it whose names match ``name_like``.  /dev/stdin is copied
    if it is a pipe: sources read their files several times.  Pipes, devices and sockets that a
    glob matches are skipped with a line on stderr: to read them may never end.

    UsageError with ``option`` if no file matches (a run over zero files would look like a quiet
    cluster), if the only match is no regular file, if a name is not UTF-8, or if the pattern is
    longer than a path.
    """
    if len(pattern) > _MOST_CHARACTERS:
        raise UsageError(
            f"{option} {pattern[:100]}...: {len(pattern):,} characters; give a path, a folder or a "
            f"quoted glob of at most {_MOST_CHARACTERS:,}"
        )
    files = (
        _list_uri(pattern, name_like)
        if "://" in pattern
        else _list_local(pattern, option, name_like)
    )
    if not files:
        raise UsageError(
            f"{option} {pattern}: no such file; give a path, a folder or a quoted glob"
        )
    for path in files:
        _check_utf8(path, option)
    return sorted(files)


def open_file(path: str) -> BinaryIO:
    """Open a path of `list_files` for reading."""
    if "://" not in path:
        return open(path, "rb")
    filesystem, inner = file_system(path)
    return cast(BinaryIO, filesystem.open_input_file(inner))


def file_system(uri: str) -> tuple[fs.FileSystem, str]:
    """The store of a URI or path and the path in it; ``s3a``, Hadoop's name of S3, is read as
    ``s3``."""
    from pyarrow import fs

    if "://" not in uri:
        uri = os.path.abspath(uri)  # pyarrow refuses relative paths.
    return cast(tuple[fs.FileSystem, str], fs.FileSystem.from_uri(re.sub("^s3a:", "s3:", uri)))


def names_in(folder: str) -> list[str]:
    """Names of the files and folders in a folder, whose path or URI need not exist."""
    if "://" not in folder:
        return os.listdir(folder) if os.path.isdir(folder) else []
    from pyarrow import fs

    files, inner = file_system(folder)
    entries = files.get_file_info(fs.FileSelector(inner, allow_not_found=True))
    return [str(entry.base_name) for entry in entries]


def _list_local(pattern: str, option: str, name_like: str) -> list[str]:
    files: list[str] = []
    others: list[str] = []
    expanded = os.path.expanduser(pattern)
    # A file's name may contain the characters of a glob.
    is_name = os.path.lexists(expanded)
    for path in [expanded] if is_name else glob.glob(expanded, recursive=True):
        if os.path.isdir(path):
            files += [str(p) for p in Path(path).rglob(name_like) if p.is_file()]
        elif os.path.isfile(path) or not os.path.exists(path):
            files.append(path)  # Opening a link to a missing file raises an error with the reason.
        elif path == _STDIN and stat.S_ISFIFO(os.stat(path).st_mode):
            files.append(_copy_of_stdin())
        else:
            others.append(path)
    if others and not files:
        raise UsageError(
            f"{option} {others[0]}: not a regular file; write its content to a file, or give "
            f"{_STDIN}"
        )
    for path in others:
        print(f"regroup: {printable(path)}: skipped, not a regular file", file=sys.stderr)
    return [os.path.abspath(path) for path in dict.fromkeys(files)]


@cache
def _copy_of_stdin() -> str:
    """Read once, whatever the number of options that name it."""
    copy = scratch_folder() / "stdin"
    with open(_STDIN, "rb") as stdin, copy.open("wb") as file:
        shutil.copyfileobj(stdin, file)
    return str(copy)


def _check_utf8(path: str, option: str) -> None:
    """Tables hold the paths of inputs, and have no other encoding."""
    try:
        path.encode()
    except UnicodeEncodeError:
        name = os.fsencode(path).decode(errors="backslashreplace")
        raise UsageError(f"{option} {name}: the name is not UTF-8; rename the file") from None


def _list_uri(pattern: str, name_like: str) -> list[str]:
    from pyarrow import fs

    base = pattern.rstrip("/")
    while any(mark in base for mark in "*?["):
        base = base.rsplit("/", 1)[0]
    filesystem, inner = file_system(base)
    if filesystem.get_file_info(inner).type == fs.FileType.File:
        return [pattern]
    parts = (inner + pattern.rstrip("/").removeprefix(base)).split("/")
    below = filesystem.get_file_info(fs.FileSelector(inner, recursive=True, allow_not_found=True))
    files = [f.path for f in below if f.type == fs.FileType.File]
    uri = urlsplit(base)
    # A path of a file system is absolute; a path of an object store begins with the bucket.
    root = f"{uri.scheme}://{uri.netloc if inner.startswith('/') else ''}"
    return [root + path for path in files if _is_match(path.split("/"), parts, name_like)]


def _is_match(path: list[str], pattern: list[str], name_like: str) -> bool:
    """Returns whether the pattern fits the file, or a folder above it and ``name_like`` the file's
    name.
    """
    in_folder = any(_fits(path[:depth], pattern) for depth in range(1, len(path)))
    return _fits(path, pattern) or (in_folder and fnmatch.fnmatchcase(path[-1], name_like))


def _fits(path: list[str], pattern: list[str]) -> bool:
    """Paths match as in a shell: ``*`` matches within a folder, ``**`` any number of folders."""
    if not pattern:
        return not path
    if pattern[0] == "**":
        return any(_fits(path[skipped:], pattern[1:]) for skipped in range(len(path) + 1))
    return bool(path) and fnmatch.fnmatchcase(path[0], pattern[0]) and _fits(path[1:], pattern[1:])
