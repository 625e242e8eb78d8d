"""The history of a group of a new type as sentences, in Kafka's words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from coordinator_core.coordinator.group_type import GroupType
from coordinator_core.coordinator.group_types import GROUP_TYPES
from coordinator_core.incident.modern.evidence import Entry
from coordinator_core.incident.modern.group_replay import ModernReplay
from coordinator_core.incident.modern.replay import ModernGeneration, ReplayedWrite
from coordinator_core.incident.modern.stimuli import ModernStimulus, ModernStimulusKind
from coordinator_core.incident.modern.writes import AWAY, Wrote
from coordinator_core.incident.story import StoryLine, seconds
from coordinator_core.modern_history.evidence import RecordKind

Fields = Mapping[str, Any]
_MOST_PARTITIONS = 6
_ROLES = ("active", "standby", "warmup")


def modern_story(replay: ModernReplay, names: Mapping[str, str]) -> list[StoryLine]:
    """Lines in the order of the records; ``names`` are names of topics by id."""
    lines: list[StoryLine] = []
    tellers: dict[int, _Teller] = {}
    for generation in replay.generations:
        teller = tellers.setdefault(generation.incarnation, _Teller(names))
        lines += teller.lines(generation)
    return lines


class _Teller:
    """Tells an incarnation's generations in order, and remembers its members."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self._members: dict[str, Fields] = {}
        self._current: dict[str, Fields] = {}
        # member id -> time in ms since which the member must give up partitions
        self._asked_ms: dict[str, int] = {}
        self._bumped_ms: int | None = None
        self._target_ms: int | None = None
        self._target_epoch = 0
        self._is_stable = True

    def lines(self, generation: ModernGeneration) -> Iterator[StoryLine]:
        for each in generation.writes:
            for text in self._sentences(each, GROUP_TYPES[generation.group_type]):
                yield self._line(generation, each.write.at_ms, text)
            if each.divergence is not None:
                text = f"replay DIVERGES: {each.divergence}"
                yield self._line(generation, each.write.at_ms, text)
        if generation.line_divergence is not None:
            text = f"replay DIVERGES: {generation.line_divergence}"
            yield self._line(generation, generation.ends_ms, text)

    @staticmethod
    def _line(generation: ModernGeneration, at_ms: int, text: str) -> StoryLine:
        return StoryLine(at_ms, generation.incarnation, generation.number, text)

    def _sentences(self, each: ReplayedWrite, group_type: GroupType) -> Iterator[str]:
        for stimulus in each.stimuli:
            yield from self._stimulus(stimulus, each, group_type)
        yield from self._conversion(each)
        for entry in each.write.entries:
            yield from self._entry(entry, group_type)
        if each.write.what is Wrote.DELETION:
            yield "the group is deleted"
        yield from self._stability(each.write.at_ms, group_type)

    # -- causes ----------------------------------------------------------------------------------

    def _stimulus(
        self, stimulus: ModernStimulus, each: ReplayedWrite, group_type: GroupType
    ) -> Iterator[str]:
        member_id, kind = stimulus.member_id, stimulus.kind
        if kind is ModernStimulusKind.JOIN:
            if each.write.replaced is not None:
                yield (
                    f"static member {self._who(member_id, each)} returns as {member_id} and takes"
                    f" over the assignment of {each.write.replaced}"
                )
            else:
                yield f"{self._who(member_id, each)} joins the {group_type.name} group"
        elif kind is ModernStimulusKind.CLASSIC_JOIN and member_id not in self._members:
            yield f"{self._who(member_id, each)} joins using the classic protocol"
        elif kind is ModernStimulusKind.REFUSED:
            yield (
                f"a join under instance id {self._instance(stimulus)} is refused: it is owned by a"
                " member whose session has not expired (UNRELEASED_INSTANCE_ID)"
            )
        elif kind is ModernStimulusKind.AWAY:
            yield f"static member {self._who(member_id, each)} leaves temporarily (epoch -2)"
        elif kind is ModernStimulusKind.TOPICS:
            for topic in stimulus.topics:
                yield f"topic {topic.name} has {topic.partitions} partitions"
            for name in stimulus.deleted:
                yield f"topic {name} was deleted"
        else:
            yield from self._departure(stimulus, each)

    def _departure(self, stimulus: ModernStimulus, each: ReplayedWrite) -> Iterator[str]:
        member_id = stimulus.member_id
        if stimulus.kind in (ModernStimulusKind.LEAVE, ModernStimulusKind.CLASSIC_LEAVE):
            sure = "" if stimulus.basis.name == "LOG" else " or the member's session expired"
            yield f"{self._who(member_id, each)} leaves{sure}"
        elif stimulus.kind is ModernStimulusKind.SESSION_EXPIRED:
            yield f"{self._who(member_id, each)} is fenced: the member session expired"
        elif stimulus.kind is ModernStimulusKind.TIMEOUT and member_id:
            member = self._members.get(member_id, {})
            epoch = self._current.get(member_id, {}).get("member_epoch")
            yield (
                f"{self._who(member_id, each)} is fenced: it failed to transition from epoch"
                f" {epoch} within {member.get('rebalance_timeout_ms')} ms (rebalance timeout)"
            )

    @staticmethod
    def _instance(stimulus: ModernStimulus) -> str:
        return getattr(stimulus.request, "instance_id", None) or "unknown"

    def _conversion(self, each: ReplayedWrite) -> Iterator[str]:
        if each.write.converts:
            yield "the classic group is converted to a consumer group (online upgrade)"
        elif each.write.what is Wrote.DOWNGRADE:
            yield "the consumer group is converted to a classic group (downgrade)"

    # -- records ---------------------------------------------------------------------------------

    def _entry(self, entry: Entry, group_type: GroupType) -> Iterator[str]:
        if entry.value is None:
            if entry.kind is RecordKind.MEMBER:
                self._members.pop(entry.member_id, None)
                self._current.pop(entry.member_id, None)
            return
        if entry.kind is RecordKind.MEMBER:
            self._members[entry.member_id] = entry.value
        elif entry.kind is RecordKind.REGEX:
            regex = entry.key["regular_expression"]
            topics = ", ".join(entry.value["topics"]) or "no topic"
            yield f"regular expression {regex} is resolved: {topics}"
        elif entry.kind is RecordKind.GROUP:
            self._bumped_ms, self._is_stable = entry.at_ms, False
            yield f"the group epoch becomes {entry.value['epoch']}"
        elif entry.kind is RecordKind.TARGET:
            yield from self._target(entry)
        elif entry.kind is RecordKind.CURRENT and entry.value["member_epoch"] != AWAY:
            yield from self._step(entry, group_type)
        elif entry.kind is RecordKind.STATE_PARTITIONS and not entry.value["initializing_topics"]:
            topics = ", ".join(each["topic_name"] for each in entry.value["initialized_topics"])
            yield f"share partitions of {topics or 'no topic'} are initialized"

    def _target(self, entry: Entry) -> Iterator[str]:
        assert entry.value is not None
        self._target_epoch, self._target_ms = entry.value["assignment_epoch"], entry.at_ms
        self._is_stable = False
        waited = "" if self._bumped_ms is None else _after(self._bumped_ms, entry.at_ms)
        count = len(self._members)
        members = f"{count} member{'s' * (count != 1)}"
        yield f"target assignment for epoch {self._target_epoch} computed for {members}{waited}"

    def _step(self, entry: Entry, group_type: GroupType) -> Iterator[str]:
        value, member_id = entry.value, entry.member_id
        assert value is not None
        before = self._current.get(member_id)
        self._current[member_id] = value
        who, epoch = self._name(member_id), value["member_epoch"]
        state = value.get("state", 0)
        asked_ms = self._asked_ms.pop(member_id, None)
        released = self._pending(before)
        if state == group_type.unrevoked_state:
            pending = self._pending(value)
            self._asked_ms[member_id] = entry.at_ms
            if released and asked_ms is not None:
                yield f"{who} has given up {released}{_after(asked_ms, entry.at_ms)}"
            yield f"{who} is asked to give up {pending}"
            return
        if released and asked_ms is not None:
            yield f"{who} has given up {released}{_after(asked_ms, entry.at_ms)}"
        what = self._owned(value) or "nothing"
        if state == group_type.stable_state:
            yield f"{who} reaches epoch {epoch} with {what}"
        else:
            yield (
                f"{who} is at epoch {epoch} with {what}, and waits for partitions of other members"
            )

    def _stability(self, at_ms: int, group_type: GroupType) -> Iterator[str]:
        """Returns whether every member has reached the target now."""
        if self._is_stable or not self._members or self._target_ms is None:
            return
        if self._bumped_ms is not None and self._bumped_ms > self._target_ms:
            return
        has_reached = all(
            (value := self._current.get(each)) is not None
            and value["member_epoch"] == self._target_epoch
            and value.get("state", 0) == group_type.stable_state
            for each in self._members
        )
        if has_reached:
            self._is_stable = True
            took = _after(self._target_ms, at_ms)
            yield f"group is Stable at epoch {self._target_epoch}{took}"

    # -- words -----------------------------------------------------------------------------------

    def _who(self, member_id: str, each: ReplayedWrite) -> str:
        """The name of a member that may be new in this write."""
        if member_id not in self._members:
            written = [
                e for e in each.write.of(RecordKind.MEMBER) if e.member_id == member_id and e.value
            ]
            if written and written[0].value is not None:
                return _named(member_id, written[0].value)
        return self._name(member_id)

    def _name(self, member_id: str) -> str:
        return _named(member_id, self._members.get(member_id, {}))

    def _owned(self, value: Fields) -> str:
        return self._listed(value, "assigned_partitions", "")

    def _pending(self, value: Fields | None) -> str:
        if value is None:
            return ""
        return self._listed(value, "partitions_pending_revocation", "_pending_revocation")

    def _listed(self, value: Fields, field: str, suffix: str) -> str:
        """Partitions, such as orders-0, orders-1; tasks, such as 0_1 and standby 0_2."""
        parts = [
            f"{self._names.get(row['topic_id'], row['topic_id'])}-{partition}"
            for row in value.get(field) or ()
            for partition in sorted(row["partitions"])
        ]
        for role in _ROLES:
            prefix = "" if role == "active" else f"{role} "
            parts += [
                f"{prefix}{row['subtopology_id']}_{partition}"
                for row in value.get(f"{role}_tasks{suffix}") or ()
                for partition in sorted(row["partitions"])
            ]
        return _shortened(parts)


def _shortened(parts: Sequence[str]) -> str:
    if len(parts) <= _MOST_PARTITIONS:
        return ", ".join(parts)
    shown = ", ".join(parts[: _MOST_PARTITIONS - 1])
    return f"{shown} and {len(parts) - _MOST_PARTITIONS + 1} more"


def _named(member_id: str, member: Fields) -> str:
    name = member.get("instance_id") or member.get("client_id") or member_id
    host = (member.get("client_host") or "").lstrip("/")
    return f"{name} ({host or 'host unknown'})"


def _after(from_ms: int, to_ms: int) -> str:
    return f" after {seconds(to_ms - from_ms)}" if to_ms > from_ms else ""
