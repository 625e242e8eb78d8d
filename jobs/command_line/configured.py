"""Defaults of options: environment variables and the configuration file.

An option has priority over its environment variable, the variable over the file, the file over the
default.  All commands use one mechanism: `ConfiguredCommand`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from typer.core import TyperCommand

from jobs.configuration.config import read_file
from jobs.configuration.keys import OF_CLUSTER, OF_COMMANDS, SOURCES
from jobs.configuration.packaged_files import configuration_file
from jobs.configuration.references import resolved
from jobs.console.errors import RunFailed, UsageError, failure_line
from jobs.console.printing import printable
from jobs.console.similar_names import meant

_KEYS = {key.own_name: key for key in (*OF_COMMANDS, *OF_CLUSTER)}
_SOURCES = frozenset(key.own_name for key in SOURCES)
# Options whose names differ from their keys.
_OTHER_NAMES = {
    ("snapshot", "bootstrap"): "kafka",
    ("report", "out"): "page",
    ("watch", "out"): "page",
}
# Commands that write to a separate lake.
_UNCONFIGURED = ("demo", "simulate", "scenario", "init")
# Without --cluster-id, these commands cover all clusters.
_OF_ALL_CLUSTERS = ("alerts", "digest", "doctor")
# Without --cluster-id and a default cluster, these commands run for each cluster of the file.
_FOR_EACH_CLUSTER = ("nightly", "report")
_RUNS = "regroup.runs"  # key in Context.meta of the cluster and the arguments of each run


class ConfiguredCommand(TyperCommand):
    """A command whose options may be in the environment or in the configuration file."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        keys = {
            parameter.name: _OTHER_NAMES.get((str(self.name), parameter.name), parameter.name)
            for parameter in self.params
            if parameter.name is not None
        }
        keys = {option: key for option, key in keys.items() if key in _KEYS}
        arguments, _, _ = self.make_parser(ctx).parse_args(list(args))
        is_help = any(arguments.get(name) for name in ("help", "version"))
        if keys and self.name not in _UNCONFIGURED and not is_help:
            options = {key: arguments[name] for name, key in keys.items() if arguments.get(name)}
            if clusters := _each_cluster(str(self.name), options, arguments):
                ctx.meta[_RUNS] = [(name, [*args, "--cluster-id", name]) for name in clusters]
                return []
            values = _values(str(self.name), set(keys.values()), options, arguments)
            ctx.default_map = {option: values[key] for option, key in keys.items() if key in values}
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; a failed run does not prevent the runs for the other clusters."""
        runs = ctx.meta.get(_RUNS)
        if runs is None:
            return super().invoke(ctx)
        failed = []
        for name, args in runs:
            print(printable(f"cluster {name}"), file=sys.stderr, flush=True)
            try:
                with self.make_context(ctx.info_name, args, ctx.parent) as of_cluster:
                    super().invoke(of_cluster)
            except (UsageError, RunFailed) as error:
                line = f"regroup: cluster {name}: {failure_line(error)}"
                print(printable(line), file=sys.stderr, flush=True)
                failed.append(name)
        if failed:
            raise RunFailed(f"{len(failed)} of {len(runs)} clusters failed: {', '.join(failed)}")
        return None


def _each_cluster(
    command: str, options: Mapping[str, str], arguments: Mapping[str, Any]
) -> list[str]:
    """The clusters of the file if the command runs for each cluster, with their arguments."""
    chooses = ("cluster_id", "lake", *_SOURCES)
    is_chosen = any(name in options or os.environ.get(_KEYS[name].variable) for name in chooses)
    if command not in _FOR_EACH_CLUSTER or is_chosen:
        return []
    written = read_file(configuration_file(arguments.get("conf")))
    clusters = list(written.get("clusters", {}))
    return clusters if len(clusters) > 1 and "cluster_id" not in written else []


def _values(
    command: str, keys: set[str], options: Mapping[str, str], arguments: Mapping[str, Any]
) -> dict[str, str]:
    """The values of the environment and the file for ``keys`` of a command.

    ``options`` are the keys that the command line has; ``arguments`` has all of its options.
    """
    environment = {
        name: text
        for name in keys
        if (text := os.environ.get(_KEYS[name].variable, "").strip())
        and not (name == "cluster_id" and command in _OF_ALL_CLUSTERS)
    }
    file = configuration_file(arguments.get("conf"))
    try:
        written = read_file(file)
    except UsageError:
        if command == "doctor":  # The command itself reports faults of the file.
            return environment
        raise
    values = _of_file(command, keys, {**environment, **options}, written, file) | environment
    if command == "investigate":
        values = _either_inputs_or_lake(values, options)
    if command == "snapshot" and arguments.get("describe"):
        values.pop("kafka", None)
    return values


def _of_file(
    command: str,
    keys: set[str],
    texts: Mapping[str, str],
    written: Mapping[str, Any],
    file: Path,
) -> dict[str, str]:
    """``texts`` are the values of options and the environment."""
    clusters: dict[str, dict[str, str]] = written.get("clusters", {})
    lake = written.get("lake")
    chosen = texts.get("cluster_id")
    default = written.get("cluster_id") or (next(iter(clusters)) if len(clusters) == 1 else None)
    if chosen is None:
        lake_of_default = clusters.get(str(default), {}).get("lake", lake)
        if texts.get("lake", lake_of_default) != lake_of_default:
            return {}  # Another lake has its own clusters.
        chosen = default
        needs_one = "cluster_id" in keys and command not in _OF_ALL_CLUSTERS
        if chosen is None and len(clusters) > 1 and needs_one and "lake" not in texts:
            raise UsageError(f"give --cluster-id: {file} has {', '.join(clusters)}")
    elif clusters and chosen not in clusters and _SOURCES & keys and not _SOURCES & texts.keys():
        raise UsageError(f"--cluster-id {chosen}: not in {file}; {meant(chosen, clusters)}")
    own = resolved(clusters.get(str(chosen), {}), f"clusters.{chosen}")
    values = {"lake": lake, "cluster_id": chosen, **own}
    if command in _OF_ALL_CLUSTERS and "cluster_id" not in texts:
        values = {name: values.get(name) for name in _of_all(command, clusters)}
    return {name: value for name, value in values.items() if value and name in keys}


def _of_all(command: str, clusters: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys of a command about all clusters; the metrics file is of a single cluster."""
    return ("lake", "prometheus") if command == "alerts" and len(clusters) == 1 else ("lake",)


def _either_inputs_or_lake(values: Mapping[str, str], options: Mapping[str, str]) -> dict[str, str]:
    """For `investigate`, use only inputs of the command line, else the lake, else the inputs of the
    file.
    """
    inputs = {*_SOURCES, "log_timezone"}
    if _SOURCES & options.keys():
        return {}
    lake = values.get("lake")
    is_lake = lake is not None and ("://" in lake or Path(lake).is_dir())
    kept = inputs ^ set(_KEYS) if is_lake or "lake" in options else inputs
    return {name: value for name, value in values.items() if name in kept}
