"""Reduce a play to what predictions read, and its truth.

    .venv/bin/python -m tools.twins.reduce FOLDER ARCHIVE.tar.gz

The archive has the records and log lines of the groups `...-base` and `...-consumer`, whose
evidence all variants are predicted from, and truth.json.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Annotated

import typer

from coordinator_core.records import decode
from jobs.segments import Batch, read_segment

PREDICTED_FROM = re.compile(r"-(base|consumer)$")
_GROUP_OF_LINE = re.compile(r"\b([a-z]+-[a-z-]+[a-z])\b")
COORDINATOR = ".coordinator."


def main(
    play: Annotated[Path, typer.Argument(help="Folder of a play.")],
    archive: Annotated[Path, typer.Argument(help="File to write.")],
) -> None:
    with tarfile.open(archive, "w:gz") as packed:
        for segment in sorted(play.glob("segments/*/*.log")):
            data = b"".join(batches_of(segment, PREDICTED_FROM))
            if data:
                add(packed, str(segment.relative_to(play)), data)
        add(packed, "server.log", "".join(_lines(play / "server.log")).encode())
        add(packed, "truth.json", (play / "truth.json").read_bytes())
    print(archive, archive.stat().st_size, "bytes")


def add(packed: tarfile.TarFile, name: str, data: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    packed.addfile(entry, BytesIO(data))


def batches_of(segment: Path, groups: re.Pattern[str]) -> Iterator[bytes]:
    """The bytes of each batch with a record of a group whose name has this pattern."""
    data = segment.read_bytes()
    for batch in read_segment(data, partition=0, file=segment.name):
        assert isinstance(batch, Batch), f"{segment}: {batch}"
        records = zip(batch.keys, batch.values, strict=True)
        keys = [decode(key or b"", value).key for key, value in records]
        if any(groups.search(str(key.get("group_id") or key.get("group"))) for key in keys):
            yield data[batch.position : batch.position + batch.size]


def _lines(log: Path) -> Iterator[str]:
    """Lines of the coordinator that name one of these groups."""
    for line in log.read_text(encoding="utf-8").splitlines(keepends=True):
        names = _GROUP_OF_LINE.findall(line)
        if COORDINATOR in line and any(map(PREDICTED_FROM.search, names)):
            yield line


if __name__ == "__main__":
    typer.run(main)
