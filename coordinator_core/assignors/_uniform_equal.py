"""Uniform for members with the same topics: quotas, kept partitions, then contiguous runs.

Source: UniformHomogeneousAssignmentBuilder.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from coordinator_core.assignors.members import in_one_step
from coordinator_core.assignors.model import Member, Topics

Owned = Sequence[tuple[str, Sequence[int]]]


def assign(topics: Topics, members: Sequence[Member]) -> dict[str, list[int]]:
    """Codes by member id."""
    topics_wanted = set(members[0].topics)
    wanted = [topic for topic in topics.partitions if topic in topics_wanted]
    lists = [_claims(topics, topics_wanted, member.owned) for member in members]
    share, extras = divmod(sum(topics.partitions[topic] for topic in wanted), len(members))
    free = _never_owned(topics, wanted, lists)
    unfilled: list[tuple[list[int], int]] = []
    for left, mine in zip(range(len(members), 0, -1), lists, strict=True):
        extra = extras > 0
        room = share + extra - len(mine)
        if room < 0:
            free += mine[room:]
            del mine[room:]
        elif room and extra and left > extras:
            room -= 1  # the extra goes to a later member while enough of them are left
            extra = False
        extras -= extra
        if room > 0:
            unfilled.append((mine, room))
    begin = 0
    for mine, room in unfilled:
        mine += free[begin : begin + room]
        begin += room
    return {member.member_id: mine for member, mine in zip(members, lists, strict=True)}


def _never_owned(topics: Topics, wanted: Sequence[str], lists: Sequence[list[int]]) -> list[int]:
    """In the order of the topics' ids, then by partition."""
    owned = set().union(*lists)
    free: list[int] = []
    for topic in wanted:
        codes = range(topics.start[topic], topics.start[topic] + topics.partitions[topic])
        free += [code for code in codes if code not in owned] if owned else codes
    return free


def _claims(topics: Topics, wanted: Collection[str], owned: Owned) -> list[int]:
    """Codes of what is still subscribed and exists, in the order given."""
    codes: list[int] = []
    for topic, partitions in owned:
        if topic in wanted and topic in topics.partitions:
            code_of = topics.code_of[topic]
            try:
                codes += in_one_step(code_of, partitions)
            except KeyError:
                codes += [code_of[partition] for partition in partitions if partition in code_of]
    return codes
