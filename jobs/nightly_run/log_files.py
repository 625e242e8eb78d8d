"""What a run understood of each log, dump and file of end offsets among its inputs, as lines for
its summary.
"""

from __future__ import annotations

from itertools import chain
from typing import NamedTuple

from pyspark.sql import functions as F

from jobs.bronze.source_names import BROKER_LOG, CLIENT_LOG, DUMP, END_OFFSETS
from jobs.console.printing import printable
from jobs.lake.files import open_file
from jobs.lake.tables import Lake
from jobs.sources.dumps.dump import Dump
from jobs.sources.logs.file_bytes import beginning_of
from jobs.sources.logs.kinds import (
    Kind,
    is_error,
    kind_of_broker_log,
    kind_of_client_log,
    kind_of_undated_log,
)
from jobs.sources.rows import CLUSTER

_SNIFFED_BYTES = 1 << 20
_MOST_SHOWN = 20
_LONGEST_EXAMPLE = 160


class ReadLog(NamedTuple):
    """A log of a run, with its numbers of lines.

    ``kind`` says what the file seems to be, or None if some line is understood.
    """

    source: str
    path: str
    lines: int
    understood: int
    quarantined: int
    not_understood: int
    undated: int
    steps_back: int
    examples: list[str]
    kind: Kind | None


def read_logs(lake: Lake, broker_logs: list[str], client_logs: list[str]) -> list[ReadLog]:
    """The logs of these paths that have a row in ingested_files."""
    paths = {BROKER_LOG: set(broker_logs), CLIENT_LOG: set(client_logs)}
    rows = lake.read("ingested_files").where(F.col("source").isin(*paths)).collect()
    return [_read_log(row) for row in rows if row.path in paths[row.source]]


def _read_log(row: object) -> ReadLog:
    values = row.asDict()  # type: ignore[attr-defined]  # a Row
    understood = sum(dict(values["kept_by_date"]).values())
    undated = values["undated"] or 0
    return ReadLog(
        source=values["source"],
        path=values["path"],
        lines=values["inputs"],
        understood=understood,
        quarantined=values["quarantined"],
        not_understood=values["not_understood"] or 0,
        undated=undated,
        steps_back=values["steps_back"] or 0,
        examples=(values["examples"] or "").splitlines(),
        kind=None if understood else kind_of(values["source"], values["path"], undated),
    )


def kind_of(source: str, path: str, undated: int) -> Kind:
    """The likely kind of a log without an understood line; raises OSError if it is gone."""
    with open_file(path) as stream:
        beginning = beginning_of(stream, _SNIFFED_BYTES)
    if undated:
        return kind_of_undated_log(beginning)
    return (kind_of_broker_log if source == BROKER_LOG else kind_of_client_log)(beginning)


def silent_logs(logs: list[ReadLog]) -> list[str]:
    """Paths of logs without an understood line, except logs that usually lie beside understood
    logs.
    """
    paths: list[str] = []
    for source in (BROKER_LOG, CLIENT_LOG):
        of_source = [log for log in logs if log.source == source]
        is_alone = all(log.kind is not None for log in of_source)
        paths += [
            log.path for log in of_source if log.kind and is_error(log.kind, is_alone=is_alone)
        ]
    return sorted(paths)


def mixed_clusters(lake: Lake) -> str | None:
    """Clusters whose brokers logged the same group, each with the path of a log, and this group.

    Returns None without such a group.  Logs of earlier runs count; start-up lines name a log's
    cluster.
    """
    rows = lake.read("ingested_files").where(F.col("source") == BROKER_LOG)
    named = rows.where(F.col("software").contains(f"{CLUSTER} ")).select("file", "path", "software")
    paths: dict[str, dict[str, str]] = {}
    for row in sorted(named.collect(), reverse=True):
        for name, cluster in (each.split(" ") for each in row.software.splitlines()):
            if name == CLUSTER:
                paths.setdefault(cluster, {})[row.file] = row.path
    if len(paths) < 2:
        return None
    events = lake.read("broker_log_events").where("group_id IS NOT NULL")
    files_of: dict[str, set[str]] = {}
    for row in events.select("group_id", "file_id").distinct().collect():
        files_of.setdefault(row.group_id, set()).add(row.file_id)
    for group_id, files in sorted(files_of.items()):
        shown = {c: of[min(files & of.keys())] for c, of in paths.items() if files & of.keys()}
        if len(shown) > 1:
            clusters = ", ".join(f"{cluster} in {path}" for cluster, path in sorted(shown.items()))
            return f"{clusters}; group {group_id}"
    return None


def other_topics(lake: Lake, dump: Dump) -> list[str]:
    """The first topics in a dump without any record of `__consumer_offsets`; else none."""
    files = [dump.delta] if dump.delta else list(chain.from_iterable(dump.files.values()))
    rows = lake.read("ingested_files").where(F.col("source") == DUMP)
    counts = rows.select("path", "inputs", "skipped").collect()
    # Spark returns paths as URIs.
    own = [row for row in counts if any(file in row.path for file in files)]
    if not own or any(row.inputs > row.skipped for row in own):
        return []
    topics = next(dump.batches()).column("topic").unique().to_pylist()
    return sorted(filter(None, topics))[:_MOST_SHOWN]


def log_lines(logs: list[ReadLog]) -> list[str]:
    """One line per log that was not understood completely, with the likely kind of the file."""
    noteworthy = [
        log for log in logs if log.kind or log.not_understood or log.undated or log.steps_back
    ]
    noteworthy.sort(key=lambda log: (log.understood > 0, -log.not_understood, log.path))
    lines = [_line(log) for log in noteworthy[:_MOST_SHOWN]]
    more = len(noteworthy) - len(lines)
    return [*lines, *([f"{more} more logs in table ingested_files"] if more else [])]


def _line(log: ReadLog) -> str:
    parts = [f"{log.lines:,} lines", f"{log.understood:,} understood"]
    if log.not_understood:
        parts.append(f"{log.not_understood:,} of a coordinator or consumer not understood")
    if log.undated:
        parts.append(f"{log.undated:,} without a complete date")
    if log.steps_back:
        parts.append(f"{log.steps_back:,} jumps back in time")
    text = f"{log.path}: {', '.join(parts)}"
    if log.kind is not None:
        text += f"; {log.kind.sentence}"
    examples = [example[:_LONGEST_EXAMPLE] for example in log.examples]
    return "\n  ".join(map(printable, [text, *examples]))


def end_offset_lines(lake: Lake, files: list[str]) -> list[str]:
    """One line per file of end offsets that has unreadable values, or no log end offset."""
    rows = lake.read("ingested_files").where(F.col("source") == END_OFFSETS).collect()
    lines = []
    for row in rows:
        if row.path not in files:
            continue
        if not dict(row.kept_by_date):
            lines.append(f"{row.path}: no log end offset")
        elif row.quarantined:
            counts = f"{row.quarantined:,} of {row.inputs:,} lines and values"
            lines.append(f"{row.path}: {counts} are unreadable (table quarantine)")
    return sorted(map(printable, lines))
