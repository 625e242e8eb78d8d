"""One rebalance as a Mermaid sequence diagram: requests of members, log lines, group records.

Requests are inferred from the group's log and records, as `regroup replay` does; requests without
evidence are marked as assumed.  Times are relative to the start of the rebalance.  ``heartbeats``
draws the target assignments of consumer, share and streams groups.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from coordinator_core.coordinator.classic.group_type import CLASSIC
from coordinator_core.coordinator.group_types import GROUP_TYPES
from coordinator_core.diagram import Diagram, as_mermaid
from coordinator_core.diagram.drawing import Arrow, Note
from coordinator_core.diagram.names import COORDINATOR, LOG
from coordinator_core.incident import GroupReplay, ReplayedGeneration
from coordinator_core.incident.stimuli import Basis, Stimulus, StimulusKind
from coordinator_core.incident.story import story
from jobs.console.errors import UsageError
from jobs.lake.sql import open_lake
from jobs.replay.command import ReplayOptions, replay_group
from jobs.report.heartbeats import Place, heartbeat_diagram

_REQUESTS = {
    StimulusKind.ASK_ID: "JoinGroup, no member id",
    StimulusKind.JOIN: "JoinGroup, new member",
    StimulusKind.REJOIN: "JoinGroup, rejoin",
    StimulusKind.SYNC: "SyncGroup",
    StimulusKind.LEAVE: "LeaveGroup",
    StimulusKind.DELETE: "DeleteGroups",
}
_COORDINATOR_EVENTS = {
    StimulusKind.LOAD: "the coordinator loads the group",
    StimulusKind.UNLOAD: "the coordinator unloads the group",
}


def sequence(lake: str, cluster_id: str, group_id: str | None, generation: str) -> str:
    """Mermaid text.

    ``generation`` is NUMBER (in the last incarnation that has it) or INCARNATION.NUMBER.
    Raises UsageError if the group has no such generation.
    """
    if group_id is None:
        raise UsageError(f"--mermaid {generation}: give the --group of this generation, too")
    place = _new_type(lake, cluster_id, group_id, generation)
    if place is not None:
        return as_mermaid(heartbeat_diagram(lake, place))
    replay = replay_group(ReplayOptions(lake, cluster_id, group_id))
    return as_mermaid(diagram(replay, _find(replay, generation)))


def _new_type(lake: str, cluster_id: str, group_id: str, text: str) -> Place | None:
    """The last target assignment of this number, or None for a classic generation, or if there is
    no group of a new type with this name.  Raises UsageError if such a group lacks the number.
    """
    rows = open_lake(lake, "generations").execute(
        "SELECT incarnation, generation, group_type FROM generations"
        " WHERE cluster_id = ? AND group_id = ? ORDER BY incarnation, generation",
        [cluster_id, group_id],
    )
    numbers = rows.fetchall()
    incarnation, _, number = text.rpartition(".")
    matches = [
        each for each in numbers if str(each[1]) == number and incarnation in ("", str(each[0]))
    ]
    if matches:
        last = matches[-1]
        return (cluster_id, group_id, last[0], last[1]) if _has_epochs(last) else None
    if not any(map(_has_epochs, numbers)):
        return None
    existing = ", ".join(str(each[1]) for each in numbers)
    raise UsageError(f"--mermaid {text}: no such generation of {group_id}; it has {existing}")


def _has_epochs(row: tuple[Any, ...]) -> bool:
    """``row`` is a generation, its group type last; without one it counts as classic."""
    return GROUP_TYPES[row[-1] or CLASSIC.name].has_epochs


def _find(replay: GroupReplay, text: str) -> ReplayedGeneration:
    incarnation, _, number = text.rpartition(".")
    matches = [
        each
        for each in replay.generations
        if str(each.number) == number and incarnation in ("", str(each.incarnation))
    ]
    if not matches:
        numbers = [each.number for each in replay.generations]
        existing = f"it has {min(numbers)} to {max(numbers)}" if numbers else "it has none"
        raise UsageError(f"--mermaid {text}: no such generation of {replay.group_id}; {existing}")
    return matches[-1]


def diagram(replay: GroupReplay, generation: ReplayedGeneration) -> Diagram:
    """The diagram of one generation, without commits."""
    stimuli = [s for s in generation.stimuli if s.kind is not StimulusKind.COMMIT]
    names = _Names(replay, generation)
    began_ms = generation.explained.evidence.begins_ms
    rows: list[Arrow | Note] = [
        *(row for s in stimuli if (row := _row(s, names, began_ms)) is not None),
        *_log_lines(replay, generation, began_ms),
        *_records(generation, began_ms),
    ]
    columns = dict.fromkeys(names.of(s.member_id) for s in stimuli if s.kind in _REQUESTS)
    title = f"{replay.group_id}, generation {generation.number}"
    ordered = sorted(rows, key=lambda row: row.at_ms)
    return Diagram(title, "", (*columns, COORDINATOR, LOG), tuple(ordered))


class _Names:
    """Names of members: instance or client id, with the member id if two members share it."""

    def __init__(self, replay: GroupReplay, generation: ReplayedGeneration) -> None:
        self._members = replay.members[generation.incarnation]
        self._generation = generation.number
        self._shared = {COORDINATOR, LOG}
        for record in generation.explained.evidence.records:
            count = Counter(self._plain(member.member_id) for member in record.members)
            self._shared |= {name for name, times in count.items() if times > 1}

    def of(self, member_id: str) -> str:
        name = self._plain(member_id)
        return f"{name} ({member_id})" if name in self._shared else name

    def _plain(self, member_id: str) -> str:
        member = self._members.at(member_id, self._generation)
        return member.instance_id or member.client_id or member_id or "an administrator"


def _row(stimulus: Stimulus, names: _Names, began_ms: int) -> Arrow | Note | None:
    at_ms = stimulus.at_ms - began_ms
    if stimulus.kind in _COORDINATOR_EVENTS:
        return Note(at_ms, _COORDINATOR_EVENTS[stimulus.kind])
    text = _REQUESTS[stimulus.kind]
    if stimulus.assignments:
        text += f", with the assignment of {_count_text(len(stimulus.assignments))}"
    if stimulus.reason:
        text += f", reason: {stimulus.reason}"
    if stimulus.basis is Basis.ASSUMED:
        text += " (assumed)"
    return Arrow(at_ms, names.of(stimulus.member_id), COORDINATOR, text)


def _log_lines(
    replay: GroupReplay, generation: ReplayedGeneration, began_ms: int
) -> Iterator[Note]:
    """Lines of the log, or of the engine if there is no log."""
    for line in story(replay):
        if (line.incarnation, line.generation) == (generation.incarnation, generation.number):
            yield Note(line.at_ms - began_ms, line.text)


def _records(generation: ReplayedGeneration, began_ms: int) -> Iterator[Arrow]:
    for record in generation.explained.evidence.records:
        count = _count_text(len(record.members))
        text = f"group record: generation {generation.number}, {count}"
        yield Arrow(record.at_ms - began_ms, COORDINATOR, LOG, text)


def _count_text(members: int) -> str:
    return f"{members} member{'s' * (members != 1)}"
