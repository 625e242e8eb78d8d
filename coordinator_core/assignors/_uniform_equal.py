"""Uniform for members with the same topics: quotas, kept partitions, then contiguous runs.

Source: UniformHomogeneousAssignmentBuilder.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from coordinator_core.assignors.model import Member, Topics


def assign(topics: Topics, members: Sequence[Member]) -> dict[str, list[int]]:
    """Codes by member id."""
    wanted = set(members[0].topics)
    total = sum(topics.partitions.get(topic, 0) for topic in wanted)
    share, extras = divmod(total, len(members))
    free = _never_owned(topics, wanted, members)
    kept: dict[str, list[int]] = {}
    unfilled: list[tuple[str, int]] = []
    for left, member in zip(range(len(members), 0, -1), members, strict=True):
        extra = extras > 0
        quota = share + extra
        kept[member.member_id], given_up = _keep(topics, wanted, member, quota)
        free += given_up
        room = quota - len(kept[member.member_id])
        if room and extra and left > extras:
            room -= 1  # the extra goes to a later member while enough of them are left
            extra = False
        extras -= extra
        if room:
            unfilled.append((member.member_id, room))
    todo = iter(free)
    for member_id, room in unfilled:
        kept[member_id] += islice(todo, room)
    return kept


def _never_owned(topics: Topics, wanted: set[str], members: Sequence[Member]) -> list[int]:
    owned = {
        topics.start[topic] + partition
        for member in members
        for topic, partitions in member.owned
        if topic in wanted and topic in topics.partitions
        for partition in partitions
        if partition < topics.partitions[topic]
    }
    return [
        code
        for topic in topics.partitions
        if topic in wanted
        for code in range(topics.start[topic], topics.start[topic] + topics.partitions[topic])
        if code not in owned
    ]


def _keep(
    topics: Topics, wanted: set[str], member: Member, quota: int
) -> tuple[list[int], list[int]]:
    codes = [
        topics.start[topic] + partition
        for topic, partitions in member.owned
        if topic in wanted and topic in topics.partitions
        for partition in partitions
        if partition < topics.partitions[topic]
    ]
    return codes[:quota], codes[quota:]
