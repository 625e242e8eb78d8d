"""All jobs in order: reads new input into the bronze tables, then computes every other table.

spark-submit jobs/nightly.py --lake URI --cluster-id ID --segments GLOB --broker-log GLOB
"""

from __future__ import annotations

import shlex
import sys
import time
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

from jobs import ingest
from jobs.configuration.config import Config, valid_timezone
from jobs.console.errors import RunFailed, UsageError
from jobs.console.printing import Format, json_text, jsonable, print_rows, printable
from jobs.engine.choice import Workload, bytes_of
from jobs.engine.session import open_session
from jobs.lake.dates import date_range
from jobs.lake.existing import workload_of_lake
from jobs.lake.files import list_files
from jobs.lake.opening import open_lake
from jobs.lake.scope import scope_of
from jobs.lake.tables import Lake
from jobs.nightly_run.log_files import (
    end_offset_lines,
    log_lines,
    mixed_clusters,
    other_topics,
    read_logs,
    silent_logs,
)
from jobs.nightly_run.pending_dates import pending
from jobs.nightly_run.pipeline import Progress, run_all
from jobs.nightly_run.runs import Run, summary
from jobs.sources import trace
from jobs.sources.broker_logs import broker_log
from jobs.sources.client_logs import client_log
from jobs.sources.configurations import files as configurations
from jobs.sources.dumps.dump import Dump
from jobs.sources.end_offsets.source import FILES_LIKE, require_end_offsets
from jobs.sources.logs.dates import since_ms_of_option
from jobs.sources.topic import segments
from jobs.sources.topic.broker_metadata import require_answer
from jobs.sources.topic.kafka import Kafka
from jobs.sources.topic.kafka_settings import client_settings, kafka_only_for_spark

STEP_COLUMNS = ("step", "seconds")
GIVE_A_SOURCE = "give --segments, --kafka, --dump, --broker-log, --client-log or --trace"


@dataclass(frozen=True, kw_only=True)
class NightlyOptions:
    """The options of `regroup nightly`, as strings of the command line.

    ``log_date`` is a date that no line precedes, for logs with incomplete dates.  ``advice`` is the
    end with advice.  ``advice_budget`` has seconds of simulation for advice; None: the default.
    """

    lake: str
    cluster_id: str
    segments: str | None = None
    broker_log: str | None = None
    log_timezone: str | None = None
    date: str | None = None
    first: str | None = None
    last: str | None = None
    dump: str | None = None
    kafka: str | None = None
    trace: str | None = None
    client_log: str | None = None
    end_offsets: str | None = None
    broker_config: str | None = None
    recompute_all: bool = False
    advice: bool = False
    advice_budget: float | None = None
    log_date: str | None = None

    def by_name(self) -> dict[str, str]:
        """The options that are set, by name."""
        return {name: str(value) for name, value in asdict(self).items() if value}

    def require_source(self) -> None:
        """Raises UsageError without a source; --recompute-all computes from the bronze tables."""
        topic = (self.segments, self.kafka, self.dump)
        files = (self.broker_log, self.client_log, self.trace, self.end_offsets, self.broker_config)
        if not any((*topic, *files)) and not self.recompute_all:
            rows_of_lake = "for rows that are already in the lake, --recompute-all"
            raise UsageError(f"no source: {GIVE_A_SOURCE}; {rows_of_lake}")


def inputs_of(options: NightlyOptions, config: Config) -> ingest.Inputs:
    """Check the options before an engine starts; UsageError names the first that is wrong."""
    if not options.cluster_id:
        raise UsageError("--cluster-id must not be empty")
    timezone = valid_timezone(options.log_timezone or config.log_timezone)
    end_offsets = _files(options.end_offsets, "--end-offsets", FILES_LIKE)
    require_end_offsets(end_offsets, timezone)
    return ingest.Inputs(
        segments=segments.segment_files(options.segments) if options.segments else [],
        broker_logs=_files(options.broker_log, "--broker-log", broker_log.FILES_LIKE),
        log_timezone=timezone,
        log_since_ms=since_ms_of_option(options.log_date),
        dates=date_range(options.date, options.first, options.last),
        dump=None if options.dump is None else Dump(options.dump),
        traces=_files(options.trace, "--trace", trace.FILES_LIKE),
        client_logs=_files(options.client_log, "--client-log", client_log.FILES_LIKE),
        kafka=None if options.kafka is None else Kafka(options.kafka, config.kafka_settings()),
        end_offsets=end_offsets,
        broker_configs=_broker_configs(options.broker_config),
    )


