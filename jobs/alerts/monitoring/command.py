"""`regroup dashboard`: write the dashboard and the alerting rules."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from jobs.alerts.monitoring.dashboard import dashboard
from jobs.alerts.monitoring.rules import as_yaml
from jobs.configuration.alert_settings import Thresholds, span_s
from jobs.console.errors import UsageError


def run(out: str | None, rules: str | None, late: str, thresholds: Thresholds) -> None:
    """Files to write; without one, the dashboard goes to stdout.  ``late`` is the age of the lake's
    last time from which on the lake is late.
    """
    late_s = span_s(late, "--late")
    page = json.dumps(dashboard(thresholds, late_s), indent=2, ensure_ascii=False) + "\n"
    if out is None and rules is None:
        sys.stdout.write(page)
    if out is not None:
        _write("--out", out, page)
    if rules is not None:
        _write("--rules", rules, as_yaml(late_s))


def _write(option: str, path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{option} {path}: {error.strerror}; give a file to write") from None
