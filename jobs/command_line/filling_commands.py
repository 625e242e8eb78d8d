"""Commands that fill a lake: from logs and records, from a running cluster, job by job."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from jobs.command_line.options import (
    ClusterOption,
    ConfOption,
    DateOption,
    EngineOption,
    FormatOption,
    FromOption,
    LakeOption,
    LogDateOption,
    LogTimezoneOption,
    NotifyOption,
    PrometheusOption,
    SourceOptions,
    ToOption,
    with_sources,
)
from jobs.console.printing import Format
from jobs.nightly_run.pipeline import JOBS, Progress, job, run_all

commands = typer.Typer()


@commands.command()
@with_sources
def nightly(
    sources: SourceOptions,
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
            help="After all jobs, try the standard changes of what-if for groups that may gain.",
        ),
    ] = True,
    advice_budget: Annotated[
        float | None,
        typer.Option(
            help="Seconds of simulation for advice (estimated for an idle machine); default: 15,"
            " plus 0.25 ms per rebalance.",
            min=0,
        ),
    ] = None,
    engine: EngineOption = None,
    conf: ConfOption = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Read new input and compute all tables.  Runs ingest and all jobs in order."""
    from jobs.configuration.config import load_config
    from jobs.nightly import NightlyOptions, nightly_command

    if anew:
        print("regroup: --anew is now --recompute-all", file=sys.stderr)
    options = NightlyOptions(
        **vars(sources),
        date=date,
        first=first,
        last=last,
        recompute_all=recompute_all or anew,
        advice=advice,
        advice_budget=advice_budget,
    )
    nightly_command(options, load_config(conf, engine), format)


@commands.command()
@with_sources
def watch(
    sources: SourceOptions,
    every: Annotated[
        str, typer.Option(help="Time between the starts of two passes: 90s, 15m, 1h.")
    ] = "60s",
    out: Annotated[
        str | None, typer.Option(help="Also write the page of `report` after each change.")
    ] = None,
    prometheus: PrometheusOption = None,
    notify: NotifyOption = False,
    passes: Annotated[
        int | None, typer.Option(help="Stop after this number of passes; default: never.", min=1)
    ] = None,
    memory_growth_mib: Annotated[
        int,
        typer.Option(help="Embedded engine: replace the process after this growth.", min=1),
    ] = 1024,
    engine: EngineOption = None,
    conf: ConfOption = None,
) -> None:
    """Run nightly and alerts repeatedly.  Reads new input; prints a line per pass."""
    from jobs.configuration.config import load_config
    from jobs.nightly import NightlyOptions
    from jobs.watch.passes import Watch, WatchOptions

    options = NightlyOptions(**vars(sources))
    watch = WatchOptions(
        nightly=options,
        every=every,
        out=out,
        prometheus=prometheus,
        passes=passes,
        notifies=notify,
        memory_growth_mib=memory_growth_mib,
    )
    config = load_config(conf, engine)
    Watch(options=watch, config=config, reload=lambda: load_config(conf, engine)).run()


@commands.command()
@with_sources
def ingest(
    sources: SourceOptions,
    engine: EngineOption = None,
    conf: ConfOption = None,
) -> None:
    """Read input into the bronze tables.  Computes no other table."""
    from jobs import ingest as ingest_job
    from jobs.configuration.config import load_config
    from jobs.nightly import (
        NightlyOptions,
        account_for,
        inputs_of,
        open_lake_of,
        require_brokers,
    )

    config = load_config(conf, engine)
    options = NightlyOptions(**vars(sources))
    inputs = inputs_of(options, config)
    options.require_source()
    require_brokers(inputs)
    lake = open_lake_of(options, inputs, config)
    account_for(lake, inputs, ingest_job.run(lake, inputs), Progress())


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
        from jobs.configuration.config import load_config
        from jobs.lake.dates import date_range
        from jobs.lake.existing import open_existing_lake
        from jobs.lake.scope import scope_of

        dates = date_range(date, first, last)
        existing = open_existing_lake(lake, cluster_id, load_config(conf, engine))
        if name in JOBS:
            run_all(scope_of(existing, dates.first, dates.last), Progress(), [name])
        else:
            with existing.derivation_lock():
                job(name).run(existing)

    commands.command(name, help=f"Run job {name} only.", hidden=name not in JOBS)(command)


# The last two jobs compute all dates at once, and nightly does not run them.
for _name in (*JOBS, "incident_replay", "what_if_sweep"):
    _add_job(_name)


@commands.command()
def topic_partitions(
    lake: LakeOption,
    cluster_id: ClusterOption,
    file: Annotated[
        str, typer.Option(help="Output of kafka-topics.sh --describe, CSV or JSON Lines.")
    ],
    engine: EngineOption = None,
    conf: ConfOption = None,
) -> None:
    """Record the partition counts of topics.  Each line of the file is topic,partitions[,since]."""
    from jobs.configuration.config import load_config
    from jobs.lake.existing import open_new_or_existing_lake
    from jobs.topic_partitions import read_file, run

    counts = read_file(file)
    run(open_new_or_existing_lake(lake, cluster_id, load_config(conf, engine)), counts)


@commands.command()
def snapshot(
    lake: LakeOption,
    cluster_id: ClusterOption,
    bootstrap: Annotated[
        str | None, typer.Option(help="Brokers to query: HOST:PORT[,HOST:PORT...].")
    ] = None,
    every: Annotated[
        str | None,
        typer.Option(help="Time between the starts of two snapshots: 30s, 5m (default: 30s)."),
    ] = None,
    lasts: Annotated[
        str | None,
        typer.Option(
            "--for", help="Last time at which a snapshot may start, as time from now: 90s, 10m, 1h."
        ),
    ] = None,
    count: Annotated[int | None, typer.Option(help="Number of snapshots.", min=1)] = None,
    describe: Annotated[
        str | None,
        typer.Option(
            help="File with output of `kafka-consumer-groups --describe`, instead of brokers; a "
            "line before each output has its date. Path, folder, glob or URI."
        ),
    ] = None,
    log_timezone: LogTimezoneOption = None,
    log_date: LogDateOption = None,
    conf: ConfOption = None,
) -> None:
    """Store the state of all groups.  Reads brokers, or output of kafka-consumer-groups."""
    from jobs.configuration.config import load_config, valid_timezone
    from jobs.console.errors import UsageError
    from jobs.snapshot import DescribeOptions, SnapshotOptions, snapshots_of_files
    from jobs.snapshot import snapshot as run
    from jobs.sources.logs.dates import since_ms_of_option

    config = load_config(conf)
    if bootstrap is not None and describe is None:
        run(SnapshotOptions(lake, cluster_id, bootstrap, every, lasts, count), config)
    elif describe is not None and bootstrap is None:
        timezone = valid_timezone(log_timezone or config.log_timezone)
        since_ms = since_ms_of_option(log_date)
        snapshots_of_files(DescribeOptions(lake, cluster_id, describe, timezone, since_ms))
    else:
        raise UsageError("give either --bootstrap or --describe")
