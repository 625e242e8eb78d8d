"""Records of one consumer group, in their order: what the replay says of epochs and members."""

import pytest

from coordinator_core.modern_history import LoggedDeparture, RecordKind, replay
from tests.core.modern_history import group_records
from tests.core.modern_history.group_records import (
    STABLE,
    UNRELEASED,
    UNREVOKED,
    bump,
    joined,
    record,
    removed,
)

A, B, C = "a", "b", "c"


def joins(ms, member, client=None, **fields):
    return joined(ms, member, **{"client_id": client or member, "topics": ("t",)} | fields)


def target(ms, epoch, **owned):
    return group_records.target(ms, epoch, **{m: parts(p) for m, p in owned.items()})


def current(ms, member, epoch, state, owned="", **fields):
    return group_records.current(ms, member, epoch, state, parts(owned), **fields)


def parts(numbers):
    return frozenset(("active", None, "topic", int(number)) for number in numbers)


# a alone has partitions 0 and 1.
FIRST = [joins(0, A), bump(0, 2), *target(0, 2, a="01"), current(0, A, 2, STABLE, "01")]
# b joins at 100; a gives up partition 1 at 200, and b has it at 300.
SECOND = [
    joins(100, B),
    bump(100, 3),
    *target(150, 3, a="0", b="1"),
    current(150, B, 3, UNRELEASED),
    current(160, A, 2, UNREVOKED, "0"),
    current(200, A, 3, STABLE, "0"),
    current(300, B, 3, STABLE, "1"),
]

