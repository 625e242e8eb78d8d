"""Stimuli of a generation whose rebalance start is logged.

Log lines name the members that joined, left or expired.  The rejoins of the other members are
inferred from the next record, else from the next line: they were sent between the start of the
rebalance and the end of the join.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from coordinator_core.incident.evidence import LogEvent, MetadataRecord
from coordinator_core.incident.later_evidence import error_of_append, expired_sessions
from coordinator_core.incident.stimuli import ExpiredSession, Stimulus, StimulusKind
from coordinator_core.incident.stimulus_builder import DEPARTURES, StimulusBuilder

CLUSTER_STIMULI = {
    "LOADED": StimulusKind.LOAD,
    "UNLOADED": StimulusKind.UNLOAD,
    "ADMIN_DELETE": StimulusKind.DELETE,
}


class InferredStimuli(NamedTuple):
    """``members`` are the members of the group after the generation's stimuli."""

    stimuli: list[Stimulus]
    expired_sessions: list[ExpiredSession]
    members: tuple[str, ...]


class LogInference(StimulusBuilder):
    """For one generation."""

    def infer(self) -> InferredStimuli:
        for event in self.evidence.events:
            handler = _HANDLERS.get(event.event)
            if handler is not None:
                handler(self, event)
        has_line = self.evidence.first("ASSIGNMENT_RECEIVED") is not None
        if self.record is not None and self.record.members and not has_line:
            self.sync(self.record.leader or "", self.record.at_ms, self.record.where)
        last = self.evidence.records[-1] if self.evidence.records else None
        is_joined = self.evidence.first("JOIN_COMPLETE") is not None
        after = list(self.present)
        if last is not None and not is_joined:
            after = [member.member_id for member in last.members]
        in_order = sorted(self.stimuli, key=lambda each: each.at_ms)
        expired = list(expired_sessions(self.evidence, self.directory))
        return InferredStimuli(in_order, expired, tuple(after))

    def on_join(self, event: LogEvent) -> None:
        member_id = event.member_id or ""
        if event.step == "id_required":
            self.pending_ms[member_id] = event.at_ms
            self.add(StimulusKind.ASK_ID, event.at_ms, event, member_id)
        elif event.step in ("pending", "direct"):
            self.join(member_id, event.at_ms, event)

    def on_static_join(self, event: LogEvent) -> None:
        self.join(event.member_id or "", event.at_ms, event, event.instance_id)

    def on_static_replaced(self, event: LogEvent) -> None:
        instance_id, old_id = event.instance_id or "", event.old_member_id or ""
        failure = self._failure_of(event)
        unknown_id = f"{instance_id}-unseen-since-{event.seq}"
        if failure is not None:
            self.add(
                StimulusKind.JOIN,
                event.at_ms,
                event,
                unknown_id,
                instance_id=instance_id,
                append_error=error_of_append(failure),
            )
            return
        logged_id = event.member_id if event.member_id != old_id else None
        new_id = (
            logged_id
            or self.later.replacements.get(event.seq)
            or self.directory.replacement(instance_id, old_id, event.at_ms)
            or unknown_id
        )
        self.present.pop(old_id, None)
        self.joined.discard(old_id)
        self.join(new_id, event.at_ms, event, instance_id)

    def _failure_of(self, event: LogEvent) -> LogEvent | None:
        """The next line, if it says that the new id could not be stored: the old id stays."""
        following = (
            each
            for each in self.evidence.events
            if each.seq > event.seq and each.event != "STATIC_NO_REBALANCE"
        )
        line = next(following, None)
        is_failure = line is not None and (line.event, line.step) == ("STORE_FAILED", "static")
        return line if is_failure else None

    def on_start(self, event: LogEvent) -> None:
        self.start = event
        self.joined = {each.member_id for each in self.stimuli if each.kind is StimulusKind.JOIN}
        member_id = event.member_id or ""
        if event.cause == "MEMBER_NEW" and member_id not in self.joined:
            self.join(member_id, event.at_ms, event, event.instance_id)
        elif event.cause == "LEAVE" and member_id not in self.departed:
            leavers = tuple(each for each in event.members if each not in self.departed)
            if leavers or not event.members:
                self.leave(event, leavers or (member_id,), event.at_ms)
        elif event.cause in ("LEADER_REJOIN", "METADATA_CHANGE"):
            has_changed = event.cause == "METADATA_CHANGE"
            self.joined.add(member_id)
            self.add(StimulusKind.REJOIN, event.at_ms, event, member_id, changed=has_changed)
        elif event.cause is None and self.record is not None:
            self._explain_start(self.record, event)

    def on_expired(self, event: LogEvent) -> None:
        member_id = event.member_id or ""
        self.present.pop(member_id, None)
        self.pending_ms.pop(member_id, None)

    def on_left(self, event: LogEvent) -> None:
        member_id = event.member_id or ""
        if member_id in self.departed:
            return  # the start of the rebalance already named this member
        at_ms = event.at_ms
        if self.join_end is not None and event.seq > self.join_end.seq:
            # The event was logged after the join that this member completed.
            at_ms = min(at_ms, self.joined_ms)
        start = self.next_start(event)
        together = start.members if start is not None and start.cause == "LEAVE" else ()
        self.leave(event, together or (member_id,), at_ms)

    def on_dropped(self, event: LogEvent) -> None:
        for member_id in event.members:
            self.present.pop(member_id, None)

    def on_joined(self, event: LogEvent) -> None:
        if self.record is not None:
            members = [member.member_id for member in self.record.members]
        else:
            # Pending members delay the join until they join or their time expires.
            missing = max((event.member_count or 0) - len(self.present), 0)
            members = [*self.present, *list(self.pending_ms)[:missing]]
        not_logged = [each for each in members if each not in self.joined]
        new = [each for each in not_logged if not self.is_known(each)]
        returning = [each for each in not_logged if self.is_known(each)]
        only_new = new and not returning and not self.departed_during_join()
        completes_join = new[-1] if only_new else None
        for place, member_id in enumerate(new):
            self.join_in_time(member_id, event, place, at_once=member_id != completes_join)
        for member_id in returning:
            self.join_in_time(member_id, event)
        self.present = dict.fromkeys(members)

    def on_assigned(self, event: LogEvent) -> None:
        if event.generation is not None and event.generation < self.evidence.generation:
            self.sync_without_record(event)
            return
        leader = self.record.leader if self.record is not None else None
        self.sync(event.member_id or leader or "", event.at_ms, event.where)

    def on_cluster_event(self, event: LogEvent) -> None:
        # The coordinator also logs a line per member of a loaded group.
        if event.step in (None, "group"):
            self.add(CLUSTER_STIMULI[event.event], event.at_ms, event)

    def _explain_start(self, record: MetadataRecord, event: LogEvent) -> None:
        """Up to 2.0 a start has no reason: new members joined, or missing members left; otherwise
        the leader rejoined.
        """
        new = [each for each in record.by_id if each not in self.present]
        logged = {e.member_id for e in self.evidence.events if e.event in DEPARTURES}
        missing = [each for each in self.present if each not in record.by_id and each not in logged]
        for member_id in missing:
            self.leave(event, (member_id,), event.at_ms)
        if self.was_empty:  # The other members join in the following rounds of the initial delay.
            new = sorted(new, key=lambda each: each != record.leader)[:1]
        for member_id in new:
            self.join(member_id, event.at_ms, event)
        if not new and not missing and record.leader in self.present:
            leader = record.leader or ""
            self.joined.add(leader)
            self.add(StimulusKind.REJOIN, event.at_ms, event, leader, changed=True)


_HANDLERS: Mapping[str, Callable[[LogInference, LogEvent], None]] = {
    "MEMBER_JOIN": LogInference.on_join,
    "STATIC_NEW": LogInference.on_static_join,
    "STATIC_REPLACED": LogInference.on_static_replaced,
    "REBALANCE_START": LogInference.on_start,
    "HEARTBEAT_EXPIRED": LogInference.on_expired,
    "LEFT": LogInference.on_left,
    "DROPPED_NOT_REJOINED": LogInference.on_dropped,
    "JOIN_COMPLETE": LogInference.on_joined,
    "ASSIGNMENT_RECEIVED": LogInference.on_assigned,
    **dict.fromkeys(CLUSTER_STIMULI, LogInference.on_cluster_event),
}
