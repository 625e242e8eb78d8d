"""Plays recorded process lives with the model's clients, and compares with what was recorded.

    python -m bench.twins.played FOLDER...

FOLDER has timeline.jsonl (starts, stops, kills of processes), clients.jsonl (the real clients'
callbacks), truth.json (figures per group).  Prints per group: rebalances, time not Stable, moved
partitions, time without an owner, refused static members, each as played / recorded; and how many
process lives have the recorded callbacks, with the same partitions in the same order.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from coordinator_core.coordinator.era import CoordinatorConfig
from coordinator_core.coordinator.modern.settings import modern_settings
from coordinator_core.simulation.plans import Action, ActionKind, ProcessSpec
from coordinator_core.simulation.played_lives import PlayedGroup, PlayedLives, played
from coordinator_core.simulation.spec import GroupSpec, Script, Topic

PARTITIONS = {"orders": 12, "payments": 12, "refunds": 6, "invoices": 8, "receipts": 4}
KINDS = {
    "start": ActionKind.START,
    "stop": ActionKind.STOP,
    "kill": ActionKind.KILL,
    "slow": ActionKind.SLOW,
    "freeze": ActionKind.FREEZE,
}
BROKER = {
    "group.consumer.session.timeout.ms": "10000",
    "group.consumer.heartbeat.interval.ms": "3000",
}
# Settings of each variant that differ from the classic protocol with range, by the name of the
# variant.
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "base": {"assignors": ("range",)},
    "static": {"assignors": ("range",), "static": True},
    "cooperative": {"assignors": ("cooperative-sticky",)},
    "consumer": {"protocol": "consumer", "remote_assignor": "uniform"},
    "consumer-range": {"protocol": "consumer", "remote_assignor": "range"},
    "consumer-static": {"protocol": "consumer", "remote_assignor": "uniform", "static": True},
    "consumer-session": {
        "protocol": "consumer",
        "remote_assignor": "uniform",
        "configs": (("consumer.session.timeout.ms", "25000"),),
    },
    "consumer-default": {
        "protocol": "consumer",
        "remote_assignor": "uniform",
        "configs": (
            ("consumer.session.timeout.ms", "45000"),
            ("consumer.heartbeat.interval.ms", "5000"),
        ),
    },
}
# Real heartbeats come later than their interval by this time.
HEARTBEAT_DELAY_MS = 2
# Medians of the recordings: the time from the line "started" to the first request, and the time
# from a fatal error to the next start, including the program's start.
START_MS = {"librdkafka": 50, "java": 210}
RESTART_MS = {"librdkafka": 3100, "java": 3700}
COLUMNS = {
    "rebalances": "rebalances",
    "not_stable_ms": "not_stable_ms",
    "moved_partitions": "partitions_moved",
    "unowned_partition_ms": "unowned_partition_ms",
    "static_refused": "static_joins_refused",
}
Line = Mapping[str, Any]


class Recording(NamedTuple):
    """A folder's files; times are ms of the wall clock."""

    timeline: list[Line]
    clients: list[Line]
    truth: Mapping[str, Any]


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
        for group in recording.truth["groups"]:
            lives = lives_of(recording, group)
            result = played(lives, seed=seed)
            print_group(recording, group, result)
            if group == show:
                print_differences(recording, group, result)


def read(folder: Path) -> Recording:
    timeline = _lines(folder / "timeline.jsonl")
    return Recording(
        timeline,
        _lines(folder / "clients.jsonl"),
        json.loads((folder / "truth.json").read_text()),
    )


def _lines(file: Path) -> list[Line]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def lives_of(recording: Recording, group: str) -> PlayedLives:
    """The process lives, as recorded."""
    truth = recording.truth
    name, _, variant = group.partition("-")
    client = _client(recording, group)
    is_java = client == "java"
    base_ms = truth["t0_wall_ms"] - 1000
    library = "java-4.4" if is_java else "librdkafka-2"
    if is_java and truth["era"] == "4.1.2":
        library = "java-4.1"
    script = script_of(recording, group, base_ms, START_MS[client])
    topics = _topics(recording, ("invoices", "receipts") if name == "invoices" else _ORDERS)
    spec = GroupSpec(
        name=group,
        topics=tuple(topic.name for topic in topics),
        processes=0,
        client=library,
        assignors=None,
        static=False,
        session_timeout_ms=10_000,
        heartbeat_interval_ms=3_000 + (HEARTBEAT_DELAY_MS if is_java else 0),
        max_poll_interval_ms=30_000,
        commit_interval_ms=5_000,
        metadata_max_age_ms=300_000,
        listener_ms=0,
        restart_ms=RESTART_MS[client],
        plans=(),
        script=script,
        timer_delay_us=0 if is_java else 1000 * HEARTBEAT_DELAY_MS // 6,
    )
    settings = dict(VARIANTS[variant])
    config = CoordinatorConfig(offsets_topic_partitions=1, modern=modern_settings(BROKER))
    era = ".".join(truth["era"].split(".")[:2])
    group_spec = replace(spec, **settings)
    return PlayedLives(era, config, topics, group_spec, 1000, 1000 + truth["window_ms"])


_ORDERS = ("orders", "payments", "refunds")


def _client(recording: Recording, group: str) -> str:
    started = next(
        line for line in recording.clients if line["group"] == group and line["what"] == "started"
    )
    return "java" if started["library"].startswith("kafka-clients") else "librdkafka"


