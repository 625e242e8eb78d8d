"""All checks in the order in which a run would meet what they look at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jobs.command_line.config import Config, load_config
from jobs.console.errors import UsageError
from jobs.doctor import broker_logs, brokers, lakes, machine, spark
from jobs.doctor.finding import Finding, failure, ok
from jobs.sources.kafka import Kafka


@dataclass(frozen=True)
class Request:
    """The command line of `regroup doctor`, as given."""

    lake: str | None = None
    kafka: str | None = None
    broker_log: str | None = None
    log_timezone: str | None = None
    conf: str | None = None


def examine(request: Request) -> Iterator[Finding]:
    """Findings as they are made.  Nothing is changed, no JVM stays; what was not asked for
    (a lake, a log, brokers) is left out.  UsageError for brokers that are no HOST:PORT."""
    config, about_it = _settings(request.conf)
    if request.kafka is not None:
        Kafka(request.kafka)  # raises UsageError before anything is said
    yield about_it
    yield machine.java()
    yield from spark.packages()
    yield from spark.jars(config)
    yield machine.memory(config)
    yield machine.scratch(config)
    yield machine.time_zone(request.log_timezone or config.log_timezone)
    if request.lake is not None:
        yield from lakes.examine(request.lake)
    if request.broker_log is not None:
        zone = request.log_timezone or config.log_timezone
        yield from broker_logs.examine(request.broker_log, zone)
    if request.kafka is not None:
        yield from brokers.examine(request.kafka, config)


def _settings(conf: str | None) -> tuple[Config, Finding]:
    """The configuration; where it is wrong the default one, so that the others are looked at."""
    try:
        return load_config(conf), ok("settings", conf or "conf/local.toml, the default")
    except UsageError as error:
        remedy = "correct it; `regroup init` writes a file that has every setting"
        return load_config(None), failure("settings", str(error), remedy)
