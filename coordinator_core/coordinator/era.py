"""An era of Kafka's coordinator as data: its versions, its grid, and what differs beyond the grid.

Functions among the fields are chosen per era where several eras need different code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from coordinator_core.coordinator.classic.group import ClassicGroup
from coordinator_core.coordinator.classic.states import GroupState, Input
from coordinator_core.coordinator.classic.timers import Timers
from coordinator_core.coordinator.era_evidence import Sign
from coordinator_core.coordinator.modern.settings import DEFAULTS, ModernSettings
from coordinator_core.coordinator.offsets import PartitionOrder
from coordinator_core.coordinator.share.rules import ShareRules
from coordinator_core.coordinator.streams.rules import StreamsRules
from coordinator_core.jvm.java_maps import HashMapKeys
from coordinator_core.jvm.scala_maps import Scala212Keys
from coordinator_core.jvm.timeline_maps import TimelineKeys
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import (
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    Response,
    TopicPartition,
)

MemberOrder = HashMapKeys | Scala212Keys
GroupOrder = HashMapKeys | TimelineKeys[str]
T = TypeVar("T")  # the coordinator's Turn, which has an era
Reaction = Callable[[T, ClassicGroup, Any], None]
Grid = Mapping[Input, Mapping[GroupState, Reaction[T]]]
ErrorMap = Mapping[Errors, Errors]


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorConfig:
    """The coordinator's settings, with the broker's names; times in ms.

    ``offsets_retention_ms`` None: the era's default.  ``offsets_retention_check_interval_ms``
    None: no offset expires.
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
    modern: ModernSettings = DEFAULTS


@dataclass(frozen=True, slots=True, kw_only=True)
class ModernRules:
    """What differs between eras in consumer, share and streams groups.

    ``group_types``: the types beside classic groups, by name.  ``first_epoch``: the epoch of a
    consumer or share group without records.
    """

    group_types: tuple[str, ...]

    first_epoch: int
    has_assignment_interval: bool  # KIP-1263: between two target assignments
    broker_adds_topic_ids: bool  # KIP-848: to commits of all versions, and checks the topics
    writes_topics: bool  # until KIP-1101: a group's topics, without racks; then only their hash
    writes_assignment_epochs: bool  # KIP-1251: the epoch at which each partition was assigned
    accepts_commits_of_older_epochs: bool  # KIP-1251: if the member had the partitions by then
    describes_pending_partitions: bool  # as part of a member's assignment
    compares_replaced_targets: bool  # of a returning static member, with those it takes over
    full_groups_take_replacements: bool  # of static members
    frees_instance_ids: bool  # of members that come with another instance id
    takes_back_pending_partitions: bool  # a member gets its own pending ones without waiting
    revocation_advances_epoch: bool  # by one, when a member that revoked has more to revoke
    takes_members_back: bool  # that join again, with epoch 0
    deletes_offsets_of_topics: bool  # with the topics; before, the broker asked for that
    bumps_for_dropped_regexes: bool  # a member no longer subscribes by regular expression
    refreshes_regexes: bool  # group.consumer.regex.refresh.interval.ms, without new topics
    classic_joins_refresh_regexes: bool  # as heartbeats do, and drop the member's own
    votes_bump_epoch: bool  # a change of the members' server assignor
    follows_subscription_at_once: bool  # takes topics away that a member no longer subscribes to
    dropped_topics_end_epochs: bool  # then previous_epoch is set to the member epoch
    empties_target: bool  # the last member to leave takes the assignment epoch along
    classic_joins_need_migration: bool  # classic members cannot join if migration is disabled
    names_malformed_subscriptions: bool  # INCONSISTENT_GROUP_PROTOCOL instead of an unknown error
    downgrades_stale_assignments: bool  # rebalances a downgraded group whose target is old
    share: ShareRules  # KIP-932
    streams: StreamsRules  # KIP-1071


