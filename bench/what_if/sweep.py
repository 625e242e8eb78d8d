"""Sweeps the groups of a lake of `bench.what_if.beside` by the embedded engine, with one seed.

    python bench/what_if/sweep.py LAKE

Prints the CPU time of this process in s, imports and the start of the engine included.
"""

from __future__ import annotations

import sys
import time

from coordinator_core.whatif import GRID
from jobs import what_if_sweep
from jobs.engine.embedded import embedded_session
from jobs.lake.opening import open_lake


def main(lake: str) -> None:
    what_if_sweep.run(open_lake(embedded_session(), lake, "sim"), GRID, seeds=1)
    print(time.process_time())


if __name__ == "__main__":
    main(sys.argv[1])
