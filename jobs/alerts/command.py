"""`regroup alerts`: find, write, print, and say where it looked."""

from __future__ import annotations

import sys

from jobs.alerts import prometheus as textfile
from jobs.alerts.alerting import COLUMNS, Request, find_alerts
from jobs.alerts.settings import AlertSettings
from jobs.console.printing import Format, print_rows, printable


def run(request: Request, settings: AlertSettings, prometheus: str | None, format: Format) -> int:
    """1 if there is an alert, else 0.  ``prometheus``: a file to write them to as well."""
    alerts, windows = find_alerts(request, settings)
    if prometheus is not None:
        textfile.write(prometheus, alerts, windows)
    if alerts or format is not Format.TABLE:
        print_rows(COLUMNS, alerts, format)
    for window in windows:
        count = sum(alert.cluster_id == window.cluster_id for alert in alerts)
        span = f"{window.start:%Y-%m-%d %H:%M:%S} to {window.now:%Y-%m-%d %H:%M:%S} UTC"
        said = f"{count} alert{'' if count == 1 else 's'}"
        print(f"{printable(window.cluster_id)}, {span}: {said}", file=sys.stderr)
    return int(bool(alerts))
