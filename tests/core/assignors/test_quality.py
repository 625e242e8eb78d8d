"""Figures of an assignment; the forced minimum is compared with all possible assignments."""

from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator_core.assignors import Member, Topics
from coordinator_core.assignors.quality import NewAssignment, PreviousOwners, Quality, owners


def quality(partitions, subscriptions, before, after, racks=None, member_racks=()):
    member_racks = dict(member_racks)
    members = [
        Member(member_id=name, topics=tuple(topics.split()), rack=member_racks.get(name))
        for name, topics in subscriptions.items()
    ]
    situation = PreviousOwners(Topics(partitions, racks), members, owners(parsed(before)))
    return Quality(situation, NewAssignment(members, parsed(after)))


def parsed(lists):
    """{"a": "t0 t1"} -> {"a": [("t", 0), ("t", 1)]}"""
    return {name: [(tp[:-1], int(tp[-1])) for tp in text.split()] for name, text in lists.items()}


@pytest.mark.parametrize(
    ("after", "imbalance", "spread", "idle"),
    [
        ({"a": "t0 t1", "b": "t2 t3"}, 0, 0, []),
        ({"a": "t0 t1 t2", "b": "t3"}, 2, 2, []),
        ({"a": "t0 t1 t2 t3", "b": ""}, 4, 4, ["b"]),
        ({"a": "t0 t1 t2 t3"}, 4, 4, ["b"]),
    ],
)
def test_balance(after, imbalance, spread, idle):
    result = quality({"t": 4}, {"a": "t", "b": "t"}, {}, after).after

    assert (result.imbalance, result.spread, result.idle) == (imbalance, spread, idle)


def test_imbalance_sums_the_differences_of_all_pairs():
    after = {"a": "t0 t1 t2 t3", "b": "t4 t5", "c": "t6"}

    result = quality({"t": 7}, dict.fromkeys("abc", "t"), {}, after)

    assert result.after.imbalance == (4 - 2) + (4 - 1) + (2 - 1)


@pytest.mark.parametrize(
    ("before", "after", "moved", "kept", "new", "orphaned", "withheld", "forced", "stickiness"),
    [
        # nothing changes
        ({"a": "t0 t1", "b": "t2 t3"}, {"a": "t0 t1", "b": "t2 t3"}, 0, 4, 0, 0, 0, 0, 1.0),
        # a first assignment
        ({}, {"a": "t0 t1", "b": "t2 t3"}, 0, 0, 4, 0, 0, 0, None),
        # When c leaves, its two partitions are orphaned.
        ({"a": "t0", "b": "t1", "c": "t2 t3"}, {"a": "t0 t2", "b": "t1 t3"}, 2, 2, 0, 2, 0, 2, 1.0),
        # When b joins, two partitions must move, and three moved.
        ({"a": "t0 t1 t2 t3"}, {"a": "t3", "b": "t0 t1 t2"}, 3, 1, 0, 0, 0, 2, 0.25),
        # In a first cooperative round two partitions are withheld until a has revoked them.
        ({"a": "t0 t1 t2 t3"}, {"a": "t0 t1", "b": ""}, 0, 2, 0, 0, 2, 2, 0.5),
        # Both members claimed t2, so t2 had no owner.
        ({"a": "t0 t2", "b": "t1 t2"}, {"a": "t0 t2", "b": "t1 t3"}, 0, 2, 2, 0, 0, 0, 1.0),
        # The topic t7 no longer exists.
        ({"a": "t0 t7", "b": "t1"}, {"a": "t0 t2", "b": "t1 t3"}, 0, 2, 2, 0, 0, 0, 1.0),
    ],
)
def test_moves(before, after, moved, kept, new, orphaned, withheld, forced, stickiness):
    result = quality({"t": 4}, {"a": "t", "b": "t"}, before, after)

    assert (result.moved, result.kept, result.new) == (moved, kept, new)
    assert (result.before.orphaned, result.withheld) == (orphaned, withheld)
    assert result.before.moves_forced == forced
    assert result.stickiness == stickiness


def test_a_partition_whose_owner_unsubscribed_is_an_orphan():
    result = quality(
        {"t": 1, "u": 1}, {"a": "u", "b": "t u"}, {"a": "t0 u0"}, {"a": "u0", "b": "t0"}
    )

    assert (result.before.orphaned, result.before.moves_forced) == (1, 1)
    assert (result.moved, result.stickiness) == (1, 1.0)


def test_rack_locality_counts_where_both_racks_are_known():
    racks = {"t": [["r1"], ["r2"], ["r1", "r2"], [None]]}
    after = {"a": "t0 t1 t2 t3", "b": ""}

    result = quality({"t": 4}, {"a": "t", "b": "t"}, {}, after, racks, {"a": "r1"})

    assert result.rack_locality == 2 / 3
    assert quality({"t": 4}, {"a": "t"}, {}, after).rack_locality is None


# ---- the forced minimum, compared with all possible assignments

TOPICS = ("t", "u", "v")
SUBSCRIPTIONS = [" ".join(c) for size in (1, 2, 3) for c in combinations(TOPICS, size)]


def fewest_moves_by_brute_force(partitions, subscriptions, before):
    """Fewest moves of all assignments with the lowest balance score."""
    owner = {tp: name for name, tps in before.items() for tp in tps}
    options = [
        ((topic, p), [name for name, topics in subscriptions.items() if topic in topics.split()])
        for topic, count in partitions.items()
        for p in range(count)
    ]
    options = [(tp, names) for tp, names in options if names]
    names = list(subscriptions)

    def cost(choice):
        loads = [choice.count(name) for name in names]
        score = sum(abs(x - y) for x, y in combinations(loads, 2))
        moves = sum(owner.get(tp, to) != to for (tp, _), to in zip(options, choice, strict=True))
        return score, moves

    return min(map(cost, product(*(names for _, names in options))))[1]


@st.composite
def situations(draw):
    partitions = {topic: draw(st.integers(0, 3)) for topic in TOPICS}
    names = "abc"[: draw(st.integers(1, 3))]
    subscriptions = {name: draw(st.sampled_from(SUBSCRIPTIONS)) for name in names}
    before = {name: [] for name in names + "x"}  # x has left
    for topic, count in partitions.items():
        for partition in range(count):
            owner = draw(st.sampled_from([*names, *names, "x", None]))
            if owner:
                before[owner].append((topic, partition))
    return partitions, subscriptions, before


@given(situations())
@settings(max_examples=80, deadline=None, derandomize=True)
def test_forced_moves_are_the_fewest_of_all_balanced_assignments(situation):
    partitions, subscriptions, before = situation
    members = [
        Member(member_id=name, topics=tuple(topics.split()))
        for name, topics in subscriptions.items()
    ]

    forced = PreviousOwners(Topics(partitions), members, owners(before)).moves_forced

    assert forced == fewest_moves_by_brute_force(partitions, subscriptions, before)
