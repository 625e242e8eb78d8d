"""Commands for an installation: its settings, jars and checks, and a first lake."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from jobs.command_line.options import (
    BrokerLogOption,
    ClientLogOption,
    ConfOption,
    DumpOption,
    EndOffsetsOption,
    FormatOption,
    KafkaOption,
    LogDateOption,
    LogTimezoneOption,
)
from jobs.console.printing import Format
from jobs.console.spinner import spinner

commands = typer.Typer()


@commands.command()
def init(
    out: Annotated[str, typer.Option(help="File to write; an existing file is not changed.")] = (
        "regroup.toml"
    ),
) -> None:
    """Write a configuration file.  It has every setting, its default and its meaning."""
    from jobs.command_line.init_config import write

    write(out)
    print(f"wrote {out}; use it with --conf {out}", file=sys.stderr)


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
