"""`regroup watch`: nightly's work in a loop over what is new: tables, alerts, metrics, a page.

reads   the sources of nightly
writes  the tables of nightly; the page of --out; metrics for Prometheus' textfile collector

A pass reads the files that changed since they were last read, and the new records of Kafka,
computes the tables of their dates and checks the alerts.  A pass without news only lists the files
and asks Kafka for its offsets.  Passes follow each other in one process, so they never overlap.  A
failed pass is one line; the next pass reads the same input again.  The embedded engine keeps memory
per pass, so the process replaces itself when it has grown (`jobs.watch.replacement`).
"""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from coordinator_core.figures import counted
from jobs import ingest
from jobs.alerts import metrics, prometheus
from jobs.alerts.alerting import AlertsOptions, AlertWindow, find_alerts
from jobs.alerts.checks import Alert
from jobs.alerts.notify import notify, require_webhooks
from jobs.bronze.kafka_topic import has_new_offsets
from jobs.bronze.live_end_offsets import store_end_offsets
from jobs.configuration.alert_settings import span_s
from jobs.configuration.config import Config
from jobs.console.errors import UsageError, failure_line
from jobs.console.interrupt import (
    Terminated,
    follows_interrupt,
    handle_sigterm,
    interrupt_before,
)
from jobs.console.output_files import require_writable
from jobs.console.printing import printable
from jobs.lake.tables import Lake
from jobs.nightly import NightlyOptions, dump_files, input_files, inputs_of, open_lake_of, run_jobs
from jobs.nightly_run.pipeline import Progress
from jobs.report.command import write_page_of
from jobs.watch.read_files import FileState, ReadFiles
from jobs.watch.replacement import (
    STATE,
    receive_signals,
    replace_process,
    resident_mib,
    state_before,
)

# The longest wait in seconds after failed passes, unless --every is longer.
LONGEST_WAIT_S = 900
# Tables to which each pass adds small files, which are combined after this many passes with new
# input.
APPENDED = (
    *("runs", "offsets_records", "broker_log_events", "client_events", "end_offsets"),
    "trace_events",
)
PASSES_PER_COMPACTION = 50
# Fields of Watch that the next program continues with.
KEPT = ("counts", "_read", "_alerts", "_windows", "_passes_with_news", "_next_start_s")


@dataclass(frozen=True, kw_only=True)
class WatchOptions:
    """``every`` is the time between the starts of two passes, such as 60s.  ``out`` is the file of
    the page. ``passes`` says how many passes to make; None means until a signal.  ``notifies``
    sends alerts to the configured webhooks.  ``memory_growth_mib`` is for the embedded engine: the
    process replaces itself when it has grown by this much since its first pass with new input.
    """

    nightly: NightlyOptions
    every: str = "60s"
    out: str | None = None
    prometheus: str | None = None
    passes: int | None = None
    notifies: bool = False
    memory_growth_mib: int = 1024


@dataclass(kw_only=True)
class PassCounts:
    """What the metrics say about the passes so far, with times in seconds since the epoch."""

    passes: int = 0
    failed: int = 0
    failed_in_a_row: int = 0
    seconds: float = 0.0
    succeeded_at: float | None = None
    newest_event: float | None = None
    freshness_s: float | None = None


