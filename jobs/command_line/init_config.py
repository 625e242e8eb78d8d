"""A configuration file to begin with: every setting with its default and what it means."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from jobs.alerts.settings import AlertSettings, Thresholds
from jobs.command_line.config import ISOLATION_LEVELS
from jobs.command_line.packaged_files import CONF
from jobs.console.errors import UsageError
from jobs.sources.kafka import DEFAULTS

HEAD = """\
# Settings of Regroup, with their defaults: `regroup nightly --conf {name} ...`.
# What you leave out of [spark] is as Spark has it, log_level is then "ERROR", the rest is as here.
"""
LOG_LEVEL = 'what Spark says on stderr: "OFF" (a failure is one line), "ERROR", "WARN", "INFO"'
TIMEZONE = "zone of brokers' log lines that name none, such as Europe/Berlin; see --log-timezone"
SPARK = {
    "spark.master": 'where jobs run: "local[*]" is this machine, all cores; a cluster\'s URL',
    "spark.ui.enabled": "Spark's own web page of a run",
    "spark.ui.showConsoleProgress": "Spark's progress bars on stderr",
    "spark.driver.memory": "heap of the JVM; Python workers take some more",
    "spark.sql.codegen.wholeStage": "compile queries: pays for hours of data, not for minutes",
    "spark.sql.codegen.factoryMode": '"NO_CODEGEN", or "FALLBACK" to compile expressions as well',
    "spark.driver.extraJavaOptions": "of the JVM; these start fast.  For hours of data leave out",
    "spark.driver.bindAddress": "on loopback only: a local run serves nobody",
    "spark.driver.host": "the same",
    "spark.sql.shuffle.partitions": "tasks after a shuffle: about the cores, more for much data",
    "spark.sql.lightweightPlanChangeValidation": "Spark's checks of its own planning",
    "spark.sql.constraintPropagation.enabled": "derive filters from filters: slow to plan here",
    "spark.sql.adaptive.enabled": "plan again while running: pays for large data",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "rows that a Python worker gets at once",
    "spark.databricks.delta.snapshotPartitions": "tasks that read a table's Delta log",
    "spark.databricks.delta.properties.defaults.checkpointInterval": "commits between two "
    "checkpoints of a table's Delta log",
    "spark.databricks.delta.merge.repartitionBeforeWrite.enabled": "few files instead of many",
}
KAFKA = """\
# Settings of Kafka's consumers, by Kafka's names, for --kafka; never shown in any output.
# "security.protocol" = "SASL_SSL"
# "sasl.mechanism" = "SCRAM-SHA-512"
# "sasl.jaas.config" = "org.apache.kafka.common.security.scram.ScramLoginModule required ...;"
# "ssl.truststore.location" = "/etc/kafka/truststore.jks"
# of Spark's Kafka source: tasks at least; not set: one a partition of the topic
# minPartitions = 100
"""
WINDOW = "how far back `regroup alerts` looks, unless --since says: 90s, 15m, 1h, 7d"
GROUPS = """\
# Thresholds of some groups; of several patterns that fit one, the last decides.
# [alerts.groups."etl-*"]
# rebalances_per_day = 200
"""


def write(path: str) -> None:
    """UsageError if there is a file already, or none can be written."""
    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write(text(path))
    except FileExistsError:
        raise UsageError(
            f"--out {path}: is there already, and stays as it is; give another --out"
        ) from None
    except OSError as error:
        raise UsageError(f"--out {path}: {error.strerror}; give a file to write") from None


def text(name: str) -> str:
    """The file's text; ``name`` is what the file says to give to --conf."""
    local = tomllib.loads((CONF / "local.toml").read_text(encoding="utf-8"))
    parts = [
        HEAD.format(name=name),
        _setting("log_level", local["log_level"], LOG_LEVEL),
        "[logs]\n" + _setting("timezone", local["logs"]["timezone"], TIMEZONE),
        "[spark]\n" + "".join(_spark(local["spark"])),
        "[kafka]\n" + KAFKA + _kafka(),
        "[alerts]\n" + "".join(_alerts()) + GROUPS,
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
    """Commented out: what is not set is as the run has it."""
    level = _setting(
        '"isolation.level"',
        ISOLATION_LEVELS[0],
        f"or {ISOLATION_LEVELS[1]}, if a transaction hangs",
    )
    [(name, value)] = DEFAULTS.items()
    most = _setting(name, int(value), "of Spark's Kafka source: records that are taken in at once")
    lines = (level + most).splitlines()
    return "".join(f"{line if line.startswith('#') else f'# {line}'}\n" for line in lines)


def _alerts() -> Iterator[str]:
    yield _setting("window", AlertSettings.window, WINDOW)
    for threshold in fields(Thresholds):
        meaning = f"{threshold.metadata['meaning']}; 0: not checked"
        yield _setting(threshold.name, threshold.default, meaning)


def _setting(name: str, value: Any, meaning: str) -> str:
    """JSON's texts, numbers and booleans are TOML's, too."""
    return f"# {meaning}\n{name} = {json.dumps(value)}\n"
