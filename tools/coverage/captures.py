"""The captures with truth: where their evidence is, the counted figures, the settings of twins."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tools.twins.reduce import PREDICTED_FROM

DATA = Path(__file__).parents[2] / "tests" / "data"
TWINS = DATA / "twins"
# Runs by script: a run per version of the broker, or a repetition.
TWIN_RUNS = {
    "rolling-deploy-and-crash": ("3.9.1", "4.1.2"),
    "flapping-and-slow-poll": ("3.9.1", "4.1.2"),
    "surge-freeze-and-autoscale": ("4.1.2",),
    "freezes-and-return": ("4.1.2",),
    "kills-returns-and-autoscale": ("4.1.2",),
    "next-rolling-deploy-and-crash": ("4.1.2", "4.4.0"),
    "next-surge-and-autoscale": ("4.4.0", "4.4.0-again"),
    "next-host-loss-and-freezes": ("4.1.2", "4.1.2-again"),
    "next-flapping-and-slow-poll": ("4.1.2", "4.4.0"),
    "next-slow-polls-and-freezes": ("4.1.2", "4.4.0"),
}
# Runs that tools.twins.reduce archived; the records of other groups are incomplete.
_REDUCED = (
    "next-surge-and-autoscale",
    "next-host-loss-and-freezes",
    "next-flapping-and-slow-poll",
    "next-slow-polls-and-freezes",
)
# Folder and log of each broker in an archive.
_BROKERS = {
    "segments": "server.log",
    "play2/segments": "play2/server.log",
    "orders/segments": "orders/server.log",
    "invoices/segments": "invoices/server.log",
}
_COUNTED = {
    "rebalances": "rebalances",
    "not_stable_ms": "not_stable_ms",
    "moved_partitions": "partitions_moved",
    "unavailable_partition_ms": "unowned_partition_ms",
    "static_refused": "static_joins_refused",
}
COSTS = ("B", "C", "D")
Truth = Mapping[str, int]

_CLASSIC = {
    "group.protocol": "classic",
    "assignor": "range",
    "membership": "dynamic",
    "session.timeout.ms": "10000",
    "group.initial.rebalance.delay.ms": "3000",
}
_CONSUMER = {
    "group.protocol": "consumer",
    "group.remote.assignor": "uniform",
    "membership": "dynamic",
    "consumer.session.timeout.ms": "10000",
    "consumer.heartbeat.interval.ms": "3000",
}
_STATIC = {"membership": "static"}
# All settings that differ between twins, by variant of a twin.
VARIANTS = {
    "base": _CLASSIC,
    "static": _CLASSIC | _STATIC,
    "cooperative": _CLASSIC | {"assignor": "cooperative-sticky"},
    "session": _CLASSIC | {"session.timeout.ms": "25000"},
    "static+session": _CLASSIC | _STATIC | {"session.timeout.ms": "25000"},
    "delay": _CLASSIC | {"group.initial.rebalance.delay.ms": "6000"},
    "consumer": _CONSUMER,
    "consumer-range": _CONSUMER | {"group.remote.assignor": "range"},
    "consumer-static": _CONSUMER | _STATIC,
    "consumer-session": _CONSUMER | {"consumer.session.timeout.ms": "25000"},
    "consumer-default": _CONSUMER
    | {"consumer.session.timeout.ms": "45000", "consumer.heartbeat.interval.ms": "5000"},
}


class Capture(NamedTuple):
    """A broker's evidence.  ``script``: captures of one script are judged together; ``truth``: by
    group; ``to_ms``: the end of the counted period in ms since the epoch; None: of the evidence.
    ``is_reduced``: only the groups that variants are predicted from have all their records.
    """

    script: str
    run: str
    folder: Path
    log: str
    segments: str
    truth: Mapping[str, Truth]
    to_ms: int | None
    is_reduced: bool = False

    @property
    def sources(self) -> list[str]:
        """The groups whose evidence predictions are made from."""
        return [g for g in self.truth if not self.is_reduced or PREDICTED_FROM.search(g)]


def twins(script: str, folder: Path) -> Iterator[Capture]:
    for run in TWIN_RUNS[script]:
        play = unpacked(TWINS / f"{script}-{run}.tar.gz", folder / f"{script}-{run}")
        for segments, log in _BROKERS.items():
            if not (play / log).exists():
                continue
            counted = _counted(play / Path(log).parent, script, run, Path(log).parent.name)
            to_ms = counted["t0_wall_ms"] + counted["window_ms"]
            name = script.removeprefix("next-")
            yield Capture(
                *(name, run, play, log, segments, counted["groups"], to_ms),
                is_reduced=script in _REDUCED,
            )


def _counted(folder: Path, script: str, run: str, family: str) -> Any:
    """truth.json; of one script the figures are beside the archives."""
    if (folder / "truth.json").exists():
        counted = json.loads((folder / "truth.json").read_text())
        groups = {group: _figures(of["window"]) for group, of in counted["groups"].items()}
        return counted | {"groups": groups}
    figures = json.loads((TWINS / f"{script}-figures.json").read_text())[run]
    for play in json.loads((TWINS / "callbacks.json").read_text())[f"{script}-{run}"]:
        own = [group for group in play["unowned_partition_ms"] if group.startswith(f"{family}-")]
        if own:
            return play | {
                "groups": {group: dict(zip(_COUNTED, figures[group], strict=True)) for group in own}
            }
    raise ValueError(f"{script}-{run}: no figures of {family}")


def _figures(window: Mapping[str, Any]) -> Truth:
    return {
        ours: window[theirs] for ours, theirs in _COUNTED.items() if window.get(theirs) is not None
    }


def costs(play: str, folder: Path) -> Capture:
    return _costs(unpacked(DATA / "data_costs" / f"{play}.tar.gz", folder / play), play)


def _costs(folder: Path, play: str) -> Capture:
    """Groups whose consumers logged each record.  Counted: records that another process, or another
    life of the process, handled again.
    """
    counted = json.loads((folder / "truth.json").read_text())
    totals = {group: of["total"] for group, of in counted["groups"].items()}
    groups = {
        group: {"records_reprocessed": total["duplicates"] - total["same_process"]}
        for group, total in totals.items()
    }
    return Capture(
        f"data-costs-{play}", counted["broker"], folder, "server.log", "segments", groups, None
    )


def incidents(folder: Path) -> Iterator[Capture]:
    """Folders whose truth.json counts figures of groups that have no twins."""
    for era in ("4.1.2", "4.4.0"):
        own = folder / f"mixed-protocols-{era}"
        counted = json.loads((own / "truth.json").read_text())
        groups = {group: _figures(of["window"]) for group, of in counted["groups"].items()}
        to_ms = counted["t0_wall_ms"] + counted["window_ms"]
        yield Capture("mixed-protocols", era, own, "server.log", "segments", groups, to_ms)
    yield _costs(folder / "data-costs-4.4.0", "A")
    for play in ("A", "A2"):
        own = folder / "client-zoo" / f"play-{play}"
        for group, of in json.loads((own / "truth.json").read_text())["groups"].items():
            counted = {
                "rebalances": of["rebalances"],
                "not_stable_ms": of["not_stable_ms"],
                "moved_partitions": (of["partitions_moved"] or {}).get("by_generations"),
                "unavailable_partition_ms": (of["unowned_partition_ms"] or {}).get(
                    "first_full_to_final_stop"
                ),
            }
            figures = {name: value for name, value in counted.items() if value is not None}
            yield Capture(
                *("client-zoo", play, own, "server.log*", "segments"),
                {group: figures},
                of["final_stop_ms"],
            )


def unpacked(archive: Path, folder: Path) -> Path:
    if not folder.exists():
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
    return folder
