"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any

import typer

from jobs.configuration.config import Engine
from jobs.console.printing import Format

LakeOption = Annotated[str, typer.Option("--lake", help="Folder or URI of the Delta tables.")]
ClusterOption = Annotated[str, typer.Option("--cluster-id", help="Name of the Kafka cluster.")]
ConfOption = Annotated[
    str | None,
    typer.Option(
        "--conf", help="TOML file with settings (default: regroup.toml, if there is one)."
    ),
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
LogDateOption = Annotated[
    str | None,
    typer.Option(
        "--log-date",
        "--since",
        help="Date (and time) of the first log line, or a time before it. Completes lines "
        "without a date, without a year, or with an ambiguous order of day and month.",
    ),
]
DumpOption = Annotated[
    str | None,
    typer.Option(
        help="Exported __consumer_offsets records: Parquet, Delta, JSON Lines, Avro, or printed by"
        " kafka-dump-log, kafka-console-consumer or kcat."
    ),
]
TraceOption = Annotated[
    str | None, typer.Option(help="Traces of the coordinator model: path, folder, glob or URI.")
]
EndOffsetsOption = Annotated[
    str | None,
    typer.Option(
        help="Log end offsets of topics, for the lag: JSON Lines, or output of Burrow, Prometheus,"
        " kafka-get-offsets or kafka-consumer-groups; path, folder, glob or URI."
    ),
]
BrokerConfigOption = Annotated[
    str | None,
    typer.Option(
        help="Settings in force, for advice: server.properties of brokers, or output of"
        " kafka-configs.sh --describe; versions of brokers: output of kafka-features.sh or"
        " kafka-broker-api-versions.sh; path, folder, glob or URI."
    ),
]
KafkaOption = Annotated[
    str | None,
    typer.Option(help="Brokers to read __consumer_offsets from: HOST:PORT[,HOST:PORT...]."),
]
DateOption = Annotated[str | None, typer.Option(help="Only this UTC date.")]
FromOption = Annotated[
    str | None, typer.Option("--from", help="First UTC date (or time on it) of a range.")
]
ToOption = Annotated[
    str | None, typer.Option("--to", help="Last UTC date (or time on it) of a range.")
]
FromTimeOption = Annotated[
    str | None,
    typer.Option(
        "--from",
        help="Only generations that end at or after this UTC time, or time of the last date, e.g."
        " 00:47.",
    ),
]
ToTimeOption = Annotated[
    str | None,
    typer.Option(
        "--to",
        help="Only generations that begin by this UTC time, or time of the last date, e.g. 00:47.",
    ),
]
OnlyGroupOption = Annotated[
    str | None, typer.Option(help="Only this consumer group; default: all groups.")
]
EraOption = Annotated[
    str | None, typer.Option(help="Kafka era; default: detected from log and records.")
]
PrometheusOption = Annotated[
    str | None,
    typer.Option(help="Also write metrics to this file for Prometheus' textfile collector."),
]
NotifyOption = Annotated[
    bool, typer.Option("--notify", help="Send new alerts to the webhooks of --conf.")
]
FormatOption = Annotated[Format, typer.Option("--format", help="Output format of rows.")]


@dataclass(frozen=True, kw_only=True)
class InputOptions:
    """The options that name logs and records."""

    segments: SegmentsOption = None
    kafka: KafkaOption = None
    dump: DumpOption = None
    broker_log: BrokerLogOption = None
    trace: TraceOption = None
    client_log: ClientLogOption = None
    end_offsets: EndOffsetsOption = None
    broker_config: BrokerConfigOption = None
    log_timezone: LogTimezoneOption = None
    log_date: LogDateOption = None


@dataclass(frozen=True, kw_only=True)
class _LakeOptions:
    lake: LakeOption
    cluster_id: ClusterOption


@dataclass(frozen=True, kw_only=True)
class SourceOptions(InputOptions, _LakeOptions):
    """The options of commands that fill a lake from sources."""


def with_sources(command: Callable[..., None]) -> Callable[..., None]:
    """The command with an option per field of its first parameter, which is InputOptions or has
    these options, too."""
    first, *own = _parameters(command)
    of_sources = _parameters(first.annotation)

    @wraps(command)
    def expanded(**values: Any) -> None:
        sources = {parameter.name: values.pop(parameter.name) for parameter in of_sources}
        command(first.annotation(**sources), **values)

    parameters = [*of_sources, *own]
    expanded.__annotations__ = {each.name: each.annotation for each in parameters}
    expanded.__signature__ = Signature(parameters)  # type: ignore[attr-defined]  # typer reads it
    return expanded


def _parameters(of: Callable[..., object]) -> list[Parameter]:
    each = signature(of, eval_str=True).parameters.values()
    return [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in each]
