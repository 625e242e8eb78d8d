"""Commands for an installation: its settings, jars and checks, and a first lake."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from jobs.command_line.options import (
    BrokerLogOption,
    ClientLogOption,
    ConfOption,
    DumpOption,
    EndOffsetsOption,
    FormatOption,
    InputOptions,
    KafkaOption,
    LogDateOption,
    LogTimezoneOption,
    with_sources,
)
from jobs.console.errors import UsageError
from jobs.console.printing import Format
from jobs.console.spinner import spinner

commands = typer.Typer()


@commands.command()
@with_sources
def init(
    inputs: InputOptions,
    lake: Annotated[
        str | None, typer.Option("--lake", help="Folder or URI of the lake; default: lake.")
    ] = None,
    cluster_id: Annotated[
        str | None, typer.Option("--cluster-id", help="Name of the cluster; default: kafka.")
    ] = None,
    out: Annotated[str, typer.Option(help="File to write; an existing file is not changed.")] = (
        "regroup.toml"
    ),
) -> None:
    """Write a configuration file.  The file has every setting, and the sources that are given as
    options.

    Checks the sources first.  On a terminal, the command asks for what is not given.
    """
    from jobs.command_line.init_config import absolute, asked, write
    from jobs.console.errors import RunFailed
    from jobs.doctor import DoctorOptions, print_sources

    if Path(out).exists():
        raise UsageError(f"--out {out}: exists already and is not changed; give another --out")
    options = {"lake": lake, "cluster_id": cluster_id, **vars(inputs)}
    options.pop("log_date")
    values = {name: value for name, value in options.items() if value is not None}
    if not values and sys.stdin.isatty():
        values = asked()
    if Path(out).parent != Path():  # Paths in a file are relative to the file's folder.
        values = {name: absolute(name, value) for name, value in values.items()}
    if values:
        values = {"lake": "lake", "cluster_id": "kafka"} | values
    checked = {name: values.get(name) for name in DoctorOptions.__dataclass_fields__}
    if not print_sources(DoctorOptions(**checked)):
        raise RunFailed(f"{out} is not written: a source cannot be read; correct its option")
    write(out, values)
    use = "" if out == "regroup.toml" else f" --conf {shlex.quote(out)}"
    print(f"wrote {out}; next: regroup doctor{use}, regroup nightly{use}", file=sys.stderr)


@commands.command()
def demo(
    lake: Annotated[str, typer.Option(help="Folder for the demo's tables.")] = ".demo/lake",
) -> None:
    """Run nightly on two packaged incidents.  Prints every rebalance and its causes."""
    from jobs.nightly_run.demo import demo as run

    raise typer.Exit(run(lake))


@commands.command()
def jars() -> None:
    """Fetch the jars that Spark needs.  Gets Delta and the Kafka connector from the Maven
    registry, and archives their classes, so that Spark starts faster.
    """
    from jobs.engine.jars import fetch_spark_jars
    from jobs.nightly_run.class_archive import archive_classes

    with spinner("jars"):
        outcomes = [fetch_spark_jars(), archive_classes()]
    print(*outcomes, sep="\n", file=sys.stderr)


@commands.command()
def doctor(
    lake: Annotated[
        str | None, typer.Option("--lake", help="Folder or URI of the Delta tables.")
    ] = None,
    kafka: KafkaOption = None,
    broker_log: BrokerLogOption = None,
    client_log: ClientLogOption = None,
    log_timezone: LogTimezoneOption = None,
    log_date: LogDateOption = None,
    dump: DumpOption = None,
    end_offsets: EndOffsetsOption = None,
    conf: ConfOption = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Check machine, settings and sources before a run.  Exit 1 if a run would fail."""
    from jobs.doctor import DoctorOptions, print_results, run_checks

    options = DoctorOptions(
        lake=lake,
        kafka=kafka,
        broker_log=broker_log,
        log_timezone=log_timezone,
        conf=conf,
        client_log=client_log,
        log_date=log_date,
        dump=dump,
        end_offsets=end_offsets,
    )
    results = run_checks(options)
    raise typer.Exit(print_results(results, format))