def _broker_configs(pattern: str | None) -> list[str]:
    """Raises UsageError for a file without settings."""
    files = _files(pattern, "--broker-config", configurations.FILES_LIKE)
    for file in files:
        configurations.settings_in(file)
    return files


def _files(pattern: str | None, option: str, name_like: str) -> list[str]:
    return list_files(pattern, option, name_like=name_like) if pattern else []


def workload(options: NightlyOptions, inputs: ingest.Inputs) -> Workload:
    """The work of a run: its input files, and the lake if every date is computed."""
    of_lake = workload_of_lake(options.lake)
    kafka = kafka_only_for_spark(inputs.kafka.settings) if inputs.kafka else None
    size = bytes_of(input_files(inputs))
    size += of_lake.input_bytes if options.recompute_all else 0
    return Workload(size, kafka or of_lake.spark_only)


def input_files(inputs: ingest.Inputs) -> list[str]:
    """All files of a run, and the folder of a dump that is a Delta table."""
    logs = [*inputs.broker_logs, *inputs.client_logs, *inputs.traces]
    others = [*inputs.end_offsets, *inputs.broker_configs]
    return [*inputs.segments, *logs, *others, *dump_files(inputs.dump)]


def dump_files(dump: Dump | None) -> list[str]:
    if dump is None:
        return []
    return [dump.delta] if dump.delta else [file for files in dump.files.values() for file in files]


def open_lake_of(options: NightlyOptions, inputs: ingest.Inputs, config: Config) -> Lake:
    """The lake of a run, with a session of the engine that its work and configuration require."""
    session = open_session(config, workload(options, inputs))
    return open_lake(session, options.lake, options.cluster_id)


def nightly(options: NightlyOptions, config: Config, progress: Progress | None = None) -> None:
    _nightly(options, config, inputs_of(options, config), progress or Progress())


def nightly_command(options: NightlyOptions, config: Config, format: Format) -> None:
    """`nightly` of the command line: UsageError without a source.

    Prints the run on stderr, with the next step; in JSON or CSV, prints it on stdout, too.
    """
    inputs = inputs_of(options, config)
    options.require_source()
    require_brokers(inputs)
    progress = Progress()
    run = _nightly(options, config, inputs, progress)
    place = shlex.join(["--lake", options.lake, "--cluster-id", options.cluster_id])
    progress.say(f"next: regroup investigate {place}")
    if format is Format.JSON:
        sys.stdout.write(json_text(jsonable(as_json(run, progress))) + "\n")
    elif format is Format.CSV:
        print_rows(STEP_COLUMNS, _step_rows(progress), format)


def as_json(run: Run, progress: Progress) -> dict[str, Any]:
    """The object of `nightly --format json`."""
    return {
        "run_id": run.run_id,
        "cluster_id": run.lake.cluster_id,
        "first_date": run.first,
        "last_date": run.last,
        "seconds": round(progress.seconds, 3),
        "steps": [dict(zip(STEP_COLUMNS, row, strict=True)) for row in _step_rows(progress)],
        "rows_written": run.written,
        "messages": progress.messages,
    }


def _step_rows(progress: Progress) -> list[tuple[str, float]]:
    return [(step.name, round(step.seconds, 3)) for step in progress.steps]


def require_brokers(inputs: ingest.Inputs) -> None:
    """Ask the brokers of --kafka before an engine starts; raises RunFailed if none answers."""
    if inputs.kafka is None:
        return
    client = client_settings(inputs.kafka.settings)
    # If the settings cannot be translated, only Java's client can ask brokers.
    if not client.untranslatable:
        require_answer(inputs.kafka, client.values, inputs.kafka.settings)


def _nightly(
    options: NightlyOptions, config: Config, inputs: ingest.Inputs, progress: Progress
) -> Run:
    began = time.monotonic()
    run = run_jobs(open_lake_of(options, inputs, config), options, inputs, progress)
    progress.total(time.monotonic() - began)
    for line in summary(run).splitlines():
        progress.say(line)
    account_for(run.lake, inputs, run.internal_errors, progress)
    return run


