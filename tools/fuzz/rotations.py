"""Rotated logs through `ingest`: a log, its beginnings, and compressed copies of both are one log.

The lines that nothing changed (canaries) of each log must be stored once.
"""

from __future__ import annotations

import gzip
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import cramjam

from jobs.configuration.config import Engine, load_config
from jobs.console.errors import RunFailed
from jobs.lake.sql import query
from jobs.nightly import NightlyOptions
from jobs.sources.logs.order import sample_of
from tools.fuzz.campaign import CLUSTER, ingest_run
from tools.fuzz.reading import FuzzedLog, fuzzed_text

_OPTIONS = {"broker": "broker_log", "client": "client_log"}
_TABLES = {"broker": "broker_log_events", "client": "client_events"}
_LOGS_PER_RUN = 50


def copies_of(data: bytes, chance: random.Random) -> dict[str, bytes]:
    """By the ending of their names: the log, and some copies of it or of its beginning."""
    copies = {".log": data}
    for number in range(1, chance.choice((2, 3, 4))):
        length = chance.choice((len(data), chance.randint(len(data) // 3, len(data))))
        # Lines that the reader sorts by time have other positions in a part of the log.
        in_order = not any(sample_of(text).is_disordered for text in (data, data[:length]))
        copy = data[:length] if in_order else data
        form = chance.randrange(4)
        if form == 0:
            copies[f".log.{number}.gz"] = gzip.compress(copy)
        elif form == 1:
            copies[f".log.{number}.zst"] = bytes(cramjam.zstd.compress(copy))
        else:
            copies[f".log.{number}"] = copy
    return copies


def write_logs(folder: Path, first: int, count: int, seed: int) -> list[FuzzedLog]:
    """Logs with canaries, and their copies, below a folder per kind."""
    logs = []
    for number in range(first, first + count):
        log = fuzzed_text(number, seed)
        if not log.canaries:
            continue
        logs.append(log)
        own = folder / log.reader
        own.mkdir(parents=True, exist_ok=True)
        for name, data in copies_of(log.data, random.Random(f"{seed} copies {number}")).items():
            (own / f"{number}{name}").write_bytes(data)
    return logs


def faults_of(folder: Path, logs: list[FuzzedLog]) -> Iterator[str]:
    """Canaries that a run did not store, or stored more than once."""
    lake = folder / "lake"
    sources = {option: f"{folder / kind}/*.log*" for kind, option in _OPTIONS.items()}
    options = NightlyOptions(lake=str(lake), cluster_id=CLUSTER, **sources)
    try:
        ingest_run(options, load_config(None, Engine.EMBEDDED))
    except RunFailed as error:
        if not str(error).startswith("no line is understood"):
            yield f"run failed: {str(error)[:300]}"
            return
    for kind, table in _TABLES.items():
        counted = f"SELECT group_id, COUNT(*) FROM {table} GROUP BY ALL"
        stored = dict(query(str(lake), counted)[1])
        for log in logs:
            for group in log.canaries if log.reader == kind else ():
                if stored.get(group) != 1:
                    yield f"{group} of a {kind}'s log was stored {stored.get(group, 0)} times"


def main(count: int, seed: int) -> int:
    """Print the number of logs; 1 if there was a fault."""
    folder, faults = Path(tempfile.mkdtemp(prefix="regroup-fuzz-")), list[str]()
    for start in range(0, count, _LOGS_PER_RUN):
        own = folder / str(start)
        logs = write_logs(own, start, min(_LOGS_PER_RUN, count - start), seed)
        own_faults = [f"{own}: {fault}" for fault in faults_of(own, logs)]
        faults += own_faults
        if not own_faults:
            shutil.rmtree(own)
        print(f"  {start + len(logs)} logs, {len(faults)} faults", file=sys.stderr, flush=True)
    print(f"{count:,} rotated logs of seed {seed}: {len(faults)} faults", *faults[:50], sep="\n  ")
    return int(bool(faults))
