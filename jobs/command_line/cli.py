"""The command `regroup`: options and help of every command.

A command imports what it needs only when it runs: help, `--version` and `sql` need no Spark.  Job
scripts for spark-submit (jobs/NAME.py) call `main` with the name of their command.
"""

from __future__ import annotations

import gc
import sys
from contextlib import nullcontext
from io import TextIOWrapper
from typing import Annotated, NoReturn

import typer
from typer.exceptions import TyperException

from jobs import __version__
from jobs.command_line.examples import epilog
from jobs.command_line.options import (
    BrokerLogOption,
    ClientLogOption,
    ClusterOption,
    ConfOption,
    DateOption,
    DumpOption,
    EngineOption,
    FormatOption,
    FromOption,
    FromTimeOption,
    KafkaOption,
    LakeOption,
    LogTimezoneOption,
    SegmentsOption,
    ToOption,
    ToTimeOption,
    TraceOption,
)
from jobs.command_line.scenario_commands import scenario
from jobs.command_line.sections import CommandsBySection
from jobs.console.engine_messages import separate_stderr
from jobs.console.errors import RunFailed, UsageError, fail, fail_unexpected
from jobs.console.interrupt import CODE as INTERRUPTED
from jobs.console.interrupt import follows_interrupt, handle_ctrl_c
from jobs.console.printing import Format, print_rows
from jobs.console.spinner import spinner
from jobs.nightly_run.pipeline import JOBS, Progress, job, run_all

app = typer.Typer(
    cls=CommandsBySection,
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Forensics for Kafka consumer-group rebalances.",
)


def _print_version(is_requested: bool) -> None:
    if is_requested:
        print(__version__)
        raise typer.Exit


