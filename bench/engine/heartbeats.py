"""The cost of one heartbeat for the engine alone: request objects in, effects out, no JSON.

    python -m bench.engine.heartbeats ERA GROUPS MEMBERS

Prints CPU nanoseconds.
"""

from __future__ import annotations

import time

import typer

from bench.engine.steady import FORMED_MS, INITIAL_DELAY_MS, SESSION_MS
from coordinator_core.coordinator.coordinator import Coordinator
from coordinator_core.coordinator.era import CoordinatorConfig
from coordinator_core.coordinator.eras import ERAS
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import (
    Append,
    Effect,
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    Respond,
    SyncGroup,
)
from coordinator_core.scenarios.scenario import derived_ids

ROUND_MS = 3000
MEASURED = 200_000


def ns_each(era: str, groups: int, members: int) -> float:
    """CPU nanoseconds per heartbeat, timers included, with this many groups and members each."""
    coordinator = Coordinator(
        CoordinatorConfig(group_initial_rebalance_delay_ms=INITIAL_DELAY_MS),
        ERAS[era],
        derived_ids(),
    )
    beats = _stable(coordinator, groups, members)
    rounds = max(1, MEASURED // len(beats))
    started = time.process_time_ns()
    for number in range(rounds):
        now_ms = FORMED_MS + (number + 1) * ROUND_MS
        coordinator.advance(now_ms)
        for beat in beats:
            answer = coordinator.handle(beat, now_ms)
    spent_ns = time.process_time_ns() - started
    assert answer == [Respond("beat", HeartbeatResponse(Errors.NONE))]
    return spent_ns / (rounds * len(beats))


def _stable(coordinator: Coordinator, groups: int, members: int) -> list[Heartbeat]:
    """Bring all groups to Stable in generation 1; returns one heartbeat per member."""
    names = [f"group-{number:05d}" for number in range(groups)]
    for name in names:
        for _ in range(members):
            _perform(coordinator, coordinator.handle(_join(name), 0), 0)
    joined = {
        name: [member.member_id for member in group.in_order()]
        for name, group in coordinator.groups.items()
    }
    _perform(coordinator, coordinator.advance(FORMED_MS), FORMED_MS)
    for name in names:
        leader = coordinator.groups[name].leader
        for member in sorted(joined[name], key=lambda member: member != leader):
            shares = dict.fromkeys(joined[name], b"") if member == leader else {}
            sync = SyncGroup(
                request_id="sync", group_id=name, member_id=member, generation=1, assignments=shares
            )
            _perform(coordinator, coordinator.handle(sync, FORMED_MS), FORMED_MS)
    return [Heartbeat("beat", name, member, 1) for name in names for member in joined[name]]


def _join(group: str) -> JoinGroup:
    return JoinGroup(
        request_id="join",
        group_id=group,
        member_id="",
        instance_id=None,
        client_id="consumer",
        client_host="/127.0.0.1",
        session_timeout_ms=SESSION_MS,
        rebalance_timeout_ms=60000,
        protocol_type="consumer",
        protocols=(("range", b""),),
    )


def _perform(coordinator: Coordinator, effects: list[Effect], now_ms: int) -> None:
    for effect in effects:
        if isinstance(effect, Append):
            _perform(coordinator, coordinator.appended(effect, Errors.NONE, now_ms), now_ms)


def main(era: str, groups: int, members: int) -> None:
    print(f"{ns_each(era, groups, members):.0f}")


if __name__ == "__main__":
    typer.run(main)
