"""The keys of regroup.toml: name, default, meaning and environment variable of each.

The file of `regroup init`, docs/configuration.md and the defaults of options are made from KEYS.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, NamedTuple

from jobs.configuration.alert_settings import AlertSettings, Thresholds
from jobs.configuration.slo_settings import Objectives
from jobs.console.errors import UsageError

# Environment variables that are no keys.
OTHER_VARIABLES = ("REGROUP_CONFIG", "REGROUP_JARS", "REGROUP_TOKEN", "REGROUP_TRACE")
EMBEDDED_LIMIT_MIB = 2048  # `auto` uses Spark for more input than this


class Key(NamedTuple):
    """``name`` has the section, with ``NAME`` for the name of a cluster.  ``kind`` is the type of
    the value; ``default``: None for none.  ``example`` is for a key without a default.
    """

    name: str
    kind: type
    default: Any
    meaning: str
    example: Any = None

    @property
    def variable(self) -> str:
        """The environment variable."""
        own = self.name.removeprefix("clusters.NAME.")
        name = f"REGROUP_{own.upper().replace('.', '_')}"
        return f"{name}_FILES" if name in OTHER_VARIABLES else name

    @property
    def section(self) -> str:
        return self.name.rpartition(".")[0]

    @property
    def own_name(self) -> str:
        return self.name.rpartition(".")[2]


# Inputs of a run: keys of a cluster with the names of the options.
SOURCES = (
    Key("clusters.NAME.kafka", str, None, "brokers: HOST:PORT[,HOST:PORT...]", "broker-1:9092"),
    Key(
        "clusters.NAME.broker_log",
        str,
        None,
        "brokers' logs: path, folder, glob or URI",
        "/var/log/kafka/server.log*",
    ),
    Key("clusters.NAME.client_log", str, None, "consumers' logs", "/var/log/app/*.log"),
    Key("clusters.NAME.segments", str, None, "__consumer_offsets segment files", "/kafka/data"),
    Key("clusters.NAME.dump", str, None, "exported __consumer_offsets records", "dump.parquet"),
    Key("clusters.NAME.trace", str, None, "traces of the coordinator model", "trace.jsonl"),
    Key("clusters.NAME.end_offsets", str, None, "log end offsets of topics", "ends.txt"),
    Key("clusters.NAME.broker_config", str, None, "settings in force", "server.properties"),
)
OF_CLUSTER = (
    Key("clusters.NAME.lake", str, None, "lake of this cluster, if not the default lake", "lake"),
    *SOURCES,
    Key(
        "clusters.NAME.log_timezone",
        str,
        None,
        "time zone of log lines without a zone",
        "Europe/Berlin",
    ),
    Key("clusters.NAME.page", str, None, "page that report and watch write", "report.html"),
    Key(
        "clusters.NAME.prometheus",
        str,
        None,
        "metrics file that alerts and watch write",
        "regroup.prom",
    ),
)
# Keys that are options of most commands.
OF_COMMANDS = (
    Key("lake", str, None, "folder or URI of the lake of all commands", "lake"),
    Key("cluster_id", str, None, "cluster of commands without --cluster-id", "prod"),
)
OF_RUNS = (
    Key(
        "log_level",
        str,
        "ERROR",
        'log level of Spark on stderr: "OFF" (a failure is one line), "ERROR", "WARN", "INFO"',
    ),
    Key(
        "engine",
        str,
        "auto",
        'engine of the jobs: "auto", "embedded" (no Java) or "spark"; see --engine',
    ),
    Key(
        "embedded_limit_mib",
        int,
        EMBEDDED_LIMIT_MIB,
        "MiB of input above which auto uses Spark",
    ),
    Key(
        "logs.timezone",
        str,
        "UTC",
        "time zone of log lines without a zone, such as Europe/Berlin; see --log-timezone",
    ),
)
ALERTS = (
    Key(
        "alerts.window",
        str,
        AlertSettings.window,
        "time span of `regroup alerts` without --since: 90s, 15m, 1h, 7d",
    ),
    Key(
        "alerts.finding_kinds",
        list,
        list(AlertSettings.finding_kinds),
        "kinds of findings that become alerts",
    ),
    *(
        Key(f"alerts.{each.name}", int, each.default, f"{each.metadata['meaning']}; 0: not checked")
        for each in fields(Thresholds)
    ),
    Key("alerts.outbox", str, None, "file with unsent messages; default: in the lake", "out.jsonl"),
)
_EXAMPLES = {"served_percent": 99.5, "reprocessed_per_day": 1000, "catch_up_s": 60}
SLO = tuple(
    Key(f"slo.{each.name}", float, None, each.metadata["meaning"], _EXAMPLES[each.name])
    for each in fields(Objectives)
)
KEYS = (*OF_COMMANDS, *OF_RUNS, *OF_CLUSTER, *ALERTS, *SLO)


def with_environment(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a file; environment variables have priority.  Raises UsageError for a value
    of a wrong type.  Variables of lakes, clusters and sources are not merged: options read them."""
    merged = {name: dict(v) if isinstance(v, dict) else v for name, v in settings.items()}
    for key in (*OF_RUNS, *ALERTS, *SLO):
        if text := os.environ.get(key.variable, "").strip():
            table = merged.setdefault(key.section, {}) if key.section else merged
            table[key.own_name] = _value(key, text)
    return merged


def _value(key: Key, text: str) -> Any:
    if key.kind is str:
        return text
    if key.kind is list:
        return [each.strip() for each in text.split(",")]
    try:
        return key.kind(text)
    except ValueError:
        kind = "a whole number" if key.kind is int else "a number"
        raise UsageError(f"{key.variable}={text}: must be {kind}") from None
