"""The history of a group of a new type as rows of the tables.

A row has the columns of its table but the key of the incarnation; times are ms since the epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

from coordinator_core.modern_history import EpochBump, Generation, GenerationMember, History, Owned
from coordinator_core.modern_history.causes import UNKNOWN
from coordinator_core.modern_history.evidence import Partition

Row = dict[str, Any]
Names = Mapping[str, str]
"""Names of topics by topic id."""

ACTUAL = "actual"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def generation_rows(history: History, _: Names) -> Iterator[Row]:
    clients = {
        member.member_id: member
        for generation in history.generations
        for member in generation.members.values()
    }
    previous = None
    for each in history.generations:
        culprit = clients.get(each.culprit or "")
        yield {
            "generation": each.number,
            "event_date": date_of(each.preparing_ms),
            "group_type": each.group_type,
            "preparing_time": time_of(each.preparing_ms),
            "joined_time": time_of(each.joined_ms),
            "stable_time": time_of(each.stable_ms),
            "ended_time": time_of(each.ended_ms),
            "reconciling_ms": each.reconciling_ms,
            "protocol": each.assignor,
            "protocol_type": each.group_type,
            "member_count": each.member_count,
            "cause": None if each.cause == UNKNOWN else each.cause,
            "culprit_member_id": each.culprit,
            "culprit_client_id": culprit.client_id if culprit else None,
            "culprit_client_host": culprit.client_host if culprit else None,
            "outcome": each.outcome,
            "gap_before": None if previous is None else 0,
            "first_offset": each.position,
            "last_offset": each.last_position,
            "evidence": _evidence(each.has_log),
        }
        previous = each


def member_rows(history: History, _: Names) -> Iterator[Row]:
    for generation in history.generations:
        for member in generation.members.values():
            yield _member_row(generation, member)


def _member_row(generation: Generation, member: GenerationMember) -> Row:
    return {
        "generation": generation.number,
        "event_date": date_of(generation.preparing_ms),
        "member_id": member.member_id,
        "instance_id": member.instance_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "process": member.process,
        "session_timeout_ms": member.session_timeout_ms,
        "rebalance_timeout_ms": member.rebalance_timeout_ms,
        "subscribed_topics": list(member.topics),
        "is_leader": False,
        "change": member.change,
        "left_how": member.left_how,
        "left_time": time_of(member.left_ms if member.left_how else None),
        "left_reason": member.left_reason,
        "gone": member.is_gone,
    }


def epoch_rows(history: History, _: Names) -> Iterator[Row]:
    targets = iter([*history.generations, None])
    target = next(targets)
    for bump in history.bumps:
        while target is not None and target.position < bump.position:
            target = next(targets)
        yield _epoch_row(bump, target if bump.has_target else None)


def _epoch_row(bump: EpochBump, target: Generation | None) -> Row:
    return {
        "epoch": bump.epoch,
        "time": time_of(bump.time_ms),
        "event_date": date_of(bump.time_ms),
        "generation": None if target is None else target.number,
        "cause": bump.cause,
        "reason": bump.reason,
        "member_id": bump.member_id,
        "process": bump.process,
        "log_offset": bump.position,
        "evidence": _evidence(bump.has_log),
    }


def assignment_rows(history: History, names: Names) -> Iterator[Row]:
    """The partitions that members had (actual) and should have by the target (under the assignor's
    name).
    """
    for generation in history.generations:
        for owned in generation.actual.values():
            yield from _assigned(generation, owned, ACTUAL, history, names)
        if generation.assignor is not None:
            for owned in generation.targets:
                yield from _assigned(generation, owned, generation.assignor, history, names)


def _assigned(
    generation: Generation, owned: Owned, assignor: str, history: History, names: Names
) -> Iterator[Row]:
    for role, subtopology, topic_id, partition in sorted(owned.partitions, key=str):
        for topic in topics_of(subtopology, topic_id, history, names):
            yield {
                "generation": generation.number,
                "event_date": date_of(generation.preparing_ms),
                "assignor": assignor,
                "member_id": owned.member_id,
                "process": owned.process,
                "topic": topic,
                "partition": partition,
                "role": role,
                "subtopology": subtopology,
                "is_target": assignor != ACTUAL,
            }


def step_rows(history: History, names: Names) -> Iterator[Row]:
    for step in history.steps:
        yield {
            "member_id": step.member_id,
            "process": step.process,
            "epoch": step.epoch,
            "previous_epoch": step.previous_epoch,
            "state": step.state,
            "assigned": _partition_lists(step.assigned, history, names),
            "pending_revocation": _partition_lists(step.pending, history, names),
            "time": time_of(step.time_ms),
            "event_date": date_of(step.time_ms),
            "generation": step.generation,
            "log_offset": step.position,
        }


def handover_rows(history: History, names: Names) -> Iterator[Row]:
    for each in history.handovers:
        _, subtopology, topic_id, partition = each.partition
        for topic in topics_of(subtopology, topic_id, history, names):
            yield {
                "generation": each.generation,
                "event_date": date_of(each.assigned_ms),
                "topic": topic,
                "partition": partition,
                "subtopology": subtopology,
                "from_process": each.from_process,
                "to_process": each.to_process,
                "from_member_id": each.from_member,
                "to_member_id": each.to_member,
                "requested_time": time_of(each.asked_ms),
                "released_time": time_of(each.released_ms),
                "assigned_time": time_of(each.assigned_ms),
                "unowned_ms": each.assigned_ms - each.released_ms,
                "waited_for": each.waited_for,
                "evidence": _evidence(each.has_log),
                "estimated": False,
            }


def _partition_lists(partitions: frozenset[Partition], history: History, names: Names) -> list[Row]:
    lists: dict[tuple[str, str | None, str], list[int]] = {}
    for role, subtopology, topic_id, partition in partitions:
        for topic in topics_of(subtopology, topic_id, history, names):
            lists.setdefault((role, subtopology, topic), []).append(partition)
    return [
        {"role": role, "subtopology": sub, "topic": topic, "partitions": sorted(numbers)}
        for (role, sub, topic), numbers in sorted(lists.items(), key=str)
    ]


def topics_of(
    subtopology: str | None, topic_id: str | None, history: History, names: Names
) -> Iterable[str]:
    """The topic's name, or its id; the topics of a task, or its subtopology's id."""
    if topic_id is not None:
        return [names.get(topic_id, topic_id)]
    return history.topology.get(subtopology or "") or [subtopology or ""]


def logged_rows(history: History) -> Iterator[tuple[str, list[Row]]]:
    """The rows of each table that lines alone show."""
    log: Row = {"evidence": "log"}
    no_offsets = {"first_offset": None, "last_offset": None, "reconciling_ms": None}
    yield "generations", [row | no_offsets | log for row in generation_rows(history, {})]
    yield "group_epochs", [row | {"log_offset": None} | log for row in epoch_rows(history, {})]


# By table.
ROWS: dict[str, Callable[[History, Names], Iterator[Row]]] = {
    "assignments": assignment_rows,
    "generations": generation_rows,
    "generation_members": member_rows,
    "group_epochs": epoch_rows,
    "handovers": handover_rows,
    "member_epochs": step_rows,
}


def _evidence(has_log: bool) -> str:
    return "both" if has_log else "records"


def time_of(ms: int | None) -> datetime | None:
    return None if ms is None else _EPOCH + timedelta(milliseconds=ms)


def date_of(ms: int) -> date:
    return (_EPOCH + timedelta(milliseconds=ms)).date()
