"""Every job as a script for spark-submit: ``job.py --lake URI --cluster-id ID``."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from jobs.config import load_config
from jobs.errors import RunFailed, UsageError, fail, fail_unforeseen
from jobs.session import build_session
from jobs.tables import Lake


def main(about: str | None, run: Callable[[Lake], None]) -> None:
    """Parse the arguments, open the lake, run the job; a wrong argument is one line and exit 2."""
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lake", required=True, help="folder or URI of the Delta tables")
    parser.add_argument("--cluster-id", required=True, help="cluster whose rows to compute")
    parser.add_argument("--conf", help="TOML file with settings (default: conf/local.toml)")
    given = parser.parse_args()

    def act() -> None:
        run(Lake(build_session(load_config(given.conf)), given.lake, given.cluster_id))

    run_script(act)


def run_script(act: Callable[[], None]) -> None:
    """A wrong argument or configuration is one line on stderr and exit 2; a failure is exit 1."""
    try:
        act()
    except UsageError as error:
        fail(str(error))
    except RunFailed as error:
        fail(str(error), code=1)
    except Exception as error:
        fail_unforeseen(error)
