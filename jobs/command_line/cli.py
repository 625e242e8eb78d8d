"""The command `regroup`: thin, every command's work is in the module of its name."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from io import TextIOWrapper
from typing import Annotated, NoReturn

import typer
from typer.exceptions import TyperException

from jobs.command_line.examples import epilog
from jobs.console.errors import RunFailed, UsageError, fail, fail_unexpected
from jobs.console.interrupt import CODE as INTERRUPTED
from jobs.console.interrupt import follows_interrupt, handle_ctrl_c
from jobs.console.printing import Format, print_rows
from jobs.console.spinner import spinner
from jobs.nightly_run.pipeline import JOBS, Progress, run_all

app = typer.Typer(
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Forensics for Kafka consumer-group rebalances.",
)

LakeOption = Annotated[str, typer.Option("--lake", help="Folder or URI of the Delta tables.")]
ClusterOption = Annotated[str, typer.Option("--cluster-id", help="Name of the Kafka cluster.")]
ConfOption = Annotated[
    str | None, typer.Option("--conf", help="TOML file with settings (default: conf/local.toml).")
]
SegmentsOption = Annotated[
    str | None, typer.Option(help="__consumer_offsets segment files: path, folder or glob.")
]
BrokerLogOption = Annotated[
    str | None, typer.Option(help="Brokers' server.log files: path, folder or glob.")
]
LogTimezoneOption = Annotated[
    str | None, typer.Option(help="Time zone of the log lines, e.g. Europe/Berlin.")
]
DumpOption = Annotated[
    str | None,
    typer.Option(help="__consumer_offsets exported: Parquet, Delta, JSON Lines or Avro."),
]
TraceOption = Annotated[str | None, typer.Option(help="An engine's traces: path, folder or glob.")]
KafkaOption = Annotated[
    str | None,
    typer.Option(help="Brokers to read __consumer_offsets from: HOST:PORT[,HOST:PORT...]."),
]
DateOption = Annotated[str | None, typer.Option(help="Only this UTC date.")]
FromOption = Annotated[str | None, typer.Option("--from", help="First UTC date of a range.")]
ToOption = Annotated[str | None, typer.Option("--to", help="Last UTC date of a range.")]
FromTimeOption = Annotated[
    str | None, typer.Option("--from", help="Generations that end from this UTC time on.")
]
ToTimeOption = Annotated[
    str | None, typer.Option("--to", help="Generations that begin up to this UTC time.")
]
FormatOption = Annotated[Format, typer.Option("--format", help="How rows are printed.")]


@app.command()
def nightly(
    lake: LakeOption,
    cluster_id: ClusterOption,
    segments: SegmentsOption = None,
    kafka: KafkaOption = None,
    dump: DumpOption = None,
    broker_log: BrokerLogOption = None,
    trace: TraceOption = None,
    log_timezone: LogTimezoneOption = None,
    date: DateOption = None,
    first: FromOption = None,
    last: ToOption = None,
    anew: Annotated[
        bool, typer.Option("--anew", help="Work out every date again, news or not.")
    ] = False,
    conf: ConfOption = None,
) -> None:
    """Run all jobs in order.  What brokers left behind goes in, every table comes out."""
    from jobs.command_line.config import load_config
    from jobs.nightly import NightlyOptions
    from jobs.nightly import nightly as run

    options = NightlyOptions(
        lake=lake,
        cluster_id=cluster_id,
        segments=segments,
        kafka=kafka,
        dump=dump,
        broker_log=broker_log,
        trace=trace,
        log_timezone=log_timezone,
        date=date,
        first=first,
        last=last,
        recompute_all=anew,
    )
    run(options, load_config(conf))


@app.command()
def ingest(
    lake: LakeOption,
    cluster_id: ClusterOption,
    segments: SegmentsOption = None,
    kafka: KafkaOption = None,
    dump: DumpOption = None,
    broker_log: BrokerLogOption = None,
    trace: TraceOption = None,
    log_timezone: LogTimezoneOption = None,
    conf: ConfOption = None,
) -> None:
    """Read sources into the bronze tables, nothing else."""
    from jobs import ingest as ingest_job
    from jobs.command_line.config import load_config
    from jobs.engine.session import build_session
    from jobs.lake.tables import Lake
    from jobs.nightly import NightlyOptions, inputs_of

    config = load_config(conf)
    options = NightlyOptions(
        lake=lake,
        cluster_id=cluster_id,
        segments=segments,
        kafka=kafka,
        dump=dump,
        broker_log=broker_log,
        trace=trace,
        log_timezone=log_timezone,
    )
    inputs = inputs_of(options, config)
    if not inputs:
        raise UsageError(
            "nothing to ingest: give --segments, --kafka, --dump, --broker-log or --trace"
        )
    ingest_job.run(Lake(build_session(config), lake, cluster_id), inputs)


def _add_job(name: str) -> None:
    def command(
        lake: LakeOption,
        cluster_id: ClusterOption,
        date: DateOption = None,
        first: FromOption = None,
        last: ToOption = None,
        conf: ConfOption = None,
    ) -> None:
        from jobs.command_line.arguments import date_range, opened
        from jobs.lake.scope import scope_of

        dates = date_range(date, first, last)
        whole = opened(lake, cluster_id, conf)
        run_all(scope_of(whole, dates.first, dates.last), Progress(), [name])

    app.command(name, help=f"Run the job {name} alone.")(command)


for _name in JOBS:
    _add_job(_name)


@app.command()
def topic_partitions(
    lake: LakeOption,
    cluster_id: ClusterOption,
    file: Annotated[
        str, typer.Option(help="Output of kafka-topics.sh --describe, CSV or JSON Lines.")
    ],
    conf: ConfOption = None,
) -> None:
    """Note how many partitions topics have.  A file's lines say topic,partitions[,since]."""
    from jobs.command_line.config import load_config
    from jobs.engine.session import build_session
    from jobs.lake.tables import Lake
    from jobs.topic_partitions import read_file, run

    counts = read_file(file)
    run(Lake(build_session(load_config(conf)), lake, cluster_id), counts)


