"""Compare log wordings, default settings and API versions of a Kafka release with Regroup's data.

    python -m tools.differential.release 4.4 4.3

Prints, for the runners of these eras (without a name: all), the log wordings that differ from
schemas/log_lines, the settings of group coordinators with another default, and the release's row of
schemas/log_lines/offered_versions.json.  Exits 0 without a difference, 1 with one, 2 if a runner is
not built.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from coordinator_core.coordinator.era import CoordinatorConfig
from coordinator_core.coordinator.eras import ERAS, era_of_version
from coordinator_core.coordinator.group_types import MODERN_TYPES
from coordinator_core.coordinator.modern.settings import DEFAULTS, OTHER_DEFAULTS
from coordinator_core.log_lines import holds_in
from coordinator_core.log_lines.offered_versions import offered_by_release
from coordinator_core.whatif.known_settings import BROKER_DEFAULTS
from schemas.log_lines import offered_versions
from tools.differential.jar_wordings import JARS, wording_differences
from tools.differential.kafka import ALL_TYPES, ALL_TYPES_RUNNERS, BUILD

_PROGRAM = Path(__file__).parent / "Release.java"
# Features whose levels Regroup reads.
_FEATURES = ("metadata.version", "group.version", "share.version", "streams.version")
_MINUTE_MS = 60_000

Facts = Mapping[str, Mapping[str, str]]


def main(
    eras: Annotated[list[str] | None, typer.Argument(help="Eras with a runner.")] = None,
) -> None:
    differing = 0
    for era in eras or ALL_TYPES_RUNNERS:
        if era not in ALL_TYPES_RUNNERS:
            raise typer.BadParameter(f"{era}: use {', '.join(ALL_TYPES_RUNNERS)}")
        libraries = BUILD / f"kafka-{era}{ALL_TYPES}" / "lib"
        if not libraries.exists():
            print(f"no {libraries}: build it with `make -C tools oracle`", file=sys.stderr)
            raise typer.Exit(2)
        print(f"Kafka {ERAS[era].kafka}")
        differing += compare_release(ERAS[era].kafka, libraries)
    raise typer.Exit(1 if differing else 0)


def compare_release(version: str, libraries: Path) -> int:
    """Print what differs; returns the number of differences.  ``libraries``: folder of the jars."""
    facts = _facts(libraries)
    wordings = wording_differences(version, [libraries / f"{jar}-{version}.jar" for jar in JARS])
    defaults = default_differences(version, facts["default"])
    offered = {name: int(each) for name, each in facts["api"].items()} | {
        name: int(level)
        for name, level in facts["feature"].items()
        if name in _FEATURES and level != "0"
    }
    release = ".".join(version.split(".")[:2])
    row = row_of(release, offered)
    is_known = offered_versions().get(release) == row
    print(f"log wordings: {len(wordings)} differ", *wordings, sep="\n  ")
    print(f"defaults of settings: {len(defaults)} differ", *defaults, sep="\n  ")
    print(f"row of offered_versions.json: {'as in the file' if is_known else 'not in the file'}")
    print(f'  "{release}": {json.dumps(row)}')
    return len(wordings) + len(defaults) + (not is_known)


def _facts(libraries: Path) -> Facts:
    """What Release.java prints: names and values by kind."""
    command = ["java", "-cp", f"{libraries}/*", str(_PROGRAM)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    facts: dict[str, dict[str, str]] = {"default": {}, "api": {}, "feature": {}}
    for kind, name, value in (line.split(" ", 2) for line in printed.splitlines()):
        facts[kind][name] = value
    return facts


def default_differences(version: str, of_kafka: Mapping[str, str]) -> list[str]:
    """Settings of Regroup's model that have another default in the release."""
    return [
        f"{name}: Kafka {of_kafka[name]}, Regroup {value}"
        for name, value in defaults_of(version).items()
        if name in of_kafka and of_kafka[name] != value
    ]


def defaults_of(version: str) -> dict[str, str]:
    """Regroup's defaults of the settings of group coordinators, by the names of the broker's."""
    era, config = era_of_version(version), CoordinatorConfig()
    defaults: dict[str, object] = {
        "group.initial.rebalance.delay.ms": config.group_initial_rebalance_delay_ms,
        "group.min.session.timeout.ms": config.group_min_session_timeout_ms,
        "group.max.session.timeout.ms": era.max_session_timeout_ms,
        "group.max.size": config.group_max_size,
        "offset.metadata.max.bytes": config.offset_metadata_max_bytes,
        "offsets.retention.minutes": era.offsets_retention_ms // _MINUTE_MS,
        "offsets.topic.num.partitions": config.offsets_topic_partitions,
    }
    for group_type in MODERN_TYPES:
        settings, prefix = DEFAULTS.of(group_type), group_type.broker_prefix
        defaults |= {
            f"{prefix}session.timeout.ms": settings.session_timeout_ms,
            f"{prefix}heartbeat.interval.ms": settings.heartbeat_interval_ms,
            f"{prefix}assignment.interval.ms": settings.assignment_interval_ms,
            f"{prefix}max.size": settings.max_size,
        }
    if era.modern is not None:
        retry_ms = era.modern.share.initialize_retry_ms
        defaults["group.share.initialize.retry.interval.ms"] = retry_ms
    defaults |= BROKER_DEFAULTS | OTHER_DEFAULTS
    return {name: str(value) for name, value in defaults.items()}


def row_of(release: str, offered: Mapping[str, int]) -> dict[str, int]:
    """The release's row of offered_versions.json: its differences from the previous release."""
    older = [each for each in offered_by_release() if not holds_in(f"{release}-", each)]
    before = offered_by_release()[older[-1]]
    changed = {name: each for name, each in offered.items() if before.get(name, -1) != each}
    gone = [name for name, each in before.items() if each >= 0 and name not in offered]
    apis = {name: each for name, each in changed.items() if name not in _FEATURES}
    features = {name: changed[name] for name in _FEATURES if name in changed}
    return apis | dict.fromkeys(gone, -1) | features


if __name__ == "__main__":
    typer.run(main)
