"""Subscriptions by regular expressions, which the coordinator resolves against the topics.

A new expression is resolved in the background, with all other expressions of the group, at most
every ten seconds.  All expressions are also resolved after topics were created, or when their
refresh interval is over.  Source: GroupMetadataManager.maybeUpdateRegularExpressions,
TopicRegexResolver (RE2/J).
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import re2  # type: ignore[import-untyped]

from coordinator_core.coordinator.consumer.draft import Draft
from coordinator_core.coordinator.consumer.group import (
    ConsumerGroup,
    ConsumerMember,
    ResolvedRegex,
)
from coordinator_core.coordinator.consumer.group_type import CONSUMER
from coordinator_core.coordinator.consumer.records import regex_record, regex_tombstone
from coordinator_core.coordinator.consumer.subscriptions import REFRESH_MS, take_topics
from coordinator_core.coordinator.modern.writing import write
from coordinator_core.coordinator.turn import Turn
from coordinator_core.protocol.errors import Errors

_MIN_INTERVAL_MS = 10_000
_NEVER_MS = -(1 << 63)


class RegexChange(Enum):
    NONE = "the member's regular expression is unchanged"
    CHANGED = "the member's new regular expression is not resolved yet"
    RESOLVED = "the member's new regular expression is resolved, or the member has none any more"

    __hash__ = object.__hash__


def is_valid(regex: str) -> bool:
    try:
        _compile(regex)
    except re2.error:
        return False
    return True


def _compile(regex: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    return re2.compile(regex, options)


def change_of(draft: Draft, before: ConsumerMember, after: ConsumerMember) -> RegexChange:
    """The change of the member's expression; writes the tombstone of an expression that nobody uses
    any more.

    Check the new expression, if it is new to the group, before.
    """
    group = draft.group
    if before.regex == after.regex:
        return RegexChange.NONE
    if before.regex and group.regex_count(before.regex) == 1:
        draft.records.append(regex_tombstone(draft.group_id, before.regex))
    is_resolved = after.regex in group.regexes
    if is_resolved or (not after.regex and draft.rules.bumps_for_dropped_regexes):
        return RegexChange.RESOLVED
    return RegexChange.CHANGED


def check(group: ConsumerGroup, before: ConsumerMember, after: ConsumerMember) -> Errors:
    is_new = bool(after.regex) and before.regex != after.regex
    if is_new and group.regex_count(after.regex) == 0 and not is_valid(after.regex):
        return Errors.INVALID_REGULAR_EXPRESSION
    return Errors.NONE


def resolve_later(draft: Draft, before: ConsumerMember, after: ConsumerMember) -> None:
    """Resolve the group's expressions in the background, if it is time to."""
    turn, group = draft.turn, draft.group
    is_new = bool(after.regex) and before.regex != after.regex
    is_new = is_new and group.regex_count(after.regex) == 0
    counts = dict(group.regex_counts)
    if not is_new and not counts:
        return
    last = next(iter(group.regexes.values()), None)
    last_ms = _NEVER_MS if last is None else last.timestamp_ms
    if turn.now_ms <= last_ms + _MIN_INTERVAL_MS:
        return
    for regex, change in ((before.regex, -1), (after.regex, 1)):
        if regex:
            counts[regex] = counts.get(regex, 0) + change
    regexes = [regex for regex, count in counts.items() if count > 0]
    interval_ms = int(turn.config.modern.other(CONSUMER, "regex.refresh.interval.ms"))
    version = 0 if last is None else last.version
    is_due = (
        is_new
        or len(regexes) != len(group.regexes)
        or version < turn.version_with_new_topics
        or (draft.rules.refreshes_regexes and turn.now_ms > last_ms + interval_ms)
    )
    if is_due and regexes:
        _schedule(turn, group.group_id, regexes)


def _schedule(turn: Turn, group_id: str, regexes: list[str]) -> None:
    """At most one resolution of a group is in progress."""
    if group_id in turn.resolving:
        return
    turn.resolving.add(group_id)

    def resolve() -> None:
        turn.resolving.discard(group_id)
        resolved = {regex: _resolved(turn, regex) for regex in regexes}
        fields = {"topics": len(turn.image.topics), "regexes": tuple(regexes)}
        turn.effects.modern_event("REGEXES_SCANNED", group_id, **fields)
        group = turn.groups.modern.get(group_id)
        if isinstance(group, ConsumerGroup):
            _take(turn, group, resolved)

    turn.background.append(resolve)


def _resolved(turn: Turn, regex: str) -> ResolvedRegex:
    try:
        pattern = _compile(regex)
    except re2.error:
        return ResolvedRegex(frozenset(), turn.image.version, turn.now_ms)
    topics = frozenset(name for name in turn.image.topics if pattern.fullmatch(name))
    return ResolvedRegex(topics, turn.image.version, turn.now_ms)


def _take(turn: Turn, group: ConsumerGroup, resolved: dict[str, ResolvedRegex]) -> None:
    """Write the topics of each expression; they bump the epoch if they or their hash changed."""
    draft = Draft(turn, group, [])
    bumps = False
    topics_of = {regex: each.topics for regex, each in group.regexes.items()}
    for regex, new in resolved.items():
        if group.regex_count(regex) == 0:
            continue
        bumps = bumps or topics_of.get(regex, frozenset()) != new.topics
        topics_of[regex] = new.topics
        draft.records.append(regex_record(group.group_id, regex, new))
    names = set().union(*topics_of.values())
    for member in group.members.values():
        names |= member.topics
    take_topics(draft, names, bumps=bumps)
    if draft.epoch > group.epoch:
        group.refreshed(turn.now_ms + REFRESH_MS, draft.epoch)
    write(turn, group.group_id, draft.records)
