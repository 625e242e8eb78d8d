"""The eras of Kafka's coordinator: each row replaces what differs from the nearest other row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from operator import itemgetter

from coordinator_core.coordinator import expiry, offset_commit
from coordinator_core.coordinator.classic import automaton
from coordinator_core.coordinator.classic.delayed_operations import (
    DelayedOperations,
    DelayedOperationsBefore22,
    DelayedOperationsIn24,
)
from coordinator_core.coordinator.classic.handlers import checks, join, leave
from coordinator_core.coordinator.classic.scheduled_timers import ScheduledTimers
from coordinator_core.coordinator.classic.states import GroupState
from coordinator_core.coordinator.era import EraOf, ModernRules
from coordinator_core.coordinator.era_evidence import EraEvidence, InferredEra, Sign
from coordinator_core.coordinator.offsets import (
    Scala212Partitions,
    Scala212PartitionsBefore011,
    ScalaPartitions,
    TimelinePartitions,
)
from coordinator_core.coordinator.share.rules import SHARE_4_1, SHARE_4_4
from coordinator_core.coordinator.streams.rules import STREAMS_4_1, STREAMS_4_3, STREAMS_4_4
from coordinator_core.coordinator.turn import Turn
from coordinator_core.jvm import scala_maps
from coordinator_core.jvm.hash_codes import string_hash
from coordinator_core.jvm.java_maps import HashMapKeys
from coordinator_core.jvm.scala_maps import Scala212Keys, ScalaHashMapKeys
from coordinator_core.jvm.timeline_maps import TimelineKeys
from coordinator_core.log_lines import holds_in
from coordinator_core.log_lines.version_ranges import common, ranges_of, words_of
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import BareError, LeaveResponse, TopicPartition

_E = Errors
_DAY_MS = 24 * 60 * 60 * 1000

# The error that a client receives for each error of an append.
_STORE_ERRORS = {
    _E.UNKNOWN_TOPIC_OR_PARTITION: _E.COORDINATOR_NOT_AVAILABLE,
    _E.NOT_ENOUGH_REPLICAS: _E.COORDINATOR_NOT_AVAILABLE,
    _E.REQUEST_TIMED_OUT: _E.COORDINATOR_NOT_AVAILABLE,
    _E.NOT_LEADER_OR_FOLLOWER: _E.NOT_COORDINATOR,
    _E.KAFKA_STORAGE_ERROR: _E.NOT_COORDINATOR,
    _E.MESSAGE_TOO_LARGE: _E.UNKNOWN_SERVER_ERROR,
    _E.RECORD_LIST_TOO_LARGE: _E.UNKNOWN_SERVER_ERROR,
    _E.INVALID_FETCH_SIZE: _E.UNKNOWN_SERVER_ERROR,
}
_SCALA_GROUP_STORE_ERRORS = _STORE_ERRORS | {
    _E.NOT_ENOUGH_REPLICAS_AFTER_APPEND: _E.COORDINATOR_NOT_AVAILABLE,
    _E.REQUEST_TIMED_OUT: _E.REBALANCE_IN_PROGRESS,
}
_SCALA_COMMIT_STORE_ERRORS = _STORE_ERRORS | {
    _E.NOT_ENOUGH_REPLICAS_AFTER_APPEND: _E.COORDINATOR_NOT_AVAILABLE,
    _E.REQUEST_TIMED_OUT: _E.REQUEST_TIMED_OUT,
    _E.MESSAGE_TOO_LARGE: _E.INVALID_COMMIT_OFFSET_SIZE,
    _E.RECORD_LIST_TOO_LARGE: _E.INVALID_COMMIT_OFFSET_SIZE,
    _E.INVALID_FETCH_SIZE: _E.INVALID_COMMIT_OFFSET_SIZE,
}


def _order_of_request(partitions: list[TopicPartition], built_from: int) -> list[TopicPartition]:
    return partitions


def _order_of_group(member_ids: list[str]) -> list[str]:
    return member_ids


def _timeline_groups() -> TimelineKeys[str]:
    return TimelineKeys(string_hash)


def _winner(votes: Mapping[str, int], in_order: list[str]) -> str:
    """The protocol with most votes; of several, the first in the order of the map of votes."""
    return max(((name, votes[name]) for name in in_order), key=itemgetter(1))[0]


def _winner_in_java(votes: Mapping[str, int]) -> str:
    return _winner(votes, list(HashMapKeys(votes)))


def _winner_in_scala_213(votes: Mapping[str, int]) -> str:
    return _winner(votes, scala_maps.scala_213_order_of_group_by(votes))


def _winner_in_scala_212(votes: Mapping[str, int]) -> str:
    return _winner(votes, scala_maps.scala_212_order_of_group_by(votes))


_AWAITING_SYNC = {state: state.value for state in GroupState} | {
    GroupState.COMPLETING_REBALANCE: "AwaitingSync"  # renamed in 1.1
}

_OBJECT = "org.apache.kafka.coordinator.group.{}@0"
_SIMPLE = _OBJECT.format("assignor.SimpleAssignor")
_STICKY = _OBJECT.format("streams.assignor.StickyTaskAssignor")

# Kafka's defaults that some of these programs use instead of the broker's, for a group's other
# settings.
_KAFKAS_DEFAULTS = {
    "consumer.session.timeout.ms": "45000",
    "consumer.heartbeat.interval.ms": "5000",
    "share.session.timeout.ms": "45000",
    "share.heartbeat.interval.ms": "5000",
    "streams.session.timeout.ms": "45000",
    "streams.heartbeat.interval.ms": "5000",
    "streams.num.standby.replicas": "0",
}

_MODERN_4_1 = ModernRules(
    group_types=("consumer", "share", "streams"),
    first_epoch=0,
    has_assignment_interval=False,
    broker_adds_topic_ids=False,
    writes_topics=False,
    writes_assignment_epochs=False,
    accepts_commits_of_older_epochs=False,
    describes_pending_partitions=False,
    compares_replaced_targets=False,
    full_groups_take_replacements=False,
    frees_instance_ids=False,
    takes_back_pending_partitions=False,
    revocation_advances_epoch=True,
    takes_members_back=False,
    deletes_offsets_of_topics=False,
    bumps_for_dropped_regexes=False,
    refreshes_regexes=True,
    classic_joins_refresh_regexes=False,
    votes_bump_epoch=False,
    follows_subscription_at_once=False,
    dropped_topics_end_epochs=False,
    empties_target=False,
    classic_joins_need_migration=False,
    names_malformed_subscriptions=False,
    downgrades_stale_assignments=False,
    share=SHARE_4_1,
    streams=STREAMS_4_1,
)

ERA_4_1: EraOf[Turn] = EraOf(
    name="4.1",
    versions="4.1-4.1.1",
    kafka="4.1.1",
    signs=(
        Sign(
            "log wording of the Java coordinator",
            lambda of: of.has_java_wording and of.has_offsets_of_java is not False,
        ),
        Sign("offset commits have version 4", lambda of: bool(of.has_offsets_of_java)),
        Sign(
            "the group has a record of generation 0",
            lambda of: of.has_generation_0 and of.has_offsets_of_java is not False,
        ),
        Sign(
            "target assignments have no times",
            lambda of: of.has_modern_records and not of.has_topic_records,
        ),
    ),
    client_libraries=("java-4.1", "java-3.9", "librdkafka-2", "kafka-python-3"),
    grid=automaton.GRID_4_1,
    group_value_version=3,
    offset_value_version=4,
    state_names={state: state.value for state in GroupState},
    member_order=HashMapKeys,
    joined_order=_order_of_group,
    protocol_of_votes=_winner_in_java,
    commit_order=_order_of_request,
    partition_order=TimelinePartitions,
    group_order=_timeline_groups,
    check_member=checks.check_member,
    check_heartbeat=checks.check_generation,
    check_commit=checks.check_commit,
    accepts_size=checks.accepts_size,
    classify_join=join.classify,
    timers=ScheduledTimers,
    leave=leave.handle_together,
    store_offsets=offset_commit.store_then_answer,
    clean_up=expiry.clean_up_shards,
    answers_after_append=True,
    writes_new_groups=True,
    group_batch_sequence=0,
    group_store_errors=_STORE_ERRORS,
    commit_store_errors=_STORE_ERRORS,
    unloads_before_appends_fail=True,
    failed_join_generation=-1,
    failed_join_protocol="",
    failed_rejoin_protocol=None,
    failed_leave=LeaveResponse,
    reports_missing_groups=True,
    empty_group_id_is_invalid=True,
    describes_assignment_as_metadata=False,
    accepts_any_protocol_until_chosen=True,
    checks_join_after_any_join=False,
    logs_reasons=True,
    logs_leave_last=False,
    takes_new_timeouts=True,
    skips_assignment=True,
    leaving_pending_may_be_static=True,
    static_return_ends_first_join=True,
    failed_replacement_restores_protocols=True,
    starts_sessions_before_shrinking=True,
    extends_every_initial_delay=True,
    times_out_first_joins=True,
    ends_sessions_of_dropped=True,
    fails_on_malformed_subscriptions=True,
    has_pending_sync=True,
    has_initial_delay=True,
    has_rebalance_timeout=True,
    has_empty_state=True,
    too_large_stay_pending=False,
    offsets_retention_ms=7 * _DAY_MS,
    offsets_expire_on_their_own=False,
    expires_only_when_stable=True,
    max_session_timeout_ms=1_800_000,
    has_static_members=True,
    has_builds_of_scala_2_12=False,
    logs_loaded_dynamic_members=True,
    takes_rows_by_topic=True,
    answers_step_last=False,
    group_config_defaults=_KAFKAS_DEFAULTS,
    assignor_texts={"simple": _SIMPLE, "sticky": _STICKY},
    modern=_MODERN_4_1,
)

# Before KIP-1101.  Share groups are not for production (KIP-932).
ERA_4_0 = replace(
    ERA_4_1,
    name="4.0",
    versions="4.0",
    kafka="4.0.2",
    signs=(
        Sign("group records have the group's topics", lambda of: of.has_topic_records),
        Sign(
            "log wording of the Java coordinator, offset commits have version 3",
            lambda of: of.has_java_wording,
        ),
        Sign(
            "the group has a record of generation 0, offset commits have version 3",
            lambda of: of.has_generation_0,
        ),
    ),
    offset_value_version=3,
    modern=replace(
        _MODERN_4_1,
        group_types=("consumer",),
        writes_topics=True,
        takes_back_pending_partitions=True,
        refreshes_regexes=False,
        classic_joins_refresh_regexes=True,
    ),
)

ERA_4_1_2 = replace(
    ERA_4_1,
    name="4.1.2",
    versions="4.1.2-4.1",
    kafka="4.1.2",
    signs=(
        Sign(
            "a member kept a partition that it was to revoke",
            lambda of: of.has_kept_pending_partition and not of.has_topic_records,
        ),
    ),
    modern=replace(
        _MODERN_4_1,
        takes_back_pending_partitions=True,
        bumps_for_dropped_regexes=True,
        classic_joins_refresh_regexes=True,
        streams=replace(STREAMS_4_1, fails_on_task_conflicts=False),
    ),
)

ERA_4_2 = replace(
    ERA_4_1_2,
    name="4.2",
    versions="4.2",
    kafka="4.2.2",
    signs=(
        Sign(
            "a member revoked partitions twice in an epoch",
            lambda of: of.has_revoked_twice_in_an_epoch,
        ),
        Sign(
            "the group's record has the epoch of the validated topology",
            lambda of: of.has_validated_topology,
        ),
    ),
    assignor_texts={"simple": _SIMPLE},
    fails_on_malformed_subscriptions=False,
    modern=replace(
        _MODERN_4_1,
        takes_back_pending_partitions=True,
        revocation_advances_epoch=False,
        takes_members_back=True,
        bumps_for_dropped_regexes=True,
        classic_joins_refresh_regexes=True,
        follows_subscription_at_once=True,
        classic_joins_need_migration=True,
        names_malformed_subscriptions=True,
        share=replace(SHARE_4_4, forgets_deleted_topics=False),
        streams=replace(STREAMS_4_3, first_target_epoch=0),
    ),
)

# KIP-1263, KIP-1251.
_MODERN_4_4 = ModernRules(
    group_types=("consumer", "share", "streams"),
    first_epoch=1,
    has_assignment_interval=True,
    broker_adds_topic_ids=True,
    writes_topics=False,
    writes_assignment_epochs=True,
    accepts_commits_of_older_epochs=True,
    describes_pending_partitions=True,
    compares_replaced_targets=True,
    full_groups_take_replacements=True,
    frees_instance_ids=True,
    takes_back_pending_partitions=True,
    revocation_advances_epoch=False,
    takes_members_back=True,
    deletes_offsets_of_topics=True,
    bumps_for_dropped_regexes=True,
    refreshes_regexes=True,
    classic_joins_refresh_regexes=True,
    votes_bump_epoch=True,
    follows_subscription_at_once=True,
    dropped_topics_end_epochs=True,
    empties_target=True,
    classic_joins_need_migration=True,
    names_malformed_subscriptions=True,
    downgrades_stale_assignments=True,
    share=SHARE_4_4,
    streams=STREAMS_4_4,
)

ERA_4_4 = replace(
    ERA_4_1,
    name="4.4",
    versions="4.4-",
    kafka="4.4.0",
    signs=(
        Sign(
            "target assignments have times",
            lambda of: of.has_target_times and not of.has_emptied_without_target,
        ),
        Sign(
            "member assignments have epochs",
            lambda of: of.has_assignment_epochs and not of.has_emptied_without_target,
        ),
    ),
    client_libraries=("java-4.4", "java-4.1", "java-3.9", "librdkafka-2"),
    takes_rows_by_topic=False,
    group_config_defaults={},
    assignor_texts={"simple": _SIMPLE},
    fails_on_malformed_subscriptions=False,
    modern=_MODERN_4_4,
)

ERA_4_3 = replace(
    ERA_4_4,
    name="4.3",
    versions="4.3",
    kafka="4.3.1",
    signs=(
        Sign(
            "target assignments have times, and a group that becomes empty gets no new target",
            lambda of: of.has_target_times or of.has_assignment_epochs,
        ),
    ),
    group_config_defaults=_KAFKAS_DEFAULTS,
    fails_on_malformed_subscriptions=True,
    modern=replace(
        _MODERN_4_4,
        compares_replaced_targets=False,
        empties_target=False,
        votes_bump_epoch=False,
        full_groups_take_replacements=False,
        frees_instance_ids=False,
        names_malformed_subscriptions=False,
        streams=STREAMS_4_3,
    ),
)

# The last era with the Scala coordinator.
ERA_3_9 = replace(
    ERA_4_1,
    name="3.9",
    versions="3.5-3.9",
    kafka="3.9.1",
    signs=(
        Sign("log wording of the Scala coordinator since 3.0", lambda of: of.has_scala_3_wording),
        Sign(
            "group records have version 3, no log",
            lambda of: of.group_version >= 3 and not of.reasons,
        ),
    ),
    client_libraries=("java-3.9", "java-2.5", "librdkafka-2", "kafka-python-3"),
    answers_step_last=True,
    group_config_defaults={},
    assignor_texts={},
    modern=None,
    grid=automaton.GRID_3_9,
    offset_value_version=3,
    member_order=ScalaHashMapKeys,
    protocol_of_votes=_winner_in_scala_213,
    commit_order=scala_maps.scala_213_order_of_commit,
    partition_order=ScalaPartitions,
    group_order=HashMapKeys,
    timers=DelayedOperations,
    leave=leave.handle,
    store_offsets=offset_commit.store_and_answer,
    clean_up=expiry.clean_up_groups,
    answers_after_append=False,
    writes_new_groups=False,
    group_batch_sequence=-1,
    group_store_errors=_SCALA_GROUP_STORE_ERRORS,
    commit_store_errors=_SCALA_COMMIT_STORE_ERRORS,
    unloads_before_appends_fail=False,
    failed_join_protocol=None,
    failed_leave=BareError,
    reports_missing_groups=False,
    accepts_any_protocol_until_chosen=False,
    checks_join_after_any_join=True,
    logs_leave_last=True,
    static_return_ends_first_join=False,
    failed_replacement_restores_protocols=False,
    starts_sessions_before_shrinking=False,
    extends_every_initial_delay=False,
)

# The offsets of a commit are written in a different order than in later eras.
ERA_3_0 = replace(
    ERA_3_9,
    name="3.0",
    versions="3.0-3.4",
    kafka="3.0.2",
    signs=(),
    commit_order=scala_maps.scala_213_order_of_map,
)

# Members that never sync are removed (KAFKA-12890); 2.8.0 does not remove them yet.
ERA_2_8 = replace(
    ERA_3_0,
    name="2.8",
    versions="2.8.1-2.8",
    kafka="2.8.2",
    client_libraries=("java-2.5", "java-2.3", "java-2.0", "librdkafka-2"),
    has_builds_of_scala_2_12=True,
    answers_step_last=False,
    takes_rows_by_topic=False,
    check_member=checks.check_member_leniently,
    logs_leave_last=False,
    takes_new_timeouts=False,
    skips_assignment=False,
    too_large_stay_pending=True,
)

# Earlier eras do not write the replacement of a static member, and count the group's size
# differently.
ERA_2_6 = replace(
    ERA_2_8,
    name="2.6",
    versions="2.6-2.8.0",
    kafka="2.6.3",
    expires_only_when_stable=False,
    fails_on_malformed_subscriptions=False,
    has_pending_sync=False,
)

# The first era with static members (KIP-345), required member ids (KIP-394) and group.max.size
# (KIP-389).
ERA_2_5 = replace(
    ERA_2_6,
    name="2.5",
    versions="2.5",
    kafka="2.5.1",
    signs=(
        Sign(
            "group records have version 3, log wording of Kafka before 3.0",
            lambda of: of.group_version >= 3,
        ),
    ),
    logs_loaded_dynamic_members=False,
    grid=automaton.GRID_2_5,
    check_commit=checks.check_commit_fencing_first,
    accepts_size=checks.accepts_size_by_members,
    leaving_pending_may_be_static=False,
)


def of_scala_2_12(era: EraOf[Turn]) -> EraOf[Turn]:
    """The era with the hash maps of Scala 2.12, for eras of which only some brokers were built with
    it.
    """
    if not era.has_builds_of_scala_2_12:
        return era
    return replace(
        era,
        member_order=Scala212Keys,
        protocol_of_votes=_winner_in_scala_212,
        commit_order=scala_maps.scala_212_order_of_map,
        partition_order=Scala212Partitions,
    )


ERA_2_4 = replace(
    ERA_2_5,
    name="2.4",
    versions="2.4",
    kafka="2.4.1",
    signs=(),
    timers=DelayedOperationsIn24,
)

# A LeaveGroup request has one member; since 2.4 it may have several (KIP-345).
ERA_2_3 = replace(
    of_scala_2_12(ERA_2_5),
    name="2.3",
    versions="2.3",
    kafka="2.3.1",
    signs=(),
    client_libraries=("java-2.3", "java-2.0", "librdkafka-2"),
    has_builds_of_scala_2_12=False,
    leave=leave.handle_single,
    describes_assignment_as_metadata=True,
)

# Before KIP-345, all members are dynamic.
ERA_2_2 = replace(
    ERA_2_3,
    name="2.2",
    versions="2.2",
    kafka="2.2.2",
    signs=(Sign("group records have version 2", lambda of: of.group_version == 2),),
    client_libraries=("java-2.0", "java-1.0"),
    max_session_timeout_ms=300_000,
    has_static_members=False,
    group_value_version=2,
    joined_order=scala_maps.scala_212_order_of_joined,
    commit_order=scala_maps.scala_212_order_of_request,
    check_heartbeat=checks.check_generation_unless_completing,
    describes_assignment_as_metadata=False,
)

# Before KIP-389 and KIP-394, new members join at once.
ERA_2_1 = replace(
    ERA_2_2,
    name="2.1",
    versions="2.1",
    kafka="2.1.1",
    signs=(),
    logs_loaded_dynamic_members=True,
    grid=automaton.GRID_2_0,
    check_commit=checks.check_commit_state_first,
    accepts_size=checks.accepts_any_size,
    classify_join=join.classify_before_kip_394,
    timers=DelayedOperationsBefore22,
    failed_join_generation=0,
    failed_join_protocol="",
    failed_rejoin_protocol="",
    times_out_first_joins=False,
)

# Before KIP-211, each offset expires by its own retention.
ERA_2_0 = replace(
    ERA_2_1,
    name="2.0",
    versions="2.0.1-2.0",
    kafka="2.0.1",
    signs=(Sign("group records have version 1", lambda of: of.group_version == 1),),
    group_value_version=1,
    offset_value_version=1,
    logs_reasons=False,
    offsets_expire_on_their_own=True,
)

# Before KAFKA-7196, the session of a member that a rebalance removed may expire a second time.
ERA_2_0_0 = replace(
    ERA_2_0,
    name="2.0.0",
    versions="2.0.0",
    kafka="2.0.0",
    signs=(),
    ends_sessions_of_dropped=False,
)

# Before KIP-186, offsets are kept for one day.
ERA_1_1 = replace(
    ERA_2_0_0,
    name="1.1",
    versions="1.1",
    kafka="1.1.1",
    offsets_retention_ms=_DAY_MS,
    empty_group_id_is_invalid=False,
)

# Since 1.1 the state is named CompletingRebalance.
ERA_1_0 = replace(ERA_1_1, name="1.0", versions="1.0", kafka="1.0.2", state_names=_AWAITING_SYNC)

# 0.10.1 and 0.10.2 have no initial delay.
ERA_0_10 = replace(
    ERA_1_0,
    name="0.10",
    versions="0.10.1-0.10",
    kafka="0.10.2",
    client_libraries=("java-0.10", "java-0.9"),
    partition_order=Scala212PartitionsBefore011,
    classify_join=join.classify_unchecked_first,
    has_initial_delay=False,
)

# KIP-134 introduced the initial delay in 0.11.0.
ERA_0_11 = replace(
    ERA_0_10,
    name="0.11",
    versions="0.11",
    kafka="0.11.0",
    partition_order=ERA_2_0.partition_order,
    has_initial_delay=True,
)

# 0.9 and 0.10.0 have neither an Empty state nor a rebalance timeout.
ERA_0_9 = replace(
    ERA_0_10,
    name="0.9",
    versions="0.9-0.10.0",
    kafka="0.9.0",
    signs=(Sign("group records have version 0", lambda of: of.group_version == 0),),
    client_libraries=("java-0.9",),
    max_session_timeout_ms=30_000,
    grid=automaton.GRID_0_9,
    group_value_version=0,
    has_rebalance_timeout=False,
    has_empty_state=False,
)


def of_0_9_0(era: EraOf[Turn]) -> EraOf[Turn]:
    """0.9.0: like 0.10.0, except for the keys in the maps of its requests."""
    return replace(era, commit_order=scala_maps.scala_211_order_of_case_classes)


ERAS: Mapping[str, EraOf[Turn]] = {
    era.name: era
    for era in (
        ERA_0_9,
        ERA_0_10,
        ERA_0_11,
        ERA_1_0,
        ERA_1_1,
        ERA_2_0_0,
        ERA_2_0,
        ERA_2_1,
        ERA_2_2,
        ERA_2_3,
        ERA_2_4,
        ERA_2_5,
        ERA_2_6,
        ERA_2_8,
        ERA_3_0,
        ERA_3_9,
        ERA_4_0,
        ERA_4_1,
        ERA_4_1_2,
        ERA_4_2,
        ERA_4_3,
        ERA_4_4,
    )
}
"""Oldest first."""
NEWEST_ERA = ERA_4_4


def era_of_version(version: str) -> EraOf[Turn]:
    """The era of a version of Kafka such as ``3.9.1``; raises ValueError if no era has the
    version.
    """
    for era in ERAS.values():
        if holds_in(era.versions, version):
            return era
    raise ValueError(f"no era for Kafka {version}")


def era_of_evidence(evidence: EraEvidence) -> InferredEra:
    """The newest era that the evidence shows, and the reason.

    If this era has none of the brokers' versions, the next newer era that has one of these versions
    is used, else the next older era that has one.
    """
    shown = next(
        InferredEra(era.name, sign.why)
        for era in reversed([*ERAS.values()])
        for sign in era.signs
        if sign.is_in(evidence)
    )
    possible = [
        name
        for name, era in ERAS.items()
        if common(ranges_of(era.versions), evidence.versions)
        # Before 4.0 the new protocol was a preview.
        and (era.modern is not None or ERAS[shown.name].modern is None)
    ]
    if not possible or shown.name in possible:
        return shown
    order = list(ERAS)
    newer = [name for name in possible if order.index(name) > order.index(shown.name)]
    nearest = newer[0] if newer else possible[-1]
    return InferredEra(nearest, f"the brokers run Kafka {words_of(evidence.versions)}")
