"""Reduce a play to what a comparison of tables with its truth reads.

    .venv/bin/python -m tools.data_costs_play.reduce FOLDER ARCHIVE.tar.gz [--groups PATTERN]

The archive has the segments, the coordinator's lines of server.log, end_offsets.jsonl and
truth.json; with --groups, without end offsets and without the records and lines of groups whose
name does not have this pattern.
"""

from __future__ import annotations

import json
import re
import tarfile
from pathlib import Path
from typing import Annotated

import typer

from tools.twins.reduce import COORDINATOR, add, batches_of


def main(
    play: Annotated[Path, typer.Argument(help="Folder of a play.")],
    archive: Annotated[Path, typer.Argument(help="File to write.")],
    groups: Annotated[str, typer.Option(help="A pattern of group names.")] = "",
) -> None:
    kept = re.compile(groups)
    names = json.loads((play / "truth.json").read_bytes())["groups"]
    others = [name for name in names if not kept.search(name)]
    with tarfile.open(archive, "w:gz") as packed:
        for segment in sorted(play.glob("segments/*/*.log")):
            data = b"".join(batches_of(segment, kept)) if groups else segment.read_bytes()
            if data:
                add(packed, str(segment.relative_to(play)), data)
        lines = (play / "server.log").read_text(encoding="utf-8").splitlines(keepends=True)
        of_coordinator = (line for line in lines if COORDINATOR in line)
        own = "".join(line for line in of_coordinator if not any(map(line.__contains__, others)))
        add(packed, "server.log", own.encode())
        for name in ("truth.json",) if groups else ("end_offsets.jsonl", "truth.json"):
            add(packed, name, (play / name).read_bytes())
    print(archive, archive.stat().st_size, "bytes")


if __name__ == "__main__":
    typer.run(main)
