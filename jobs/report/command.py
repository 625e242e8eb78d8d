"""``regroup report``: writes what was asked for, and says on stderr what it is."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from jobs.console.errors import UsageError
from jobs.console.printing import printable
from jobs.report.lake import ReportLake
from jobs.report.window import window


@dataclass(frozen=True)
class Request:
    """``first``, ``last``: moments or dates in UTC, as they were written; none for all."""

    lake: str
    cluster_id: str
    group_id: str | None = None
    first: str | None = None
    last: str | None = None
    out: str | None = None
    trace: str | None = None
    mermaid: str | None = None


def report(request: Request) -> None:
    """UsageError for a lake, a group or a time that is not there, or a file that cannot be."""
    if not (request.out or request.trace or request.mermaid):
        raise UsageError("give --out FILE.html, --trace FILE.json or --mermaid GENERATION")
    shown = window(request.first, request.last)
    lake = ReportLake(request.lake, request.cluster_id, request.group_id, shown)
    if request.out:
        from jobs.report.data import page_data
        from jobs.report.page import page

        _write("--out", request.out, page(page_data(lake, request.cluster_id)))
    if request.trace:
        from jobs.report.data import all_timelines
        from jobs.report.trace import trace

        _write("--trace", request.trace, trace(all_timelines(lake)))
    if request.mermaid:
        from jobs.report.sequence import sequence

        given = (request.lake, request.cluster_id, request.group_id, request.mermaid)
        lines = sequence(*given).split("\n")
        sys.stdout.write("\n".join(map(printable, lines)))  # names are any client's


def _write(option: str, path: str, text: str) -> None:
    data = text.encode()
    try:
        Path(path).write_bytes(data)
    except OSError as error:
        raise UsageError(f"{option} {path}: {error.strerror}; give a file to write") from None
    print(f"{path}: {len(data):,} bytes", file=sys.stderr)
