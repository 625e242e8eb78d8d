"""Every job as a script for spark-submit: ``job.py --lake URI --cluster-id ID [--date D]``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path

from jobs.command_line.config import load_config
from jobs.console.errors import RunFailed, UsageError, fail, fail_unexpected
from jobs.console.interrupt import CODE as INTERRUPTED
from jobs.console.interrupt import follows_interrupt
from jobs.engine.session import build_session
from jobs.lake.scope import RunScope, scope_of
from jobs.lake.tables import Lake
from jobs.sources.rows import DateRange


def require_lake(root: str) -> None:
    """UsageError for a folder that is not there; of an object store nothing is asked."""
    if "://" not in root and not Path(root).is_dir():
        raise UsageError(f"--lake {root}: no such folder; `regroup nightly` makes one")


def opened(root: str, cluster_id: str, conf: str | None) -> Lake:
    """A lake that is there, with a session of the configuration."""
    config = load_config(conf)
    require_lake(root)
    return Lake(build_session(config), root, cluster_id)


def main(about: str | None, run: Callable[[RunScope], None]) -> None:
    """Parse the arguments, open the lake, run the job; a wrong argument is one line and exit 2."""
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lake", required=True, help="folder or URI of the Delta tables")
    parser.add_argument("--cluster-id", required=True, help="cluster whose rows to compute")
    add_dates(parser)
    parser.add_argument("--conf", help="TOML file with settings (default: conf/local.toml)")
    given = parser.parse_args()

    def act() -> None:
        dates = date_range(given.date, given.first, given.last)
        lake = Lake(build_session(load_config(given.conf)), given.lake, given.cluster_id)
        with lake.derivation_lock():
            run(scope_of(lake, dates.first, dates.last))

    run_script(act)


def add_dates(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--date", help="only this UTC date")
    parser.add_argument("--from", dest="first", help="first UTC date of a range")
    parser.add_argument("--to", dest="last", help="last UTC date of a range")


def date_range(day: str | None, first: str | None, last: str | None) -> DateRange:
    """One date, or both ends of a range, or neither; UsageError for anything else."""
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
        raise UsageError(f"{option} {text}: not a date; write it as 2026-11-21") from None


def run_script(act: Callable[[], None]) -> None:
    """A wrong argument or configuration is one line on stderr and exit 2; a failure is exit 1,
    Ctrl-C 130."""
    try:
        act()
    except UsageError as error:
        fail(str(error))
    except RunFailed as error:
        fail(str(error), code=1)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception as error:
        if follows_interrupt(error):
            sys.exit(INTERRUPTED)
        fail_unexpected(error)
