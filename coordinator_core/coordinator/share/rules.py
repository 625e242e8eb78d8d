"""Differences between eras in share groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from coordinator_core.assignors.simple import (
    ShareSubscriber,
    ShareTopics,
    TopicIdAssignment,
    assign,
    assign_by_hash,
)

Assign = Callable[[ShareTopics, Sequence[ShareSubscriber], bool], dict[str, TopicIdAssignment]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareRules:
    """``initialize_retry_ms`` is the time after which a state is asked to be initialised again."""

    assign: Assign
    initialize_retry_ms: int
    # if true, topics without subscribers also increase the group epoch
    counts_all_initialized: bool
    takes_epoch_zero: bool  # a member may join again with epoch 0 before its session ends
    drops_unsubscribed: bool  # a member never receives topics that it does not subscribe to
    keeps_topic_names: bool  # if true, states of deleted topics keep the topic names
    # The group forgets states of deleted topics; how 4.1 learns of deletions is not modelled.
    forgets_deleted_topics: bool


SHARE_4_1 = ShareRules(
    assign=assign_by_hash,
    initialize_retry_ms=10000,  # twice the timeout of an offset commit
    counts_all_initialized=True,
    takes_epoch_zero=False,
    drops_unsubscribed=False,
    keeps_topic_names=False,
    forgets_deleted_topics=False,
)
SHARE_4_4 = ShareRules(
    assign=assign,
    initialize_retry_ms=30000,
    counts_all_initialized=False,
    takes_epoch_zero=True,
    drops_unsubscribed=True,
    keeps_topic_names=True,
    forgets_deleted_topics=True,
)