@dataclass(frozen=True, slots=True, kw_only=True)
class EraOf(Generic[T]):
    """An era of Kafka's coordinator.  Comments name the ticket or KIP behind a field."""

    name: str
    versions: str  # versions of Kafka in this era, as in schemas/log_lines
    kafka: str  # its brokers print log lines as this version does
    signs: tuple[Sign, ...]  # each shows this era if no newer era's sign is in the evidence
    client_libraries: tuple[str, ...]  # released with these versions, the Java client first
    grid: Grid[T]

    # Versions of records, and names of states in answers.
    group_value_version: int
    offset_value_version: int
    state_names: Mapping[GroupState, str]

    # Orders of hash maps.
    member_order: Callable[[], MemberOrder]
    joined_order: Callable[[list[str]], list[str]]
    protocol_of_votes: Callable[[Mapping[str, int]], str]
    commit_order: Callable[[list[TopicPartition], int], list[TopicPartition]]
    partition_order: Callable[[], PartitionOrder]
    group_order: Callable[[], GroupOrder]

    # Checks of requests, each in the era's order.
    check_member: Callable[[ClassicGroup, str, str | None], Errors]
    check_heartbeat: Callable[[Era, ClassicGroup, Any], Errors]
    check_commit: Callable[[Era, ClassicGroup, OffsetCommit], Errors]
    accepts_size: Callable[[T, ClassicGroup, JoinGroup], bool]
    classify_join: Callable[[T, ClassicGroup, JoinGroup], Input | None]

    # Work that eras do in different ways.
    timers: Callable[[T], Timers]
    leave: Callable[[T, LeaveGroup], None]
    store_offsets: Callable[[T, Any, OffsetCommit], None]
    clean_up: Callable[[T], None]

    # Appends.
    answers_after_append: bool  # KIP-848: a shard per partition; answers and reads wait for appends
    writes_new_groups: bool  # KIP-848: an empty record, when a join creates the group
    group_batch_sequence: int  # base sequence of a batch of group records; commits have 0
    group_store_errors: ErrorMap
    commit_store_errors: ErrorMap
    unloads_before_appends_fail: bool  # when the broker resigns as leader of a partition

    # Answers.
    failed_join_generation: int
    failed_join_protocol: str | None
    failed_rejoin_protocol: str | None  # to a member that is unknown or fenced
    failed_leave: Callable[[Errors], Response]  # the coordinator failed on the request
    reports_missing_groups: bool  # KIP-848, KIP-1043: GROUP_ID_NOT_FOUND to newer clients
    empty_group_id_is_invalid: bool  # KAFKA-6773: in every request, not only in joins
    describes_assignment_as_metadata: bool  # KAFKA-9150: also in place of a member's metadata
    accepts_any_protocol_until_chosen: bool  # KIP-559: while the group has no protocol

    # Members and rebalances.
    checks_join_after_any_join: bool  # even after a refused join
    logs_reasons: bool  # from 2.1 on: the start of a rebalance has a reason
    logs_leave_last: bool  # from 3.0 on: after the rebalance that the leave causes
    takes_new_timeouts: bool  # KAFKA-14009: a rejoin changes the member's timeouts
    skips_assignment: bool  # KIP-814
    leaving_pending_may_be_static: bool  # if false, such a leave fails
    static_return_ends_first_join: bool  # the replaced member no longer counts as new
    failed_replacement_restores_protocols: bool  # of a static member whose record failed
    starts_sessions_before_shrinking: bool  # when a loaded group exceeds group.max.size
    extends_every_initial_delay: bool  # by new members; if false, only in generation 0
    times_out_first_joins: bool  # KAFKA-7610
    ends_sessions_of_dropped: bool  # KAFKA-7196: of members that did not rejoin
    fails_on_malformed_subscriptions: bool  # 2.7 to 4.2.1, 4.3: no join completes with one
    has_pending_sync: bool  # KAFKA-12890: removes members that never sync
    has_initial_delay: bool  # KIP-134
    has_rebalance_timeout: bool  # KIP-62
    has_empty_state: bool  # KAFKA-2720

    # Offsets.
    too_large_stay_pending: bool  # until KAFKA-16371: offsets with too long metadata
    offsets_retention_ms: int  # the default: a day until KIP-186, then a week
    offsets_expire_on_their_own: bool  # until KIP-211: after the commit, used or not
    expires_only_when_stable: bool  # KAFKA-13636: offsets of topics without a subscriber

    # Brokers, and the programs that play scenarios with Kafka's own classes.
    max_session_timeout_ms: int  # the default of group.max.session.timeout.ms: KIP-62, KIP-345
    has_static_members: bool  # KIP-345
    has_builds_of_scala_2_12: bool  # hash maps of Scala 2.12 and 2.13 differ
    logs_loaded_dynamic_members: bool  # when a group is loaded; if false, only static members
    takes_rows_by_topic: bool  # the program sends requests, which group partitions by topic
    answers_step_last: bool  # a step's answer follows the earlier answers that it completes
    group_config_defaults: Mapping[str, str] = field(default_factory=dict)  # the program's
    assignor_texts: Mapping[str, str] = field(default_factory=dict)  # printed instead of a name

    # Consumer, share and streams groups; None in eras without them.
    modern: ModernRules | None = None

    @property
    def client_library(self) -> str:
        """The Java client of the same version, a name of the client model's LIBRARIES."""
        return self.client_libraries[0]

    @property
    def modern_types(self) -> tuple[str, ...]:
        """The group types beside classic groups, by name."""
        return () if self.modern is None else self.modern.group_types


Era = EraOf[Any]  # for code that only reads the data of an era
