"""Run all checks, in the order in which a run depends on them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from coordinator_core.figures import counted
from jobs.configuration.config import Config, load_config
from jobs.configuration.distributions import INSTALL_SPARK, NO_SPARK, has_spark
from jobs.configuration.keys import KEYS, OTHER_VARIABLES
from jobs.configuration.packaged_files import CONF, DEFAULT, configuration_file
from jobs.configuration.references import is_reference, resolved
from jobs.console.errors import UsageError
from jobs.console.output_files import require_writable
from jobs.console.printing import printable
from jobs.console.secrets import is_secret
from jobs.console.similar_names import meant
from jobs.doctor import machine, spark
from jobs.doctor.broker_logs import check_broker_logs
from jobs.doctor.brokers import check_brokers
from jobs.doctor.client_logs import check_client_logs
from jobs.doctor.dumps import check_dump
from jobs.doctor.end_offsets import check_end_offsets
from jobs.doctor.environments import check_environment
from jobs.doctor.lakes import check_lake
from jobs.doctor.results import CheckResult, Severity, failure, ok, warning, without_secrets_of
from jobs.engine.choice import lake_only_for_spark, reason_for_spark
from jobs.lake.files import list_files
from jobs.sources import trace
from jobs.sources.configurations import files as configurations
from jobs.sources.logs.dates import since_ms_of_option
from jobs.sources.topic import segments
from jobs.sources.topic.kafka import Kafka
from jobs.sources.topic.kafka_settings import kafka_only_for_spark

_SOURCES = ("broker_log", "client_log", "dump", "end_offsets", "kafka")
# Keys of a cluster whose files are only listed, because their contents have no check.
_FILES: dict[str, Callable[[str], list[str]]] = {
    "segments": segments.segment_files,
    "trace": partial(list_files, option="trace", name_like=trace.FILES_LIKE),
    "broker_config": partial(
        list_files, option="broker_config", name_like=configurations.FILES_LIKE
    ),
}
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

    Lake, logs, dumps and brokers are checked if their option is given.  Without options for
    sources, the sources of each cluster in the configuration are checked.  Raises UsageError if
    ``kafka`` is not HOST:PORT.
    """
    config, settings_result = _check_settings(options.conf)
    if options.kafka is not None:
        Kafka(options.kafka)  # This raises UsageError before the first result.
    yield settings_result
    yield from _check_variables()
    yield from _check_secrets(config)
    reason = _reason_for_spark(options, config)
    no_spark = None if has_spark() else failure("spark", NO_SPARK, INSTALL_SPARK)
    yield _for_spark(no_spark or machine.java(), reason)
    yield from spark.packages()
    if no_spark is None:
        yield from (_for_spark(result, reason) for result in spark.jars(config))
        yield _for_spark(machine.memory(config), reason)
    yield machine.scratch(config)
    yield machine.time_zone(options.log_timezone or config.log_timezone)
    if options.lake is not None:
        yield from check_lake(options.lake)
    if any(getattr(options, name) is not None for name in _SOURCES):
        yield from _check_sources(options, config)
        return
    for name, own in config.clusters.items():
        yield from (
            result._replace(text=f"{name}: {result.text}")
            for result in _check_cluster(replace(options, **_options(own)), own, config)
        )


def print_sources(options: DoctorOptions) -> bool:
    """Print the checks of the sources alone on stderr. Returns False if files cannot be read.

    Brokers may not answer yet: [kafka] of a new configuration lacks their security settings.
    """
    results = list(_check_sources(options, load_config(options.conf)))
    for check, severity, text, remedy in map(without_secrets_of, results):
        hint = f" -> {printable(remedy)}" if remedy else ""
        print(f"{severity:<9} {check}: {printable(text)}{hint}", file=sys.stderr)
    return all(r.severity is not Severity.FAILURE or r.check == "kafka" for r in results)


def _options(own: dict[str, str]) -> dict[str, str]:
    return {
        name: value for name, value in own.items() if name in _SOURCES or name == "log_timezone"
    }


def _check_cluster(
    options: DoctorOptions, own: dict[str, str], config: Config
) -> Iterator[CheckResult]:
    """The sources and output files of a cluster in the configuration."""
    try:
        resolved(own, "clusters")
        for name in ("page", "prometheus"):
            require_writable(name, own.get(name))
        for name in sorted(_FILES.keys() & own.keys()):
            count = len(_FILES[name](own[name]))
            yield ok(name, f"{counted(count, 'file')} in {own[name]}")
        if own.get("lake", options.lake) != options.lake:
            yield from check_lake(own["lake"])
        yield from _check_sources(options, config)
    except UsageError as error:
        yield failure("cluster", str(error), "correct it in the configuration")


def _check_sources(options: DoctorOptions, config: Config) -> Iterator[CheckResult]:
    timezone = options.log_timezone or config.log_timezone
    since_ms = since_ms_of_option(options.log_date)
    if options.broker_log is not None:
        yield from check_broker_logs(options.broker_log, timezone, since_ms)
    if options.client_log is not None:
        yield from check_client_logs(options.client_log, timezone, since_ms)
    if options.dump is not None:
        yield from check_dump(options.dump)
    if options.end_offsets is not None:
        yield from check_end_offsets(options.end_offsets, timezone)
    if options.kafka is not None:
        yield from check_environment(options.kafka)
        yield from check_brokers(options.kafka, config)


def _reason_for_spark(options: DoctorOptions, config: Config) -> str | None:
    """Why a run with these options uses Spark, or None if the embedded engine suffices."""
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
    """The configuration.

    If it is not valid, the default configuration, so that the other checks can run.
    """
    file = configuration_file(conf)
    is_default = file == CONF / DEFAULT
    try:
        config = load_config(conf)
    except UsageError as error:
        remedy = "correct it; `regroup init` writes a file with every setting"
        return load_config(str(CONF / DEFAULT)), failure("settings", str(error), remedy)
    text = "conf/local.toml, the default" if is_default else str(conf or file)
    if config.clusters:
        text += f": clusters {', '.join(config.clusters)}"
    return config, ok("settings", text)


def _check_secrets(config: Config) -> Iterator[CheckResult]:
    """Warn of secrets in the file, and of references to values that are not set."""
    written = [name for name, text in config.kafka.items() if is_secret(name)]
    for name in written:
        if not is_reference(config.kafka[name]) and not os.path.exists(config.kafka[name]):
            remedy = 'give a reference: "${env:NAME}" or "${file:PATH}"'
            yield warning("secrets", f"[kafka] {name} has a literal value in the file", remedy)
    try:
        config.kafka_settings()
    except UsageError as error:
        yield failure("secrets", str(error), "set the environment variable where regroup runs")


def _check_variables() -> Iterator[CheckResult]:
    """Warn about environment variables that resemble the variables of keys."""
    variables = {*(key.variable for key in KEYS), *OTHER_VARIABLES}
    for name in sorted(os.environ):
        if name.startswith("REGROUP_") and name not in variables:
            text = f"environment variable {name} is not one of Regroup's"
            yield warning("settings", text, meant(name, sorted(variables)))
