"""Write a configuration file with every setting, its default and its meaning."""

from __future__ import annotations

import json
import os
import socket
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from glob import glob
from typing import Any

import typer

from jobs.configuration.config import ISOLATION_LEVELS, is_path
from jobs.configuration.keys import ALERTS, OF_CLUSTER, OF_COMMANDS, OF_RUNS, SLO, Key
from jobs.configuration.packaged_files import CONF, DEFAULT
from jobs.console.errors import UsageError
from jobs.sources.topic.kafka import OFFSETS_PER_SLICE, SLICE_SETTING

HEAD = """\
# Settings of Regroup with their defaults. Commands read regroup.toml in the current folder, the
# file of $REGROUP_CONFIG, or `--conf {name}`. Options and environment variables have priority.
# Defaults of settings that are not in this file: Spark's own in [spark], "ERROR" for log_level,
# else these values.
"""
CLUSTER = """\
# A cluster and its sources. Relative paths are in the folder of this file.
"""
SPARK = {
    "spark.master": 'where jobs run: "local[*]" (this machine, all cores) or a cluster\'s URL',
    "spark.ui.enabled": "Spark's web page while a run lasts",
    "spark.ui.showConsoleProgress": "Spark's progress bars on stderr",
    "spark.driver.memory": "heap of the JVM; Python workers need additional memory",
    "spark.sql.codegen.wholeStage": "compile queries: faster for hours of data, slower for minutes",
    "spark.sql.codegen.factoryMode": '"NO_CODEGEN", or "FALLBACK" to compile expressions, too',
    "spark.driver.extraJavaOptions": "JVM options for a fast start; remove them for hours of data",
    "spark.driver.bindAddress": "loopback: a local run needs no connections from outside",
    "spark.driver.host": "loopback: the driver's address",
    "spark.sql.shuffle.partitions": "tasks after a shuffle: number of cores; more for large data",
    "spark.sql.lightweightPlanChangeValidation": "fewer checks of Spark's own query plans",
    "spark.sql.constraintPropagation.enabled": "derive filters from filters; slows planning",
    "spark.sql.autoBroadcastJoinThreshold": "largest table, in files, that is sent to each task",
    "spark.sql.adaptive.enabled": "change query plans while running: useful for large data",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "rows per batch for Python workers",
    "spark.databricks.delta.snapshotPartitions": "number of tasks that read a table's Delta log",
    "spark.databricks.delta.properties.defaults.checkpointInterval": "commits between "
    "checkpoints of a table's Delta log",
    "spark.databricks.delta.merge.repartitionBeforeWrite.enabled": "write few files",
}
KAFKA = """\
# Settings of Kafka's consumers, by Kafka's names, for --kafka; never printed.
# "security.protocol" = "SASL_SSL"
# "sasl.mechanism" = "SCRAM-SHA-512"
# "sasl.jaas.config" = "${file:/run/secrets/jaas}"
# "ssl.truststore.location" = "/etc/kafka/truststore.jks"
# Spark's Kafka source: minimum number of tasks; default: one per partition of the topic
# minPartitions = 100
"""
GROUPS = """\
# Thresholds for groups by pattern; the last matching pattern has priority.
# [alerts.groups."etl-*"]
# rebalances_per_day = 200
# Receivers of `regroup alerts --notify`: format is json, slack, teams or pagerduty.
# [alerts.webhooks.team]
# format = "slack"
# url_variable = "SLACK_URL"
"""


def write(path: str, cluster: Mapping[str, str] | None = None) -> None:
    """``cluster``: see `text`.  Raises UsageError if the file exists or cannot be written."""
    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write(text(path, cluster))
    except FileExistsError:
        raise UsageError(
            f"--out {path}: exists already and is not changed; give another --out"
        ) from None
    except OSError as error:
        raise UsageError(f"--out {path}: {error.strerror}; give a file to write") from None


