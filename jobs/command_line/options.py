"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

from jobs.configuration.config import Engine
from jobs.console.printing import Format

LakeOption = Annotated[str, typer.Option("--lake", help="Folder or URI of the Delta tables.")]
ClusterOption = Annotated[str, typer.Option("--cluster-id", help="Name of the Kafka cluster.")]
ConfOption = Annotated[
    str | None, typer.Option("--conf", help="TOML file with settings (default: conf/local.toml).")
]
EngineOption = Annotated[
    Engine | None,
    typer.Option(
        "--engine",
        envvar="REGROUP_ENGINE",
        help="Engine of the jobs; auto uses Spark for clusters and large input (default: auto).",
    ),
]
SegmentsOption = Annotated[
    str | None, typer.Option(help="__consumer_offsets segment files: path, folder, glob or URI.")
]
BrokerLogOption = Annotated[
    str | None, typer.Option(help="Brokers' server.log files: path, folder, glob or URI.")
]
ClientLogOption = Annotated[
    str | None, typer.Option(help="Consumers' logs: path, folder, glob or URI.")
]
LogTimezoneOption = Annotated[
    str | None, typer.Option(help="Time zone of the log lines, e.g. Europe/Berlin.")
]
DumpOption = Annotated[
    str | None,
    typer.Option(help="Exported __consumer_offsets records: Parquet, Delta, JSON Lines or Avro."),
]
TraceOption = Annotated[
    str | None, typer.Option(help="Traces of the coordinator model: path, folder, glob or URI.")
]
KafkaOption = Annotated[
    str | None,
    typer.Option(help="Brokers to read __consumer_offsets from: HOST:PORT[,HOST:PORT...]."),
]
DateOption = Annotated[str | None, typer.Option(help="Only this UTC date.")]
FromOption = Annotated[str | None, typer.Option("--from", help="First UTC date of a range.")]
ToOption = Annotated[str | None, typer.Option("--to", help="Last UTC date of a range.")]
FromTimeOption = Annotated[
    str | None,
    typer.Option(
        "--from",
        help="Only generations that end at or after this UTC time; 00:47 is of the last date.",
    ),
]
ToTimeOption = Annotated[
    str | None,
    typer.Option(
        "--to", help="Only generations that begin by this UTC time; 00:47 is of the last date."
    ),
]
FormatOption = Annotated[Format, typer.Option("--format", help="Output format of rows.")]
