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

    ``group_types`` are the types beside classic groups, by name.  ``first_epoch`` is the epoch of a
    consumer or share group without records.
    """

    group_types: tuple[str, ...]

    first_epoch: int
    has_assignment_interval: bool  # KIP-1263: minimum time between two target assignments
    # KIP-848: applies to commits of all versions, and checks the topics
    broker_adds_topic_ids: bool
    # until KIP-1101: the group's topics without racks; since then only the hash of them
    writes_topics: bool
    writes_assignment_epochs: bool  # KIP-1251: the epoch at which each partition was assigned
    # KIP-1251: accepted if the member had the partitions by then
    accepts_commits_of_older_epochs: bool
    describes_pending_partitions: bool  # included in a member's assignment
    # the target of a returning static member, with the target that it takes over
    compares_replaced_targets: bool
    full_groups_take_replacements: bool  # of static members
    frees_instance_ids: bool  # instance ids of members that join again with another instance id
    takes_back_pending_partitions: bool  # a member gets its own pending partitions without waiting
    # the epoch increases by one when a member that revoked must revoke more
    revocation_advances_epoch: bool
    takes_members_back: bool  # members that join again with epoch 0
    deletes_offsets_of_topics: bool  # sent with the topics; earlier brokers asked for the topics
    # happens when a member no longer subscribes by regular expression
    bumps_for_dropped_regexes: bool
    # every group.consumer.regex.refresh.interval.ms, even without new topics
    refreshes_regexes: bool
    # as heartbeats do, and drop the member's own regular expression
    classic_joins_refresh_regexes: bool
    votes_bump_epoch: bool  # a change of the members' server assignor increases the epoch
    follows_subscription_at_once: bool  # a member loses topics that it no longer subscribes to
    dropped_topics_end_epochs: bool  # dropping topics sets previous_epoch to the member epoch
    empties_target: bool  # the last member that leaves also advances the assignment epoch
    classic_joins_need_migration: bool  # if migration is disabled, classic members cannot join
    # error INCONSISTENT_GROUP_PROTOCOL instead of an unknown error
    names_malformed_subscriptions: bool
    downgrades_stale_assignments: bool  # rebalances a downgraded group whose target is old
    share: ShareRules  # KIP-932
    streams: StreamsRules  # KIP-1071


@dataclass(frozen=True, slots=True, kw_only=True)
class EraOf(Generic[T]):
    """An era of Kafka's coordinator.  Comments name the ticket or KIP behind a field."""

    name: str
    versions: str  # versions of Kafka in this era, as in schemas/log_lines
    kafka: str  # brokers of the era print log lines as this version does
    signs: tuple[Sign, ...]  # each fact shows this era if the evidence has no fact of a newer era
    client_libraries: tuple[str, ...]  # released with these versions, the Java client first
    grid: Grid[T]

    # Versions of records, and names of states in responses.
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

    # Functions that differ between eras.
    timers: Callable[[T], Timers]
    leave: Callable[[T, LeaveGroup], None]
    store_offsets: Callable[[T, Any, OffsetCommit], None]
    clean_up: Callable[[T], None]

    # Appends.
    # KIP-848: a shard per partition; responses and reads wait for appends
    answers_after_append: bool
    writes_new_groups: bool  # KIP-848: an empty record, when a join creates the group
    group_batch_sequence: int  # base sequence of a batch of group records; commits have 0
    group_store_errors: ErrorMap
    commit_store_errors: ErrorMap
    # when the broker resigns as leader of a partition: unload first
    unloads_before_appends_fail: bool

    # Answers.
    failed_join_generation: int
    failed_join_protocol: str | None
    failed_rejoin_protocol: str | None  # in the response to a member that is unknown or fenced
    # error if the coordinator cannot process the request
    failed_leave: Callable[[Errors], Response]
    reports_missing_groups: bool  # KIP-848, KIP-1043: GROUP_ID_NOT_FOUND to newer clients
    empty_group_id_is_invalid: bool  # KAFKA-6773: checked in every request, not only in joins
    # KAFKA-9150: allowed also in place of a member's metadata
    describes_assignment_as_metadata: bool
    accepts_any_protocol_until_chosen: bool  # KIP-559: null while the group has no protocol

    # Members and rebalances.
    checks_join_after_any_join: bool  # also checks after a refused join
    logs_reasons: bool  # from 2.1 on: the start of a rebalance has a reason
    logs_leave_last: bool  # from 3.0 on: logged after the rebalance that the leave causes
    takes_new_timeouts: bool  # KAFKA-14009: a rejoin changes the member's timeouts
    skips_assignment: bool  # KIP-814
    # if false, a pending member's leave with an instance id fails
    leaving_pending_may_be_static: bool
    static_return_ends_first_join: bool  # the replaced member no longer counts as new
    # for a static member whose record could not be written
    failed_replacement_restores_protocols: bool
    starts_sessions_before_shrinking: bool  # applies when a loaded group exceeds group.max.size
    extends_every_initial_delay: bool  # new members extend it; if false, only in generation 0
    times_out_first_joins: bool  # KAFKA-7610
    ends_sessions_of_dropped: bool  # KAFKA-7196: for members that did not rejoin
    # 2.7 to 4.2.1 and 4.3: no join completes with such a subscription
    fails_on_malformed_subscriptions: bool
    has_pending_sync: bool  # KAFKA-12890: removes members that never sync
    has_initial_delay: bool  # KIP-134
    has_rebalance_timeout: bool  # KIP-62
    has_empty_state: bool  # KAFKA-2720

    # Offsets.
    too_large_stay_pending: bool  # until KAFKA-16371: for offsets with too long metadata
    offsets_retention_ms: int  # default retention: a day until KIP-186, a week since then
    offsets_expire_on_their_own: bool  # until KIP-211: counted from the commit, whether used or not
    expires_only_when_stable: bool  # KAFKA-13636: for offsets of topics without a subscriber

    # Brokers, and the programs that play scenarios with Kafka's own classes.
    max_session_timeout_ms: int  # the default of group.max.session.timeout.ms: KIP-62, KIP-345
    has_static_members: bool  # KIP-345
    # iteration order of hash maps differs between Scala 2.12 and 2.13
    has_builds_of_scala_2_12: bool
    # when a group is loaded; if false, only static members are logged
    logs_loaded_dynamic_members: bool
    takes_rows_by_topic: bool  # the program sends requests, which group partitions by topic
    answers_step_last: bool  # a step's response follows the earlier responses that it completes
    group_config_defaults: Mapping[str, str] = field(default_factory=dict)  # the program's
    # the id is printed instead of a name
    assignor_texts: Mapping[str, str] = field(default_factory=dict)

    # Consumer, share and streams groups; None for eras without these group types.
    modern: ModernRules | None = None

    @property
    def client_library(self) -> str:
        """The Java client of the same version, a name of the client model's LIBRARIES."""
        return self.client_libraries[0]

    @property
    def modern_types(self) -> tuple[str, ...]:
        """The group types beside classic groups, by name."""
        return () if self.modern is None else self.modern.group_types


Era = EraOf[Any]  # default for code that only reads an era's data
