"""An era of Kafka's coordinator as data: its versions, its grid, and what differs beyond the grid.

Functions are chosen per era, as fields, if several eras need different code.
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
    """Differences between eras in consumer, share and streams groups.

    ``group_types`` are the types beside classic groups, by name.  ``first_epoch`` is the epoch of a
    consumer or share group without records.
    """

    group_types: tuple[str, ...]

    first_epoch: int
    has_assignment_interval: bool  # KIP-1263: minimum time between two target assignments
    # KIP-848: the broker adds topic ids to commits of all versions, and checks the topics.
    broker_adds_topic_ids: bool
    # The group's topics without racks are written until KIP-1101; later eras write only a hash of
    # the topics.
    writes_topics: bool
    writes_assignment_epochs: bool  # KIP-1251: the epoch at which each partition was assigned
    # KIP-1251: a commit with an older epoch is accepted if the partitions were assigned to the
    # member by that epoch.
    accepts_commits_of_older_epochs: bool
    # a member's described assignment includes its pending partitions
    describes_pending_partitions: bool
    # The target of a returning static member is compared with the target that the member takes
    # over.
    compares_replaced_targets: bool
    full_groups_take_replacements: bool  # of static members
    frees_instance_ids: bool  # A full group accepts a member that replaces a static member.
    # A member that joins with another instance id frees its previous instance id.
    takes_back_pending_partitions: bool
    # The member epoch increases by one when a member that revoked must revoke more partitions.
    revocation_advances_epoch: bool
    takes_members_back: bool  # members may join again with epoch 0
    deletes_offsets_of_topics: bool  # If topics are deleted, their offsets are deleted, too.
    # The group epoch increases when a member stops subscribing by regular expression.
    bumps_for_dropped_regexes: bool
    # Regular expressions are resolved again after group.consumer.regex.refresh.interval.ms, even
    # without new topics.
    refreshes_regexes: bool
    # Joins of classic members refresh regular expressions as heartbeats do, and drop the member's
    # own expression.
    classic_joins_refresh_regexes: bool
    votes_bump_epoch: bool  # a change of the members' server assignor increases the epoch
    follows_subscription_at_once: bool  # a member loses topics that it no longer subscribes to
    dropped_topics_end_epochs: bool  # dropping topics sets previous_epoch to the member epoch
    empties_target: bool  # the last member that leaves also advances the assignment epoch
    classic_joins_need_migration: bool  # if migration is disabled, classic members cannot join
    # The error is INCONSISTENT_GROUP_PROTOCOL; other eras return an unknown error.
    names_malformed_subscriptions: bool
    downgrades_stale_assignments: bool  # a downgraded group rebalances if its target is outdated
    share: ShareRules  # KIP-932
    streams: StreamsRules  # KIP-1071


@dataclass(frozen=True, slots=True, kw_only=True)
class EraOf(Generic[T]):
    """An era of Kafka's coordinator.  Comments name the ticket or KIP behind a field."""

    name: str
    versions: str  # versions of Kafka in this era, as in schemas/log_lines
    kafka: str  # brokers of the era print log lines as this version does
    # facts that show this era, unless the evidence has a fact of a newer era
    signs: tuple[Sign, ...]
    # libraries released with these versions, the Java client first
    client_libraries: tuple[str, ...]
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

    # Appends. KIP-848: each partition has a shard, and responses and reads wait for appends.
    answers_after_append: bool
    writes_new_groups: bool  # KIP-848: a join that creates a group writes an empty record
    # base sequence of a batch of group records; batches of commits have 0
    group_batch_sequence: int
    group_store_errors: ErrorMap
    commit_store_errors: ErrorMap
    # A broker that resigns as leader of a partition first unloads its groups, then fails the
    # appends.
    unloads_before_appends_fail: bool

    # Answers.
    failed_join_generation: int
    failed_join_protocol: str | None
    failed_rejoin_protocol: str | None  # protocol in the response to an unknown or fenced member
    # response to a LeaveGroup request that the coordinator cannot process
    failed_leave: Callable[[Errors], Response]
    # KIP-848, KIP-1043: KIP-848, KIP-1043: newer clients receive GROUP_ID_NOT_FOUND
    reports_missing_groups: bool
    empty_group_id_is_invalid: bool  # KAFKA-6773: every request is checked, not only joins
    # KAFKA-9150: DescribeGroups may return the assignment in place of the member's metadata.
    describes_assignment_as_metadata: bool
    # KIP-559: any protocol is valid while the group has none
    accepts_any_protocol_until_chosen: bool

    # Members and rebalances.
    # a refused join, too, makes the coordinator check whether the join phase is complete
    checks_join_after_any_join: bool
    logs_reasons: bool  # Kafka 2.1 and later log the reason of a rebalance
    logs_leave_last: bool  # Kafka 3.0 and later log a leave after the rebalance that it causes
    takes_new_timeouts: bool  # KAFKA-14009: a rejoin changes the member's timeouts
    skips_assignment: bool  # KIP-814
    # If false, a leave of a pending member that names an instance id fails.
    leaving_pending_may_be_static: bool
    static_return_ends_first_join: bool  # the replaced member no longer counts as new
    # If a static member's record cannot be written, the replaced member gets back its protocols.
    failed_replacement_restores_protocols: bool
    # order of these steps if a loaded group exceeds group.max.size
    starts_sessions_before_shrinking: bool
    extends_every_initial_delay: bool  # if false, new members extend the delay in generation 0 only
    times_out_first_joins: bool  # KAFKA-7610
    ends_sessions_of_dropped: bool  # KAFKA-7196: sessions of members that did not rejoin end
    # In 2.7 to 4.2.1 and in 4.3 no join completes if a member's subscription is malformed.
    fails_on_malformed_subscriptions: bool
    has_pending_sync: bool  # KAFKA-12890: the coordinator removes members that never sync
    has_initial_delay: bool  # KIP-134
    has_rebalance_timeout: bool  # KIP-62
    has_empty_state: bool  # KAFKA-2720

    # Offsets.
    too_large_stay_pending: bool  # until KAFKA-16371, offsets with too long metadata stay pending
    offsets_retention_ms: int  # default retention: a day until KIP-186, a week since then
    # until KIP-211, offsets expire by the time since their commit
    offsets_expire_on_their_own: bool
    # KAFKA-13636: offsets of topics without a subscriber expire only while the group is stable
    expires_only_when_stable: bool

    # Brokers, and the programs that play scenarios with Kafka's own classes.
    max_session_timeout_ms: int  # default of group.max.session.timeout.ms: KIP-62, KIP-345
    has_static_members: bool  # KIP-345
    # The iteration order of hash maps differs between builds for Scala 2.12 and 2.13.
    has_builds_of_scala_2_12: bool
    # If false, a loading coordinator logs only the static members of a group.
    logs_loaded_dynamic_members: bool
    takes_rows_by_topic: bool  # the program sends requests, which group partitions by topic
    # the response to a step follows the earlier responses that the step completes
    answers_step_last: bool
    group_config_defaults: Mapping[str, str] = field(default_factory=dict)  # the program's
    # Texts of assignors that Kafka prints by their id instead of a name.
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


Era = EraOf[Any]  # default type for code that only reads an era's data