@app.callback()
def options_of_regroup(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Forensics for Kafka consumer-group rebalances."""


@app.command()
def nightly(
    lake: LakeOption,
    cluster_id: ClusterOption,
    segments: SegmentsOption = None,
    kafka: KafkaOption = None,
    dump: DumpOption = None,
    broker_log: BrokerLogOption = None,
    trace: TraceOption = None,
    client_log: ClientLogOption = None,
    log_timezone: LogTimezoneOption = None,
    date: DateOption = None,
    first: FromOption = None,
    last: ToOption = None,
    recompute_all: Annotated[
        bool, typer.Option("--recompute-all", help="Recompute every date, even without new input.")
    ] = False,
    anew: Annotated[bool, typer.Option("--anew", hidden=True)] = False,
    advice: Annotated[
        bool,
        typer.Option(
            "--advice/--no-advice",
            help="At the end, try the standard changes of what-if for the worst groups.",
        ),
    ] = True,
    engine: EngineOption = None,
    conf: ConfOption = None,
) -> None:
    """Read new input and compute all tables.  Runs ingest and all jobs in order."""
    from jobs.command_line.config import load_config
    from jobs.nightly import NightlyOptions, nightly_command

    if anew:
        print("regroup: --anew is now --recompute-all", file=sys.stderr)
    options = NightlyOptions(
        lake=lake,
        cluster_id=cluster_id,
        segments=segments,
        kafka=kafka,
        dump=dump,
        broker_log=broker_log,
        trace=trace,
        client_log=client_log,
        log_timezone=log_timezone,
        date=date,
        first=first,
        last=last,
        recompute_all=recompute_all or anew,
        advice=advice,
    )
    nightly_command(options, load_config(conf, engine))


@app.command()
def watch(
    lake: LakeOption,
    cluster_id: ClusterOption,
    segments: SegmentsOption = None,
    kafka: KafkaOption = None,
    dump: DumpOption = None,
    broker_log: BrokerLogOption = None,
    trace: TraceOption = None,
    client_log: ClientLogOption = None,
    log_timezone: LogTimezoneOption = None,
    every: Annotated[
        str, typer.Option(help="Time from the start of a pass to the next: 90s, 15m, 1h.")
    ] = "60s",
    out: Annotated[
        str | None, typer.Option(help="Also write the page of `report` after each change.")
    ] = None,
    prometheus: Annotated[
        str | None, typer.Option(help="Also write this file for Prometheus' textfile collector.")
    ] = None,
    notify: Annotated[
        bool, typer.Option("--notify", help="Send new alerts to the webhooks of --conf.")
    ] = False,
    passes: Annotated[
        int | None, typer.Option(help="End after this number of passes; default: never.", min=1)
    ] = None,
    engine: EngineOption = None,
    conf: ConfOption = None,
) -> None:
    """Run nightly and alerts again and again.  Reads what is new; prints a line per pass."""
    from jobs.command_line.config import load_config
    from jobs.nightly import NightlyOptions
    from jobs.nightly_run.watch import Watch, WatchOptions

    options = NightlyOptions(
        lake=lake,
        cluster_id=cluster_id,
        segments=segments,
        kafka=kafka,
        dump=dump,
        broker_log=broker_log,
        trace=trace,
        client_log=client_log,
        log_timezone=log_timezone,
    )
    watch = WatchOptions(options, every, out, prometheus, passes, notify)
    Watch(watch, load_config(conf, engine)).run()


@app.command()
def ingest(
    lake: LakeOption,
    cluster_id: ClusterOption,
    segments: SegmentsOption = None,
    kafka: KafkaOption = None,
    dump: DumpOption = None,
    broker_log: BrokerLogOption = None,
    trace: TraceOption = None,
    client_log: ClientLogOption = None,
    log_timezone: LogTimezoneOption = None,
    engine: EngineOption = None,
    conf: ConfOption = None,
) -> None:
    """Read input into the bronze tables.  Computes no other table."""
    from jobs import ingest as ingest_job
    from jobs.command_line.config import load_config
    from jobs.nightly import NightlyOptions, inputs_of, open_lake_of

    config = load_config(conf, engine)
    options = NightlyOptions(
        lake=lake,
        cluster_id=cluster_id,
        segments=segments,
        kafka=kafka,
        dump=dump,
        broker_log=broker_log,
        trace=trace,
        client_log=client_log,
        log_timezone=log_timezone,
    )
    inputs = inputs_of(options, config)
    options.require_source()
    internal_errors = ingest_job.run(open_lake_of(options, inputs, config), inputs)
    if internal_errors:
        raise RunFailed(ingest_job.failed_by(internal_errors))


def _add_job(name: str) -> None:
    def command(
        lake: LakeOption,
        cluster_id: ClusterOption,
        date: DateOption = None,
        first: FromOption = None,
        last: ToOption = None,
        engine: EngineOption = None,
        conf: ConfOption = None,
    ) -> None:
        from jobs.command_line.arguments import date_range, open_existing_lake
        from jobs.command_line.config import load_config
        from jobs.lake.scope import scope_of

        dates = date_range(date, first, last)
        existing = open_existing_lake(lake, cluster_id, load_config(conf, engine))
        if name in JOBS:
            run_all(scope_of(existing, dates.first, dates.last), Progress(), [name])
        else:
            with existing.derivation_lock():
                job(name).run(existing)

    app.command(name, help=f"Run job {name} only.", hidden=name not in JOBS)(command)


# The last two compute all dates at once, and nightly does not run them.
for _name in (*JOBS, "incident_replay", "what_if_sweep"):
    _add_job(_name)


@app.command()
def topic_partitions(
    lake: LakeOption,
    cluster_id: ClusterOption,
    file: Annotated[
        str, typer.Option(help="Output of kafka-topics.sh --describe, CSV or JSON Lines.")
    ],
    engine: EngineOption = None,
    conf: ConfOption = None,
) -> None:
    """Record the partition counts of topics.  Each line is topic,partitions[,since]."""
    from jobs.command_line.arguments import open_new_or_existing_lake
    from jobs.command_line.config import load_config
    from jobs.topic_partitions import read_file, run

    counts = read_file(file)
    run(open_new_or_existing_lake(lake, cluster_id, load_config(conf, engine)), counts)


@app.command()
def snapshot(
    lake: LakeOption,
    cluster_id: ClusterOption,
    bootstrap: Annotated[str, typer.Option(help="Brokers to ask: HOST:PORT[,HOST:PORT...].")],
    every: Annotated[
        str | None,
        typer.Option(help="Time from the start of a snapshot to the next: 30s, 5m (default: 30s)."),
    ] = None,
    lasts: Annotated[
        str | None, typer.Option("--for", help="Start no snapshot after this time: 90s, 10m, 1h.")
    ] = None,
    count: Annotated[int | None, typer.Option(help="Number of snapshots.", min=1)] = None,
    conf: ConfOption = None,
) -> None:
    """Describe all groups through the Admin API.  Needs neither topic nor logs."""
    from jobs.command_line.config import load_config
    from jobs.snapshot import SnapshotOptions
    from jobs.snapshot import snapshot as run

    run(SnapshotOptions(lake, cluster_id, bootstrap, every, lasts, count), load_config(conf))


@app.command()
def sql(
    statement: Annotated[
        str, typer.Argument(help="One SELECT statement, a table or view, or SHOW TABLES.")
    ],
    lake: LakeOption,
    format: FormatOption = Format.TABLE,
) -> None:
    """Query a lake with SQL, without a JVM.  Tables and views have their names."""
    from jobs.lake.sql import query

    columns, rows = query(lake, statement)
    print_rows(columns, rows, format)


@app.command()
def register(
    lake: LakeOption,
    database: Annotated[str, typer.Option(help="Name of the database.")] = "regroup",
    conf: ConfOption = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Register a lake in Spark's metastore.  Tables and views, with their comments."""
    from jobs.command_line.config import load_config
    from jobs.register import COLUMNS, RegisterOptions
    from jobs.register import register as run

    print_rows(COLUMNS, run(RegisterOptions(lake, database), load_config(conf)), format)


@app.command()
def check(lake: LakeOption, format: FormatOption = Format.TABLE) -> None:
    """Check a lake: conservation, keys, order.  Exit 1 if a law is broken."""
    from jobs.checks.check import broken_laws, kept_laws, notes
    from jobs.checks.in_progress import IN_PROGRESS, is_written

    was_written = is_written(lake)
    with spinner("check"):
        columns, rows = broken_laws(lake)
    if rows and (was_written or is_written(lake)):
        raise RunFailed(f"--lake {lake}: {IN_PROGRESS}")
    if rows or format is not Format.TABLE:
        print_rows(columns, rows, format)
    else:
        print(kept_laws(lake))
    for note in notes(lake):
        print(f"regroup: {note}", file=sys.stderr)
    if rows:
        raise typer.Exit(1)


@app.command()
def maintain(
    lake: LakeOption,
    keep_days: Annotated[
        int | None, typer.Option(help="Delete dates older than this many days; default: keep all.")
    ] = None,
    vacuum_hours: Annotated[
        int, typer.Option(help="Keep unreferenced files for this many hours.")
    ] = 168,
    engine: EngineOption = None,
    conf: ConfOption = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Delete old dates, combine small files.  Deletes unreferenced files, too."""
    from jobs.command_line.config import load_config
    from jobs.maintain import COLUMNS, MaintainOptions
    from jobs.maintain import maintain as run

    rows = run(MaintainOptions(lake, keep_days, vacuum_hours), load_config(conf, engine))
    print_rows(COLUMNS, rows, format)


@app.command()
def decode(
    paths: Annotated[list[str], typer.Argument(help="Segment files, folders or globs.")],
    format: Annotated[str, typer.Option(help="Output format: jsonl.")] = "jsonl",
) -> None:
    """Decode `__consumer_offsets` segment files.  Prints one JSON object per record."""
    from jobs.decode.command import decode as run

    if format != "jsonl":
        raise UsageError(f"--format {format}: decode prints jsonl only")
    # On a terminal the printed lines show the progress.
    with nullcontext() if sys.stdout.isatty() else spinner("decode"):
        code = run(paths, sys.stdout)
    raise typer.Exit(code)


@app.command()
def assign(
    file: Annotated[str | None, typer.Option(help="Cases as JSON Lines; default: stdin.")] = None,
) -> None:
    """Assign partitions as Kafka's assignors do.  Reads and prints JSON Lines."""
    from jobs.assignors.command import assign as run

    try:
        if file is None:
            sys.stdin.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
            raise typer.Exit(run(sys.stdin, sys.stdout))
        with open(file, encoding="utf-8") as lines:
            raise typer.Exit(run(lines, sys.stdout))
    except OSError as error:
        raise UsageError(f"--file {file}: {error.strerror}; give a readable file") from None
    except UnicodeDecodeError:
        raise UsageError(f"{file or 'stdin'}: not UTF-8; give JSON Lines in UTF-8") from None


@app.command()
def simulate(
    spec: Annotated[str, typer.Option(help="TOML file of a fleet, as in examples/fleets.")],
    out: Annotated[
        str | None, typer.Option(help="Folder for segments, server.log and trace.")
    ] = None,
    lake: Annotated[
        str | None,
        typer.Option("--lake", help="Lake to write bronze tables to."),
    ] = None,
    cluster_id: Annotated[
        str | None, typer.Option(help="Name of the cluster (with --lake).")
    ] = None,
    groups: Annotated[
        int | None, typer.Option(help="Number of groups, of the spec's kinds (with --lake).")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed; default: the spec's.")] = None,
    engine: EngineOption = None,
    conf: ConfOption = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Simulate a fleet of consumer groups.  Writes segments, server.log and a trace."""
    from jobs.simulate import command as job

    if out is not None and lake is None and groups is None:
        rows = job.simulate(spec, out, seed)
        print_rows(job.COLUMNS, rows, format)
        print(job.totals(rows), file=sys.stderr)
    elif lake is not None and cluster_id and out is None:
        from jobs.command_line.config import load_config

        config = load_config(conf, engine)
        print(job.simulate_into(lake, cluster_id, spec, seed, groups, config), file=sys.stderr)
    else:
        raise UsageError("give --out, or --lake and --cluster-id (and --groups)")


@app.command()
def replay(
    lake: LakeOption,
    cluster_id: ClusterOption,
    group: Annotated[
        str | None,
        typer.Option(help="Consumer group; default: all, into table incident_replay."),
    ] = None,
    first: FromTimeOption = None,
    last: ToTimeOption = None,
    era: Annotated[
        str | None, typer.Option(help="Kafka era; default: detected from log and records.")
    ] = None,
    engine: EngineOption = None,
    conf: ConfOption = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Replay an incident in the coordinator model.  Exit 1 if a generation diverges."""
    from jobs.command_line.config import load_config
    from jobs.incident_replay import run_all as replay_all
    from jobs.replay import command

    if group is not None:
        options = command.ReplayOptions(lake, cluster_id, group, first, last, era)
        raise typer.Exit(command.run_one(options, format))
    if first or last or era:
        raise UsageError("--from, --to and --era: give --group, too")
    raise typer.Exit(replay_all(lake, cluster_id, load_config(conf, engine), format))


@app.command("what-if")
def what_if(
    lake: LakeOption,
    cluster_id: ClusterOption,
    group: Annotated[str, typer.Option(help="Consumer group.")],
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Changed setting, by its short name or Kafka's: membership=static|dynamic, "
            "instance_ids=process|ordinal (both: group.instance.id), protocol=eager|cooperative or "
            "assignor (partition.assignment.strategy), session_timeout_ms (session.timeout.ms), "
            "rebalance_timeout_ms (max.poll.interval.ms), initial_rebalance_delay_ms "
            "(group.initial.rebalance.delay.ms), era; "
            "default: try up to twelve changes and give advice.",
        ),
    ] = None,
    more: Annotated[list[str] | None, typer.Argument(metavar="[KEY=VALUE]...")] = None,
    first: Annotated[str | None, typer.Option("--from", help="Start of the incident, UTC.")] = None,
    last: Annotated[str | None, typer.Option("--to", help="End of the incident, UTC.")] = None,
    era: Annotated[
        str | None,
        typer.Option(help="Kafka era; default: detected from log and records."),
    ] = None,
    seeds: Annotated[
        int, typer.Option(help="Number of runs; each draws the uncertain times again.")
    ] = 5,
    format: FormatOption = Format.TABLE,
) -> None:
    """Predict a group's rebalances with other settings.  Compares them with the observed ones."""
    from jobs.what_if import command as job

    settings = (*(set_ or ()), *(more or ()))
    job.run(job.WhatIfOptions(lake, cluster_id, group, settings, seeds, first, last, era), format)


@app.command("what-if-sweep")
def what_if_sweep(
    lake: LakeOption,
    cluster_id: ClusterOption,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="'KEY=VALUE ...'",
            help="A combination to try; repeatable. Default: up to twelve combinations.",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Number of runs per combination.")] = 3,
    engine: EngineOption = None,
    conf: ConfOption = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Predict all groups with many settings.  Also says which groups to migrate.

    Writes process_lives, what_if, advice and migration_advice.
    """
    from jobs.command_line.config import load_config
    from jobs.what_if.sweep_command import run_all as sweep_all

    config = load_config(conf, engine)
    sweep_all(lake, cluster_id, tuple(set_ or ()), seeds, config, format)


@app.command()
def init(
    out: Annotated[str, typer.Option(help="File to write; an existing file is not changed.")] = (
        "regroup.toml"
    ),
) -> None:
    """Write a configuration file.  It has every setting, its default and its meaning."""
    from jobs.command_line.init_config import write

    write(out)
    print(f"wrote {out}; use it with --conf {out}", file=sys.stderr)


@app.command()
def demo(
    lake: Annotated[str, typer.Option(help="Folder for the demo's tables.")] = ".demo/lake",
) -> None:
    """Run nightly on two packaged incidents.  Prints every rebalance and its causes."""
    from jobs.nightly_run.demo import demo as run

    raise typer.Exit(run(lake))


@app.command()
def jars() -> None:
    """Fetch the jars that Spark needs.  Delta and the Kafka connector, from the Maven registry.
    Then archive their classes, so that Spark starts faster.
    """
    from jobs.engine.class_archive import archive_classes
    from jobs.engine.jars import fetch_spark_jars

    with spinner("jars"):
        outcomes = [fetch_spark_jars(), archive_classes()]
    print(*outcomes, sep="\n", file=sys.stderr)


@app.command()
def doctor(
    lake: Annotated[
        str | None, typer.Option("--lake", help="Folder or URI of the Delta tables.")
    ] = None,
    kafka: KafkaOption = None,
    broker_log: BrokerLogOption = None,
    client_log: ClientLogOption = None,
    log_timezone: LogTimezoneOption = None,
    conf: ConfOption = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Check machine, settings and sources before a run.  Exit 1 if a run would fail."""
    from jobs.doctor import DoctorOptions, print_results, run_checks

    results = run_checks(DoctorOptions(lake, kafka, broker_log, log_timezone, conf, client_log))
    raise typer.Exit(print_results(results, format))


@app.command()
def alerts(
    lake: LakeOption,
    cluster_id: Annotated[
        str | None, typer.Option("--cluster-id", help="Only this cluster; default: all.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(help="How far back to look: 90s, 15m, 1h, 7d (default: [alerts] window, 1h)."),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(help="UTC time that counts as now; default: the lake's last."),
    ] = None,
    prometheus: Annotated[
        str | None, typer.Option(help="Also write this file for Prometheus' textfile collector.")
    ] = None,
    notify: Annotated[
        bool, typer.Option("--notify", help="Send new alerts to the webhooks of --conf.")
    ] = False,
    conf: ConfOption = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """List what is wrong with groups now.  Storms, stuck or flapping groups: exit 1."""
    from jobs.alerts.alerting import AlertsOptions
    from jobs.alerts.command import run
    from jobs.command_line.config import load_config

    options = AlertsOptions(lake, cluster_id, since, at)
    settings = load_config(conf).alerts
    raise typer.Exit(run(options, settings, prometheus, format, notifies=notify))


@app.command()
def dashboard(
    out: Annotated[
        str | None, typer.Option(help="The dashboard, JSON for Grafana; default: on stdout.")
    ] = None,
    rules: Annotated[
        str | None, typer.Option(help="Alerting rules for Prometheus, YAML for rule_files.")
    ] = None,
    late: Annotated[
        str, typer.Option(help="Age of the lake's last time that is late: 90s, 15m, 2h, 7d.")
    ] = "25h",
    conf: ConfOption = None,
) -> None:
    """Make a Grafana dashboard of the metrics."""
    from jobs.command_line.config import load_config
    from jobs.monitoring.command import run

    run(out, rules, late, load_config(conf).alerts.thresholds)


@app.command("report")
def report_(
    lake: LakeOption,
    cluster_id: ClusterOption,
    group: Annotated[
        str | None,
        typer.Option(help="Only this consumer group; default: all groups."),
    ] = None,
    first: FromTimeOption = None,
    last: ToTimeOption = None,
    out: Annotated[
        str | None, typer.Option(help="The page: an HTML file that opens offline.")
    ] = None,
    trace: Annotated[
        str | None, typer.Option(help="A trace for Perfetto or chrome://tracing: FILE.json.")
    ] = None,
    mermaid: Annotated[
        str | None,
        typer.Option(
            metavar="GENERATION", help="Print one rebalance of the group as a Mermaid diagram."
        ),
    ] = None,
) -> None:
    """Write a page with charts and timelines.  Which groups rebalanced, how long, why."""
    from jobs.report.command import ReportOptions, report

    report(ReportOptions(lake, cluster_id, group, first, last, out, trace, mermaid))


@app.command()
def spans(
    lake: LakeOption,
    cluster_id: ClusterOption,
    group: Annotated[
        str | None,
        typer.Option(help="Only this consumer group; default: all groups."),
    ] = None,
    first: FromTimeOption = None,
    last: ToTimeOption = None,
    endpoint: Annotated[
        str | None,
        typer.Option(
            help="OTLP/HTTP address of the collector; default: OTEL_EXPORTER_OTLP_ENDPOINT."
        ),
    ] = None,
) -> None:
    """Send rebalances to an OpenTelemetry collector.  One trace per rebalance."""
    from jobs.spans.command import SpansOptions, send_spans

    send_spans(SpansOptions(lake, cluster_id, group, first, last, endpoint))


app.add_typer(scenario, name="scenario")


def _show_examples(group: typer.Typer, path: str = "") -> None:
    for command in group.registered_commands:
        assert command.callback is not None
        name = command.name or command.callback.__name__.replace("_", "-")
        command.epilog = epilog(f"{path}{name}")
    for below in group.registered_groups:
        if below.typer_instance is not None:
            _show_examples(below.typer_instance, f"{path}{below.name} ")


_show_examples(app)


def main(command: str | None = None) -> None:
    """Run `regroup`, or only ``command`` (for job scripts), with the arguments of this process.

    Exit code: 0 done, 1 the answer is no or the run failed, 2 wrong argument or configuration, 130
    Ctrl-C.  An error is one line on stderr.
    """
    if isinstance(sys.stdout, TextIOWrapper):  # not every terminal can show every character
        sys.stdout.reconfigure(errors="backslashreplace")
    separate_stderr()
    handle_ctrl_c()
    gc.set_threshold(100_000)  # imports and plans are many objects, and hardly any is garbage
    try:
        sys.exit(_run([command] if command else []))
    except BrokenPipeError:  # `regroup ... | head`
        sys.stderr.close()
        sys.exit(0)


def _run(command: list[str]) -> int:
    try:
        return app([*command, *sys.argv[1:]], "regroup", standalone_mode=False) or 0
    except BaseException as error:
        _end(error)


def _end(error: BaseException) -> NoReturn:
    if follows_interrupt(error):  # its message was printed
        sys.exit(INTERRUPTED)
    match error:
        case UsageError():
            fail(str(error))
        case RunFailed():
            fail(str(error), code=1)
        case TyperException():
            if (
                type(error).__name__ == "NoArgsIsHelpError"
            ):  # `regroup` without arguments prints its help
                print(error, flush=True)
                sys.exit(2)
            fail(f"{' '.join(error.format_message().split())} See `regroup --help`.")
        case BrokenPipeError():
            raise error
        case SystemExit() if isinstance(error.__context__, BrokenPipeError):  # from typer
            raise error.__context__
        case Exception():
            fail_unexpected(error)
    raise error


if __name__ == "__main__":
    main()
