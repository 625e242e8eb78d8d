"""Run all checks, in the order in which a run depends on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jobs.command_line.config import Config, load_config
from jobs.console.errors import UsageError
from jobs.doctor import machine, spark
from jobs.doctor.broker_logs import check_broker_logs
from jobs.doctor.brokers import check_brokers
from jobs.doctor.lakes import check_lake
from jobs.doctor.results import CheckResult, failure, ok
from jobs.sources.kafka import Kafka


@dataclass(frozen=True)
class DoctorOptions:
    """Options of `regroup doctor`."""

    lake: str | None = None
    kafka: str | None = None
    broker_log: str | None = None
    log_timezone: str | None = None
    conf: str | None = None


def run_checks(options: DoctorOptions) -> Iterator[CheckResult]:
    """Yield each result as soon as it is known.  Changes nothing and leaves no JVM behind.

    Lake, logs and brokers are checked only if their option is given.  UsageError if ``kafka`` is
    not HOST:PORT.
    """
    config, settings_result = _check_settings(options.conf)
    if options.kafka is not None:
        Kafka(options.kafka)  # raises UsageError before the first result
    yield settings_result
    yield machine.java()
    yield from spark.packages()
    yield from spark.jars(config)
    yield machine.memory(config)
    yield machine.scratch(config)
    yield machine.time_zone(options.log_timezone or config.log_timezone)
    if options.lake is not None:
        yield from check_lake(options.lake)
    if options.broker_log is not None:
        timezone = options.log_timezone or config.log_timezone
        yield from check_broker_logs(options.broker_log, timezone)
    if options.kafka is not None:
        yield from check_brokers(options.kafka, config)


def _check_settings(conf: str | None) -> tuple[Config, CheckResult]:
    """The configuration; if it is not valid, the default one, so that the other checks can run."""
    try:
        return load_config(conf), ok("settings", conf or "conf/local.toml, the default")
    except UsageError as error:
        remedy = "correct it; `regroup init` writes a file with every setting"
        return load_config(None), failure("settings", str(error), remedy)
