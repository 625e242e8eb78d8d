"""Mutated inputs through `ingest` or whole runs: no run may fail, and counts must add up.

A run reads many inputs, each a file of its own.
"""

from __future__ import annotations

import random
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from jobs import ingest
from jobs.checks.check import broken_laws
from jobs.checks.laws import LAWS
from jobs.configuration.config import Config, Engine, load_config
from jobs.console.errors import INTERNAL_ERROR, RunFailed
from jobs.lake.sql import query
from jobs.nightly import NightlyOptions, inputs_of, nightly, open_lake_of
from jobs.nightly_run.pipeline import Progress
from tools.fuzz.corpus import KINDS, dump_header, input_of
from tools.fuzz.mutations import mutated, packed

CLUSTER = "fuzz"
_READ = """
    SELECT COUNT(*), SUM(inputs), SUM(LIST_SUM(MAP_VALUES(kept_by_date))), SUM(quarantined),
        SUM(skipped)
    FROM ingested_files"""
_DEFECTS = (
    f"SELECT source, file, position, reason FROM quarantine WHERE reason LIKE '{INTERNAL_ERROR}%'"
)

_LOGS = {"log", "client", "export"}
_FOLDERS = {"export": "log"}
_OPTIONS = {
    "segments": "segment", "broker_log": "log", "client_log": "client", "trace": "trace",
    "dump": "dump",
}  # fmt: skip
_INPUT_TABLES = {
    "ingested_files", "offsets_records", "broker_log_events", "client_events", "end_offsets",
    "trace_events",
    "quarantine", "runs", "group_metadata", "group_records", "committed_offsets",
}  # fmt: skip
# Invariants of generations and of later tables: inputs that contradict one another may break them.
_OF_GROUPS = {law.name for law in LAWS if not _INPUT_TABLES.issuperset(law.tables)}


@dataclass
class Result:
    """What the runs of a campaign made of their inputs; ``faults`` should be empty."""

    runs: int = 0
    files: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


class _Silent:
    """A stream that writes nothing."""

    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None: ...

    def isatty(self) -> bool:
        return False


Run = Callable[[NightlyOptions, Config], None]


def nightly_run(options: NightlyOptions, config: Config) -> None:
    nightly(options, config, Progress(_Silent()))


def ingest_run(options: NightlyOptions, config: Config) -> None:
    """Only the bronze tables."""
    inputs = inputs_of(options, config)
    ingest.run(open_lake_of(options, inputs, config), inputs)


def write_inputs(folder: Path, first: int, count: int, seed: int) -> None:
    """Files below ``folder``: input N is the same in every campaign of a seed."""
    for number in range(first, first + count):
        chance = random.Random(f"{seed} {number}")
        kind = KINDS[number % len(KINDS)]
        file = folder / _FOLDERS.get(kind, kind) / _name(kind, number)
        file.parent.mkdir(parents=True, exist_ok=True)
        data = _beginning(kind, number) + mutated(kind, input_of(kind, number, chance), chance)
        file.write_bytes(packed(data, chance) if kind in _LOGS else data)


def _beginning(kind: str, number: int) -> bytes:
    """A log is identified by its first line, and the columns of a dump are found by it."""
    if kind == "log":
        return b"# log %d\n" % number
    if kind in _LOGS:  # A document stays one document.
        return f"{number:b}".translate({ord("0"): " ", ord("1"): "\t"}).encode()
    return dump_header(number) if kind == "dump" else b""


def _name(kind: str, number: int) -> str:
    if kind == "segment":
        return f"__consumer_offsets-{number}/00000000000000000000.log"
    return f"{number}.{'log' if kind in _LOGS else 'jsonl'}"


def sources_of(folder: Path) -> dict[str, str]:
    """The options of a run that reads the inputs below ``folder``."""
    return {
        option: str(folder / name) for option, name in _OPTIONS.items() if (folder / name).exists()
    }


def campaign(
    folder: Path,
    *,
    count: int,
    seed: int,
    engine: str,
    run: Run = nightly_run,
    per_run: int = 500,
    first: int = 0,
) -> Iterator[Result]:
    """The result after each run; inputs of a run with a fault are kept."""
    result = Result()
    for start in range(first, first + count, per_run):
        own = folder / f"{engine}-{start}"
        write_inputs(own, start, min(per_run, first + count - start), seed)
        faults = len(result.faults)
        _run(own, engine, run, result)
        if len(result.faults) == faults:
            shutil.rmtree(own)
        yield result


def _run(folder: Path, engine: str, run: Run, result: Result) -> None:
    lake = folder / "lake"
    options = NightlyOptions(lake=str(lake), cluster_id=CLUSTER, **sources_of(folder))
    result.runs += 1
    try:
        run(options, load_config(None, Engine(engine)))
    except RunFailed as error:
        if not str(error).startswith("no line is understood"):  # mutated beyond recognition
            result.faults.append(f"{folder}: run failed: {str(error)[:300]}")
            return
    except Exception as error:
        result.faults.append(f"{folder}: run failed: {type(error).__name__}: {str(error)[:300]}")
        return
    ((files, *counts),) = query(str(lake), _READ)[1]
    result.files += files
    for name, number in zip(("inputs", "kept", "quarantined", "skipped"), counts, strict=True):
        result.counts[name] += int(number or 0)
    result.faults += [f"{folder}: defect: {row}" for row in query(str(lake), _DEFECTS)[1]]
    violations = broken_laws(str(lake))[1]
    result.faults += [f"{folder}: {each}" for each in violations if each[0] not in _OF_GROUPS]


def main(folder: Path, count: int, seed: int, engine: str, *, only_ingest: bool) -> int:
    """Print the counts of a campaign; 1 if there was a fault."""
    result = Result()
    run, per_run = (ingest_run, 2500) if only_ingest else (nightly_run, 500)
    for result in campaign(folder, count=count, seed=seed, engine=engine, run=run, per_run=per_run):
        counts = ", ".join(f"{number:,} {name}" for name, number in result.counts.items())
        print(
            f"  {result.runs} runs, {result.files} files, {counts}, {len(result.faults)} faults",
            file=sys.stderr, flush=True,
        )  # fmt: skip
    print(f"{engine}: {count:,} inputs of seed {seed} in {result.runs} runs: {counts}")
    print(f"{engine}: {len(result.faults)} faults", *result.faults[:50], sep="\n  ")
    return int(bool(result.faults))