@app.command()
def sql(
    statement: Annotated[str, typer.Argument(help="One SELECT statement.")],
    lake: LakeOption,
    format: FormatOption = Format.TABLE,
) -> None:
    """SQL over the lake, without a JVM.  Tables and views go by their names."""
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
    """Make the lake a database of Spark's metastore.  Tables and views with their comments."""
    from jobs.command_line.config import load_config
    from jobs.register import COLUMNS, RegisterOptions
    from jobs.register import register as run

    print_rows(COLUMNS, run(RegisterOptions(lake, database), load_config(conf)), format)


@app.command()
def check(lake: LakeOption, format: FormatOption = Format.TABLE) -> None:
    """The laws every lake keeps: conservation, keys, order.  Exit 1 if one is broken."""
    from jobs.checks.check import broken_laws

    with spinner("check"):
        columns, rows = broken_laws(lake)
    print_rows(columns, rows, format)
    if rows:
        raise typer.Exit(1)


@app.command()
def maintain(
    lake: LakeOption,
    keep_days: Annotated[
        int | None, typer.Option(help="Dates more than so many days ago go; default: all stay.")
    ] = None,
    vacuum_hours: Annotated[
        int, typer.Option(help="Hours that a file outlives the last version that has it.")
    ] = 168,
    conf: ConfOption = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Old dates out, small files together.  Files that nobody reads are deleted."""
    from jobs.command_line.config import load_config
    from jobs.maintain import COLUMNS, MaintainOptions
    from jobs.maintain import maintain as run

    rows = run(MaintainOptions(lake, keep_days, vacuum_hours), load_config(conf))
    print_rows(COLUMNS, rows, format)


@app.command()
def decode(
    paths: Annotated[list[str], typer.Argument(help="Segment files, folders or globs.")],
    format: Annotated[str, typer.Option(help="jsonl, the only one.")] = "jsonl",
) -> None:
    """Segment files of `__consumer_offsets` as JSON Lines.  One object a record."""
    from jobs.decode.command import decode as run

    if format != "jsonl":
        raise UsageError(f"--format {format}: decode knows jsonl only")
    # On a terminal the lines themselves show how far it is.
    with nullcontext() if sys.stdout.isatty() else spinner("decode"):
        code = run(paths, sys.stdout)
    raise typer.Exit(code)


@app.command()
def assign(
    file: Annotated[
        str | None, typer.Option(help="Cases as JSON Lines; without it from stdin.")
    ] = None,
) -> None:
    """Assign partitions as Kafka's assignors do.  Cases in, assignments out, as JSON Lines."""
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
    spec: Annotated[str, typer.Option(help="A fleet: TOML, as in examples/fleets.")],
    out: Annotated[
        str | None, typer.Option(help="Folder for what the brokers leave behind.")
    ] = None,
    lake: Annotated[
        str | None, typer.Option(help="Straight into a lake's bronze tables instead, by Spark.")
    ] = None,
    cluster_id: Annotated[str | None, typer.Option(help="Its name in the lake.")] = None,
    groups: Annotated[
        int | None, typer.Option(help="So many groups, of the spec's kinds (with --lake).")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Another seed than the spec's.")] = None,
    conf: ConfOption = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Play a fleet of consumer groups.  Segments, server.log, a trace, and the truth about them."""
    from jobs.simulate import command as job

    if out is not None and lake is None and groups is None:
        rows = job.simulate(spec, out, seed)
        print_rows(job.COLUMNS, rows, format)
        print(job.totals(rows), file=sys.stderr)
    elif lake is not None and cluster_id and out is None:
        print(job.simulate_into(lake, cluster_id, spec, seed, groups, conf), file=sys.stderr)
    else:
        raise UsageError("give --out, or --lake and --cluster-id with or without --groups")


@app.command()
def replay(
    lake: LakeOption,
    cluster_id: ClusterOption,
    group: Annotated[
        str | None,
        typer.Option(help="Consumer group; without it all, by Spark, into incident_replay."),
    ] = None,
    first: FromTimeOption = None,
    last: ToTimeOption = None,
    era: Annotated[
        str | None, typer.Option(help="Kafka era; default: told from what the broker wrote.")
    ] = None,
    conf: ConfOption = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Play an incident again from its evidence.  Exit 1 if a generation comes out differently."""
    from jobs.incident_replay import run_all as replay_all
    from jobs.replay import command

    if group is not None:
        options = command.ReplayOptions(lake, cluster_id, group, first, last, era)
        raise typer.Exit(command.run_one(options, format))
    if first or last or era:
        raise UsageError("--from, --to and --era: give a --group, too")
    raise typer.Exit(replay_all(lake, cluster_id, conf, format))


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
            help="Changed setting: membership=static|dynamic, protocol=eager|cooperative, "
            "session_timeout_ms, rebalance_timeout_ms, initial_rebalance_delay_ms, assignor, era; "
            "without any, twelve are tried and advice is given.",
        ),
    ] = None,
    more: Annotated[list[str] | None, typer.Argument(metavar="[KEY=VALUE]...")] = None,
    first: Annotated[str | None, typer.Option("--from", help="From this UTC time on.")] = None,
    last: Annotated[str | None, typer.Option("--to", help="Up to this UTC time.")] = None,
    era: Annotated[
        str | None, typer.Option(help="Kafka era it ran on; default: told from what it wrote.")
    ] = None,
    seeds: Annotated[
        int, typer.Option(help="How often to play it, uncertain moments drawn anew.")
    ] = 5,
    format: FormatOption = Format.TABLE,
) -> None:
    """A group's rebalances under other settings.  Beside what it went through."""
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
            help="One combination to try; again for each. Default: twelve.",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(help="How often to play each.")] = 3,
    conf: ConfOption = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """All groups under a grid of settings.  By Spark, into process_lives, what_if and advice."""
    from jobs.what_if_sweep import run_all as sweep_all

    sweep_all(lake, cluster_id, tuple(set_ or ()), seeds, conf, format)


