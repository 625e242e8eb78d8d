"""One rebalance as a Mermaid sequence: who asked what of the coordinator, and what came of it.

What clients asked is inferred from the group's log and records, as `regroup replay` infers it; what
nothing told is marked as assumed.  Times are since the rebalance began.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from coordinator_core.diagram import Diagram, as_mermaid
from coordinator_core.diagram.drawing import Arrow, Note
from coordinator_core.diagram.names import COORDINATOR, LOG
from coordinator_core.incident import GroupReplay, ReplayedGeneration
from coordinator_core.incident.stimuli import Basis, Stimulus, StimulusKind
from coordinator_core.incident.story import story
from jobs.console.errors import UsageError
from jobs.replay.command import ReplayOptions, replay_group

_ASKED = {
    StimulusKind.ASK_ID: "JoinGroup, no member id",
    StimulusKind.JOIN: "JoinGroup, new",
    StimulusKind.REJOIN: "JoinGroup, again",
    StimulusKind.SYNC: "SyncGroup",
    StimulusKind.LEAVE: "LeaveGroup",
    StimulusKind.DELETE: "DeleteGroups",
}
_DONE = {
    StimulusKind.LOAD: "the coordinator takes the group over",
    StimulusKind.UNLOAD: "the coordinator gives the group up",
}


def sequence(lake: str, cluster_id: str, group_id: str | None, generation: str) -> str:
    """Mermaid text.  ``generation``: a number, of the last life of the group that has it; or
    LIFE.NUMBER.  UsageError if there is none.
    """
    if group_id is None:
        raise UsageError(f"--mermaid {generation}: give the --group that it is of")
    found = replay_group(ReplayOptions(lake, cluster_id, group_id))
    return as_mermaid(diagram(found, _wanted(found, generation)))


def _wanted(found: GroupReplay, text: str) -> ReplayedGeneration:
    life, _, number = text.rpartition(".")
    named = [
        each
        for each in found.generations
        if str(each.number) == number and life in ("", str(each.incarnation))
    ]
    if not named:
        numbers = [each.number for each in found.generations]
        known = f"it has {min(numbers)} to {max(numbers)}" if numbers else "none can be told"
        raise UsageError(f"--mermaid {text}: no such generation of {found.group_id}; {known}")
    return named[-1]


def diagram(found: GroupReplay, generation: ReplayedGeneration) -> Diagram:
    """Of one generation; commits are left out."""
    asked = [s for s in generation.inferred if s.kind is not StimulusKind.COMMIT]
    names = _Names(found, generation)
    began_ms = generation.explained.chapter.begins_ms
    rows: list[Arrow | Note] = [
        *(row for s in asked if (row := _row(s, names, began_ms)) is not None),
        *_told(found, generation, began_ms),
        *_written(generation, began_ms),
    ]
    columns = dict.fromkeys(names.of(s.member_id) for s in asked if s.kind in _ASKED)
    title = f"{found.group_id}, generation {generation.number}"
    ordered = sorted(rows, key=lambda row: row.at_ms)
    return Diagram(title, "", (*columns, COORDINATOR, LOG), tuple(ordered))


class _Names:
    """Instance or client ids; where two members of a record share one, with their member ids."""

    def __init__(self, found: GroupReplay, generation: ReplayedGeneration) -> None:
        self._members = found.members[generation.incarnation]
        self._generation = generation.number
        self._shared = {COORDINATOR, LOG}
        for record in generation.explained.chapter.records:
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
    if stimulus.kind in _DONE:
        return Note(at_ms, _DONE[stimulus.kind])
    text = _ASKED[stimulus.kind]
    if stimulus.assignments:
        text += f", with the assignment of {_counted(len(stimulus.assignments))}"
    if stimulus.reason:
        text += f", because: {stimulus.reason}"
    if stimulus.basis is Basis.ASSUMED:
        text += " (assumed)"
    return Arrow(at_ms, names.of(stimulus.member_id), COORDINATOR, text)


def _told(found: GroupReplay, generation: ReplayedGeneration, began_ms: int) -> Iterator[Note]:
    """What the log says, or the engine where there is none."""
    for line in story(found):
        if (line.incarnation, line.generation) == (generation.incarnation, generation.number):
            yield Note(line.at_ms - began_ms, line.text)


def _written(generation: ReplayedGeneration, began_ms: int) -> Iterator[Arrow]:
    for record in generation.explained.chapter.records:
        count = _counted(len(record.members))
        text = f"group record: generation {generation.number}, {count}"
        yield Arrow(record.at_ms - began_ms, COORDINATOR, LOG, text)


def _counted(members: int) -> str:
    return f"{members} member{'s' * (members != 1)}"
