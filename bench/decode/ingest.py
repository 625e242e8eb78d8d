"""Ingest segments into a new lake twice with one engine, warm: called by bench.decode.

Prints per pass the seconds of CPU time of this process and its descendants, the seconds by the
clock, and the records in the lake.  A small ingest into another lake goes before.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

from bench.process_tree import cpu_seconds
from jobs import ingest
from jobs.configuration.config import load_config
from jobs.engine.embedded import embedded_session
from jobs.engine.session import build_session
from jobs.lake.opening import open_lake

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/mixed-clients-3.9.1/segments"


def session_of(engine: str) -> SparkSession:
    if engine == "embedded":
        return embedded_session()
    return build_session(load_config(str(ROOT / "conf/large.toml")))


def main(engine: str, folder: str) -> None:
    session = session_of(engine)
    files = sorted(map(str, Path(folder).glob("*/*.log")))
    small = sorted(map(str, EXAMPLE.glob("*/*.log")))
    ingest.run(open_lake(session, f"{folder}/warm-{engine}", "c"), ingest.Inputs(segments=small))
    lake = open_lake(session, f"{folder}/{engine}", "c")
    for _ in range(2):
        cpu_s, clock_s = cpu_seconds(), time.perf_counter()
        ingest.run(lake, ingest.Inputs(segments=files))
        took = cpu_seconds() - cpu_s, time.perf_counter() - clock_s
        print(*took, lake.read("offsets_records").count(), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
