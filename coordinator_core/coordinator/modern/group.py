"""Common code of consumer, share and streams groups."""

from __future__ import annotations

from typing import ClassVar

from coordinator_core.coordinator.group_type import GroupType
from coordinator_core.coordinator.offsets import OffsetStore

MemberRow = tuple[str, int, str]  # member id, epoch, state


class ModernGroup:
    """A group of which the coordinator computes the assignment.

    ``epoch``, ``metadata_hash``, ``assignment_epoch`` and ``assignment_timestamp_ms`` are as
    written. ``refresh_deadline_ms`` says when the hash of the topics is computed again at the
    latest.
    """

    __slots__ = (
        "assignment_epoch",
        "assignment_timestamp_ms",
        "epoch",
        "group_id",
        "metadata_hash",
        "offsets",
        "partition",
        "refresh_deadline_ms",
        "refresh_epoch",
    )

    group_type: ClassVar[GroupType]
    protocol_type: ClassVar[str] = ""
    expires: ClassVar[bool] = True  # whether the clean-up removes the group once it is empty

    def __init__(self, group_id: str, partition: int, offsets: OffsetStore, epoch: int) -> None:
        self.group_id = group_id
        self.partition = partition
        self.offsets = offsets
        self.epoch = epoch
        self.metadata_hash = 0
        self.assignment_epoch = epoch
        self.assignment_timestamp_ms = 0
        self.refresh_deadline_ms = 0
        self.refresh_epoch = 0

    def state_name(self) -> str:
        raise NotImplementedError

    def state_at(self, snapshot: int) -> str:
        """The state as of a snapshot of the log, which administrators see."""
        return self.state_name()

    def member_rows(self) -> list[MemberRow]:
        """Id, epoch and state of each member, by id."""
        raise NotImplementedError

    def epoch_of(self, member_id: str) -> int | None:
        """The member's epoch, or None if the group does not have the member."""
        raise NotImplementedError

    def classic_members(self) -> list[str]:
        """Ids of the members that use the classic protocol."""
        return []

    def regexes_resolved_ms(self) -> list[int]:
        """The time at which each regular expression was resolved."""
        return []

    def subscribes_to(self, topic: str) -> bool:
        """Returns whether a member subscribes to the topic; its offsets do not expire then."""
        raise NotImplementedError

    def depends_on(self, topic: str) -> bool:
        """Returns whether a change of the topic is a reason to compute the hash of the topics
        again.
        """
        return self.subscribes_to(topic)

    def is_empty(self) -> bool:
        raise NotImplementedError

    def forget_reverted(self) -> None:
        """An append after a reverted one has succeeded."""

    def request_refresh(self) -> None:
        """A topic of the group changed: compute the hash with the next heartbeat."""
        self.refresh_deadline_ms = 0
        self.refresh_epoch = 0

    def needs_refresh(self, now_ms: int) -> bool:
        return now_ms >= self.refresh_deadline_ms or self.epoch < self.refresh_epoch

    def refreshed(self, deadline_ms: int, epoch: int) -> None:
        self.refresh_deadline_ms = deadline_ms
        self.refresh_epoch = epoch
