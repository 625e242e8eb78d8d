"""Commands that decode records, and that compute with the models of coordinators and clients."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import Annotated

import typer

from jobs.command_line.options import (
    ClusterOption,
    ConfOption,
    EngineOption,
    EraOption,
    FormatOption,
    FromTimeOption,
    LakeOption,
    ToTimeOption,
)
from jobs.console.errors import UsageError
from jobs.console.printing import Format, print_rows
from jobs.console.spinner import spinner

commands = typer.Typer()


@commands.command()
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


@commands.command()
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


@commands.command()
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
        int | None,
        typer.Option(help="Number of groups, copies of the spec's groups (with --lake)."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed; default: seed of the spec.")] = None,
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
        from jobs.configuration.config import load_config

        config = load_config(conf, engine)
        print(job.simulate_into(lake, cluster_id, spec, seed, groups, config), file=sys.stderr)
    else:
        raise UsageError("give --out, or --lake and --cluster-id (and --groups)")


@commands.command()
def replay(
    lake: LakeOption,
    cluster_id: ClusterOption,
    group: Annotated[
        str | None,
        typer.Option(help="Consumer group; default: all groups, into table incident_replay."),
    ] = None,
    first: FromTimeOption = None,
    last: ToTimeOption = None,
    era: EraOption = None,
    engine: EngineOption = None,
    conf: ConfOption = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Replay an incident in the coordinator model.  Exit 1 if a generation diverges."""
    from jobs.configuration.config import load_config
    from jobs.incident_replay import run_all as replay_all
    from jobs.replay import command

    if group is not None:
        options = command.ReplayOptions(lake, cluster_id, group, first, last, era)
        raise typer.Exit(command.run_one(options, format))
    if first or last or era:
        raise UsageError("--from, --to and --era: give --group, too")
    raise typer.Exit(replay_all(lake, cluster_id, load_config(conf, engine), format))


PreferOption = Annotated[
    str,
    typer.Option(
        help="Figure that advice reduces: downtime (of partitions), rebalances, reprocessed"
        " (records) or lag (pauses of consumption)."
    ),
]


DeployAsOption = Annotated[
    str | None,
    typer.Option(
        help="Form of the lines to paste for consumers: properties, env, spring, kubernetes,"
        " compose, connect, streams or librdkafka; default: as the evidence shows."
    ),
]


@commands.command("what-if")
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
            "default: try up to thirteen changes and give advice.",
        ),
    ] = None,
    more: Annotated[list[str] | None, typer.Argument(metavar="[KEY=VALUE]...")] = None,
    first: Annotated[str | None, typer.Option("--from", help="Start of the incident, UTC.")] = None,
    last: Annotated[str | None, typer.Option("--to", help="End of the incident, UTC.")] = None,
    era: EraOption = None,
    seeds: Annotated[
        int,
        typer.Option(help="Number of simulation runs; each run draws the uncertain times again."),
    ] = 3,
    deploy_as: DeployAsOption = None,
    prefer: PreferOption = "downtime",
    format: FormatOption = Format.TABLE,
) -> None:
    """Predict a group's rebalances with other settings.  Compares prediction and observation."""
    from jobs.what_if import command as job

    settings = (*(set_ or ()), *(more or ()))
    job.run(
        job.WhatIfOptions(
            lake=lake,
            cluster_id=cluster_id,
            group_id=group,
            settings=settings,
            seeds=seeds,
            prefer=prefer,
            first=first,
            last=last,
            era=era,
            deploy_as=deploy_as,
        ),
        format,
    )


@commands.command()
def plan(
    lake: LakeOption,
    cluster_id: ClusterOption,
    group: Annotated[str, typer.Option(help="Consumer group.")],
    processes: Annotated[
        int | None,
        typer.Option(
            help="Number of processes to deploy; default: the number of running processes."
        ),
    ] = None,
    restart_time: Annotated[
        str | None,
        typer.Option(
            help="Time from the stop of a process to its next join, e.g. 20s; default: as observed."
        ),
    ] = None,
    prefer: Annotated[
        str,
        typer.Option(
            help="Figure that the recommended deployment minimises: downtime, rebalances or"
            " reprocessed (records)."
        ),
    ] = "downtime",
    scale: Annotated[
        str | None,
        typer.Option(
            help="Plan a change of the number of processes, not a deployment: before and after, "
            "e.g. 6..12."
        ),
    ] = None,
    autoscaler: Annotated[
        str | None,
        typer.Option(
            help="KEDA ScaledObject (YAML); compares its policy with others on the observed load."
        ),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            help="Simulation runs per way to deploy; default: 16, fewer above 8 processes."
        ),
    ] = None,
    era: EraOption = None,
    deploy_as: DeployAsOption = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Compare ways to deploy a group.  Predicts the figures of each way."""
    from jobs.what_if import autoscale
    from jobs.what_if import plan as job

    if autoscaler is not None:
        if any(each is not None for each in (scale, processes, deploy_as)):
            raise UsageError("give --autoscaler without --scale, --processes and --deploy-as")
        autoscale.run(
            autoscale.AutoscaleOptions(
                lake=lake, cluster_id=cluster_id, group_id=group, file=autoscaler, era=era
            ),
            format,
        )
        return
    job.run(
        job.PlanOptions(
            lake=lake,
            cluster_id=cluster_id,
            group_id=group,
            processes=processes,
            restart_time=restart_time,
            seeds=seeds,
            prefer=prefer,
            scale=scale,
            era=era,
            deploy_as=deploy_as,
        ),
        format,
    )


@commands.command()
def gate(
    lake: LakeOption,
    cluster_id: ClusterOption,
    group: Annotated[str, typer.Option(help="Consumer group.")],
    since: Annotated[
        str,
        typer.Option(
            help="When the deployment began: UTC time, or how long ago it began, e.g. 15m."
        ),
    ],
    processes: Annotated[
        int | None,
        typer.Option(help="Number of processes that must run; default: as many as before."),
    ] = None,
    timeout: Annotated[
        str | None,
        typer.Option(
            help="Time limit for repeated checks of the lake, e.g. 5m; default: check once."
        ),
    ] = None,
) -> None:
    """Check that a deployment is complete.  Exit 1 if not; prints what is missing."""
    from jobs.what_if import gate as job

    options = job.GateOptions(
        lake=lake,
        cluster_id=cluster_id,
        group_id=group,
        since=since,
        processes=processes,
        timeout=timeout,
    )
    raise typer.Exit(job.run(options))


@commands.command("what-if-sweep")
def what_if_sweep(
    lake: LakeOption,
    cluster_id: ClusterOption,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="'KEY=VALUE ...'",
            help="A combination of settings to simulate; repeatable. Default: up to thirteen "
            "combinations.",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Number of simulation runs per combination.")] = 3,
    prefer: PreferOption = "downtime",
    engine: EngineOption = None,
    conf: ConfOption = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Predict all groups with many settings.  The result also says which groups to migrate.

    Writes process_lives, what_if, advice and migration_advice.
    """
    from jobs.configuration.config import load_config
    from jobs.what_if.sweep_command import SweepOptions
    from jobs.what_if.sweep_command import run_all as sweep_all

    config = load_config(conf, engine)
    options = SweepOptions(lake, cluster_id, tuple(set_ or ()), seeds, prefer)
    sweep_all(options, config, format)