@app.command()
def init(
    out: Annotated[str, typer.Option(help="The file to write; one that is there stays.")] = (
        "regroup.toml"
    ),
) -> None:
    """Write a configuration file to begin with.  Every setting, its default, what it means."""
    from jobs.command_line.init_config import write

    write(out)
    print(f"{out} written; give it to commands as --conf {out}", file=sys.stderr)


@app.command()
def demo(
    lake: Annotated[str, typer.Option(help="Folder for the demo's tables.")] = ".demo/lake",
) -> None:
    """Run nightly on two packaged incidents.  Prints every rebalance and its causes."""
    from jobs.nightly_run.demo import demo as run

    run(lake)


@app.command()
def jars() -> None:
    """Fetch the jars that Spark needs.  Delta Lake and the Kafka connector, from Maven Central."""
    from jobs.engine.jars import fetch_spark_jars

    with spinner("jars"):
        outcome = fetch_spark_jars()
    print(outcome, file=sys.stderr)


@app.command()
def doctor(
    lake: Annotated[
        str | None, typer.Option("--lake", help="Folder or URI of the Delta tables.")
    ] = None,
    kafka: KafkaOption = None,
    broker_log: BrokerLogOption = None,
    log_timezone: LogTimezoneOption = None,
    conf: ConfOption = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """What a run needs, looked at before one starts.  Exit 1 if something would fail."""
    from jobs.doctor import DoctorOptions, print_results, run_checks

    results = run_checks(DoctorOptions(lake, kafka, broker_log, log_timezone, conf))
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
        str | None, typer.Option(help="UTC time that counts as now; default: the lake's last.")
    ] = None,
    prometheus: Annotated[
        str | None, typer.Option(help="Write them to this file, too, for the textfile collector.")
    ] = None,
    conf: ConfOption = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """What is wrong with groups now.  Storms, stuck ones, flapping: exit 1 if there is any."""
    from jobs.alerts.alerting import AlertsOptions
    from jobs.alerts.command import run
    from jobs.command_line.config import load_config

    options = AlertsOptions(lake, cluster_id, since, at)
    raise typer.Exit(run(options, load_config(conf).alerts, prometheus, format))


