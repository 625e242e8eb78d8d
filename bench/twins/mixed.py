"""Plays recorded process lives of groups of both protocols with the model's clients.

    python -m bench.twins.mixed FOLDER... [--show GROUP]

As bench.twins.played, for recordings in which each start has its own settings (``conf`` of the line
"started"): groups of one protocol, groups that were converted, frozen processes, growing topics.
Left out: regular expressions, share and streams groups, and callbacks that stall.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from bench.twins.played import (
    BROKER,
    COLUMNS,
    HEARTBEAT_DELAY_MS,
    KINDS,
    START_MS,
    Recording,
    print_comparison,
    print_differences,
    read,
)
from coordinator_core.coordinator.era import CoordinatorConfig
from coordinator_core.coordinator.modern.settings import modern_settings
from coordinator_core.simulation.plans import Action, ActionKind, ProcessSpec
from coordinator_core.simulation.played_lives import PlayedLives, played
from coordinator_core.simulation.spec import GroupSpec, Script, Topic

LEAD_MS = 5000
PARTITIONS = {"orders": 12, "payments": 8}
# Topics by group.  Groups that are not listed have members without callbacks, or a regular
# expression.
TOPICS = {
    "billing-consumer": ("orders", "payments"),
    "shipping-librdkafka": ("orders",),
    "inventory-static": ("orders",),
    "search-migrated": ("orders",),
    "ledger-rolled-back": ("payments",),
    "legacy-eager": ("orders", "payments"),
}
CONFIGS = {
    "billing-consumer": (
        ("consumer.session.timeout.ms", "12000"),
        ("consumer.heartbeat.interval.ms", "3000"),
    )
}
_ASSIGNORS = {"org.apache.kafka.clients.consumer.RangeAssignor": "range"}


def main(
    folders: Annotated[list[Path], typer.Argument(help="Folders of recorded plays.")],
    seed: Annotated[int, typer.Option(help="Seed of delays and member ids.")] = 1,
    show: Annotated[str, typer.Option(help="A group whose differing lives are printed.")] = "",
) -> None:
    names = " | ".join(COLUMNS)
    print(f"| group | {names} | lives with equal callbacks | equal callbacks |")
    print("|---" * (len(COLUMNS) + 3) + "|")
    for folder in folders:
        recording = read(folder)
        for group in TOPICS:
            result = played(lives_of(recording, group), seed=seed)
            print_comparison(recording, group, result, figures_of(recording, group))
            if group == show:
                print_differences(recording, group, result, LEAD_MS)


def figures_of(recording: Recording, group: str) -> dict[str, int]:
    """Counts of both times, as a consumer group and as a classic one."""
    window = recording.truth["groups"][group]["window"]
    classic = window.get("classic_phase") or {}
    counted = {
        name: (window.get(name) or 0) + (classic.get(name) or 0) for name in COLUMNS.values()
    }
    # The model does not count the target that an upgrade takes over as a rebalance.
    events = recording.truth["groups"][group]["epoch_list"]
    taken_over = sum("converted: classic to consumer" in each.get("events", ()) for each in events)
    return counted | {"rebalances": counted["rebalances"] - taken_over}


def lives_of(recording: Recording, group: str) -> PlayedLives:
    """The process lives, as recorded."""
    truth = recording.truth
    base_ms = truth["t0_wall_ms"] - LEAD_MS
    era = ".".join(truth["era"].split(".")[:2])
    starts = [
        line for line in recording.clients if (line["group"], line["what"]) == (group, "started")
    ]
    # Read only starts with the consumer protocol, because the first starts may use the classic
    # protocol.
    remote_assignor = next(filter(None, (_remote_assignor(line) for line in starts)), None)
    own = {
        line["client"]: _group_of(group, line, era, remote_assignor) for line in reversed(starts)
    }
    script = _script(recording, group, base_ms, own)
    spec = replace(next(iter(own.values())), script=script)
    topics = tuple(_topic(recording, name, base_ms) for name in TOPICS[group])
    config = CoordinatorConfig(offsets_topic_partitions=1, modern=modern_settings(BROKER))
    return PlayedLives(era, config, topics, spec, LEAD_MS, LEAD_MS + truth["window_ms"])


def _remote_assignor(started: Mapping[str, Any]) -> str | None:
    assignor: str | None = started["conf"].get("group.remote.assignor")
    return assignor


def _group_of(
    group: str, started: Mapping[str, Any], era: str, remote_assignor: str | None
) -> GroupSpec:
    conf = started["conf"]
    is_java = started["library"].startswith("kafka-clients")
    assignors = str(conf.get("partition.assignment.strategy", "range")).split(",")
    return GroupSpec(
        name=group,
        topics=TOPICS[group],
        processes=0,
        client=f"java-{era}" if is_java else "librdkafka-2",
        assignors=tuple(_ASSIGNORS.get(each, each) for each in assignors),
        static="group.instance.id" in conf,
        session_timeout_ms=10_000,
        heartbeat_interval_ms=3_000 + (HEARTBEAT_DELAY_MS if is_java else 0),
        max_poll_interval_ms=int(conf["max.poll.interval.ms"]),
        commit_interval_ms=5_000,
        metadata_max_age_ms=10_000,
        listener_ms=0,
        restart_ms=None,
        plans=(),
        timer_delay_us=0 if is_java else 1000 * HEARTBEAT_DELAY_MS // 6,
        protocol=conf.get("group.protocol", "classic"),
        remote_assignor=remote_assignor,
        configs=CONFIGS.get(group, ()),
    )


def _topic(recording: Recording, name: str, base_ms: int) -> Topic:
    grows = [
        (line["wall_ms"] - base_ms, line["partitions"])
        for line in recording.timeline
        if line["action"] == "partitions added" and line["topic"] == name
    ]
    ids = next(line["topics"] for line in recording.timeline if line["action"] == "topic ids")
    return Topic(name, PARTITIONS[name], tuple(grows), 2, ids[name])


def _script(recording: Recording, group: str, base_ms: int, own: Mapping[str, GroupSpec]) -> Script:
    clients = [line for line in recording.clients if line["group"] == group]
    instances = {
        line["client"]: line["conf"].get("group.instance.id", line["client"])
        for line in clients
        if line["what"] == "started"
    }
    ids: dict[int, str] = {}
    for line in clients:
        if line.get("member"):
            ids.setdefault(line["pid"], line["member"])
    member_ids: dict[str, list[str]] = defaultdict(list)
    for line in clients:
        if line["what"] == "started":
            member_ids[line["client"]].append(ids.get(line["pid"], ""))
    actions = sorted(_actions(recording, group, base_ms), key=lambda action: action.at_ms)
    names = dict.fromkeys(action.process for action in actions)
    return Script(
        tuple(ProcessSpec(name, instances[name]) for name in names),
        tuple(actions),
        own,
        {},
        {name: tuple(each) for name, each in member_ids.items()},
    )


def _actions(recording: Recording, group: str, base_ms: int) -> list[Action]:
    """Starts are those of the clients; stops those at which they close."""
    of_pid: dict[tuple[str, int], Mapping[str, Any]] = {}
    for line in recording.clients:
        of_pid.setdefault((line["what"], line["pid"]), line)
    thawed = {
        line["pid"]: line["wall_ms"] for line in recording.timeline if line["action"] == "thaw"
    }
    actions = []
    for line in recording.timeline:
        kind = KINDS.get(line["action"])
        if line.get("group") != group or kind is None or "by_supervisor" in line:
            continue
        at_ms, length_ms, protocol = line["wall_ms"], 1000 * int(line.get("seconds", 0)), ""
        what = {"start": "started", "stop": "closing", "slow": "slow"}.get(line["action"])
        client = of_pid.get((what or "", line["pid"]))
        if client is not None:
            at_ms = client["wall_ms"]
        if kind is ActionKind.START and client is not None:
            is_java = client["library"].startswith("kafka-clients")
            at_ms += START_MS["java" if is_java else "librdkafka"]
            protocol = client["conf"].get("group.protocol", "classic")
        elif kind is ActionKind.FREEZE:
            length_ms = thawed[line["pid"]] - at_ms
        actions.append(Action(at_ms - base_ms, kind, line["process"], length_ms, protocol))
    return actions


if __name__ == "__main__":
    typer.run(main)
