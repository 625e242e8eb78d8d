"""`regroup alerts`: print and export alerts; print the window of each cluster on stderr."""

from __future__ import annotations

import sys

from coordinator_core.figures import counted
from jobs.alerts import prometheus as textfile
from jobs.alerts.alerting import COLUMNS, AlertsOptions, find_alerts
from jobs.alerts.notify import notify, require_webhooks
from jobs.configuration.alert_settings import AlertSettings
from jobs.console.output_files import require_writable
from jobs.console.printing import Format, print_rows, printable

MISSING = "tables are missing"


def run(
    options: AlertsOptions,
    settings: AlertSettings,
    prometheus: str | None,
    format: Format,
    *,
    notifies: bool = False,
) -> int:
    """1 if there is an alert or a message waits, else 0.  ``prometheus`` is a file to write the
    alerts to, too.  ``notifies`` sends them to the configured webhooks.
    """
    require_writable("--prometheus", prometheus)
    if notifies:
        require_webhooks(settings, options.lake)
    alerts, windows = find_alerts(options, settings)
    if prometheus is not None:
        textfile.write(prometheus, textfile.alert_families(alerts, windows))
    if alerts or format is not Format.TABLE:
        print_rows(COLUMNS, alerts, format)
    for window in windows:
        count = sum(alert.cluster_id == window.cluster_id for alert in alerts)
        span = f"{window.start:%Y-%m-%d %H:%M:%S} to {window.now:%Y-%m-%d %H:%M:%S} UTC"
        alert_count = counted(count, "alert")
        if window.unchecked:
            names = ", ".join(window.unchecked)
            why = "clients' logs alone do not show them" if window.is_of_clients else MISSING
            alert_count += f"; not checked, as {why}: {names}"
        print(f"{printable(window.cluster_id)}, {span}: {alert_count}", file=sys.stderr)
    deliveries = notify(settings, options.lake, alerts, windows) if notifies else []
    for delivery in deliveries:
        print(delivery.line, file=sys.stderr)
    return int(bool(alerts) or any(delivery.waiting for delivery in deliveries))
