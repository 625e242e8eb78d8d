"""ShareGroupHeartbeat: a member joins, stays or leaves."""

from __future__ import annotations

from collections.abc import Callable

from coordinator_core.assignors.model import AssignorError
from coordinator_core.assignors.simple import TopicIdAssignment
from coordinator_core.coordinator.modern.configuration import rules_of, setting_ms
from coordinator_core.coordinator.modern.records import ModernRecord
from coordinator_core.coordinator.modern.writing import answer, write
from coordinator_core.coordinator.share import records
from coordinator_core.coordinator.share.group import (
    LEFT,
    InitTopics,
    ShareGroup,
    ShareMember,
    is_same,
    topic_names,
    without_topics,
)
from coordinator_core.coordinator.share.group_type import SHARE
from coordinator_core.coordinator.share.initialisation import (
    initialize,
    initializing_record,
    is_assignment_pending,
    missing_states,
)
from coordinator_core.coordinator.share.loading import new_group
from coordinator_core.coordinator.share.sessions import removal, start_session
from coordinator_core.coordinator.share.target import update_target
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import MemberHeartbeatResponse, ShareGroupHeartbeat

# time after which the hash of the topics would be computed again without other cause
_NEVER_MS = 2147483647


def handle(turn: Turn, request: ShareGroupHeartbeat) -> None:
    error = _check(turn, request)
    if error is Errors.NONE:
        error = _leave(turn, request) if request.member_epoch == LEFT else _stay(turn, request)
    if error is not Errors.NONE:
        turn.log.answer(request, MemberHeartbeatResponse(error))


def _check(turn: Turn, request: ShareGroupHeartbeat) -> Errors:
    """Returns the error of the request itself, else its error in the group."""
    if not request.member_id or not request.group_id or request.rack_id == "":
        return Errors.INVALID_REQUEST
    if request.member_epoch < LEFT or (request.member_epoch == 0 and not request.topics):
        return Errors.INVALID_REQUEST
    group = turn.groups.modern.get(request.group_id)
    if group is None and request.member_epoch == 0 and request.group_id not in turn.groups.classic:
        return Errors.NONE
    if not isinstance(group, ShareGroup):
        return Errors.GROUP_ID_NOT_FOUND
    return _check_member(turn, group, request)


def _check_member(turn: Turn, group: ShareGroup, request: ShareGroupHeartbeat) -> Errors:
    member, epoch = group.members.get(request.member_id), request.member_epoch
    if member is None:
        is_full = len(group.members) >= turn.config.modern.share.max_size
        if is_full and epoch != LEFT:
            return Errors.GROUP_MAX_SIZE_REACHED
        return Errors.NONE if epoch == 0 else Errors.UNKNOWN_MEMBER_ID
    if epoch in (LEFT, member.epoch):
        return Errors.NONE
    if epoch == 0 and rules_of(turn).share.takes_epoch_zero:
        return Errors.NONE
    is_previous = epoch < member.epoch and epoch == member.previous_epoch
    return Errors.NONE if is_previous else Errors.FENCED_MEMBER_EPOCH


def _leave(turn: Turn, request: ShareGroupHeartbeat) -> Errors:
    group = turn.groups.modern[request.group_id]
    assert isinstance(group, ShareGroup)
    fields = {"member_id": request.member_id, "step": "member", "protocol": "share"}
    turn.effects.modern_event("LEFT", group.group_id, **fields)
    write(turn, group.group_id, removal(turn, group, group.members[request.member_id]))
    response = MemberHeartbeatResponse(Errors.NONE, request.member_id, LEFT)
    answer(turn, request, response, MemberHeartbeatResponse)
    return Errors.NONE


def _stay(turn: Turn, request: ShareGroupHeartbeat) -> Errors:
    group = turn.groups.modern.get(request.group_id) or new_group(turn, request.group_id)
    assert isinstance(group, ShareGroup)
    if request.member_epoch == 0:
        fields = {"member_id": request.member_id, "step": "direct", "protocol": "share"}
        turn.effects.modern_event("MEMBER_JOIN", group.group_id, **fields)
    return _Heartbeat(turn, group, request).run()


