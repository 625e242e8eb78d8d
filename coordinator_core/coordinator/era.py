"""What an era is: its grid, and what it does otherwise that no cell of the grid can say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from coordinator_core.coordinator.classic.states import GroupState, Input
from coordinator_core.coordinator.offsets import PartitionOrder
from coordinator_core.jvm.hash_order import Scala212Keys, TimelineKeys
from coordinator_core.jvm.java import HashMapKeys
from coordinator_core.protocol.errors import Errors

if TYPE_CHECKING:
    from coordinator_core.coordinator.classic.group import Group, Member
    from coordinator_core.coordinator.turn import Turn
    from coordinator_core.protocol.messages import (
        JoinGroup,
        LeaveGroup,
        OffsetCommit,
        TopicPartition,
    )

MemberOrder = HashMapKeys | Scala212Keys
GroupOrder = HashMapKeys | TimelineKeys[str]
Reaction = Callable[["Turn", "Group", Any], None]
Grid = Mapping[Input, Mapping[GroupState, Reaction]]
ErrorMap = Mapping[Errors, Errors]


@dataclass(frozen=True, slots=True)
class Config:
    """The coordinator's settings, named as the broker's; times in ms.

    ``offsets_retention_ms`` None: the era's default; ``offsets_retention_check_interval_ms`` None:
    nothing expires.
    """

    group_initial_rebalance_delay_ms: int = 3000
    group_min_session_timeout_ms: int = 6000
    group_max_session_timeout_ms: int = 1800000
    group_max_size: int = 2147483647
    offsets_retention_ms: int | None = None
    offsets_retention_check_interval_ms: int | None = None
    offset_metadata_max_bytes: int = 4096
    group_new_member_join_timeout_ms: int = 300000
    offsets_topic_partitions: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Era:
    """An era of Kafka's coordinator.  Each field names the change that set it, where one did."""

    name: str
    grid: Grid

    # What the era writes.
    group_value_version: int
    offset_value_version: int
    state_names: Mapping[GroupState, str]

    # The hash maps it keeps things in.
    member_order: Callable[[], MemberOrder]
    joined_order: Callable[[list[str]], list[str]]
    protocol_of_votes: Callable[[Mapping[str, int]], str]
    commit_order: Callable[[list[TopicPartition], int], list[TopicPartition]]
    partition_order: Callable[[], PartitionOrder]
    group_order: Callable[[], GroupOrder]

    # Checks of a request, in the era's order.
    check_member: Callable[[Group, str, str | None], Errors]
    check_heartbeat: Callable[[Era, Group, Any], Errors]
    check_commit: Callable[[Era, Group, OffsetCommit], Errors]
    accepts_size: Callable[[Turn, Group, JoinGroup], bool]
    classify_join: Callable[[Turn, Group, JoinGroup], Input | None]

    # How the delayed operations are kept.
    renew_session: Callable[[Turn, Group, Member, int], None]
    watch_pending: Callable[[Turn, Group, str, int], None]
    end_session: Callable[[Turn, Group, str], None]
    start_join: Callable[[Turn, Group, bool], None]
    check_join: Callable[[Turn, Group], None]
    start_sync: Callable[[Turn, Group], None]
    check_sync: Callable[[Turn, Group], None]

    # Answers and consequences.
    leave: Callable[[Turn, LeaveGroup], None]
    group_store_errors: ErrorMap
    commit_store_errors: ErrorMap
    failed_join_generation: int
    failed_join_protocol: str | None
    empty_group_id_is_invalid: bool  # KAFKA-6773: not only in joins
    checks_join_after_any_join: bool
    logs_leave_last: bool  # from 3.0 on: after the rebalance that it caused
    takes_new_timeouts: bool  # KAFKA-14009
    skips_assignment: bool  # KIP-814
    too_large_stay_pending: bool  # until KAFKA-16371
    leaving_pending_may_be_static: bool
    times_out_first_joins: bool  # KAFKA-7610
    ends_sessions_of_dropped: bool  # KAFKA-7196
    offsets_retention_ms: int  # the default: a day until KIP-186, then a week
    offsets_expire_on_their_own: bool  # until KIP-211
    expires_only_when_stable: bool  # KAFKA-13636: offsets of topics nobody subscribes to
    has_pending_sync: bool  # KAFKA-12890
    has_initial_delay: bool  # KIP-134
    has_rebalance_timeout: bool  # KIP-62
    has_empty_state: bool  # KAFKA-2720
    is_new_coordinator: bool  # KIP-848: one event, at most one append, and answers after it
