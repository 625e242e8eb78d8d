"""The eras of Kafka's coordinator, newest first: each its grid, its checks and what it stores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from operator import itemgetter

from coordinator_core.coordinator.classic import automaton, delayed
from coordinator_core.coordinator.classic.handlers import checks, join, leave
from coordinator_core.coordinator.classic.states import GroupState
from coordinator_core.coordinator.era import Era
from coordinator_core.coordinator.offsets import (
    Scala212Partitions,
    Scala212PartitionsBefore011,
    ScalaPartitions,
    TimelinePartitions,
)
from coordinator_core.jvm import hash_order
from coordinator_core.jvm.hash_order import Scala212Keys, TimelineKeys
from coordinator_core.jvm.java import HashMapKeys, ScalaHashMapKeys, string_hash
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import TopicPartition

_E = Errors
_DAY_MS = 24 * 60 * 60 * 1000

# What a broker tells its clients of an append that failed.
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


def _as_they_are(partitions: list[TopicPartition], built_from: int) -> list[TopicPartition]:
    return partitions


def _timeline_groups() -> TimelineKeys[str]:
    return TimelineKeys(string_hash)


def _most(votes: Mapping[str, int], in_order: list[str]) -> str:
    """The protocol with most votes; of several the first in the order of the era's map of votes."""
    return max(((name, votes[name]) for name in in_order), key=itemgetter(1))[0]


def _most_in_java(votes: Mapping[str, int]) -> str:
    return _most(votes, hash_order.java_order(votes))


def _most_in_scala_213(votes: Mapping[str, int]) -> str:
    return _most(votes, hash_order.scala_213_trie_order(votes))


def _most_in_scala_212(votes: Mapping[str, int]) -> str:
    return _most(votes, hash_order.scala_212_order(votes))


_AWAITING_SYNC = {state: state.value for state in GroupState} | {
    GroupState.COMPLETING_REBALANCE: "AwaitingSync"  # renamed in 0.11
}

ERA_4_1 = Era(
    name="4.1",
    grid=automaton.GRID_4_1,
    group_value_version=3,
    offset_value_version=4,
    state_names={state: state.value for state in GroupState},
    member_order=HashMapKeys,
    joined_order=hash_order.as_in_the_group,
    protocol_of_votes=_most_in_java,
    commit_order=_as_they_are,
    partition_order=TimelinePartitions,
    group_order=_timeline_groups,
    check_member=checks.check_member,
    check_heartbeat=checks.check_generation,
    check_commit=checks.check_commit,
    accepts_size=checks.accepts_size,
    classify_join=join.classify,
    renew_session=delayed.schedule_session,
    watch_pending=delayed.schedule_pending,
    end_session=delayed.cancel_session,
    start_join=delayed.schedule_join,
    check_join=delayed.check_keyed_join,
    start_sync=delayed.schedule_sync,
    check_sync=delayed.check_keyed_sync,
    leave=leave.handle_together,
    group_store_errors=_STORE_ERRORS,
    commit_store_errors=_STORE_ERRORS,
    failed_join_generation=-1,
    failed_join_protocol="",
    empty_group_id_is_invalid=True,
    checks_join_after_any_join=False,
    logs_leave_last=False,
    takes_new_timeouts=True,
    skips_assignment=True,
    too_large_stay_pending=False,
    leaving_pending_may_be_static=True,
    times_out_first_joins=True,
    ends_sessions_of_dropped=True,
    offsets_retention_ms=7 * _DAY_MS,
    offsets_expire_on_their_own=False,
    expires_only_when_stable=True,
    has_pending_sync=True,
    has_initial_delay=True,
    has_rebalance_timeout=True,
    has_empty_state=True,
    is_new_coordinator=True,
)

