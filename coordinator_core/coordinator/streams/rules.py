"""Differences between eras in streams groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from coordinator_core.assignors.sticky_tasks import (
    TaskAssignee,
    Tasks,
    TaskSubtopology,
    assign,
    assign_avoiding_pairs,
)

Assign = Callable[[Sequence[TaskSubtopology], Sequence[TaskAssignee], int], dict[str, Tasks]]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsRules:
    """``first_epoch`` and ``first_target_epoch`` are the epochs of a group without records.
    ``first_endpoint_epoch`` is the epoch of a new group's information about endpoints.
    """

    assign: Assign
    first_epoch: int
    first_target_epoch: int
    first_endpoint_epoch: int
    # if true, the assignor receives the members' current tasks; if false, the previous targets
    assigns_from_current: bool
    has_static_members: bool
    takes_epoch_zero: bool  # a member may join again with epoch 0 before its session ends
    # if false, a member that joins without an endpoint keeps its previous endpoint
    joins_reset_endpoint: bool
    has_initial_delay: bool  # the first assignment of a group waits for this delay
    # The validated epoch is written in the group's record, with the assignment's configuration.
    writes_validated_epoch: bool
    writes_task_epochs: bool  # KIP-1251
    refines_targets: bool  # members reconcile with a copy of the target, made once per epoch
    keeps_hash_when_members_leave: bool  # if false, the hash in the record becomes 0
    keeps_promoted_replicas: bool  # a replica stays until its member has the active task
    refuses_warmups: bool  # an owned warm-up task gets INVALID_REQUEST
    counts_rejoining_members: bool  # a full group refuses its existing members, too
    # conflicts of processes make the heartbeat fail with an unknown error
    fails_on_task_conflicts: bool
    caches_endpoints: bool  # an endpoint is announced when it or its tasks change
    # a join announces the endpoint, instead of a change of the endpoint
    joins_announce_endpoint: bool
    converts_empty_groups: bool  # empty groups become or replace classic groups


def _assign_avoiding_pairs(
    subtopologies: Sequence[TaskSubtopology], members: Sequence[TaskAssignee], standbys: int
) -> dict[str, Tasks]:
    return assign_avoiding_pairs(subtopologies, members, standbys)


STREAMS_4_1 = StreamsRules(
    assign=_assign_avoiding_pairs,
    first_epoch=0,
    first_target_epoch=0,
    first_endpoint_epoch=-1,
    assigns_from_current=False,
    has_static_members=False,
    takes_epoch_zero=False,
    joins_reset_endpoint=False,
    has_initial_delay=False,
    writes_validated_epoch=False,
    writes_task_epochs=False,
    refines_targets=False,
    keeps_hash_when_members_leave=False,
    keeps_promoted_replicas=False,
    refuses_warmups=True,
    counts_rejoining_members=True,
    fails_on_task_conflicts=True,
    caches_endpoints=False,
    joins_announce_endpoint=True,
    converts_empty_groups=False,
)


def _assign_before_4_4(
    subtopologies: Sequence[TaskSubtopology], members: Sequence[TaskAssignee], standbys: int
) -> dict[str, Tasks]:
    return assign(subtopologies, members, standbys, is_before_4_4=True)


STREAMS_4_4 = StreamsRules(
    assign=assign,
    first_epoch=1,
    first_target_epoch=1,
    first_endpoint_epoch=0,
    assigns_from_current=True,
    has_static_members=True,
    takes_epoch_zero=True,
    joins_reset_endpoint=True,
    has_initial_delay=True,
    writes_validated_epoch=True,
    writes_task_epochs=True,
    refines_targets=True,
    keeps_hash_when_members_leave=True,
    keeps_promoted_replicas=True,
    refuses_warmups=False,
    counts_rejoining_members=False,
    fails_on_task_conflicts=False,
    caches_endpoints=True,
    joins_announce_endpoint=False,
    converts_empty_groups=True,
)
# No static members; the assignor receives previous targets, and replicas are revoked at once.
STREAMS_4_3 = replace(
    STREAMS_4_4,
    assign=_assign_before_4_4,
    assigns_from_current=False,
    has_static_members=False,
    joins_reset_endpoint=False,
    joins_announce_endpoint=True,
    refines_targets=False,
    keeps_promoted_replicas=False,
    counts_rejoining_members=True,
)
