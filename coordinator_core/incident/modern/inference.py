"""Infers the stimuli that triggered the writes of a group."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from coordinator_core.coordinator.consumer.group_type import CONSUMER
from coordinator_core.coordinator.group_type import GroupType
from coordinator_core.coordinator.metadata_image import TopicImage
from coordinator_core.incident.comparison import EARLY_MS, TIMER_LATE_MS
from coordinator_core.incident.modern import requests
from coordinator_core.incident.modern.evidence import Entry, GroupLine
from coordinator_core.incident.modern.stimuli import PRESENT, ModernStimulus, ModernStimulusKind
from coordinator_core.incident.modern.stored import Stored
from coordinator_core.incident.modern.topics import TopicsSeen
from coordinator_core.incident.modern.writes import AWAY, Write, Wrote
from coordinator_core.incident.stimuli import Basis
from coordinator_core.modern_history.evidence import SAME_REQUEST_MS, RecordKind
from coordinator_core.protocol.messages import (
    ConsumerGroupHeartbeat,
    DeleteGroup,
    JoinGroup,
    LeaveGroup,
    Leaver,
    Request,
)


class Departures:
    """The lines of members that left or were removed, each used once."""

    def __init__(self, lines: Iterable[GroupLine]) -> None:
        self._lines: dict[str, list[GroupLine]] = {}
        for line in lines:
            if line.event in ("LEFT", "FENCED"):
                self._lines.setdefault(line.member_id, []).append(line)

    def of(self, member_id: str, at_ms: int, *, temporarily: bool = False) -> GroupLine | None:
        """The line next to the records of this time, or None if the log lacks it."""
        lines = self._lines.get(member_id, [])
        near = [
            each
            for each in lines
            if abs(each.at_ms - at_ms) <= SAME_REQUEST_MS
            and (each.step == "temporarily") == temporarily
        ]
        nearest = min(near, key=lambda each: abs(each.at_ms - at_ms), default=None)
        if nearest is not None:
            lines.remove(nearest)
        return nearest


class Inference:
    """Infers the stimuli of one write after another; ``stored`` says what production
    has before it.
    """

    def __init__(
        self, group_id: str, stored: Stored, topics: TopicsSeen, lines: Sequence[GroupLine]
    ) -> None:
        self.group_id, self.stored, self.topics = group_id, stored, topics
        self._departures = Departures(lines)
        self._refused = [line for line in lines if line.event == "STATIC_FENCED"]
        self._configs: dict[str, str] = {}  # configuration of the streams group
        # time in ms since which a member must give up partitions
        self._unrevoked_ms: dict[str, int] = {}
        self.group_type: GroupType = CONSUMER
        self.hash_is_known = True
        self.validates_topologies = False  # whether records say that a topology is ready
        self.ready_hash: int | None = None  # hash of the topics once a topology is ready

    def stimuli(self, write: Write, next_assigned: Mapping[str, set[int]]) -> list[ModernStimulus]:
        """``next_assigned`` has the partitions of the next target, by topic id."""
        self.group_type = _group_type(write) or self.group_type
        stimuli = self._topic_changes(write, next_assigned)
        stimuli += _STIMULI[write.what](self, write)
        self._note_unrevoked(write)
        return stimuli

    def refused_joins(self, until_ms: int) -> list[ModernStimulus]:
        """Joins under an instance id in use, which only the log shows."""
        stimuli = []
        while self._refused and self._refused[0].at_ms <= until_ms:
            line = self._refused.pop(0)
            owner = self.stored.static_member(line.instance_id or "")
            member = self.stored.of(RecordKind.MEMBER, owner or "")
            if member is None or self.group_type is not CONSUMER:
                continue
            request = requests.static_join(self.group_id, line.member_id, member)
            kind = ModernStimulusKind.REFUSED
            stimuli.append(
                ModernStimulus(
                    at_ms=line.at_ms,
                    kind=kind,
                    member_id=line.member_id,
                    basis=Basis.LOG,
                    evidence=line.place,
                    request=request,
                )
            )
        return stimuli

    # -- topics ----------------------------------------------------------------------------------

    def _topic_changes(
        self, write: Write, assigned: Mapping[str, set[int]]
    ) -> list[ModernStimulus]:
        group = write.last(RecordKind.GROUP)
        if group is None or group.value is None:
            return []
        after = Stored()
        after.apply(self.stored.entries())
        after.apply(write.entries)
        if self.group_type.has_topology:
            return self._topology_changes(write, after, assigned)
        names, written = after.subscribed(), after.of(RecordKind.TOPICS)
        if written is not None:
            self.hash_is_known = True
            return self._change_topics(
                write, group, *self.topics.changes_to(names, written["topics"])
            )
        self.topics.name_ids(assigned, names, group.value.get("metadata_hash"))
        ids = {each["topic_id"]: each["topic_name"] for each in _state_topics(after)}
        self.topics.learn(ids)
        counts = dict(assigned)
        for each in _state_topics(after):
            counts.setdefault(each["topic_id"], set()).update(each["partitions"])
        present = {
            name
            for each in write.of(RecordKind.REGEX)
            if each.value
            for name in each.value["topics"]
        }
        changed, deleted, self.hash_is_known = self.topics.changes(
            names, counts, group.value.get("metadata_hash"), present
        )
        return self._change_topics(write, group, changed, deleted)

    def _topology_changes(
        self, write: Write, after: Stored, tasks: Mapping[str, set[int]]
    ) -> list[ModernStimulus]:
        """Only heartbeats look at the topics of a topology."""
        group, topology = write.last(RecordKind.GROUP), after.of(RecordKind.TOPOLOGY)
        self.hash_is_known = False
        if write.what is not Wrote.HEARTBEAT or topology is None or group is None:
            return []
        assert group.value is not None
        written = group.value.get("metadata_hash")
        if self.validates_topologies:
            is_ready = group.value.get("validated_topology_epoch", -1) >= 0
        else:
            is_ready = bool(tasks) and written == self.ready_hash
        changed, deleted, self.hash_is_known = self.topics.changes_for_topology(
            topology, tasks, written, is_ready=is_ready
        )
        return self._change_topics(write, group, changed, deleted)

    def _change_topics(
        self, write: Write, group: Entry, changed: list[TopicImage], deleted: list[str]
    ) -> list[ModernStimulus]:
        if not changed and not deleted:
            return []
        topics = ModernStimulus(
            at_ms=_time(write),
            kind=ModernStimulusKind.TOPICS,
            member_id="",
            basis=Basis.RECORD,
            evidence=group.place,
        )
        return [topics._replace(topics=tuple(changed), deleted=tuple(deleted))]

    # -- members ---------------------------------------------------------------------------------

    def heartbeat(self, write: Write) -> list[ModernStimulus]:
        member_id = write.member_id or self._any_member(write)
        if not member_id:
            return [self._timer(write)]
        request = requests.heartbeat(self.group_type, self.group_id, write, member_id, self.stored)
        basis = Basis.RECORD if write.member_id else Basis.ASSUMED
        stimulus = self._stimulus(write, _kind(request), member_id, request, basis)
        first = [self._timer(write)] if self._may_end_initial_delay(write) else []
        configs = self._assignment_configs(write)
        before = [*self._leaves_before_upgrade(write), *self._rejoins_before_upgrade(write)]
        return [*before, *first, *configs, stimulus]

    def _may_end_initial_delay(self, write: Write) -> bool:
        """Returns whether the timer of the initial delay may have computed the first target of a
        streams group.
        """
        is_first = self.group_type.has_initial_delay and self.stored.target_epoch is None
        return is_first and bool(write.of(RecordKind.TARGET)) and not write.of(RecordKind.MEMBER)

    def _assignment_configs(self, write: Write) -> list[ModernStimulus]:
        """Settings of a streams group that a record of the group has (from 4.2 on)."""
        group = write.last(RecordKind.GROUP)
        rows = (group and group.value and group.value.get("last_assignment_configs")) or ()
        configs = {f"streams.{each['key']}": each["value"] for each in rows}
        if not configs or configs == self._configs:
            return []
        self._configs = configs
        kind = ModernStimulusKind.CONFIG
        return [
            self._stimulus(write, kind, "", None, Basis.RECORD)._replace(
                configs=tuple(configs.items())
            )
        ]

    def _any_member(self, write: Write, among: Collection[str] | None = None) -> str:
        """A member whose heartbeat writes no current assignment of its own.

        The member stays with its target, because it has reached the epoch, or has not given up its
        partitions yet.
        """
        target = write.last(RecordKind.TARGET)
        epoch = self.stored.target_epoch if target is None or target.value is None else None
        best, best_rank = "", 3
        for member_id, current in self.stored.all_of(RecordKind.CURRENT):
            unrevoked = self.group_type.unrevoked_state
            is_other = among is not None and member_id not in among
            if is_other or current["member_epoch"] == AWAY or self._is_classic(member_id):
                continue
            rank = 2
            if epoch is not None and current["member_epoch"] == epoch:
                rank = 0
            elif unrevoked is not None and current.get("state") == unrevoked:
                rank = 1
            if rank < best_rank:
                best, best_rank = member_id, rank
        is_initial = self.group_type.has_initial_delay and not self.stored.target_epoch
        return "" if is_initial and target is not None else best

    def _is_classic(self, member_id: str) -> bool:
        return bool(
            (self.stored.of(RecordKind.MEMBER, member_id) or {}).get("classic_member_metadata")
        )

    def away(self, write: Write) -> list[ModernStimulus]:
        line = self._departures.of(write.member_id, write.at_ms, temporarily=True)
        request = requests.leave(self.group_type, self.group_id, write.member_id, self.stored, AWAY)
        return [
            self._stimulus(
                write, ModernStimulusKind.AWAY, write.member_id, request, Basis.RECORD, line
            )
        ]

    def removal(self, write: Write) -> list[ModernStimulus]:
        """Members left or were removed: as the log says, else by what is possible."""
        classic: list[Leaver] = []
        stimuli: list[ModernStimulus] = []
        for member_id in write.member_ids:
            line = self._departures.of(member_id, write.at_ms)
            kind, basis = self._how(member_id, write, line)
            if kind is ModernStimulusKind.CLASSIC_LEAVE:
                reason = None if line is None else line.client_reason
                member = self.stored.of(RecordKind.MEMBER, member_id) or {}
                classic.append(Leaver(member_id, member.get("instance_id"), reason))
                if len(classic) > 1:
                    continue
            request = None
            if kind is ModernStimulusKind.LEAVE:
                request = requests.leave(self.group_type, self.group_id, member_id, self.stored)
            stimuli.append(self._stimulus(write, kind, member_id, request, basis, line))
        return [
            each._replace(request=LeaveGroup("", self.group_id, tuple(classic)))
            if each.kind is ModernStimulusKind.CLASSIC_LEAVE
            else each
            for each in stimuli
        ]

    def _how(
        self, member_id: str, write: Write, line: GroupLine | None
    ) -> tuple[ModernStimulusKind, Basis]:
        if line is not None:
            if line.event == "LEFT":
                is_classic = line.step == "classic" or self._is_classic(member_id)
                return (
                    ModernStimulusKind.CLASSIC_LEAVE if is_classic else ModernStimulusKind.LEAVE
                ), Basis.LOG
            is_session = "session expired" in (line.reason or "") or self._is_classic(member_id)
            return (
                ModernStimulusKind.SESSION_EXPIRED if is_session else ModernStimulusKind.TIMEOUT
            ), Basis.LOG
        if self._times_out(member_id, write.at_ms):
            return ModernStimulusKind.TIMEOUT, Basis.RECORD
        current = self.stored.of(RecordKind.CURRENT, member_id) or {}
        if current.get("member_epoch") == AWAY:
            return ModernStimulusKind.SESSION_EXPIRED, Basis.RECORD
        if self._is_classic(member_id):
            return ModernStimulusKind.CLASSIC_LEAVE, Basis.ASSUMED
        return ModernStimulusKind.LEAVE, Basis.ASSUMED

    def _times_out(self, member_id: str, at_ms: int) -> bool:
        """Returns whether the member's time to give up partitions ends at this moment."""
        since_ms = self._unrevoked_ms.get(member_id)
        member = self.stored.of(RecordKind.MEMBER, member_id) or {}
        if since_ms is None or "rebalance_timeout_ms" not in member:
            return False
        late_ms = at_ms - since_ms - member["rebalance_timeout_ms"]
        return bool(-EARLY_MS <= late_ms <= TIMER_LATE_MS)

    def _note_unrevoked(self, write: Write) -> None:
        for each in write.of(RecordKind.CURRENT):
            unrevoked = self.group_type.unrevoked_state
            if unrevoked is not None and (each.value or {}).get("state") == unrevoked:
                self._unrevoked_ms[each.member_id] = each.at_ms
            else:
                self._unrevoked_ms.pop(each.member_id, None)

    # -- the group -------------------------------------------------------------------------------

    def background(self, write: Write) -> list[ModernStimulus]:
        """The heartbeat that asks for it comes earlier, unless it wrote records itself."""
        work = self._stimulus(write, ModernStimulusKind.BACKGROUND, "", None, Basis.RECORD)
        if write.what is Wrote.STATES:
            return [work]
        regexes = {each.key["regular_expression"] for each in write.of(RecordKind.REGEX)}
        asking = [
            member_id
            for member_id, member in self.stored.all_of(RecordKind.MEMBER)
            if member.get("subscribed_topic_regex") in regexes
        ]
        member_id = self._any_member(write, asking)
        member = self.stored.of(RecordKind.MEMBER, member_id)
        if member is None:
            return [work]
        request = ConsumerGroupHeartbeat(
            request_id="",
            group_id=self.group_id,
            member_id=member_id,
            member_epoch=PRESENT,
            instance_id=member.get("instance_id"),
            client_id=member["client_id"],
            client_host=member["client_host"],
        )
        asks = self._stimulus(
            write, ModernStimulusKind.HEARTBEAT, member_id, request, Basis.ASSUMED
        )
        return [asks._replace(asks=True), work]

    def deletion(self, write: Write) -> list[ModernStimulus]:
        request = DeleteGroup("", self.group_id)
        return [self._stimulus(write, ModernStimulusKind.DELETE, "", request, Basis.RECORD)]

    def downgrade(self, write: Write) -> list[ModernStimulus]:
        """The members that the classic group lacks left, or were removed."""
        classic = write.last(RecordKind.CLASSIC)
        assert classic is not None
        assert classic.value is not None
        if not write.member_ids:
            return [self._first_classic_join(write)]
        kept = {each["member_id"] for each in classic.value["members"]}
        gone = tuple(each for each in write.member_ids if each not in kept)
        return self.removal(write._replace(member_ids=gone))

    def _first_classic_join(self, write: Write) -> ModernStimulus:
        """A classic member joins the empty group; what else it sends is not in this write."""
        request = JoinGroup(
            request_id="",
            group_id=self.group_id,
            member_id="",
            instance_id=None,
            client_id="",
            client_host="",
            session_timeout_ms=45000,
            rebalance_timeout_ms=300000,
            protocol_type="consumer",
            protocols=(("", b""),),
            requires_known_member_id=True,
        )
        return self._stimulus(write, ModernStimulusKind.CLASSIC_JOIN, "", request, Basis.RECORD)

    def _rejoins_before_upgrade(self, write: Write) -> Iterator[ModernStimulus]:
        """Members of the classic group that had joined again since the group's last record, with
        another subscription.
        """
        classic = self.stored.of(RecordKind.CLASSIC) if write.converts else None
        if classic is None:
            return
        recorded = {each["member_id"]: each for each in classic["members"]}
        for entry in write.of(RecordKind.MEMBER):
            member, before = entry.value, recorded.get(entry.member_id)
            if member is None or before is None or not member.get("classic_member_metadata"):
                continue
            protocols = member["classic_member_metadata"]["supported_protocols"]
            offered = [(each["name"], each["metadata"]) for each in protocols]
            if (classic["protocol"], before["subscription"]) not in offered:
                request = requests.classic_join(self.group_id, entry.member_id, member)
                kind = ModernStimulusKind.CLASSIC_JOIN
                yield self._stimulus(write, kind, entry.member_id, request, Basis.RECORD)

    def _leaves_before_upgrade(self, write: Write) -> list[ModernStimulus]:
        """Members of the classic group that the upgrade no longer has."""
        if not write.converts:
            return []
        upgraded = {each.member_id for each in write.of(RecordKind.MEMBER)}
        classic = self.stored.of(RecordKind.CLASSIC) or {"members": ()}
        gone = [each["member_id"] for each in classic["members"]]
        gone = [each for each in gone if each not in upgraded]
        if not gone:
            return []
        leavers = tuple([Leaver(each, None) for each in gone])
        request = LeaveGroup("", self.group_id, leavers)
        kind = ModernStimulusKind.CLASSIC_LEAVE
        return [self._stimulus(write, kind, gone[0], request, Basis.RECORD)]

    def classic(self, write: Write) -> list[ModernStimulus]:
        return []

    def _timer(self, write: Write) -> ModernStimulus:
        return self._stimulus(write, ModernStimulusKind.TIMEOUT, "", None, Basis.RECORD)

    def _stimulus(
        self,
        write: Write,
        kind: ModernStimulusKind,
        member_id: str,
        request: Request | None,
        basis: Basis,
        line: GroupLine | None = None,
    ) -> ModernStimulus:
        place = write.entries[0].place if line is None else line.place
        return ModernStimulus(
            at_ms=_time(write),
            kind=kind,
            member_id=member_id,
            basis=basis,
            evidence=place,
            request=request,
        )