@app.command("report")
def report_(
    lake: LakeOption,
    cluster_id: ClusterOption,
    group: Annotated[
        str | None, typer.Option(help="Only this consumer group; without it all of the cluster.")
    ] = None,
    first: FromTimeOption = None,
    last: ToTimeOption = None,
    out: Annotated[
        str | None, typer.Option(help="The page: one HTML file that opens offline.")
    ] = None,
    trace: Annotated[
        str | None, typer.Option(help="A trace for Perfetto or chrome://tracing: FILE.json.")
    ] = None,
    mermaid: Annotated[
        str | None,
        typer.Option(
            metavar="GENERATION", help="Print one rebalance of the group as a Mermaid sequence."
        ),
    ] = None,
) -> None:
    """A page to look at.  Which groups rebalanced, how long and why, and each one's timeline."""
    from jobs.report.command import ReportOptions, report

    report(ReportOptions(lake, cluster_id, group, first, last, out, trace, mermaid))


scenario = typer.Typer(help="Scenarios of requests through the coordinator model.")
app.add_typer(scenario, name="scenario")


@scenario.command("run")
def scenario_run(
    paths: Annotated[list[str], typer.Argument(help="Scenario files, or folders of them.")],
    era: Annotated[str, typer.Option(help="Kafka era: 0.9, 0.10, 2.0, 2.5, 3.9 or 4.1.")],
    ids_from: Annotated[
        str | None, typer.Option(help="Take member ids from this trace, or folder of traces.")
    ] = None,
    out: Annotated[
        str | None, typer.Option(help="Folder for the traces; without it they are printed.")
    ] = None,
) -> None:
    """Play scenarios through the engine; print or write their traces."""
    from jobs.scenario.command import run

    raise typer.Exit(run(era, ids_from, out, paths))


@scenario.command("diagram")
def scenario_diagram(
    file: Annotated[str, typer.Argument(help="A scenario, consumers, or a trace (.jsonl).")],
    era: Annotated[
        str | None, typer.Option(help="Kafka era: 0.9, 0.10, 2.0, 2.5, 3.9 or 4.1.")
    ] = None,
    kind: Annotated[str, typer.Option("--as", help="text or mermaid.")] = "text",
    trace: Annotated[
        str | None, typer.Option(help="Draw what this trace of the scenario has; no --era then.")
    ] = None,
) -> None:
    """Draw who asks what of the coordinator, what it answers, and what it waits for."""
    from jobs.scenario.command import diagram

    sys.stdout.write(diagram(file, era, trace, kind))


def _show_examples(group: typer.Typer, path: str = "") -> None:
    for command in group.registered_commands:
        assert command.callback is not None
        name = command.name or command.callback.__name__.replace("_", "-")
        command.epilog = epilog(f"{path}{name}")
    for below in group.registered_groups:
        if below.typer_instance is not None:
            _show_examples(below.typer_instance, f"{path}{below.name} ")


_show_examples(app)


def main() -> None:
    """Exit 0 done, 1 the answer is no or it failed, 2 a wrong argument or configuration, 130 after
    Ctrl-C.

    Whatever went wrong is said in one line.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # not every terminal can show every name
            stream.reconfigure(errors="backslashreplace")
    handle_ctrl_c()
    try:
        sys.exit(_run())
    except BrokenPipeError:  # `regroup ... | head`
        sys.stderr.close()
        sys.exit(0)


def _run() -> int:
    try:
        return app(standalone_mode=False) or 0
    except BaseException as error:
        _end(error)


def _end(error: BaseException) -> NoReturn:
    if follows_interrupt(error):  # and that has been said
        sys.exit(INTERRUPTED)
    match error:
        case UsageError():
            fail(str(error))
        case RunFailed():
            fail(str(error), code=1)
        case TyperException():
            if type(error).__name__ == "NoArgsIsHelpError":  # `regroup` alone: it is the help
                print(error, flush=True)
                sys.exit(2)
            fail(f"{' '.join(error.format_message().split())} See `regroup --help`.")
        case BrokenPipeError():
            raise error
        case SystemExit() if isinstance(error.__context__, BrokenPipeError):  # typer's answer to it
            raise error.__context__
        case Exception():
            fail_unexpected(error)
    raise error


if __name__ == "__main__":
    main()
