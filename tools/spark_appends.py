"""Appends one row at a time to a Delta table from a Spark driver of its own, without a lock.

    python -m tools.spark_appends CONFIGURATION TABLE COUNT

Prints "ready", waits for a line, and prints how many appends did not fail.
"""

from __future__ import annotations

import sys

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from jobs.configuration.config import load_config
from jobs.engine.session import build_session


def main(configuration: str, table: str, count: int) -> None:
    session = build_session(load_config(configuration))
    row = session.range(1)
    print("ready", flush=True)
    sys.stdin.readline()
    done = 0
    for _ in range(count):
        try:
            row.write.format("delta").mode("append").save(table)
        except (PySparkException, Py4JError) as error:
            print(f"{table}: {str(error)[:500]}", file=sys.stderr)
        else:
            done += 1
    print(done, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
