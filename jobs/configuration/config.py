"""Read the configuration: a TOML file with sections [clusters.NAME], [spark], [logs], [kafka],
[alerts] and [slo], and settings outside of sections; environment variables have priority."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from jobs.configuration.alert_settings import AlertSettings, read_settings
from jobs.configuration.keys import EMBEDDED_LIMIT_MIB, OF_CLUSTER, with_environment
from jobs.configuration.packaged_files import VARIABLE, configuration_file
from jobs.configuration.references import resolved
from jobs.configuration.slo_settings import read_slo
from jobs.console.errors import UsageError
from jobs.console.secrets import remember
from jobs.console.similar_names import meant

SECTIONS = {
    "lake": str,
    "cluster_id": str,
    "clusters": dict,
    "spark": dict,
    "logs": dict,
    "kafka": dict,
    "alerts": dict,
    "slo": dict,
    "log_level": str,
    "engine": str,
    "embedded_limit_mib": int,
}
KINDS = {dict: "a table", str: "a text", int: "a whole number"}
# Options that the configuration cannot set, because Regroup sets them per run.
RESERVED = {
    "auto.offset.reset",
    "bootstrap.servers",
    "enable.auto.commit",
    "group.id",
    "interceptor.classes",
    "key.deserializer",
    "value.deserializer",
}
_NO_PATHS = ("cluster_id", "kafka", "log_timezone")
ISOLATION_LEVELS = ("read_committed", "read_uncommitted")


class Engine(StrEnum):
    AUTO = "auto"
    EMBEDDED = "embedded"
    SPARK = "spark"


@dataclass(frozen=True, kw_only=True)
class Config:
    """The settings of a configuration file.

    ``spark``: Spark settings by name.  ``log_timezone`` is the time zone of the brokers' log lines.
    ``kafka`` has settings of Kafka's consumers (mostly security), and maxOffsetsPerTrigger and
    minPartitions of Spark's Kafka source.  Both may hold passwords and are never printed.
    ``alerts`` are thresholds and objectives of `regroup alerts`.  ``engine`` says which engine runs
    the jobs.  ``embedded_limit_mib`` is the input in MiB above which `auto` uses Spark.  ``lake``
    and ``cluster_id`` are defaults for commands without these options.  ``clusters`` are the lake
    and sources of each cluster, by the names in OF_CLUSTER.
    """

    lake: str | None = None
    cluster_id: str | None = None
    clusters: dict[str, dict[str, str]] = field(default_factory=dict)

    spark: dict[str, str] = field(default_factory=dict, repr=False)
    log_timezone: str = "UTC"
    kafka: dict[str, str] = field(default_factory=dict, repr=False)
    log_level: str = "ERROR"
    alerts: AlertSettings = field(default_factory=AlertSettings)
    engine: Engine = Engine.AUTO
    embedded_limit_mib: int = EMBEDDED_LIMIT_MIB

    def kafka_settings(self) -> dict[str, str]:
        """``kafka`` with the values of references; raises UsageError if one is missing."""
        settings = resolved(self.kafka, "kafka")
        remember(settings)
        return settings


def load_config(path: str | None, engine: Engine | None = None) -> Config:
    """Read ``path`` (default: see `configuration_file`); an unknown setting is a UsageError.

    Environment variables have priority over the file, and ``engine`` over both.
    """
    config = _config_of(path)
    return replace(config, engine=engine) if engine else config


def _config_of(path: str | None) -> Config:
    file = configuration_file(path)
    settings = with_environment(read_file(file))
    logs = settings.get("logs", {})
    if unknown := set(logs) - {"timezone"}:
        name = min(unknown)
        raise UsageError(f"--conf {file}: [logs] unknown setting {name!r}; use timezone")
    spark, kafka = (_texts(settings.get(name, {})) for name in ("spark", "kafka"))
    spark = resolved(spark, "spark")
    remember(spark | kafka)
    return Config(
        lake=settings.get("lake"),
        cluster_id=settings.get("cluster_id"),
        clusters=settings.get("clusters", {}),
        spark=spark,
        log_timezone=valid_timezone(logs.get("timezone", "UTC")),
        kafka=_kafka(kafka, file),
        log_level=settings.get("log_level", "ERROR"),
        alerts=replace(
            read_settings(settings.get("alerts", {}), f"--conf {file}:"),
            slo=read_slo(settings.get("slo", {}), f"--conf {file}:"),
        ),
        engine=_engine(settings.get("engine", Engine.AUTO), file),
        embedded_limit_mib=_size_mib(settings.get("embedded_limit_mib", EMBEDDED_LIMIT_MIB), file),
    )


def read_file(file: Path) -> dict[str, Any]:
    """The tables and values of the file, with lakes and sources relative to its folder.

    Raises UsageError for an unreadable file, an unknown section, and an unknown key of a cluster.
    """
    try:
        settings = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(
            f"--conf {file}: {error.strerror}; give a readable TOML file by --conf or {VARIABLE}"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"--conf {file}: not TOML: {error}") from None
    for name, value in settings.items():
        if name not in SECTIONS:
            raise UsageError(f"--conf {file}: unknown setting {name!r}; {meant(name, SECTIONS)}")
        if not isinstance(value, SECTIONS[name]) or value == "":
            kind = KINDS[SECTIONS[name]]
            raise UsageError(f"--conf {file}: {name} must be {kind}, not {value!r}")
    folder = file.parent
    if "lake" in settings:
        settings["lake"] = _in_folder(folder, "lake", settings["lake"])
    clusters = settings.get("clusters", {})
    for name, table in clusters.items():
        clusters[name] = _cluster(table, folder, f"--conf {file}: [clusters.{name}]")
    chosen = settings.get("cluster_id")
    if clusters and chosen is not None and chosen not in clusters:
        raise UsageError(f"--conf {file}: cluster_id {chosen!r}; {meant(chosen, clusters)}")
    return settings


def _cluster(table: Any, folder: Path, where: str) -> dict[str, str]:
    if not isinstance(table, dict):
        raise UsageError(f"{where} must be a table of sources")
    names = [key.own_name for key in OF_CLUSTER]
    for name, value in table.items():
        if name not in names:
            raise UsageError(f"{where} unknown setting {name!r}; {meant(name, names)}")
        if not isinstance(value, str) or not value:
            raise UsageError(f"{where} {name} must be a text, not {value!r}")
    if "log_timezone" in table:
        valid_timezone(table["log_timezone"])
    return {name: _in_folder(folder, name, value) for name, value in table.items()}


def _in_folder(folder: Path, name: str, value: str) -> str:
    """A relative path is in the folder of the file."""
    if not is_path(name, value) or folder == Path():
        return value
    return str(folder / value)


def is_path(name: str, value: str) -> bool:
    """Returns whether the value of a key for lakes, clusters and sources is a local path."""
    return name not in _NO_PATHS and "://" not in value


def _engine(name: str, file: Path) -> Engine:
    if name not in [*Engine]:
        raise UsageError(f"--conf {file}: engine must be {', '.join(Engine)}, not {name!r}")
    return Engine(name)


def _size_mib(size: int, file: Path) -> int:
    if isinstance(size, bool) or size < 0:
        raise UsageError(f"--conf {file}: embedded_limit_mib must be 0 or more, not {size!r}")
    return size


def _kafka(settings: dict[str, str], file: Path) -> dict[str, str]:
    if reserved := sorted(RESERVED & settings.keys()):
        raise UsageError(
            f"--conf {file}: [kafka] {reserved[0]} cannot be configured; Regroup sets it per run"
        )
    level = settings.get("isolation.level", ISOLATION_LEVELS[0])
    if level not in ISOLATION_LEVELS:
        allowed = " or ".join(ISOLATION_LEVELS)
        raise UsageError(f"--conf {file}: [kafka] isolation.level must be {allowed}, not {level}")
    return settings


def valid_timezone(name: str) -> str:
    """Return ``name``; Raises UsageError if the time zone database does not have it."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, TypeError, IsADirectoryError):
        raise UsageError(
            f"unknown time zone {name!r}; give a name such as UTC or Europe/Berlin"
        ) from None
    return name


def _texts(table: dict[str, Any], prefix: str = "") -> dict[str, str]:
    """Flatten nested TOML tables to dotted names; values as text, booleans as Spark writes them."""
    flat: dict[str, str] = {}
    for name, value in table.items():
        if isinstance(value, dict):
            flat |= _texts(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = str(value).lower() if isinstance(value, bool) else str(value)
    return flat
