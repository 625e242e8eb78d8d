"""Run all checks, in the order in which a run depends on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jobs.configuration.config import Config, load_config
from jobs.console.errors import UsageError
from jobs.doctor import machine, spark
from jobs.doctor.broker_logs import check_broker_logs
from jobs.doctor.brokers import check_brokers
from jobs.doctor.client_logs import check_client_logs
from jobs.doctor.dumps import check_dump
from jobs.doctor.end_offsets import check_end_offsets
from jobs.doctor.environments import check_environment
from jobs.doctor.lakes import check_lake
from jobs.doctor.results import CheckResult, Severity, failure, ok
from jobs.engine.choice import lake_only_for_spark, reason_for_spark
from jobs.sources.logs.dates import since_ms_of_option
from jobs.sources.topic.kafka import Kafka
from jobs.sources.topic.kafka_settings import kafka_only_for_spark

SPARK_IS_FOR = "--engine spark, register, large input"


@dataclass(frozen=True, kw_only=True)
class DoctorOptions:
    """Options of `regroup doctor`."""

    lake: str | None = None
    kafka: str | None = None
    broker_log: str | None = None
    log_timezone: str | None = None
    conf: str | None = None
    client_log: str | None = None
    log_date: str | None = None
    dump: str | None = None
    end_offsets: str | None = None


def run_checks(options: DoctorOptions) -> Iterator[CheckResult]:
    """Yield each result as soon as it is known.  Changes nothing and leaves no JVM behind.

    Lake, logs, dumps and brokers are checked only if their option is given.  UsageError if
    ``kafka`` is not HOST:PORT.
    """
    config, settings_result = _check_settings(options.conf)
    if options.kafka is not None:
        Kafka(options.kafka)  # raises UsageError before the first result
    yield settings_result
    reason = _reason_for_spark(options, config)
    yield _for_spark(machine.java(), reason)
    yield from spark.packages()
    yield from (_for_spark(result, reason) for result in spark.jars(config))
    yield _for_spark(machine.memory(config), reason)
    yield machine.scratch(config)
    yield machine.time_zone(options.log_timezone or config.log_timezone)
    if options.lake is not None:
        yield from check_lake(options.lake)
    since_ms = since_ms_of_option(options.log_date)
    if options.broker_log is not None:
        timezone = options.log_timezone or config.log_timezone
        yield from check_broker_logs(options.broker_log, timezone, since_ms)
    if options.client_log is not None:
        timezone = options.log_timezone or config.log_timezone
        yield from check_client_logs(options.client_log, timezone, since_ms)
    if options.dump is not None:
        yield from check_dump(options.dump)
    if options.end_offsets is not None:
        timezone = options.log_timezone or config.log_timezone
        yield from check_end_offsets(options.end_offsets, timezone)
    if options.kafka is not None:
        yield from check_environment(options.kafka)
        yield from check_brokers(options.kafka, config)


def _reason_for_spark(options: DoctorOptions, config: Config) -> str | None:
    """Why a run with these options uses Spark; None if the embedded engine suffices."""
    lake = lake_only_for_spark(options.lake) if options.lake else None
    kafka = kafka_only_for_spark(config.kafka) if options.kafka else None
    return reason_for_spark(config, lake or kafka)


def _for_spark(result: CheckResult, reason: str | None) -> CheckResult:
    """A failure that only Spark would have is a warning if the embedded engine suffices."""
    if reason or result.severity is not Severity.FAILURE:
        return result
    return result._replace(
        severity=Severity.WARNING,
        text=f"{result.text}; the embedded engine does not need it",
        remedy=f"for Spark ({SPARK_IS_FOR}): {result.remedy}",
    )


def _check_settings(conf: str | None) -> tuple[Config, CheckResult]:
    """The configuration; if it is not valid, the default one, so that the other checks can run."""
    try:
        return load_config(conf), ok("settings", conf or "conf/local.toml, the default")
    except UsageError as error:
        remedy = "correct it; `regroup init` writes a file with every setting"
        return load_config(None), failure("settings", str(error), remedy)