# The Scala coordinator at its end.
ERA_3_9 = replace(
    ERA_4_1,
    name="3.9",
    grid=automaton.GRID_3_9,
    offset_value_version=3,
    member_order=ScalaHashMapKeys,
    protocol_of_votes=_most_in_scala_213,
    commit_order=hash_order.scala_213_order_of_commit,
    partition_order=ScalaPartitions,
    group_order=HashMapKeys,
    renew_session=delayed.renew_session,
    watch_pending=delayed.watch_pending,
    end_session=delayed.end_session,
    start_join=delayed.start_join,
    check_join=delayed.check_join,
    start_sync=delayed.start_sync,
    check_sync=delayed.check_sync,
    leave=leave.handle,
    group_store_errors=_SCALA_GROUP_STORE_ERRORS,
    commit_store_errors=_SCALA_COMMIT_STORE_ERRORS,
    failed_join_protocol=None,
    checks_join_after_any_join=True,
    logs_leave_last=True,
    is_new_coordinator=False,
)

# Static members (KIP-345), member ids given first (KIP-394) and a maximal size (KIP-389) are new.
ERA_2_5 = replace(
    ERA_3_9,
    name="2.5",
    grid=automaton.GRID_2_5,
    commit_order=hash_order.scala_213_order_of_map,
    check_member=checks.check_member_leniently,
    check_commit=checks.check_commit_fencing_first,
    accepts_size=checks.accepts_size_by_members,
    logs_leave_last=False,
    takes_new_timeouts=False,
    skips_assignment=False,
    too_large_stay_pending=True,
    leaving_pending_may_be_static=False,
    expires_only_when_stable=False,
    has_pending_sync=False,
)


def of_scala_2_12(era: Era) -> Era:
    """The era in brokers built with Scala 2.12, as 2.5's usually were: other hash maps."""
    return replace(
        era,
        member_order=Scala212Keys,
        protocol_of_votes=_most_in_scala_212,
        commit_order=hash_order.scala_212_order_of_map,
        partition_order=Scala212Partitions,
    )


# All members are dynamic and join at once (before KIP-345, KIP-389 and KIP-394).
ERA_2_0 = replace(
    of_scala_2_12(ERA_2_5),
    name="2.0",
    grid=automaton.GRID_2_0,
    joined_order=hash_order.scala_212_order_of_joined,
    commit_order=hash_order.scala_212_order_of_request,
    group_value_version=1,
    offset_value_version=1,
    check_heartbeat=checks.check_generation_unless_completing,
    check_commit=checks.check_commit_state_first,
    accepts_size=checks.accepts_any_size,
    classify_join=join.classify_before_kip_345,
    renew_session=delayed.renew_deadline,
    leave=leave.handle_single,
    failed_join_generation=0,
    failed_join_protocol="",
    times_out_first_joins=False,
    offsets_expire_on_their_own=True,
)

# 0.10.1 to 0.11: no initial delay, and a member dropped from a rebalance may fail once more.
ERA_0_10 = replace(
    ERA_2_0,
    name="0.10",
    partition_order=Scala212PartitionsBefore011,
    state_names=_AWAITING_SYNC,
    classify_join=join.classify_unchecked_first,
    offsets_retention_ms=_DAY_MS,
    ends_sessions_of_dropped=False,
    has_initial_delay=False,
    empty_group_id_is_invalid=False,
)

# 0.9 and 0.10.0: no Empty state, no rebalance timeout.
ERA_0_9 = replace(
    ERA_0_10,
    name="0.9",
    grid=automaton.GRID_0_9,
    group_value_version=0,
    has_rebalance_timeout=False,
    has_empty_state=False,
)


def of_0_9_0(era: Era) -> Era:
    """0.9.0 proper: 0.10.0 has other keys in the maps of its requests, and nothing else."""
    return replace(era, commit_order=hash_order.scala_211_order_of_case_classes)


ERAS: Mapping[str, Era] = {
    era.name: era for era in (ERA_0_9, ERA_0_10, ERA_2_0, ERA_2_5, ERA_3_9, ERA_4_1)
}
