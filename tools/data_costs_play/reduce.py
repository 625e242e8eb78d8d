"""Reduce a play to what a comparison of tables with its truth reads.

    .venv/bin/python -m tools.data_costs_play.reduce FOLDER ARCHIVE.tar.gz

The archive has the segments, the coordinator's lines of server.log, end_offsets.jsonl and
truth.json.
"""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Annotated

import typer

from tools.twins.reduce import COORDINATOR, add


def main(
    play: Annotated[Path, typer.Argument(help="Folder of a play.")],
    archive: Annotated[Path, typer.Argument(help="File to write.")],
) -> None:
    with tarfile.open(archive, "w:gz") as packed:
        for segment in sorted(play.glob("segments/*/*.log")):
            if segment.stat().st_size:
                add(packed, str(segment.relative_to(play)), segment.read_bytes())
        lines = (play / "server.log").read_text(encoding="utf-8").splitlines(keepends=True)
        own = "".join(line for line in lines if COORDINATOR in line)
        add(packed, "server.log", own.encode())
        for name in ("end_offsets.jsonl", "truth.json"):
            add(packed, name, (play / name).read_bytes())
    print(archive, archive.stat().st_size, "bytes")


if __name__ == "__main__":
    typer.run(main)
