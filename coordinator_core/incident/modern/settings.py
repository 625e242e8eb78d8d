"""Settings of the broker that its records and lines show: era, assignment interval, assignor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from coordinator_core.coordinator.era_evidence import EraEvidence, InferredEra
from coordinator_core.coordinator.eras import era_of_evidence
from coordinator_core.coordinator.group_types import MODERN_TYPES
from coordinator_core.incident.comparison import TIMER_LATE_MS
from coordinator_core.incident.modern.evidence import Entry
from coordinator_core.log_lines.version_ranges import ALL_VERSIONS, Ranges
from coordinator_core.modern_history.evidence import RecordKind

_DEFAULT_INTERVAL_MS = 1000
_DEFAULT_DELAY_MS = 3000
_DEFAULT_REFRESH_MS = 600_000
_NEVER_MS = 1 << 43
_NO_TOPOLOGY = -1
_ASSIGNMENT = "ConsumerGroupCurrentMemberAssignment"
ASSIGNORS = ("uniform", "range")
Value = Mapping[str, Any]  # of a record


def modern_era(entries: Iterable[Entry], versions: Ranges = ALL_VERSIONS) -> InferredEra:
    """The era of brokers that wrote these records of a consumer, share or streams group.

    ``versions`` are the versions of the brokers, as their logs show them.
    """
    entries = list(entries)
    values = [each.value for each in entries if each.value is not None]
    steps = _member_steps(entries)
    return era_of_evidence(
        EraEvidence(
            has_modern_records=True,
            has_target_times=any(value.get("assignment_timestamp") for value in values),
            has_assignment_epochs=any(
                row.get("assignment_epochs")
                for value in values
                for row in value.get("assigned_partitions") or ()
            ),
            has_topic_records=any(
                each.kind is RecordKind.TOPICS and not each.is_tombstone for each in entries
            ),
            has_emptied_without_target=_has_emptied_without_target(entries),
            has_kept_pending_partition=any(
                _pending(before) & _assigned(after) for before, after in steps
            ),
            has_revoked_twice_in_an_epoch=any(
                before["member_epoch"] == after["member_epoch"]
                and _pending(before) - _pending(after)
                and _pending(after) - _pending(before)
                for before, after in steps
            ),
            has_validated_topology=any(
                value.get("validated_topology_epoch", _NO_TOPOLOGY) != _NO_TOPOLOGY
                for value in values
            ),
            versions=versions,
        )
    )


def _member_steps(entries: Iterable[Entry]) -> list[tuple[Value, Value]]:
    """Assignments of a consumer group's member that follow each other, while it stays."""
    last: dict[str, Value] = {}
    steps = []
    for each in entries:
        if each.name != _ASSIGNMENT:
            continue
        before = last.pop(each.member_id, None)
        if each.value is not None and each.value["member_epoch"] > 0:
            last[each.member_id] = each.value
            if before is not None:
                steps.append((before, each.value))
    return steps


def _pending(value: Value) -> set[tuple[str, int]]:
    return _partitions(value["partitions_pending_revocation"])


def _assigned(value: Value) -> set[tuple[str, int]]:
    return _partitions(value["assigned_partitions"])


def _partitions(rows: Iterable[Value]) -> set[tuple[str, int]]:
    return {(row["topic_id"], partition) for row in rows for partition in row["partitions"]}


def _has_emptied_without_target(entries: Sequence[Entry]) -> bool:
    """Returns whether the last member of a group left, and no target follows the group's record.

    Only an empty group has the hash 0; a group whose other members were compacted away has another
    hash.
    """
    members: set[str] = set()
    has_left = False
    for each, after in zip_longest(entries, entries[1:]):
        if each.kind is RecordKind.MEMBER:
            has_left = each.is_tombstone
            (members.discard if has_left else members.add)(each.member_id)
        elif each.kind is RecordKind.GROUP and each.value is not None:
            is_empty = has_left and not members and not each.value.get("metadata_hash")
            if is_empty and (after is None or after.kind is not RecordKind.TARGET):
                return True
            has_left = False
    return False


