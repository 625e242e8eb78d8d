"""Paths without characters that a URL must escape, because the embedded engine cannot open other
paths.

A lake in another folder is read and written through a link in this process's scratch folder.
"""

from __future__ import annotations

import os
import re
from hashlib import sha256

from jobs.console.errors import UsageError
from jobs.engine.scratch import scratch_folder

# A percent sign is only decoded if two hexadecimal digits follow.
_REFUSED = re.compile(r"%[0-9A-Fa-f]{2}|[\[\]\\]")
_PLAIN = re.compile(r"[A-Za-z0-9_.,+=@~:/-]*", re.ASCII)


def plain_path(folder: str) -> str:
    """The folder's absolute path, or the path of a link to it, which this process deletes at its
    end.  The URI of an object store is as it was given.

    Creates the folder if it must be linked: in a link to nothing, nothing can be created.
    UsageError as in `require_openable`.
    """
    if "://" in folder:
        return folder.rstrip("/")
    absolute = os.path.abspath(folder)
    if _PLAIN.fullmatch(absolute):
        return absolute
    require_openable(folder)
    os.makedirs(absolute, exist_ok=True)
    link = scratch_folder() / f"lake-{sha256(absolute.encode()).hexdigest()[:16]}"
    if not link.is_symlink():
        link.symlink_to(absolute)
    return str(link)


def require_openable(folder: str) -> None:
    """Raises UsageError for a local path that delta-rs decodes wrongly."""
    if "://" not in folder and (refused := set(_REFUSED.findall(os.path.abspath(folder)))):
        characters = " ".join(sorted(refused))
        raise UsageError(f"--lake {folder}: delta-rs cannot open a path with {characters}")