class _Heartbeat:
    """The heartbeat of a member that joins or stays, with what it changes."""

    def __init__(self, turn: Turn, group: ShareGroup, request: ShareGroupHeartbeat) -> None:
        self._turn, self._group, self._request = turn, group, request
        self._records: list[ModernRecord] = []
        self._before = group.members.get(request.member_id) or ShareMember(
            member_id=request.member_id
        )
        self._after = self._before._replace(
            rack_id=self._before.rack_id if request.rack_id is None else request.rack_id,
            client_id=request.client_id,
            client_host=request.client_host,
            topics=self._before.topics if request.topics is None else topic_names(request.topics),
        )
        self._epoch = group.epoch
        self._names = [*group.names]  # names of the subscribed topics

    def run(self) -> Errors:
        """Collect the records of each step, write them, answer.

        Returns an error, and writes nothing, if the heartbeat is refused.
        """
        turn, group = self._turn, self._group

        # 1. Create or update the member: writes ShareGroupMemberMetadata.
        is_bumped = self._write_member()

        # 2. Bump the group epoch if subscriptions or topics changed, or if initialized partitions
        #    wait to be assigned: writes ShareGroupMetadata.
        is_bumped = self._is_pending() or is_bumped
        if is_bumped or group.needs_refresh(turn.now_ms):
            is_bumped = self._bump(is_bumped)

        # 3. Compute the target assignment if the group epoch is ahead of it: writes a
        #    ShareGroupTargetAssignmentMember per changed member, then
        #    ShareGroupTargetAssignmentMetadata.
        try:
            epoch, target = update_target(turn, group, self._epoch, self._after, self._records)
        except AssignorError:
            return Errors.UNKNOWN_SERVER_ERROR

        # 4. Give the member its part of the target at once, as partitions are shared: writes
        #    ShareGroupCurrentMemberAssignment.
        self._take(epoch, target, is_bumped)

        # 5. Restart the session.
        start_session(turn, group.group_id, self._request.member_id)

        # 6. Initialise the share partitions of subscribed topics that have no state: writes
        #    ShareGroupStatePartitionMetadata, and again once the states exist.
        missing = missing_states(turn, group, self._names) if turn.image.topics else {}
        if missing:
            self._records.append(initializing_record(turn, group, missing))

        # 7. Write the records, and answer once they are in the log.
        write(turn, group.group_id, self._records, then=self._initialize(missing))
        answer(turn, self._request, self._response(), MemberHeartbeatResponse)
        return Errors.NONE

    def _write_member(self) -> bool:
        """Returns whether the member subscribes to other topics than before."""
        if self._after == self._before:
            return False
        self._records.append(records.member_record(self._group.group_id, self._after))
        if {*self._after.topics} == {*self._before.topics}:
            return False
        topics = self._after.topics
        self._event("SUBSCRIPTION", member_id=self._after.member_id, topics=topics)
        return True

    def _is_pending(self) -> bool:
        if (
            rules_of(self._turn).has_assignment_interval
            and self._group.assignment_epoch < self._group.epoch
        ):
            return False
        return is_assignment_pending(self._turn, self._group)

    def _bump(self, is_bumped: bool) -> bool:
        """Bump the group's epoch if asked to, or if the topics' hash changed; whether it did."""
        group, turn = self._group, self._turn
        self._names = group.names_with(self._before, self._after)
        metadata_hash = turn.image.group_hash(self._names)
        if metadata_hash != group.metadata_hash or is_bumped:
            if metadata_hash != group.metadata_hash:
                self._event("METADATA_HASH", step="metadata_hash", metadata_hash=metadata_hash)
            is_bumped = True
            self._epoch += 1
            record = records.epoch_record(group.group_id, self._epoch, metadata_hash)
            self._records.append(record)
            self._event("EPOCH_BUMP", epoch=self._epoch, metadata_hash=metadata_hash)
        group.refreshed(turn.now_ms + _NEVER_MS, self._epoch)
        return is_bumped

    def _take(self, epoch: int, target: TopicIdAssignment, is_bumped: bool) -> None:
        """The member takes its part of the target assignment at once."""
        member = self._after
        changed = member
        if member.epoch != epoch:
            assigned = self._subscribed(target)
            changed = member._replace(epoch=epoch, previous_epoch=member.epoch, assigned=assigned)
        elif is_bumped and rules_of(self._turn).share.drops_unsubscribed:
            changed = member._replace(assigned=self._subscribed(target))
        if changed != member and not _is_equal(changed, member):
            self._records.append(records.current_record(self._group.group_id, changed))
            self._after = changed
            self._event("RECONCILE", member_id=changed.member_id, member=changed)

    def _subscribed(self, target: TopicIdAssignment) -> TopicIdAssignment:
        """Since 4.2, topics to which the member does not subscribe are excluded."""
        if not rules_of(self._turn).share.drops_unsubscribed:
            return target
        by_id, topics = self._turn.image.by_id, self._after.topics
        unsubscribed = [
            topic_id
            for topic_id in target
            if topic_id not in by_id or by_id[topic_id].name not in topics
        ]
        return without_topics(target, unsubscribed)

    def _initialize(self, missing: InitTopics) -> Callable[[Errors], None]:
        """Ask the share coordinator once the records are in the log."""
        turn = self._turn
        work = initialize(turn, self._group.group_id, missing)

        def then(error: Errors) -> None:
            if missing and error is Errors.NONE:
                turn.background.append(work)

        return then

    def _response(self) -> MemberHeartbeatResponse:
        turn, group_id, after = self._turn, self._group.group_id, self._after
        is_full = self._request.member_epoch == 0 or self._request.topics is not None
        rows = None
        if is_full or not is_same(after.assigned, self._before.assigned):
            rows = tuple([(topic, tuple(parts)) for topic, parts in after.assigned.items()])
        interval_ms = setting_ms(turn, group_id, SHARE, "heartbeat.interval.ms")
        return MemberHeartbeatResponse(Errors.NONE, after.member_id, after.epoch, interval_ms, rows)

    def _event(self, kind: str, **fields: object) -> None:
        self._turn.effects.modern_event(kind, self._group.group_id, **fields)


def _is_equal(one: ShareMember, other: ShareMember) -> bool:
    return one._replace(assigned={}) == other._replace(assigned={}) and is_same(
        one.assigned, other.assigned
    )
