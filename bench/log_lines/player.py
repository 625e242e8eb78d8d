"""Reads logs that `bench.log_lines` names, and prints the CPU time of each.

    python bench/log_lines/player.py

Reads lines of standard input, each `broker PATH` or `client PATH`; prints a line for each: seconds
of CPU time, user and system.  Runs with the code of earlier versions, too.
"""

from __future__ import annotations

import sys
import time

try:
    from jobs.lake.dates import DateRange
    from jobs.sources.broker_logs.broker_log import log_rows
    from jobs.sources.client_logs.client_log import client_rows
except ImportError:  # an earlier version
    from jobs.sources.broker_log import log_rows
    from jobs.sources.client_log import client_rows

    from jobs.sources.rows import DateRange

READERS = {"broker": log_rows, "client": client_rows}


def main() -> None:
    for request in sys.stdin:
        kind, path = request.split()
        began = time.process_time()
        for _ in READERS[kind](path, "UTC", DateRange(None, None)):
            pass
        print(time.process_time() - began, flush=True)


if __name__ == "__main__":
    main()
