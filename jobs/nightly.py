"""All jobs in order: what was left behind goes in, every table comes out.

spark-submit jobs/nightly.py --lake URI --cluster-id ID --segments GLOB --broker-log GLOB
"""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass

from jobs import ingest
from jobs.command_line.arguments import add_dates, date_range, run_script
from jobs.command_line.config import Config, known_timezone, load_config
from jobs.console.errors import UsageError
from jobs.engine.session import build_session
from jobs.lake.dated_scope import of_dates
from jobs.lake.tables import Lake
from jobs.nightly_run.pending_dates import pending
from jobs.nightly_run.pipeline import Progress, run_all
from jobs.nightly_run.runs import Run, summary
from jobs.segments import partition_of
from jobs.sources import broker_log, segments, trace
from jobs.sources.dump import Dump
from jobs.sources.files import list_files
from jobs.sources.kafka import Kafka


@dataclass(frozen=True)
class NightlyOptions:
    """The command line of `regroup nightly`, as given."""

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
    recompute_all: bool = False

    def by_name(self) -> dict[str, str]:
        """The options by name, as far as there are any."""
        return {name: str(value) for name, value in asdict(self).items() if value}


def inputs_of(options: NightlyOptions, config: Config) -> ingest.Inputs:
    """Everything that can be wrong with the options is found here, before Spark starts."""
    if not options.cluster_id:
        raise UsageError("--cluster-id must not be empty")
    return ingest.Inputs(
        segments=_segments(options.segments),
        broker_logs=_files(options.broker_log, "--broker-log", broker_log.FILES_LIKE),
        log_timezone=known_timezone(options.log_timezone or config.log_timezone),
        dates=date_range(options.date, options.first, options.last),
        dump=None if options.dump is None else Dump(options.dump),
        traces=_files(options.trace, "--trace", trace.FILES_LIKE),
        kafka=None if options.kafka is None else Kafka(options.kafka, config.kafka),
    )


def _segments(pattern: str | None) -> list[str]:
    """Of a broker's data folder the logs of one topic; the others are none of ours."""
    found = _files(pattern, "--segments", segments.FILES_LIKE)
    ours = [file for file in found if _is_of_topic(file)]
    if found and not ours:
        raise UsageError(f"--segments {pattern}: no file in a folder {segments.TOPIC}-N")
    return ours


def _is_of_topic(file: str) -> bool:
    try:
        partition_of(file)
    except ValueError:
        return False
    return True


def _files(pattern: str | None, option: str, name_like: str) -> list[str]:
    return list_files(pattern, option, name_like=name_like) if pattern else []


def main() -> None:
    """The script for spark-submit; `regroup nightly` is the same with more comfort."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lake", required=True, help="folder or URI of the Delta tables")
    parser.add_argument("--cluster-id", required=True, help="name of the Kafka cluster")
    parser.add_argument("--segments", help="segment files: path, folder, glob or URI")
    parser.add_argument("--kafka", help="brokers to read from: HOST:PORT[,HOST:PORT...]")
    parser.add_argument("--dump", help="exported records: path, folder, glob or URI")
    parser.add_argument("--broker-log", help="server.log files: path, folder, glob or URI")
    parser.add_argument("--trace", help="an engine's traces: path, folder, glob or URI")
    parser.add_argument("--log-timezone", help="time zone of the log lines")
    add_dates(parser)
    parser.add_argument(
        "--anew", dest="recompute_all", action="store_true", help="every date, news or not"
    )
    parser.add_argument("--conf", help="TOML file with settings (default: conf/local.toml)")
    arguments = vars(parser.parse_args())
    conf = arguments.pop("conf")
    run_script(lambda: nightly(NightlyOptions(**arguments), load_config(conf)))


def nightly(options: NightlyOptions, config: Config, progress: Progress | None = None) -> None:
    progress = progress or Progress()
    inputs = inputs_of(options, config)
    lake = Lake(build_session(config), options.lake, options.cluster_id)
    run = Run(lake, options.by_name(), inputs.dates.first, inputs.dates.last)
    with run.recorded(progress):
        if inputs:
            progress.step("ingest", lambda: ingest.run(lake, inputs))
        _derive(run, progress, recompute_all=options.recompute_all)
    progress.total()
    progress.say(summary(run))


def _derive(run: Run, progress: Progress, *, recompute_all: bool) -> None:
    """Every table but bronze: for the dates asked for, else for those that have news."""
    news = pending(run.lake)
    run.bronze_versions = news.after(run.first, run.last)
    run.own_versions = news.versions
    first, last = run.first, run.last
    if not (recompute_all or news.recompute_all or first or last or news.dates is None):
        if not news.dates:
            return
        first, last = min(news.dates), max(news.dates)
    run_all(of_dates(run.lake, first, last), progress)


if __name__ == "__main__":
    main()