def account_for(
    lake: Lake, inputs: ingest.Inputs, internal_errors: int, progress: Progress
) -> None:
    """Say what was not understood of each log.  Raises RunFailed for defects, silent logs, a dump
    of other topics, and logs of several clusters."""
    has_logs = inputs.broker_logs or inputs.client_logs
    logs = read_logs(lake, inputs.broker_logs, inputs.client_logs) if has_logs else []
    for line in log_lines(logs):
        progress.say(line)
    for line in end_offset_lines(lake, inputs.end_offsets) if inputs.end_offsets else []:
        progress.say(line)
    if internal_errors:
        raise RunFailed(ingest.failed_by(internal_errors))
    if silent := silent_logs(logs):
        raise RunFailed(f"no line is readable in {', '.join(silent)}")
    if inputs.dump and (others := other_topics(lake, inputs.dump)):
        raise RunFailed(
            f"the dump has no record of topic {segments.TOPIC}, only of {', '.join(others)}; "
            f"export {segments.TOPIC} of the cluster to analyse"
        )
    if inputs.broker_logs and (mixed := mixed_clusters(lake)):
        raise RunFailed(
            f"brokers of several clusters wrote logs of {lake.cluster_id}: {mixed} of several "
            "clusters is merged: give each cluster its own --cluster-id, in a new lake"
        )


def run_jobs(lake: Lake, options: NightlyOptions, inputs: ingest.Inputs, progress: Progress) -> Run:
    """Ingest and derive, recorded in `runs`; returns the run with the rows that it wrote."""
    run = Run(
        lake=lake, options=options.by_name(), first=inputs.dates.first, last=inputs.dates.last
    )
    with lake.run_lock():
        # Rename before the run is recorded, because renamed rows do not count as rows that the run
        # writes.
        lake.rename_old_names()
        with run.recorded(progress):
            _run_steps(run, options, inputs, progress)
    return run


def _run_steps(
    run: Run, options: NightlyOptions, inputs: ingest.Inputs, progress: Progress
) -> None:
    if inputs:
        progress.step("ingest", lambda: _ingest(run, inputs))
    computed = _derive(run, progress, recompute_all=options.recompute_all)
    if options.advice and (computed is not None or inputs.broker_configs):
        first, last, afresh = computed or (None, None, False)
        budget_s = options.advice_budget
        lines: list[str] = []
        progress.step(
            "advice",
            lambda: lines.extend(
                _advise(run.lake, first, last, simulate_all=afresh, budget_s=budget_s)
            ),
        )
        for line in lines:
            progress.say(printable(line))


def _advise(
    lake: Lake,
    first: date | None,
    last: date | None,
    *,
    simulate_all: bool,
    budget_s: float | None,
) -> list[str]:
    # Import here, because importing the models takes a second.
    from jobs import advice_outcomes
    from jobs.nightly_run import advice_step

    lines = advice_step.run(lake, first, last, simulate_all=simulate_all, budget_s=budget_s)
    advice_outcomes.run(lake, first, last)
    return lines


def _ingest(run: Run, inputs: ingest.Inputs) -> None:
    run.internal_errors = ingest.run(run.lake, inputs)


def _derive(
    run: Run, progress: Progress, *, recompute_all: bool
) -> tuple[date | None, date | None, bool] | None:
    """Compute all tables except bronze tables, for the dates of the options or else for the dates
    with new input.

    Returns the first and the last of these dates, or None for all dates, and whether they must be
    computed without the results of earlier runs; None without news.
    """
    new = pending(run.lake)
    run.bronze_versions = new.covered_after(run.first, run.last)
    run.own_versions = new.versions
    first, last = run.first, run.last
    recompute_all = recompute_all or new.recompute_all
    if not (recompute_all or first or last or new.dates is None):
        if not new.dates:
            return None
        first, last = min(new.dates), max(new.dates)
    run_all(scope_of(run.lake, first, last), progress)
    return first, last, recompute_all


if __name__ == "__main__":
    from jobs.command_line.cli import main

    main("nightly")
