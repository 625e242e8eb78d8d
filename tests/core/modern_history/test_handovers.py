"""Handovers of a partition between two members of a consumer group."""

import pytest

from coordinator_core.modern_history import GroupRecord, LoggedDeparture, RecordKind, replay

P = ("active", None, "topic", 0)
STABLE, UNREVOKED, UNRELEASED = 0, 1, 2


def record(ms, kind, member=None, epoch=None, owned=(), pending=(), **fields):
    fields = {"client_id": member, "client_host": "/h"} | fields
    return GroupRecord(
        time_ms=ms,
        position=ms,
        kind=kind,
        group_type="consumer",
        is_tombstone=False,
        member_id=member,
        epoch=epoch,
        assigned=frozenset(owned),
        pending=frozenset(pending),
        **fields,
    )


def target(ms, epoch, **owned):
    return [
        *(
            record(ms, RecordKind.TARGET_MEMBER, m, owned=[P] if has else [])
            for m, has in owned.items()
        ),
        record(ms, RecordKind.TARGET, epoch=epoch),
    ]


def current(ms, member, epoch, state, owned=(), pending=()):
    return record(ms, RecordKind.CURRENT, member, epoch, owned, pending, state=state)


def removed(ms, member):
    kinds = (RecordKind.CURRENT, RecordKind.TARGET_MEMBER, RecordKind.MEMBER)
    return [
        GroupRecord(
            time_ms=ms,
            position=ms,
            kind=kind,
            group_type="consumer",
            is_tombstone=True,
            member_id=member,
        )
        for kind in kinds
    ]


def bump(ms, epoch):
    return record(ms, RecordKind.GROUP, epoch=epoch)


# a has the partition; at 100 a target gives it to b
BEFORE = [
    record(0, RecordKind.MEMBER, "a"), bump(0, 2), *target(0, 2, a=True),
    current(0, "a", 2, STABLE, [P]),
    record(90, RecordKind.MEMBER, "b"), bump(90, 3),
]  # fmt: skip
ASKED = target(100, 3, a=False, b=True)
LATE = [LoggedDeparture(1100, "a", "expired")]

# rule -> records, departures, then asked, released, assigned, waited for
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
        [*ASKED, *removed(1100, "a"), bump(1100, 4), *target(1110, 4, b=True),
         current(1200, "b", 4, STABLE, [P])],
        LATE, (100, 1100, 1200, "session"),
    ),
    "the old member left before": (
        [
            *removed(95, "a"), bump(95, 4), *target(100, 4, b=True),
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
    records = [*removed(95, "a"), record(96, RecordKind.MEMBER, "c", client_id="a"), bump(96, 4)]

    history = replay(
        [*BEFORE, *records, *target(100, 4, b=False, c=True), current(110, "c", 4, STABLE, [P])]
    )

    assert history.handovers == []
