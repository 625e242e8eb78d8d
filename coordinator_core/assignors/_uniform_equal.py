"""Uniform for members with the same topics: quotas, kept partitions, then contiguous runs.

Source: UniformHomogeneousAssignmentBuilder.
"""

from __future__ import annotations

from collections.abc import Sequence

from coordinator_core.assignors._server import in_id_order
from coordinator_core.assignors.members import in_one_step
from coordinator_core.assignors.model import Member, Topics

Owned = Sequence[tuple[str, Sequence[int]]]


def assign(topics: Topics, members: Sequence[Member]) -> dict[str, list[int]]:
    """Codes by member id; ``topics`` are those that everybody subscribes to."""
    lists = [_claims(topics, member.owned) if member.owned else [] for member in members]
    share, extras = divmod(topics.total, len(members))
    free = in_id_order(topics, topics.all_codes.difference(*lists))
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


def _claims(topics: Topics, owned: Owned) -> list[int]:
    """Codes of what is still subscribed and exists, in the order given."""
    codes: list[int] = []
    for topic, partitions in owned:
        code_of = topics.code_of.get(topic, {})
        try:
            codes += in_one_step(code_of, partitions)
        except KeyError:
            codes += [code_of[partition] for partition in partitions if partition in code_of]
    return codes
