"""A steady workload: many Stable groups with heartbeats, commits and a few rebalances.

All groups form at 0 and are Stable from 6 s on: joins extend the initial delay once. Then, every
3 s, each member sends a heartbeat; in one of five rounds each member also commits. In each round a
member leaves one of a hundred groups, another joins it, and all its members rejoin.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator
from typing import Any

Step = dict[str, Any]

INITIAL_DELAY_MS = 3000
FORMED_MS = 2 * INITIAL_DELAY_MS
ROUND_MS = 3000
SESSION_MS = 10000
COMMIT_EVERY = 5
REBALANCE_EVERY = 100
SUBSCRIPTION = base64.b64encode(struct.pack(">hih1si", 0, 1, 1, b"t", -1)).decode()
ASSIGNMENT = base64.b64encode(struct.pack(">hih1siii", 0, 1, 1, b"t", 1, 0, -1)).decode()


def scenario(groups: int, members: int, rounds: int) -> dict[str, Any]:
    """The workload as a scenario; its member ids are scattered over hash maps like random ones."""
    return {
        "name": f"steady-{groups}-groups-of-{members}-{rounds}-rounds",
        "about": "Many stable groups.",
        "config": {"group_initial_rebalance_delay_ms": INITIAL_DELAY_MS},
        "member_ids": "scattered",
        "steps": list(steps(groups, members, rounds)),
    }


def steps(groups: int, members: int, rounds: int) -> Iterator[Step]:
    teams = [_Team(f"group-{number:05d}", members) for number in range(groups)]
    for team in teams:
        yield from team.join_all(0)
    for team in teams:
        yield from team.sync_all(FORMED_MS)
    for number in range(rounds):
        now = FORMED_MS + (number + 1) * ROUND_MS
        for index, team in enumerate(teams):
            yield from team.work(now, commits=number % COMMIT_EVERY == 0)
            if index % REBALANCE_EVERY == number % REBALANCE_EVERY:
                yield from team.replace_one(now)


class _Team:
    """A group's members, as references to the joins whose answers have their id and generation."""

    def __init__(self, group: str, size: int) -> None:
        self._group = group
        self._size = size
        self._steps = 0
        self._members: list[str] = []
        self._joined: list[str] = []

    def join_all(self, now_ms: int) -> Iterator[Step]:
        for _ in range(self._size):
            yield self._enter(now_ms)

    def sync_all(self, now_ms: int) -> Iterator[Step]:
        """Sync all, the leader first, with all assignments: the member that joined first leads."""
        assignments = [[member, ASSIGNMENT] for member in self._members]
        for member, joined in zip(self._members, self._joined, strict=True):
            yield self._step(
                now_ms, "sync", member=member, instance_id=None, generation=joined,
                protocol_type="consumer", protocol_name="range", assignments=assignments,
            )  # fmt: skip
            assignments = []

    def work(self, now_ms: int, commits: bool) -> Iterator[Step]:
        for partition, (member, joined) in enumerate(zip(self._members, self._joined, strict=True)):
            who = {"member": member, "instance_id": None, "generation": joined}
            yield self._step(now_ms, "heartbeat", **who)
            if commits:
                yield self._step(now_ms, "commit", **who, offsets=[["t", partition, now_ms, ""]])

    def replace_one(self, now_ms: int) -> Iterator[Step]:
        """The second member leaves, a new one joins, the others rejoin, and all sync."""
        yield self._step(now_ms, "leave", members=[[self._members[1], None]])
        del self._members[1], self._joined[1]
        yield self._enter(now_ms)
        for index in range(self._size - 1):
            step = self._join(now_ms, self._members[index])
            self._joined[index] = "@" + step["id"]
            yield step
        yield from self.sync_all(now_ms)

    def _enter(self, now_ms: int) -> Step:
        step = self._join(now_ms, "")
        self._members.append("@" + step["id"])
        self._joined.append("@" + step["id"])
        return step

    def _join(self, now_ms: int, member: str) -> Step:
        return self._step(
            now_ms, "join", client_id="consumer", client_host="/127.0.0.1", member=member,
            instance_id=None, session_timeout_ms=SESSION_MS, rebalance_timeout_ms=60000,
            protocol_type="consumer", protocols=[["range", SUBSCRIPTION]],
            requires_known_member_id=False, reason=None,
        )  # fmt: skip

    def _step(self, now_ms: int, op: str, **fields: Any) -> Step:
        self._steps += 1
        step_id = f"{self._group}.{self._steps}"
        return {"at_ms": now_ms, "id": step_id, "op": op, "group": self._group, **fields}