GENERATIONS = {
    "a target is a generation, stable when all members have reached it": (
        [*FIRST, *SECOND],
        [(2, 0, 0, 0, "stable", 0), (3, 100, 150, 300, "stable", 150)],
    ),
    "a newer target supersedes one that not all members have reached": (
        [*FIRST, *SECOND[:-1], *removed(250, A), bump(250, 4), *target(250, 4, b="01")],
        [
            (2, 0, 0, 0, "stable", 0),
            (3, 100, 150, None, "superseded", 100),
            (4, 250, 250, None, "unknown", 0),
        ],
    ),
    "members that leave in the batch of the next epoch do not make the group stable": (
        [*FIRST, *SECOND[:-1], *removed(250, B), bump(250, 4), *target(400, 4, a="01")],
        [
            (2, 0, 0, 0, "stable", 0),
            (3, 100, 150, None, "superseded", 100),
            (4, 250, 400, None, "unknown", 0),
        ],
    ),
    "several epochs share one target, prepared from the first of them on": (
        [*FIRST, joins(100, B), bump(100, 3), joins(120, C), bump(120, 4), *target(150, 4, a="01")],
        [(2, 0, 0, 0, "stable", 0), (4, 100, 150, None, "unknown", 0)],
    ),
    "the last member's leave makes an empty target": (
        [*FIRST, *removed(100, A), bump(100, 3), *target(100, 3)],
        [(2, 0, 0, 0, "stable", 0), (3, 100, 100, None, "empty", 0)],
    ),
    "an empty group without a target does not prepare the next one": (
        [
            *FIRST, *removed(100, A), bump(100, 3),
            joins(900, B), bump(900, 4), *target(900, 4, b="01"),
        ],
        [(2, 0, 0, 0, "stable", 0), (4, 900, 900, None, "unknown", 0)],
    ),
    "a static member that is away keeps the group in Reconciling": (
        [*FIRST, current(100, A, -2, STABLE, "01"), current(400, A, 2, STABLE, "01")],
        [(2, 0, 0, 0, "stable", 300)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("rule", GENERATIONS)
def test_generations(rule):
    records, expected = GENERATIONS[rule]

    generations = replay(records).generations

    assert [
        (g.number, g.preparing_ms, g.joined_ms, g.stable_ms, g.outcome, g.reconciling_ms)
        for g in generations
    ] == expected


CAUSES = {
    "a new member": (SECOND[:2], [], ("MEMBER_NEW", B)),
    "a leave, by the log": (
        [*removed(100, A), bump(100, 3)], [LoggedDeparture(99, A, "left")], ("LEAVE", A),
    ),
    "an expired session, by a line that comes after the batch began": (
        [*removed(100, A), bump(100, 3)],
        [LoggedDeparture(104, A, "session_expired")], ("SESSION_EXPIRY", A),
    ),
    "partitions not given up in time": (
        [*removed(100, A), bump(100, 3)],
        [LoggedDeparture(100, A, "dropped")], ("REBALANCE_TIMEOUT", A),
    ),
    "a departure without a line": ([*removed(100, A), bump(100, 3)], [], ("MEMBER_GONE", A)),
    "a line of another departure of the member": (
        [*removed(9000, A), bump(9000, 3)], [LoggedDeparture(100, A, "left")], ("MEMBER_GONE", A),
    ),
    "other topics in the subscription": (
        [joins(100, A, topics=("u",)), bump(100, 3)], [], ("SUBSCRIPTION_CHANGE", A),
    ),
    "another assignor": (
        [joins(100, A, server_assignor="range"), bump(100, 3)], [], ("ASSIGNOR_CHANGE", A),
    ),
    "a regular expression resolved before": (
        [record(90, RecordKind.REGEX), bump(100, 3)], [], ("REGEX", None),
    ),
    "a new member whose regular expression had to be resolved": (
        [joins(90, B, topics=(), regex="^t"), record(100, RecordKind.REGEX), bump(100, 3)], [],
        ("MEMBER_NEW", B),
    ),
    "a static member that was away before is no cause": (
        [current(90, A, -2, STABLE), bump(100, 3, metadata_hash=2)], [], ("TOPIC_CHANGE", None),
    ),
    "topics created, grown or deleted": (
        [bump(100, 3, metadata_hash=2)], [], ("TOPIC_CHANGE", None),
    ),
    "nothing that the records show": ([bump(100, 3)], [], ("UNKNOWN", None)),
}  # fmt: skip


@pytest.mark.parametrize("rule", CAUSES)
def test_cause_of_a_bump(rule):
    records, departures, expected = CAUSES[rule]

    bump_ = replay([*FIRST, *records], departures).bumps[-1]

    assert (bump_.cause, bump_.member_id) == expected


def members_of(generation):
    return {m.member_id: (m.change, m.left_how, m.is_gone) for m in generation.members.values()}


def test_members_join_stay_and_leave():
    leave = [*removed(500, A), bump(500, 4), *target(500, 4, b="01")]

    _, second, third = replay(
        [*FIRST, *SECOND, *leave], [LoggedDeparture(499, A, "left", "closed")]
    ).generations

    assert members_of(second) == {A: ("retained", "left", True), B: ("joined", None, False)}
    assert members_of(third) == {B: ("retained", None, False)}
    assert second.members[A].left_reason == "closed"
    assert (second.culprit, third.culprit) == (B, A)


def test_a_member_that_leaves_before_its_first_target_counts_for_the_next_one():
    records = [*FIRST, joins(100, B), bump(100, 3), *removed(110, B), bump(110, 4)]

    _, second = replay([*records, *target(150, 4, a="01")]).generations

    assert members_of(second) == {A: ("retained", None, False), B: ("joined", None, True)}


def test_a_static_member_returns_under_a_new_id_in_the_same_generation():
    static = {"instance_id": "i", "client": "a"}
    records = [
        joins(0, A, **static), bump(0, 2), *target(0, 2, a="0"), current(0, A, 2, STABLE, "0"),
        current(100, A, -2, STABLE, "0"),
        *removed(200, A), joins(200, C, **static), current(200, C, 2, STABLE, "0"),
    ]  # fmt: skip

    history = replay(records)

    [generation] = history.generations
    assert members_of(generation) == {
        A: ("joined", "replaced", True),
        C: ("replaced", None, False),
    }
    assert list(generation.actual) == [C]
    assert [bump_.epoch for bump_ in history.bumps] == [2]


def test_a_killed_process_and_its_next_life_are_one_process():
    records = [joins(50, B, client=A), bump(50, 3), *target(60, 3, a="0", b="1")]

    [*_, generation] = replay([*FIRST, *records]).generations

    assert {m.process for m in generation.members.values()} == {"a@h"}


def test_two_members_that_heartbeat_at_the_same_time_are_two_processes():
    records = [
        joins(50, B, client=A), bump(50, 3), *target(60, 3, a="0", b="1"),
        current(70, A, 3, STABLE, "0"), current(80, B, 3, STABLE, "1"),
        joins(90, C), bump(90, 4), *target(90, 4, a="0", b="1"),
    ]  # fmt: skip

    history = replay([*FIRST, *records])

    assert [step.process for step in history.steps] == ["a@h", A, B]
    names = [[m.process for m in each.members.values()] for each in history.generations]
    assert names == [["a@h"], [A, B], [A, B, "c@h"]]
    assert [each.process for each in history.bumps] == ["a@h", B, "c@h"]


def test_a_member_that_heartbeats_after_two_others_joined_is_beside_both():
    records = [
        joins(50, B, client=A), bump(50, 3), *target(60, 3, a="0", b="1"),
        joins(70, C, client=A), bump(70, 4), *target(75, 4, a="0", b="1"),
        current(80, A, 4, STABLE, "0"),
    ]  # fmt: skip

    history = replay([*FIRST, *records])

    names = [[m.process for m in each.members.values()] for each in history.generations]
    assert names == [["a@h"], [A, B], [A, B, C]]


def test_an_upgrade_continues_the_generations_of_the_classic_group():
    classic = {"is_classic": True}
    upgrade = [
        record(0, RecordKind.CLASSIC, group_type="classic", is_tombstone=True),
        joins(0, A, **classic),
        bump(0, 7),
        *target(0, 7, a="01"),
        current(0, A, 7, STABLE, "01"),
        joins(0, B),
        bump(0, 8),
        *target(0, 8, a="0", b="1"),
    ]

    history = replay(upgrade)

    assert [g.number for g in history.generations] == [8]
    assert members_of(history.generations[0])[A][0] == "retained"
    assert [(b.epoch, b.cause) for b in history.bumps] == [(7, "CONVERSION"), (8, "MEMBER_NEW")]


def test_a_downgrade_ends_the_last_target():
    downgrade = [
        *removed(500, B),
        record(500, RecordKind.TARGET, is_tombstone=True),
        record(500, RecordKind.GROUP, is_tombstone=True),
        record(500, RecordKind.CLASSIC, epoch=3, group_type="classic"),
    ]

    history = replay([*FIRST, *SECOND, *downgrade], [LoggedDeparture(500, B, "left")])

    assert history.generations[-1].ended_ms == 500
    assert history.generations[-1].members[B].left_how == "left"
    assert history.bumps[-1].cause == "CONVERSION"


def test_a_member_that_has_a_target_causes_the_next_one_by_its_regular_expression():
    records = [
        *FIRST, *removed(100, A), bump(100, 3),
        joins(150, B, topics=(), regex="^t"), *target(150, 3, b=""),
        record(151, RecordKind.REGEX), bump(151, 4),
    ]  # fmt: skip

    bump_ = replay(records).bumps[-1]

    assert (bump_.cause, bump_.member_id) == ("REGEX", B)