@dataclass(kw_only=True)
class Watch:
    """The state of the loop. ``say`` prints a line; ``wait`` sleeps for this many seconds.
    ``reload`` reads the configuration as the next program will.

    ``_next_start_s`` is a time of the monotonic clock, which the next program shares.
    ``_environment`` is the environment before an engine changes it.
    """

    options: WatchOptions
    config: Config
    say: Callable[[str], None] = lambda line: print(line, file=sys.stderr, flush=True)
    wait: Callable[[float], None] = time.sleep
    reload: Callable[[], Config] | None = None
    counts: PassCounts = field(default_factory=PassCounts)
    _lake: Lake | None = None
    _read: ReadFiles = field(default_factory=ReadFiles)
    _alerts: list[Alert] = field(default_factory=list)
    _windows: list[AlertWindow] = field(default_factory=list)
    _passes_with_news: int = 0
    _next_start_s: float = 0.0
    _first_mib: float | None = None
    _environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))

    def run(self) -> None:
        """Pass after pass, until SIGTERM. Raises UsageError for options that the first pass
        refuses.
        """
        every_s = span_s(self.options.every, "--every")
        self.options.nightly.require_source()
        self._require_usable(self.config)
        handle_sigterm()
        try:
            self._continue()
            receive_signals()
            self._run(every_s)
        except BaseException as error:
            if not isinstance(interrupt_before(error), Terminated):
                raise

    def _require_usable(self, config: Config) -> None:
        require_writable("--out", self.options.out)
        require_writable("--prometheus", self.options.prometheus)
        if self.options.notifies:
            require_webhooks(config.alerts, self.options.nightly.lake)

    def _run(self, every_s: int) -> None:
        while self.counts.passes != self.options.passes:
            if self.counts.passes:
                self.wait(max(0.0, self._next_start_s - time.monotonic()))
            began = time.monotonic()
            self.run_pass(self.counts.passes + 1)
            self._next_start_s = began + self._pause_s(every_s)
            if self.counts.passes != self.options.passes:
                self._replace_process_if_grown()

    def _continue(self) -> None:
        """Continue with the state of the previous program, or without it if another version wrote
        the state.
        """
        try:
            vars(self).update(state_before())
        except Exception as error:
            self.say(f"{_now()} counts from 0, reads all files again: {failure_line(error)}")
        self._environment.pop(STATE, None)

    def _replace_process_if_grown(self) -> None:
        """Replace this program; an error is a line, and the next pass is in this program."""
        first, mib = self._first_mib, resident_mib()
        if first is None or mib is None or mib - first < self.options.memory_growth_mib:
            return
        self.say(f"{_now()} memory {first:,.0f} to {mib:,.0f} MiB: replacing the process")
        try:
            # With an unusable configuration, the next program would end.
            self._require_usable(self.reload() if self.reload else self.config)
            replace_process({name: getattr(self, name) for name in KEPT}, self._environment)
        except (OSError, UsageError) as error:
            self.say(f"{_now()} process not replaced: {failure_line(error)}")

    def _pause_s(self, every_s: int) -> int:
        """Twice as long with each further failure."""
        return min(every_s << min(self.counts.failed_in_a_row, 20), max(every_s, LONGEST_WAIT_S))

    def run_pass(self, number: int) -> None:
        """Run one pass, and print its line and metrics; an error is raised only if no pass can
        succeed.
        """
        began = time.monotonic()
        try:
            news = self._pass()
            self.counts.failed_in_a_row = 0
            self.counts.succeeded_at = time.time()
        except Exception as error:
            if follows_interrupt(error) or (number == 1 and isinstance(error, UsageError)):
                raise
            news = self._failure(error)
        self.counts.passes += 1
        self.counts.seconds = time.monotonic() - began
        self.say(f"{_now()} pass {number}: {news}, {self.counts.seconds:.2f} s")
        self._notify()
        try:
            self._write_metrics()
        except UsageError as error:
            if number == 1:
                raise
            self.say(f"{_now()} pass {number}: {failure_line(error)}")

    def _failure(self, error: Exception) -> str:
        self._measure_first()
        self._lake = None  # The session may be the cause, so open a new session.
        self.counts.failed += 1
        self.counts.failed_in_a_row += 1
        return f"failed, {self.counts.failed_in_a_row} in a row: {failure_line(error)}"

    def _pass(self) -> str:
        """Run a pass; returns the text of its line."""
        options = self.options.nightly
        inputs = inputs_of(options, self.config)
        files = input_files(inputs)
        changed = self._read.changed(files)
        lake = self._opened_lake(inputs)
        new = _changed_inputs(inputs, changed)
        if new.kafka and not has_new_offsets(lake, new.kafka):
            store_end_offsets(lake, new.kafka)  # The lag also grows without commits.
            self._compact(lake)
            new = replace(new, kafka=None)
        if not new and self.counts.succeeded_at is not None:
            return "nothing new"
        text = self._process(lake, new)
        self._read.remember(changed)
        self._read.forget_missing(files)
        return text

    def _measure_first(self) -> None:
        """Memory after the first pass that used the embedded engine, also after a failed pass."""
        if self._first_mib is None and self._lake and self._lake.engine_is_in_process:
            self._first_mib = resident_mib()

    def _opened_lake(self, inputs: ingest.Inputs) -> Lake:
        if self._lake is None:
            self._lake = open_lake_of(self.options.nightly, inputs, self.config)
            handle_sigterm()
        return self._lake

    def _process(self, lake: Lake, new: ingest.Inputs) -> str:
        run = run_jobs(lake, self.options.nightly, new, Progress(io.StringIO()))
        raised_before = {_key(alert) for alert in self._alerts}
        self._check_alerts(lake)
        for alert in self._alerts:
            if _key(alert) not in raised_before:
                print(_alert_line(alert), flush=True)
        if self.options.out and self._windows:
            slo = self.config.alerts.slo
            write_page_of(lake.root, lake.cluster_id, self.options.out, slo)
        self._compact(lake)
        self._measure_first()
        records, lines = (
            run.written.get(table, 0) for table in ("offsets_records", "broker_log_events")
        )
        alerts = counted(len(self._alerts), "alert")
        news = f"{counted(records, 'new record')}, {counted(lines, 'new log line')}"
        if run.internal_errors:
            news += f", {counted(run.internal_errors, 'internal error')} in quarantine"
        return f"{news}, {alerts}{self._newest_text()}"

    def _compact(self, lake: Lake) -> None:
        """Call this after each pass that added files."""
        self._passes_with_news += 1
        if self._passes_with_news % PASSES_PER_COMPACTION == 0:
            for table in filter(lake.has, APPENDED):
                lake.compact(table)

    def _check_alerts(self, lake: Lake) -> None:
        """Check alerts of this cluster; the window is empty as long as there is no event."""
        if not lake.has("timeline"):
            return
        alerts, windows = find_alerts(AlertsOptions(lake.root), self.config.alerts)
        self._alerts = [alert for alert in alerts if alert.cluster_id == lake.cluster_id]
        self._windows = [each for each in windows if each.cluster_id == lake.cluster_id]
        for window in self._windows:
            self.counts.newest_event = window.now.replace(tzinfo=UTC).timestamp()
            self.counts.freshness_s = time.time() - self.counts.newest_event

    def _newest_text(self) -> str:
        if self.counts.newest_event is None or self.counts.freshness_s is None:
            return ""
        newest = datetime.fromtimestamp(self.counts.newest_event, UTC)
        return f", newest event {newest:%Y-%m-%d %H:%M:%S} ({self.counts.freshness_s:,.1f} s ago)"

    def _notify(self) -> None:
        """This also runs after a pass without new input, because messages may wait.

        A failure is a line.
        """
        if not self.options.notifies:
            return
        lake = self.options.nightly.lake
        try:
            for delivery in notify(self.config.alerts, lake, self._alerts, self._windows):
                if delivery.sent or delivery.waiting:
                    self.say(f"{_now()} {delivery.line}")
        except UsageError as error:
            self.say(f"{_now()} {failure_line(error)}")

    def _write_metrics(self) -> None:
        if self.options.prometheus:
            families = prometheus.alert_families(self._alerts, self._windows)
            own = pass_families(self.options.nightly.cluster_id, self.counts)
            prometheus.write(self.options.prometheus, [*families, *own])


