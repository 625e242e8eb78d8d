"""The eras of Kafka's coordinator, newest first: each its grid, its checks and what it stores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from operator import itemgetter

from coordinator_core import automaton, delayed, hash_order
from coordinator_core.era import Era
from coordinator_core.errors import Errors
from coordinator_core.handlers import checks, join, leave
from coordinator_core.hash_order import TimelineKeys
from coordinator_core.java import HashMapKeys, ScalaHashMapKeys, string_hash
from coordinator_core.messages import TopicPartition
from coordinator_core.offsets import ScalaPartitions, TimelinePartitions
from coordinator_core.states import GroupState

_E = Errors

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


ERA_4_1 = Era(
    name="4.1",
    grid=automaton.GRID_4_1,
    group_value_version=3,
    offset_value_version=4,
    state_names={state: state.value for state in GroupState},
    member_order=HashMapKeys,
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
    takes_new_timeouts=True,
    stores_static_replacement=True,
    times_out_first_joins=True,
    ends_sessions_of_dropped=True,
    offsets_expire_on_their_own=False,
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
    takes_new_timeouts=False,
    stores_static_replacement=False,
    has_pending_sync=False,
)

ERAS: Mapping[str, Era] = {era.name: era for era in (ERA_2_5, ERA_3_9, ERA_4_1)}
