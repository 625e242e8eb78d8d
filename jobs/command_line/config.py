"""Read the configuration: a TOML file with sections [spark], [logs], [kafka] and [alerts]."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from jobs.alerts.settings import AlertSettings, read_settings
from jobs.command_line.packaged_files import configuration_file
from jobs.console.errors import UsageError

SECTIONS = {"spark": dict, "logs": dict, "kafka": dict, "alerts": dict, "log_level": str}
# Regroup sets these per run.
RESERVED = {
    "auto.offset.reset",
    "bootstrap.servers",
    "enable.auto.commit",
    "group.id",
    "interceptor.classes",
    "key.deserializer",
    "value.deserializer",
}
ISOLATION_LEVELS = ("read_committed", "read_uncommitted")


@dataclass(frozen=True)
class Config:
    """The settings of a configuration file.

    ``spark``: Spark settings by name.  ``log_timezone``: time zone of the brokers' log lines.
    ``kafka``: settings of Kafka's consumers (mostly security), and maxOffsetsPerTrigger and
    minPartitions of Spark's Kafka source; they may hold passwords and are never printed.
    ``alerts``: thresholds of `regroup alerts`.
    """

    spark: dict[str, str] = field(default_factory=dict)
    log_timezone: str = "UTC"
    kafka: dict[str, str] = field(default_factory=dict, repr=False)
    log_level: str = "ERROR"
    alerts: AlertSettings = field(default_factory=AlertSettings)


def load_config(path: str | None) -> Config:
    """Read ``path`` (default conf/local.toml); an unknown setting is a UsageError."""
    file = configuration_file(path)
    try:
        settings = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"--conf {file}: {error.strerror}; give a readable TOML file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"--conf {file}: not TOML: {error}") from None
    for name, value in settings.items():
        if not isinstance(value, SECTIONS.get(name, ())):
            raise UsageError(f"--conf {file}: unknown setting {name!r}; use {', '.join(SECTIONS)}")
    logs = settings.get("logs", {})
    if set(logs) - {"timezone"}:
        raise UsageError(f"--conf {file}: [logs] has only 'timezone', not {sorted(logs)}")
    return Config(
        spark=_texts(settings.get("spark", {})),
        log_timezone=valid_timezone(logs.get("timezone", "UTC")),
        kafka=_kafka(_texts(settings.get("kafka", {})), file),
        log_level=settings.get("log_level", "ERROR"),
        alerts=read_settings(settings.get("alerts", {}), f"--conf {file}:"),
    )


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
    """Return ``name``; UsageError if the time zone database does not have it."""
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