def _changed_inputs(inputs: ingest.Inputs, changed: dict[str, FileState]) -> ingest.Inputs:
    """The inputs without files that are not in ``changed``; a dump is one input."""
    is_new_dump = any(file in changed for file in dump_files(inputs.dump))
    return replace(
        inputs,
        segments=[file for file in inputs.segments if file in changed],
        broker_logs=[file for file in inputs.broker_logs if file in changed],
        client_logs=[file for file in inputs.client_logs if file in changed],
        traces=[file for file in inputs.traces if file in changed],
        end_offsets=[file for file in inputs.end_offsets if file in changed],
        broker_configs=[file for file in inputs.broker_configs if file in changed],
        dump=inputs.dump if is_new_dump else None,
    )


def _key(alert: Alert) -> tuple[str, str, str | None, datetime]:
    return (alert.alert, alert.group_id, alert.process, alert.first_time)


def _alert_line(alert: Alert) -> str:
    process = f" ({alert.process})" if alert.process else ""
    return printable(
        f"{alert.first_time:%Y-%m-%d %H:%M:%S} {alert.alert} {alert.group_id}{process}: "
        f"{alert.message}"
    )


def pass_families(cluster_id: str, counts: PassCounts) -> Iterator[prometheus.Family]:
    values: tuple[tuple[metrics.Metric, float | None], ...] = (
        (metrics.PASSES, counts.passes),
        (metrics.FAILED_PASSES, counts.failed),
        (metrics.PASS_SECONDS, counts.seconds),
        (metrics.SUCCESS_TIME, counts.succeeded_at),
        (metrics.NEWEST_EVENT, counts.newest_event),
        (metrics.FRESHNESS, counts.freshness_s),
    )
    for metric, value in values:
        samples = [] if value is None else [({"cluster_id": cluster_id}, value)]
        yield prometheus.Family(metric, samples)


def _now() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}"
