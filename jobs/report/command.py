"""`regroup report`: write a page, a trace or a sequence diagram."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from jobs.console.errors import UsageError
from jobs.console.output_files import require_writable
from jobs.console.printing import printable
from jobs.lake.service_levels import SloSettings
from jobs.report.lake import ReportLake
from jobs.report.window import parse_window


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """``first`` and ``last`` are times or dates in UTC, or None for no limit.

    ``slo``: objectives.
    """

    lake: str
    cluster_id: str
    group_id: str | None = None
    first: str | None = None
    last: str | None = None
    out: str | None = None
    trace: str | None = None
    mermaid: str | None = None
    slo: SloSettings | None = None


def report(options: ReportOptions) -> None:
    """Raises UsageError for a missing lake or group, an invalid time, or a file that cannot be
    written.
    """
    if not (options.out or options.trace or options.mermaid):
        raise UsageError("give --out FILE.html, --trace FILE.json or --mermaid GENERATION")
    require_writable("--out", options.out)
    require_writable("--trace", options.trace)
    window = parse_window(*_dated(options))
    lake = ReportLake(options.lake, options.cluster_id, options.group_id, window, options.slo)
    if options.out:
        _write_page(lake, options, options.out)
    if options.trace:
        from jobs.report.data import all_timelines
        from jobs.report.trace import trace

        _write("--trace", options.trace, trace(all_timelines(lake)))
    if options.mermaid:
        from jobs.report.sequence import sequence

        place = (options.lake, options.cluster_id, options.group_id, options.mermaid)
        lines = sequence(*place).split("\n")
        sys.stdout.write("\n".join(map(printable, lines)))  # The text has names that clients chose.


def _dated(options: ReportOptions) -> tuple[str | None, str | None]:
    """``first`` and ``last``; a time of day gets the cluster's last date in the lake."""
    if options.first is None and options.last is None:
        return None, None
    # Import here, because a page of all times needs neither Spark nor the models.
    from jobs.replay.group_rows import with_date

    place = (options.lake, options.cluster_id)
    return with_date(*place, options.first), with_date(*place, options.last)


def write_page_of(lake: str, cluster_id: str, out: str, slo: SloSettings) -> None:
    """Write the page of all groups of a cluster.  Raises UsageError if it cannot be written."""
    from jobs.report.files import write_page

    window = parse_window(None, None)
    write_page(ReportLake(lake, cluster_id, None, window, slo), cluster_id, out)


def _write_page(lake: ReportLake, options: ReportOptions, out: str) -> None:
    from jobs.report.files import write_page

    first, *others = write_page(lake, options.cluster_id, out)
    print(f"{first}: {first.stat().st_size:,} bytes", file=sys.stderr)
    if others:
        size = sum(path.stat().st_size for path in others)
        folder = others[0].parent
        print(
            f"{folder}: {len(others)} data files, {size:,} bytes; keep the folder beside the page",
            file=sys.stderr,
        )


def _write(option: str, path: str, text: str) -> None:
    data = text.encode()
    try:
        Path(path).write_bytes(data)
    except OSError as error:
        raise UsageError(f"{option} {path}: {error.strerror}; give a file to write") from None
    print(f"{path}: {len(data):,} bytes", file=sys.stderr)
