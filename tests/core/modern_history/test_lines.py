"""Generations and epochs of a group of which only lines are known."""

import pytest

from coordinator_core.modern_history import LoggedDeparture, LoggedGroupLine, replay_lines


def joins(ms, member, group_type="consumer"):
    return LoggedGroupLine(time_ms=ms, event="MEMBER_JOIN", member_id=member, group_type=group_type)


def leaves(ms, member, how="left", group_type=None):
    departure = LoggedDeparture(ms, member, how)
    return LoggedGroupLine(
        time_ms=ms, event="LEFT", member_id=member, departure=departure, group_type=group_type
    )


def bump(ms, epoch):
    return LoggedGroupLine(time_ms=ms, event="EPOCH_BUMP", epoch=epoch)


def target(ms, epoch, group_type=None):
    return LoggedGroupLine(
        time_ms=ms, event="TARGET", epoch=epoch, assignor="uniform", group_type=group_type
    )


def convert(ms, group_type):
    return LoggedGroupLine(time_ms=ms, event="CONVERT", group_type=group_type)


def static_return(ms, old, new):
    return LoggedGroupLine(time_ms=ms, event="STATIC_REPLACED", member_id=new, old_member_id=old)


# rule -> lines, and per generation (number, prepared, computed, ended, cause, culprit, members)
CASES = {
    "a target is a generation, and its cause is logged with the epoch": (
        [
            joins(0, "a"), bump(2, 1), target(3, 1),
            joins(100, "b"), bump(100, 2), target(101, 2),
            leaves(500, "a"), bump(501, 3), target(900, 3),
        ],
        [
            (1, 2, 3, 100, "MEMBER_NEW", "a", 1),
            (2, 100, 101, 501, "MEMBER_NEW", "b", 2),
            (3, 501, 900, None, "LEAVE", "a", 1),
        ],
    ),
    "several epochs share a target": (
        [
            joins(0, "a"), bump(2, 1), target(3, 1),
            leaves(100, "a", "session_expired"), bump(100, 2), joins(200, "b"), bump(200, 3),
            target(900, 3),
        ],
        [(1, 2, 3, 100, "MEMBER_NEW", "a", 1), (3, 200, 900, None, "MEMBER_NEW", "b", 1)],
    ),
    "a log that begins in the middle does not show the members": (
        [
            bump(2, 41), target(3, 41, "consumer"),
            leaves(50, "x", "dropped"), bump(50, 42), target(51, 42),
        ],
        [
            (41, 2, 3, 50, None, None, None),
            (42, 50, 51, None, "REBALANCE_TIMEOUT", "x", None),
        ],
    ),
    "a change that was logged long before is not the cause": (
        [joins(0, "a"), bump(2, 1), target(3, 1), joins(10, "b"), bump(2000, 2), target(2001, 2)],
        [(1, 2, 3, 2000, "MEMBER_NEW", "a", 1), (2, 2000, 2001, None, None, None, 2)],
    ),
    "a departure from a share group counts up the epoch without a line": (
        [
            joins(0, "a", "share"), bump(2, 1), target(3, 1), joins(10, "b", "share"),
            bump(10, 2), target(11, 2), leaves(500, "a"), target(800, 3),
        ],
        [
            (1, 2, 3, 10, "MEMBER_NEW", "a", 1),
            (2, 10, 11, 500, "MEMBER_NEW", "b", 2),
            (3, 500, 800, None, "LEAVE", "a", 1),
        ],
    ),
    "a static member that is back has no epoch": (
        [
            joins(0, "a"), bump(2, 1), target(3, 1), static_return(50, "a", "b"),
            joins(90, "c"), bump(90, 2), target(91, 2),
        ],
        [(1, 2, 3, 90, "MEMBER_NEW", "a", 1), (2, 90, 91, None, "MEMBER_NEW", "c", 2)],
    ),
    "what happened before a conversion is of the classic group": (
        [leaves(0, "x"), convert(5, "consumer"), joins(6, "a"), bump(7, 2), target(8, 2)],
        [(2, 7, 8, None, "MEMBER_NEW", "a", None)],
    ),
    "a conversion to a classic group ends the generation": (
        [joins(0, "a"), bump(2, 1), target(3, 1), convert(60, "classic")],
        [(1, 2, 3, 60, "MEMBER_NEW", "a", 1)],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "expected"), CASES.values(), ids=CASES)
def test_generations(lines, expected):
    history = replay_lines(lines)

    assert [
        (g.number, g.preparing_ms, g.joined_ms, g.ended_ms, g.cause, g.culprit, g.member_count)
        for g in history.generations
    ] == expected
    assert {each.outcome for each in history.generations} == {"unknown"}


def test_no_target_takes_up_the_epochs_of_a_group_that_becomes_empty():
    history = replay_lines(
        [
            joins(0, "a"), bump(2, 1), target(3, 1), joins(10, "b"), bump(10, 2), target(11, 2),
            leaves(50, "a"), bump(50, 3), leaves(60, "b"), bump(60, 4),
        ]
    )  # fmt: skip

    assert [(each.epoch, each.cause, each.has_target) for each in history.bumps] == [
        (1, "MEMBER_NEW", True),
        (2, "MEMBER_NEW", True),
        (3, "LEAVE", False),
        (4, "LEAVE", False),
    ]


def test_lines_before_the_first_type_have_the_type_that_follows():
    [generation] = replay_lines([bump(0, 1), target(1, 1), joins(5, "a", "streams")]).generations

    assert generation.group_type == "streams"


def test_without_any_type_nothing_is_played():
    assert replay_lines([bump(0, 1), target(1, 1)]).generations == []
