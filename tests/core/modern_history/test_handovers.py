"""Handovers of a partition between two members of a consumer group."""

import pytest

from coordinator_core.modern_history import LoggedDeparture, replay
from tests.core.modern_history.group_records import (
    STABLE,
    UNREVOKED,
    bump,
    current,
    joined,
    removed,
    target,
)

P = ("active", None, "topic", 0)

# a has the partition, and at 100 a target gives it to b.
BEFORE = [
    joined(0, "a"), bump(0, 2), *target(0, 2, a=[P]),
    current(0, "a", 2, STABLE, [P]),
    joined(90, "b"), bump(90, 3),
]  # fmt: skip
ASKED = target(100, 3, a=[], b=[P])
LATE = [LoggedDeparture(1100, "a", "session_expired")]

# rule -> records, departures, and the times at which the partition was asked back, released and
# assigned, and what was waited for
CASES = {
    "the old member gives it up late": (
        [*ASKED, current(110, "a", 2, UNREVOKED, [], [P]), current(900, "a", 3, STABLE),
         current(1000, "b", 3, STABLE, [P])],
        [], (100, 900, 1000, "revocation"),
    ),
    "the new member learns of it late": (
        [*ASKED, current(110, "a", 2, UNREVOKED, [], [P]), current(200, "a", 3, STABLE),
         current(3000, "b", 3, STABLE, [P])],
        [], (100, 200, 3000, "heartbeat"),
    ),
    "the old member's session expires": (
        [*ASKED, *removed(1100, "a"), bump(1100, 4), *target(1110, 4, b=[P]),
         current(1200, "b", 4, STABLE, [P])],
        LATE, (100, 1100, 1200, "session"),
    ),
    "the old member left before": (
        [
            *removed(95, "a"), bump(95, 4), *target(100, 4, b=[P]),
            current(150, "b", 4, STABLE, [P]),
        ],
        [LoggedDeparture(95, "a", "left")], (100, 95, 150, "heartbeat"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("rule", CASES)
def test_handover(rule):
    records, departures, expected = CASES[rule]

    [handover] = replay([*BEFORE, *records], departures).handovers

    assert (handover.from_member, handover.to_member) == ("a", "b")
    assert (
        handover.asked_ms, handover.released_ms, handover.assigned_ms, handover.waited_for
    ) == expected  # fmt: skip


def test_a_partition_that_comes_back_to_its_process_is_not_handed_over():
    records = [*removed(95, "a"), joined(96, "c", client_id="a"), bump(96, 4)]

    history = replay(
        [*BEFORE, *records, *target(100, 4, b=[], c=[P]), current(110, "c", 4, STABLE, [P])]
    )

    assert history.handovers == []
