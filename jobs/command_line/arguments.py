"""Checks of arguments that several commands share."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from jobs.command_line.config import load_config
from jobs.console.errors import UsageError
from jobs.engine.session import build_session
from jobs.lake.opening import open_lake
from jobs.lake.tables import Lake
from jobs.sources.rows import DateRange


def require_lake(root: str) -> None:
    """UsageError for a missing folder; object stores are not checked."""
    if "://" not in root and not Path(root).is_dir():
        raise UsageError(f"--lake {root}: no such folder; `regroup nightly` creates one")


def open_existing_lake(root: str, cluster_id: str, conf: str | None) -> Lake:
    """An existing lake, with a Spark session of the configuration."""
    config = load_config(conf)
    require_lake(root)
    return open_lake(build_session(config), root, cluster_id)


def date_range(day: str | None, first: str | None, last: str | None) -> DateRange:
    """The dates of --date, or of --from and --to, or no limits; UsageError for anything else."""
    if day and (first or last):
        raise UsageError("--date and --from/--to: give one date or a range, not both")
    if bool(first) != bool(last):
        raise UsageError("--from and --to: give both ends of the range")
    begin = _date(day or first, "--date" if day else "--from")
    end = _date(day or last, "--date" if day else "--to")
    if begin and end and begin > end:
        raise UsageError(f"--from {begin} is after --to {end}: swap them")
    return DateRange(begin, end)


def _date(text: str | None, option: str) -> date | None:
    if text is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"{option} {text}: not a date; give YYYY-MM-DD, such as 2026-11-21"
        ) from None
