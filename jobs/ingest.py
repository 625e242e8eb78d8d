"""Bronze tables: every input unchanged and exactly once.

reads   segment files, the topic of a running cluster, dumps, logs of brokers and clients, traces,
        log end offsets
writes  offsets_records     one row per record of `__consumer_offsets`
        broker_log_events   one row per line of a coordinator's logger
        client_events       one row per line in which a consumer says something of its membership
        trace_events        one row per line of a trace
        end_offsets         one row per change of a partition's log end offset
        configurations      settings of brokers and consumer groups
        quarantine          one row per unreadable input
        ingested_files      one row per file, or per topic partition of a dump or cluster, with
                            counts that add up
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from types import MappingProxyType

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.bronze import configurations, counts
from jobs.bronze.kafka_topic import store_topic
from jobs.bronze.live_end_offsets import store_end_offsets
from jobs.bronze.log_ids import LogSource, log_ids
from jobs.bronze.replicas import forget_diverged
from jobs.bronze.source_names import BROKER_LOG, CLIENT_LOG, DUMP, SEGMENTS
from jobs.bronze.storing import record_tables, stored
from jobs.bronze.table_rows import (
    CLIENT_EVENTS,
    LOG_EVENTS,
    SIGHTINGS,
    TRACE_EVENTS,
    UNREADABLE_CLIENT_LINES,
    UNREADABLE_LOG_LINES,
    UNREADABLE_SIGHTINGS,
    UNREADABLE_TRACE_LINES,
    TableRows,
)
from jobs.console.errors import INTERNAL_ERROR
from jobs.lake.dates import DateRange
from jobs.lake.tables import Lake
from jobs.sources import trace
from jobs.sources.broker_logs import broker_log
from jobs.sources.client_logs import client_log
from jobs.sources.dumps.dump import Dump
from jobs.sources.end_offsets.source import end_offsets_source
from jobs.sources.rows import SourceRows, counts_of_files
from jobs.sources.topic import raw_records, segments
from jobs.sources.topic.kafka import Kafka


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """The sources.  ``log_timezone`` is the time zone of the brokers' and clients' log lines;
    ``log_since_ms`` is a local time before which no line is, see `logs.dates.dates_of`.
    """

    segments: list[str] = field(default_factory=list)
    broker_logs: list[str] = field(default_factory=list)
    log_timezone: str = "UTC"
    log_since_ms: int | None = None
    dates: DateRange = field(default_factory=DateRange)
    dump: Dump | None = None
    kafka: Kafka | None = None
    traces: list[str] = field(default_factory=list)
    client_logs: list[str] = field(default_factory=list)
    end_offsets: list[str] = field(default_factory=list)
    broker_configs: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        files = self.segments or self.broker_logs or self.traces or self.client_logs
        others = self.end_offsets or self.broker_configs
        return bool(files or self.dump or self.kafka or others)


def run(lake: Lake, inputs: Inputs) -> int:
    """Store the rows of all sources; returns how many were quarantined by an internal error."""
    before = _internal_errors(lake)
    _store(lake, inputs)
    return _internal_errors(lake) - before


def _internal_errors(lake: Lake) -> int:
    return lake.read("quarantine").where(F.col("reason").startswith(INTERNAL_ERROR)).count()


def failed_by(internal_errors: int) -> str:
    """The message of a run that wrote all tables, but quarantined inputs by internal errors."""
    return (
        f"{internal_errors} input(s) in quarantine by a defect of Regroup; all others are in the"
        f" tables (SELECT file, position, reason FROM quarantine WHERE reason LIKE"
        f" '{INTERNAL_ERROR}%')"
    )


def _store(lake: Lake, inputs: Inputs) -> None:
    """Counts are written last: a file is in ingested_files only once its rows are stored."""
    if inputs.kafka:
        store_topic(lake, inputs.kafka)
        store_end_offsets(lake, inputs.kafka)
        configurations.store_live(lake, inputs.kafka)
    configurations.store_files(lake, inputs.broker_configs)
    if inputs.dump:
        with stored(lake, _dump(inputs.dump, inputs.dates), record_tables(lake, DUMP)) as rows:
            lake.upsert(counts.TABLE, counts.dump_files(rows, lake.cluster_id))
    if inputs.segments:
        again, copies = forget_diverged(lake, inputs.segments)
        source = segments.segments_source([*inputs.segments, *again], inputs.dates, copies)
        with stored(lake, source, record_tables(lake, SEGMENTS)) as rows:
            _store_counts(lake, counts.segment_files(rows, lake.cluster_id))
    if inputs.traces:
        source = trace.traces_source(inputs.traces)
        with stored(lake, source, [TRACE_EVENTS, UNREADABLE_TRACE_LINES]) as rows:
            _store_counts(lake, counts.trace_files(rows, lake.cluster_id))
    if inputs.end_offsets:
        source = end_offsets_source(inputs.end_offsets, inputs.log_timezone, inputs.dates)
        with stored(lake, source, [SIGHTINGS, UNREADABLE_SIGHTINGS]) as rows:
            _store_counts(lake, counts.end_offset_files(rows, lake.cluster_id))
    if inputs.client_logs:
        _store_logs(lake, _client_logs(inputs), inputs.client_logs)
    if inputs.broker_logs:
        _store_logs(lake, _broker_logs(inputs), inputs.broker_logs)


@dataclass(frozen=True)
class _Logs:
    """``rows`` are the rows of the files, with the ids of their paths."""

    source: LogSource
    rows: Callable[[Mapping[str, str]], SourceRows]
    tables: list[TableRows]


def _store_logs(lake: Lake, logs: _Logs, files: list[str]) -> None:
    ids = log_ids(lake, logs.source, files)
    with stored(lake, logs.rows(ids.of_paths), logs.tables) as rows:
        if logs.source.name == BROKER_LOG:
            configurations.store_start_ups(lake, rows)
        counted = counts.log_files(rows, lake.cluster_id, logs.source.name)
        _store_counts(lake, counted, ids.copies)


def _client_logs(inputs: Inputs) -> _Logs:
    files, timezone, since_ms = inputs.client_logs, inputs.log_timezone, inputs.log_since_ms
    return _Logs(
        LogSource(
            CLIENT_LOG,
            CLIENT_EVENTS.table,
            client_log.client_file_id,
            lambda path: client_log.client_rows(path, timezone, DateRange(), since_ms=since_ms),
        ),
        lambda ids: client_log.client_logs_source(files, timezone, inputs.dates, ids, since_ms),
        [CLIENT_EVENTS, UNREADABLE_CLIENT_LINES],
    )


def _broker_logs(inputs: Inputs) -> _Logs:
    files, timezone, dates = inputs.broker_logs, inputs.log_timezone, inputs.dates
    since_ms = inputs.log_since_ms

    def rows(ids: Mapping[str, str]) -> SourceRows:
        return SourceRows(
            broker_log.ROWS,
            counts_of_files,
            lambda spark: broker_log.read_broker_logs(
                spark, files, timezone, dates, ids, since_ms=since_ms
            ),
            lambda _: chain.from_iterable(
                broker_log.log_rows(file, timezone, dates, within, ids.get(file), since_ms)
                for file, within in broker_log.ranges_of_files(files)
            ),
            files=files,
        )

    return _Logs(
        LogSource(
            BROKER_LOG,
            LOG_EVENTS.table,
            broker_log.first_line_hash,
            lambda path: broker_log.log_rows(path, timezone, DateRange(), since_ms=since_ms),
        ),
        rows,
        [LOG_EVENTS, UNREADABLE_LOG_LINES],
    )


def _dump(dump: Dump, dates: DateRange) -> SourceRows:
    return SourceRows(
        raw_records.ROWS,
        raw_records.counted,
        lambda spark: raw_records.record_frame(dump.rows(spark), dates),
        lambda _: (raw_records.record_rows(batch, dates) for batch in dump.batches()),
    )


def _store_counts(
    lake: Lake, files: DataFrame, copies: Mapping[str, list[str]] = MappingProxyType({})
) -> None:
    changed = counts.changed(files, lake.read(counts.TABLE), copies)
    if changed:
        lake.upsert(
            counts.TABLE, lake.frame(counts.TABLE, changed), if_="n.inputs >= t.inputs", few=True
        )