def _topics(recording: Recording, names: Iterable[str]) -> tuple[Topic, ...]:
    ids = next(line["topics"] for line in recording.timeline if line["action"] == "topic ids")
    return tuple(Topic(name, PARTITIONS[name], rate=2, topic_id=ids[name]) for name in names)


def script_of(recording: Recording, group: str, base_ms: int, start_ms: int) -> Script:
    """Starts are those of the clients, ``start_ms`` later; stops those at which they close.  The
    model restarts failed processes itself.
    """
    clients = [line for line in recording.clients if line["group"] == group]
    started = {
        line["pid"]: line["wall_ms"] + start_ms for line in clients if line["what"] == "started"
    }
    closing = {line["pid"]: line["wall_ms"] for line in clients if line["what"] == "closing"}
    slow = {line["pid"]: line["wall_ms"] for line in clients if line["what"] == "slow"}
    ids: dict[int, str] = {}
    for line in clients:
        if line.get("member"):
            ids.setdefault(line["pid"], line["member"])
    actions: list[Action] = []
    member_ids: dict[str, list[str]] = defaultdict(list)
    at_by_kind = {"start": started, "stop": closing, "slow": slow}
    for line in recording.timeline:
        if line.get("group") != group or line["action"] not in KINDS or "by_supervisor" in line:
            continue
        process, pid, kind = line["process"], line["pid"], line["action"]
        at_ms = at_by_kind.get(kind, {}).get(pid, line["wall_ms"]) - base_ms
        length_ms = 1000 * int(line.get("seconds", 0))
        actions.append(Action(at_ms, KINDS[kind], process, length_ms))
    for line in clients:
        if line["what"] == "started":
            member_ids[line["client"]].append(ids.get(line["pid"], ""))
    processes = sorted({action.process for action in actions})
    return Script(
        tuple(ProcessSpec(name, name) for name in processes),
        tuple(sorted(actions, key=lambda action: action.at_ms)),
        {},
        {},
        {name: tuple(each) for name, each in member_ids.items()},
    )


def recorded_calls(recording: Recording, group: str) -> dict[tuple[str, int], list[Any]]:
    """The recorded callbacks by process and life."""
    lives: dict[str, int] = defaultdict(int)
    pids: dict[int, tuple[str, int]] = {}
    calls: dict[tuple[str, int], list[Any]] = {}
    for line in recording.clients:
        if line["group"] != group:
            continue
        if line["what"] == "started":
            lives[line["client"]] += 1
            pids[line["pid"]] = line["client"], lives[line["client"]]
            calls[pids[line["pid"]]] = []
        elif line["what"] in ("assigned", "revoked", "lost"):
            partitions = tuple((topic, number) for topic, number in line["partitions"])
            call = line["what"], partitions, line["wall_ms"]
            calls[pids[line["pid"]]].append(call)
    return calls


def played_calls(result: PlayedGroup) -> dict[tuple[str, int], list[Any]]:
    calls: dict[tuple[str, int], list[Any]] = defaultdict(list)
    for call in result.calls:
        calls[call.process, call.life].append((call.kind, call.partitions, call.at_ms))
    return calls


def print_group(recording: Recording, group: str, result: PlayedGroup) -> None:
    print_comparison(recording, group, result, recording.truth["groups"][group]["window"])


def print_comparison(
    recording: Recording, group: str, result: PlayedGroup, window: Mapping[str, Any]
) -> None:
    """``window``: the recorded figures."""
    cells = [
        f"{getattr(result.measures, ours)} / {window.get(theirs, 0) or 0}"
        for ours, theirs in COLUMNS.items()
    ]
    ours, theirs = played_calls(result), recorded_calls(recording, group)
    end_ms = recording.truth["t0_wall_ms"] + recording.truth["window_ms"]
    lives = equal = calls = equal_calls = 0
    for life, recorded in theirs.items():
        expected = [call[:2] for call in recorded if call[2] <= end_ms]
        played_here = [call[:2] for call in ours.get(life, [])]
        lives += 1
        equal += expected == played_here
        calls += len(expected)
        blocks = SequenceMatcher(None, expected, played_here, autojunk=False).get_matching_blocks()
        equal_calls += sum(block.size for block in blocks)
    print(f"| {group} | {' | '.join(cells)} | {equal} of {lives} | {equal_calls} of {calls} |")


def print_differences(
    recording: Recording, group: str, result: PlayedGroup, lead_ms: int = 1000
) -> None:
    """Each differing life's callbacks, played beside recorded; times since the start in ms, which
    was ``lead_ms`` before the recording's.
    """
    ours, theirs = played_calls(result), recorded_calls(recording, group)
    base_ms = recording.truth["t0_wall_ms"] - lead_ms
    for life, recorded in theirs.items():
        own = ours.get(life, [])
        if [call[:2] for call in recorded] == [call[:2] for call in own]:
            continue
        print(f"\n{life[0]}, life {life[1]}")
        for kind, partitions, at_ms in recorded:
            print(f"  recorded {at_ms - base_ms:>7} {kind:<8} {_shown(partitions)}")
        for kind, partitions, at_ms in own:
            print(f"  played   {at_ms:>7} {kind:<8} {_shown(partitions)}")


def _shown(partitions: Iterable[tuple[str, int]]) -> str:
    return " ".join(f"{topic}-{number}" for topic, number in partitions)


if __name__ == "__main__":
    typer.run(main)