def engine_settings(entries: Sequence[Entry], assignor: str) -> dict[str, str]:
    """Settings of the broker, by Kafka's names; ``assignor`` is the assignor of members that prefer
    none.
    """
    interval = str(_assignment_interval_ms(entries))
    settings = {f"{each.broker_prefix}assignment.interval.ms": interval for each in MODERN_TYPES}
    settings["group.consumer.regex.refresh.interval.ms"] = str(_regex_refresh_ms(entries))
    settings["group.streams.initial.rebalance.delay.ms"] = str(_initial_delay_ms(entries))
    settings["group.streams.num.standby.replicas"] = str(_standbys(entries))
    others = [each for each in ASSIGNORS if each != assignor]
    settings["group.consumer.assignors"] = ",".join([assignor, *others])
    return settings


def _assignment_interval_ms(entries: Iterable[Entry]) -> int:
    """The default, unless targets follow each other faster, or heartbeats wait longer for one."""
    shortest_ms, longest_wait_ms, last_ms = _NEVER_MS, 0, 0
    group_epoch = target_epoch = 0
    for each in entries:
        value = each.value
        if value is None:
            continue
        if each.kind is RecordKind.GROUP:
            group_epoch = value["epoch"]
        elif each.kind is RecordKind.TARGET:
            at_ms, target_epoch = value.get("assignment_timestamp", 0), value["assignment_epoch"]
            if last_ms and at_ms > last_ms:
                shortest_ms = min(shortest_ms, at_ms - last_ms)
            last_ms = at_ms
        elif each.kind is RecordKind.CURRENT and last_ms and target_epoch < group_epoch:
            wait_ms = each.at_ms - last_ms if value["member_epoch"] >= 0 else 0
            longest_wait_ms = max(longest_wait_ms, wait_ms)
    if longest_wait_ms < _DEFAULT_INTERVAL_MS:
        return min(shortest_ms, _DEFAULT_INTERVAL_MS)
    return shortest_ms if longest_wait_ms < shortest_ms < _NEVER_MS else longest_wait_ms + 1


def _initial_delay_ms(entries: Iterable[Entry]) -> int:
    """The time for which a streams group waited for its first target; the default if the time is
    close to it.
    """
    first_ms = None
    for each in entries:
        if each.group_type.has_initial_delay:
            first_ms = each.at_ms if first_ms is None else first_ms
            if each.kind is RecordKind.TARGET and each.value is not None:
                waited_ms = each.at_ms - first_ms
                is_default = abs(waited_ms - _DEFAULT_DELAY_MS) <= TIMER_LATE_MS
                return _DEFAULT_DELAY_MS if is_default else waited_ms
    return _DEFAULT_DELAY_MS


def _standbys(entries: Iterable[Entry]) -> int:
    """The largest number of standby tasks that a target has for one task: num.standby.replicas."""
    of_members: dict[str, list[tuple[str, int]]] = {}
    most = 0
    for each in entries:
        if each.kind is RecordKind.TARGET_MEMBER:
            rows = (each.value or {}).get("standby_tasks") or ()
            of_members[each.member_id] = [
                (row["subtopology_id"], number) for row in rows for number in row["partitions"]
            ]
        elif each.kind is RecordKind.TARGET:
            counts = Counter(task for tasks in of_members.values() for task in tasks)
            most = max(most, *counts.values(), 0)
    return most


def _regex_refresh_ms(entries: Iterable[Entry]) -> int:
    """The shortest time after which an expression was resolved again, less than the default."""
    least_ms = _DEFAULT_REFRESH_MS
    last: dict[str, int] = {}
    for each in entries:
        if each.kind is RecordKind.REGEX and each.value is not None:
            regex, at_ms = each.key["regular_expression"], each.value["timestamp"]
            if regex in last:
                least_ms = min(least_ms, at_ms - last[regex] - 1)
            last[regex] = at_ms
    return max(least_ms, 0)
