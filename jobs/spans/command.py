"""`regroup spans`: send the rebalances of a cluster to an OpenTelemetry collector."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from coordinator_core.figures import counted
from jobs.console.errors import UsageError
from jobs.replay.group_rows import with_date
from jobs.report.window import parse_window
from jobs.spans.export import export
from jobs.spans.rebalances import rebalance_rows, spans


@dataclass(frozen=True)
class SpansOptions:
    """``first`` and ``last`` are times or dates in UTC, or None for no limit."""

    lake: str
    cluster_id: str
    group_id: str | None = None
    first: str | None = None
    last: str | None = None
    endpoint: str | None = None


def send_spans(options: SpansOptions) -> None:
    """Raises UsageError for a missing lake, cluster, group or endpoint.

    Raises RunFailed if the collector takes none of them.
    """
    first, last = (
        with_date(options.lake, options.cluster_id, each) for each in (options.first, options.last)
    )
    rows = list(
        rebalance_rows(
            options.lake, options.cluster_id, options.group_id, parse_window(first, last)
        )
    )
    if not rows:
        group = f" of group {options.group_id}" if options.group_id else ""
        raise UsageError(
            f"no rebalance{group} ended in this time in cluster {options.cluster_id};"
            " change --cluster-id, --group, --from or --to"
        )
    count = export(spans(rows), options.endpoint)
    print(f"{counted(len(rows), 'rebalance')}: {counted(count, 'span')} sent", file=sys.stderr)
