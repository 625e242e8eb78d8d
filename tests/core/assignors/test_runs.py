"""What is owned in runs of consecutive partitions, and what uniform gives in bulk."""

import pytest

from coordinator_core.assignors import ASSIGNORS, Member, Topics
from coordinator_core.assignors.consecutive import gaps
from coordinator_core.assignors.sticky import equal_runs as _equal_runs

RUN = (0, 1)


@pytest.fixture
def even_short_runs(monkeypatch):
    monkeypatch.setattr(_equal_runs, "_SHORT", 0)


def joined(member_id, topics, *owned):
    return Member(member_id, tuple(topics), owned, 1, 1)


def test_sticky_lists_kept_runs_by_partition_then_topic(even_short_runs):
    alone = joined("m", "ab", ("b", RUN), ("a", RUN))

    given = ASSIGNORS["sticky"](Topics({"a": 2, "b": 2}), [alone])

    assert given == {"m": [("a", 0), ("b", 0), ("a", 1), ("b", 1)]}


def test_sticky_gives_a_run_claimed_twice_to_neither(even_short_runs):
    both = [joined("m1", "a", ("a", RUN)), joined("m2", "a", ("a", RUN))]

    given = ASSIGNORS["sticky"](Topics({"a": 2}), both)

    assert given == {"m1": [("a", 0)], "m2": [("a", 1)]}


def test_uniform_answers_in_order_whatever_was_owned_first():
    alone = joined("m", "a", ("a", (1,)))

    given = ASSIGNORS["uniform"](Topics({"a": 2}), [alone])

    assert given == {"m": [("a", 0), ("a", 1)]}


def test_uniform_fills_level_by_level_where_topics_differ():
    members = [
        joined("m1", "t"),
        joined("m2", "at", ("a", (0,))),
        joined("m3", "ct", ("c", (0, 1, 2))),
    ]

    given = ASSIGNORS["uniform"](Topics({"a": 1, "c": 3, "t": 6}), members)

    assert given == {
        "m1": [("t", 0), ("t", 1), ("t", 3), ("t", 5)],
        "m2": [("a", 0), ("t", 2), ("t", 4)],
        "m3": [("c", 0), ("c", 1), ("c", 2)],
    }


@pytest.mark.parametrize(
    ("runs", "free"),
    [
        ([], [(0, 6)]),
        ([(4, 6), (0, 2)], [(2, 4)]),
        ([(0, 4), (1, 3)], [(4, 6)]),  # one within another
    ],
)
def test_gaps_are_what_no_run_covers(runs, free):
    assert gaps(runs, 6) == free