# Paths to which packages, containers and operators of Kafka write logs.
_BROKER_LOGS = (
    "/var/log/kafka/server.log*",
    "/opt/kafka/logs/server.log*",
    "/usr/local/kafka/logs/server.log*",
)
_BROKER = ("localhost", 9092)


def asked() -> dict[str, str]:
    """The values that a user enters; proposes what this machine has."""
    logs = next((each for each in _BROKER_LOGS if glob(each)), "")
    with suppress(OSError), socket.create_connection(_BROKER, timeout=1):
        kafka = f"{_BROKER[0]}:{_BROKER[1]}"
        return _answers(logs, kafka)
    return _answers(logs, "")


def _answers(logs: str, kafka: str) -> dict[str, str]:
    questions = {
        "lake": ("Folder of the lake", "lake"),
        "cluster_id": ("Name of the cluster", "kafka"),
        "kafka": ("Brokers, HOST:PORT (empty: none)", kafka),
        "broker_log": ("Brokers' logs, path or glob (empty: none)", logs),
        "client_log": ("Consumers' logs, path or glob (empty: none)", ""),
    }
    answers = {
        name: typer.prompt(question, default=default, err=True).strip()
        for name, (question, default) in questions.items()
    }
    return {name: answer for name, answer in answers.items() if answer}


def absolute(name: str, value: str) -> str:
    """The value of a key for a file in another folder than the current one."""
    return os.path.abspath(value) if is_path(name, value) else value


def text(name: str, cluster: Mapping[str, str] | None = None) -> str:
    """The text of the file; ``name`` is the file name for --conf in its first lines.

    ``cluster`` has values of lake, cluster_id and the keys of this cluster; all other keys become
    comments.
    """
    local = tomllib.loads((CONF / DEFAULT).read_text(encoding="utf-8"))
    defaults = {"log_level": local["log_level"], "timezone": local["logs"]["timezone"]}
    values = dict(cluster or {})
    top = [
        _line(key, values.get(key.own_name, defaults.get(key.own_name)))
        for key in (*OF_COMMANDS, *OF_RUNS)
        if key.section == ""
    ]
    parts = [
        HEAD.format(name=name) + "".join(top),
        _cluster(values),
        "[logs]\n" + "".join(_line(key) for key in OF_RUNS if key.section == "logs"),
        "[spark]\n" + "".join(_spark(local["spark"])),
        "[kafka]\n" + KAFKA + _kafka(),
        "[alerts]\n" + "".join(map(_line, ALERTS)) + GROUPS,
        "[slo]\n" + "".join(_slo()),
    ]
    return "\n".join(parts)


def _cluster(values: Mapping[str, str]) -> str:
    name = values.get("cluster_id")
    head = f"[clusters.{json.dumps(name)}]\n" if name else "# [clusters.prod]\n"
    keys = [key for key in OF_CLUSTER if key.own_name != "lake"]
    return CLUSTER + head + "".join(_line(key, values.get(key.own_name)) for key in keys)


def _line(key: Key, value: Any = None) -> str:
    """The meaning, and the setting; a key without a value is a comment with its example."""
    value = key.default if value is None else value
    if value is None:
        return f"# {key.meaning}\n# {key.own_name} = {json.dumps(key.example)}\n"
    return _setting(key.own_name, value, key.meaning)


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


def _slo() -> Iterator[str]:
    """Commented out: there are no objectives by default."""
    yield "# Objectives per group and UTC date; `regroup alerts` shows the used part of each\n"
    yield "# error budget.\n"
    yield from map(_line, SLO)
    yield '# For groups by pattern:\n# [slo.groups."etl-*"]\n# catch_up_s = 600\n'


def _setting(name: str, value: Any, meaning: str) -> str:
    """Texts, numbers and booleans have the same syntax in JSON and TOML."""
    return f"# {meaning}\n{name} = {json.dumps(value)}\n"
