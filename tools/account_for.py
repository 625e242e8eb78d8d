"""Checks that every record and every coordinator line below a folder is accounted for.

    python -m tools.account_for DIR

Reads all `__consumer_offsets-N/*.log` segments and all `server*.log*` files below DIR as `regroup
ingest` does, and prints per folder how many inputs were read and quarantined.  Exit 1 if counts do
not add up.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Annotated

import typer

from jobs.console.errors import UsageError
from jobs.console.printing import print_rows
from jobs.lake.dates import DateRange
from jobs.segments import partition_of
from jobs.sources.broker_logs.broker_log import log_rows
from jobs.sources.topic.segments import segment_rows

COLUMNS = ["folder", "files", "inputs", "kept", "quarantined", "skipped", "unreadable_bytes"]


def counted(batches) -> Counter[str]:  # type: ignore[no-untyped-def]
    """Rows by kind, and the counts in the file's own row."""
    counts: Counter[str] = Counter()
    for batch in batches:
        for row in batch.to_pylist():
            if row["kind"] != "file":
                counts["kept" if row["kind"] in ("record", "event") else "other"] += 1
                continue
            for name in ("inputs", "quarantined", "skipped", "unreadable_bytes"):
                counts[name] += row.get(name) or 0
            counts["counted_as_kept"] += sum(n for _, n in row["kept_by_date"])
    return counts


def adds_up(counts: Counter[str]) -> bool:
    total = counts["kept"] + counts["quarantined"] + counts["skipped"]
    return counts["kept"] == counts["counted_as_kept"] and counts["inputs"] == total


def account(root: Path) -> tuple[list[list[object]], list[str]]:
    """Rows of COLUMNS, and the files whose counts do not add up."""
    folders: dict[str, Counter[str]] = defaultdict(Counter)
    wrong = []
    for path in sorted(p for p in root.rglob("*") if p.is_file()):
        batches = _rows_of(path)
        if batches is None:
            continue
        counts = counted(batches)
        if not adds_up(counts):
            wrong.append(str(path))
        kind = "segments" if path.parent.name.startswith("__consumer_offsets") else path.name
        folder = path.parent.parent if kind == "segments" else path.parent
        folders[f"{folder.relative_to(root)}: {kind}"] += counts + Counter(files=1)
    return [[name, *(c[n] for n in COLUMNS[1:])] for name, c in folders.items()], wrong


def _rows_of(path: Path):  # type: ignore[no-untyped-def]
    if path.name.startswith("server") and ".log" in path.name:
        return log_rows(str(path), "UTC", DateRange())
    if path.suffix != ".log":
        return None
    try:
        partition_of(path)
    except (UsageError, ValueError):
        return None
    return segment_rows(str(path), DateRange())


def main(
    folder: Annotated[Path, typer.Argument(help="Folder with segments and logs.")],
) -> None:
    rows, wrong = account(folder)
    totals = [sum(int(str(row[i])) for row in rows) for i in range(1, len(COLUMNS))]
    print_rows(COLUMNS, [*rows, ["total", *totals]])
    for path in wrong:
        print(f"{path}: counts do not add up", file=sys.stderr)
    raise typer.Exit(1 if wrong or not rows else 0)


if __name__ == "__main__":
    typer.run(main)
