"""Write a configuration file with every setting, its default and its meaning."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from jobs.configuration.alert_settings import AlertSettings, Thresholds
from jobs.configuration.config import ISOLATION_LEVELS, Config
from jobs.configuration.packaged_files import CONF
from jobs.configuration.slo_settings import Objectives
from jobs.console.errors import UsageError
from jobs.sources.topic.kafka import OFFSETS_PER_SLICE, SLICE_SETTING

HEAD = """\
# Settings of Regroup with their defaults: `regroup nightly --conf {name} ...`.
# Defaults of missing settings: Spark's own in [spark], "ERROR" for log_level, else these values.
"""
LOG_LEVEL = 'log level of Spark on stderr: "OFF" (a failure is one line), "ERROR", "WARN", "INFO"'
ENGINE = 'what runs the jobs: "auto", "embedded" (no Java) or "spark"; see --engine'
EMBEDDED_LIMIT = "MiB of input above which auto uses Spark"
TIMEZONE = "time zone of log lines without a zone, such as Europe/Berlin; see --log-timezone"
SPARK = {
    "spark.master": 'where jobs run: "local[*]" (this machine, all cores) or a cluster\'s URL',
    "spark.ui.enabled": "Spark's web page of a run",
    "spark.ui.showConsoleProgress": "Spark's progress bars on stderr",
    "spark.driver.memory": "heap of the JVM; Python workers need additional memory",
    "spark.sql.codegen.wholeStage": "compile queries: faster for hours of data, slower for minutes",
    "spark.sql.codegen.factoryMode": '"NO_CODEGEN", or "FALLBACK" to compile expressions, too',
    "spark.driver.extraJavaOptions": "JVM options for a fast start; remove them for hours of data",
    "spark.driver.bindAddress": "loopback: a local run needs no connections from outside",
    "spark.driver.host": "loopback: the driver's address",
    "spark.sql.shuffle.partitions": "tasks after a shuffle: number of cores; more for large data",
    "spark.sql.lightweightPlanChangeValidation": "fewer checks of Spark's own plans",
    "spark.sql.constraintPropagation.enabled": "derive filters from filters; slows planning",
    "spark.sql.autoBroadcastJoinThreshold": "largest table, in files, that is sent to each task",
    "spark.sql.adaptive.enabled": "change plans while running: useful for large data",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "rows per batch for Python workers",
    "spark.databricks.delta.snapshotPartitions": "tasks that read a table's Delta log",
    "spark.databricks.delta.properties.defaults.checkpointInterval": "commits between "
    "checkpoints of a table's Delta log",
    "spark.databricks.delta.merge.repartitionBeforeWrite.enabled": "write few files",
}
KAFKA = """\
# Settings of Kafka's consumers, by Kafka's names, for --kafka; never printed.
# "security.protocol" = "SASL_SSL"
# "sasl.mechanism" = "SCRAM-SHA-512"
# "sasl.jaas.config" = "org.apache.kafka.common.security.scram.ScramLoginModule required ...;"
# "ssl.truststore.location" = "/etc/kafka/truststore.jks"
# Spark's Kafka source: minimum number of tasks; default: one per partition of the topic
# minPartitions = 100
"""
FINDING_KINDS = "kinds of findings that become alerts"
WINDOW = "time span of `regroup alerts` without --since: 90s, 15m, 1h, 7d"
GROUPS = """\
# Thresholds for groups by pattern; the last matching pattern has priority.
# [alerts.groups."etl-*"]
# rebalances_per_day = 200
# Receivers of `regroup alerts --notify`: format is json, slack, teams or pagerduty.
# [alerts.webhooks.team]
# format = "slack"
# url_variable = "SLACK_URL"
"""

EXAMPLES = {"served_percent": 99.5, "reprocessed_per_day": 1000, "catch_up_s": 60}


def write(path: str) -> None:
    """UsageError if the file exists or cannot be written."""
    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write(text(path))
    except FileExistsError:
        raise UsageError(
            f"--out {path}: exists already and is not changed; give another --out"
        ) from None
    except OSError as error:
        raise UsageError(f"--out {path}: {error.strerror}; give a file to write") from None


def text(name: str) -> str:
    """The text of the file; ``name``: the file name for --conf in its first line."""
    local = tomllib.loads((CONF / "local.toml").read_text(encoding="utf-8"))
    parts = [
        HEAD.format(name=name),
        _setting("log_level", local["log_level"], LOG_LEVEL)
        + _setting("engine", Config.engine, ENGINE)
        + _setting("embedded_limit_mib", Config.embedded_limit_mib, EMBEDDED_LIMIT),
        "[logs]\n" + _setting("timezone", local["logs"]["timezone"], TIMEZONE),
        "[spark]\n" + "".join(_spark(local["spark"])),
        "[kafka]\n" + KAFKA + _kafka(),
        "[alerts]\n" + "".join(_alerts()) + GROUPS,
        "[slo]\n" + "".join(_slo()),
    ]
    return "\n".join(parts)


def _spark(settings: dict[str, Any]) -> Iterator[str]:
    for name, value in _flat(settings):
        yield _setting(name, value, SPARK[name])


def _flat(table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _kafka() -> str:
    """The defaults of a run, commented out."""
    level = _setting(
        '"isolation.level"',
        ISOLATION_LEVELS[0],
        f"or {ISOLATION_LEVELS[1]}, if a transaction hangs",
    )
    limit = _setting(SLICE_SETTING, OFFSETS_PER_SLICE, "maximum number of records per batch")
    lines = (level + limit).splitlines()
    return "".join(f"{line if line.startswith('#') else f'# {line}'}\n" for line in lines)


def _alerts() -> Iterator[str]:
    yield _setting("window", AlertSettings.window, WINDOW)
    yield _setting("finding_kinds", list(AlertSettings.finding_kinds), FINDING_KINDS)
    for threshold in fields(Thresholds):
        meaning = f"{threshold.metadata['meaning']}; 0: not checked"
        yield _setting(threshold.name, threshold.default, meaning)


def _slo() -> Iterator[str]:
    """Commented out: there are no objectives by default."""
    yield "# Objectives per group and UTC date; `regroup alerts` shows the used part of each\n"
    yield "# error budget.\n"
    for each in fields(Objectives):
        yield f"# {each.metadata['meaning']}\n# {each.name} = {EXAMPLES[each.name]}\n"
    yield '# For groups by pattern:\n# [slo.groups."etl-*"]\n# catch_up_s = 600\n'


def _setting(name: str, value: Any, meaning: str) -> str:
    """Texts, numbers and booleans have the same syntax in JSON and TOML."""
    return f"# {meaning}\n{name} = {json.dumps(value)}\n"