def _time(write: Write) -> int:
    """Time at which the request was handled: the time in its records, otherwise the time of the
    records.
    """
    regex, target = write.last(RecordKind.REGEX), write.last(RecordKind.TARGET)
    at_ms = 0
    if regex is not None and regex.value is not None:
        at_ms = regex.value["timestamp"]
    elif target is not None and target.value is not None:
        at_ms = target.value.get("assignment_timestamp", 0)
    is_near = 0 <= write.at_ms - at_ms <= SAME_REQUEST_MS
    return at_ms if is_near else write.at_ms


def _kind(request: Request) -> ModernStimulusKind:
    if isinstance(request, LeaveGroup):
        return ModernStimulusKind.CLASSIC_LEAVE
    epoch = getattr(request, "member_epoch", None)
    if epoch is None:
        return ModernStimulusKind.CLASSIC_JOIN
    if epoch == requests.JOINING:
        return ModernStimulusKind.JOIN
    owned = getattr(request, "owned", None)
    return ModernStimulusKind.HEARTBEAT if owned is None else ModernStimulusKind.ACKNOWLEDGE


def _group_type(write: Write) -> GroupType | None:
    return next((e.group_type for e in write.entries if e.kind is not RecordKind.CLASSIC), None)


def _state_topics(stored: Stored) -> list[Mapping[str, Any]]:
    states = stored.of(RecordKind.STATE_PARTITIONS) or {}
    return [*states.get("initializing_topics", ()), *states.get("initialized_topics", ())]


_STIMULI = {
    Wrote.HEARTBEAT: Inference.heartbeat,
    Wrote.AWAY: Inference.away,
    Wrote.REMOVAL: Inference.removal,
    Wrote.REGEX: Inference.background,
    Wrote.STATES: Inference.background,
    Wrote.DELETION: Inference.deletion,
    Wrote.DOWNGRADE: Inference.downgrade,
    Wrote.CLASSIC: Inference.classic,
}
