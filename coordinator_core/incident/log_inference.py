"""From a chapter's evidence to the stimuli that explain it.

Log lines name who came, went and fell silent.  That the others rejoined shows by the next record
(or the next line): they did so between the start of the rebalance and the end of the join.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from coordinator_core.incident.evidence import GroupRecord, LogEvent
from coordinator_core.incident.later_evidence import error_of_append, expired_sessions
from coordinator_core.incident.stimuli import ExpiredSession, Stimulus, StimulusKind
from coordinator_core.incident.stimulus_builder import DEPARTURES, StimulusBuilder

OF_THE_CLUSTER = {
    "LOADED": StimulusKind.LOAD,
    "UNLOADED": StimulusKind.UNLOAD,
    "ADMIN_DELETE": StimulusKind.DELETE,
}


class InferredStimuli(NamedTuple):
    """``members``: who is in the group after it."""

    stimuli: list[Stimulus]
    expired_sessions: list[ExpiredSession]
    members: tuple[str, ...]


class LogInference(StimulusBuilder):
    """Reads one chapter that has its start in the log."""

    def read(self) -> InferredStimuli:
        for event in self.chapter.events:
            read = _READERS.get(event.event)
            if read is not None:
                read(self, event)
        has_line = self.chapter.first("ASSIGNMENT_RECEIVED") is not None
        if self.record is not None and self.record.members and not has_line:
            self.sync(self.record.leader or "", self.record.at_ms, self.record.where)
        last = self.chapter.records[-1] if self.chapter.records else None
        is_joined = self.chapter.first("JOIN_COMPLETE") is not None
        after = list(self.present)
        if last is not None and not is_joined:
            after = [member.member_id for member in last.members]
        in_order = sorted(self.stimuli, key=lambda each: each.at_ms)
        told = list(expired_sessions(self.chapter, self.known))
        return InferredStimuli(in_order, told, tuple(after))

    def on_join(self, event: LogEvent) -> None:
        member_id = event.member_id or ""
        if event.step == "id_required":
            self.asked[member_id] = event.at_ms
            self.add(StimulusKind.ASK_ID, event.at_ms, event, member_id)
        elif event.step in ("pending", "direct"):
            self.join(member_id, event.at_ms, event)

    def on_static_join(self, event: LogEvent) -> None:
        self.join(event.member_id or "", event.at_ms, event, event.instance_id)

    def on_static_replaced(self, event: LogEvent) -> None:
        instance_id, old = event.instance_id or "", event.old_member_id or ""
        failure = self._failure_of(event)
        if failure is not None:
            new, error = f"{instance_id}-unseen-since-{event.seq}", error_of_append(failure)
            self.add(
                StimulusKind.JOIN,
                event.at_ms,
                event,
                new,
                instance_id=instance_id,
                append_error=error,
            )
            return
        named = event.member_id if event.member_id != old else None
        found = (
            named
            or self.later.replacements.get(event.seq)
            or self.known.replacement(instance_id, old, event.at_ms)
        )
        self.present.pop(old, None)
        self.waiting.discard(old)
        new = found or f"{instance_id}-unseen-since-{event.seq}"
        self.join(new, event.at_ms, event, instance_id)

    def _failure_of(self, event: LogEvent) -> LogEvent | None:
        """That the new id could not be stored is the next that is said, and the old one stays."""
        follows = (
            each
            for each in self.chapter.events
            if each.seq > event.seq and each.event != "STATIC_NO_REBALANCE"
        )
        line = next(follows, None)
        is_failure = line is not None and (line.event, line.step) == ("STORE_FAILED", "static")
        return line if is_failure else None

    def on_start(self, event: LogEvent) -> None:
        self.start = event
        self.waiting = {each.member_id for each in self.stimuli if each.kind is StimulusKind.JOIN}
        member_id = event.member_id or ""
        if event.cause == "MEMBER_NEW" and member_id not in self.waiting:
            self.join(member_id, event.at_ms, event, event.instance_id)
        elif event.cause == "LEAVE" and member_id not in self.gone:
            leavers = tuple(each for each in event.members if each not in self.gone)
            if leavers or not event.members:
                self.leave(event, leavers or (member_id,), event.at_ms)
        elif event.cause in ("LEADER_REJOIN", "METADATA_CHANGE"):
            is_other = event.cause == "METADATA_CHANGE"
            self.waiting.add(member_id)
            self.add(StimulusKind.REJOIN, event.at_ms, event, member_id, changed=is_other)
        elif event.cause is None and self.record is not None:
            self._explain_start(self.record, event)

    def on_expired(self, event: LogEvent) -> None:
        member_id = event.member_id or ""
        self.present.pop(member_id, None)
        self.asked.pop(member_id, None)

    def on_left(self, event: LogEvent) -> None:
        member_id = event.member_id or ""
        if member_id in self.gone:
            return  # the start of the rebalance has told of it
        at_ms = event.at_ms
        if self.done is not None and event.seq > self.done.seq:
            at_ms = min(at_ms, self.joined_ms)  # logged after what it led to
        start = self.next_start(event)
        together = start.members if start is not None and start.cause == "LEAVE" else ()
        self.leave(event, together or (member_id,), at_ms)

    def on_dropped(self, event: LogEvent) -> None:
        for member_id in event.members:
            self.present.pop(member_id, None)

    def on_joined(self, event: LogEvent) -> None:
        if self.record is not None:
            joined = [member.member_id for member in self.record.members]
        else:
            # Who was given an id holds the join up until it comes, or its time is over.
            missing = max((event.member_count or 0) - len(self.present), 0)
            joined = [*self.present, *list(self.asked)[:missing]]
        late = [each for each in joined if each not in self.waiting]
        new = [each for each in late if not self.is_known(each)]
        known = [each for each in late if self.is_known(each)]
        ends_it = new[-1] if new and not known and not self.ended_by_departure() else None
        for place, member_id in enumerate(new):
            self.come_in_time(member_id, event, place, at_once=member_id != ends_it)
        for member_id in known:
            self.come_in_time(member_id, event)
        self.present = dict.fromkeys(joined)

    def on_assigned(self, event: LogEvent) -> None:
        if event.generation is not None and event.generation < self.chapter.generation:
            self.sync_in_vain(event)
            return
        recorded = self.record.leader if self.record is not None else None
        self.sync(event.member_id or recorded or "", event.at_ms, event.where)

    def on_takeover(self, event: LogEvent) -> None:
        if event.step in (None, "group"):  # of its members one by one there are lines, too
            self.add(OF_THE_CLUSTER[event.event], event.at_ms, event)

    def _explain_start(self, record: GroupRecord, event: LogEvent) -> None:
        """Up to 2.0 a start has no reason: who is new, who is gone, else the leader rejoined."""
        came = [each for each in record.by_id if each not in self.present]
        told = {e.member_id for e in self.chapter.events if e.event in DEPARTURES}
        gone = [each for each in self.present if each not in record.by_id and each not in told]
        for member_id in gone:
            self.leave(event, (member_id,), event.at_ms)
        if self.was_empty:  # the others come in the rounds that follow
            came = sorted(came, key=lambda each: each != record.leader)[:1]
        for member_id in came:
            self.join(member_id, event.at_ms, event)
        if not came and not gone and record.leader in self.present:
            leader = record.leader or ""
            self.waiting.add(leader)
            self.add(StimulusKind.REJOIN, event.at_ms, event, leader, changed=True)


_READERS: Mapping[str, Callable[[LogInference, LogEvent], None]] = {
    "MEMBER_JOIN": LogInference.on_join,
    "STATIC_NEW": LogInference.on_static_join,
    "STATIC_REPLACED": LogInference.on_static_replaced,
    "REBALANCE_START": LogInference.on_start,
    "HEARTBEAT_EXPIRED": LogInference.on_expired,
    "LEFT": LogInference.on_left,
    "DROPPED_NOT_REJOINED": LogInference.on_dropped,
    "JOIN_COMPLETE": LogInference.on_joined,
    "ASSIGNMENT_RECEIVED": LogInference.on_assigned,
    **dict.fromkeys(OF_THE_CLUSTER, LogInference.on_takeover),
}
