"""Reads the spec of a simulation (TOML, examples/fleets)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from coordinator_core.simulation import Fleet, SpecError, fleet_of
from jobs.console.errors import UsageError

DEFAULT_START = datetime(2026, 11, 20, 8, tzinfo=UTC)


@dataclass(frozen=True)
class SimulationSpec:
    """A fleet and its start, in ms since the epoch."""

    fleet: Fleet
    start_ms: int


def read_spec(path: str | Path) -> SimulationSpec:
    """Read a spec file.  Raises UsageError if it is unreadable or invalid."""
    try:
        values: Mapping[str, Any] = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(
            f"--spec {path}: {error.strerror}; give the TOML file of a fleet"
        ) from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"--spec {path}: invalid TOML: {error}") from None
    start = values.get("start", DEFAULT_START)
    if not isinstance(start, datetime) or start.tzinfo is None:
        raise UsageError(f"--spec {path}: start must have a time zone, as in 2026-11-20T08:00:00Z")
    try:
        fleet = fleet_of({name: value for name, value in values.items() if name != "start"})
    except SpecError as error:
        raise UsageError(f"--spec {path}: {error}") from None
    return SimulationSpec(fleet, round(start.timestamp() * 1000))
