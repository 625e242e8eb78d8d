"""Writes a page: one HTML file, and data files in a folder beside it if the timelines need more.

The page loads a data file with a script element when a group of the file is opened.  This works
from a local disk, where a page may not read files in any other way.  The name of a data file
contains a hash of its content: a page that is open while the next one is written never gets the
data of the next.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Any

from jobs.console.errors import UsageError
from jobs.report.data import GROUP_ROOM, OVERVIEW_ROOM, ROOM, overview, timelines
from jobs.report.json_text import as_json
from jobs.report.lake import ReportLake
from jobs.report.page import page

Json = dict[str, Any]

FILE_ROOM = 1_000_000  # maximum bytes of a data file, unless one timeline is larger
_DATA_FILE = re.compile(r"\d{4,}-[0-9a-f]{12}\.js")


def write_page(
    lake: ReportLake, cluster_id: str, out: str, room: int | None = None, file_room: int = FILE_ROOM
) -> list[Path]:
    """Write the page and its data files; the paths, the page's first.

    Raises UsageError if a file cannot be written.
    """
    data = overview(lake, cluster_id, OVERVIEW_ROOM)
    writer = _DataFiles(Path(out), file_room)
    inside: list[Json] = []
    room = (ROOM if room is None else room) - len(as_json(data))
    try:
        for timeline in timelines(lake, data, GROUP_ROOM):
            size = len(as_json(timeline))
            if size <= room:
                inside.append(timeline)
                room -= size
            else:
                writer.add(timeline, size)
        elsewhere = writer.finish()
        _replace(Path(out), page(data | {"timelines": inside, "elsewhere": elsewhere}))
        writer.delete_others()
    except OSError as error:
        raise UsageError(f"--out {out}: {error.strerror}; give a file to write") from None
    return [Path(out), *writer.files]


class _DataFiles:
    """The data files of a page: ``files`` has their paths."""

    def __init__(self, out: Path, room: int) -> None:
        self.files: list[Path] = []
        self._folder = out.with_suffix(".data")
        self._room, self._size = room, 0
        self._waiting: list[Json] = []
        self._groups: list[list[Any]] = []

    def add(self, timeline: Json, size: int) -> None:
        if self._waiting and self._size + size > self._room:
            self._write()
        self._waiting.append(timeline)
        self._size += size

    def finish(self) -> Json | None:
        """The location of the timelines: the folder, and the groups of each file; null without
        files.
        """
        if self._waiting:
            self._write()
        return {"folder": self._folder.name, "files": self._groups} if self.files else None

    def _write(self) -> None:
        text = f"regroupTimelines({as_json(self._waiting)});\n"
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        path = self._folder / f"{len(self.files) + 1:04}-{digest}.js"
        self._folder.mkdir(exist_ok=True)
        _replace(path, text)
        self.files.append(path)
        self._groups.append([path.name, [timeline["group"] for timeline in self._waiting]])
        self._waiting, self._size = [], 0

    def delete_others(self) -> None:
        """Delete data files of previous pages of this name."""
        if not self._folder.is_dir():
            return
        for path in self._folder.iterdir():
            if _DATA_FILE.fullmatch(path.name) and path not in self.files:
                path.unlink()
        if not any(self._folder.iterdir()):
            self._folder.rmdir()


def _replace(path: Path, text: str) -> None:
    """Write the file in one step: a browser may load it at any time."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise
