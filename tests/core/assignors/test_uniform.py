"""The coordinator's uniform assignor: order of its lists, and levels where subscriptions differ."""

from coordinator_core.assignors import ASSIGNORS, Member, Topics


def joined(member_id, topics, *owned):
    return Member(
        member_id=member_id, topics=tuple(topics), owned=owned, generation=1, field_generation=1
    )


def test_lists_are_sorted_for_any_order_of_owned_partitions():
    alone = joined("m", "a", ("a", (1,)))

    assignment = ASSIGNORS["uniform"](Topics({"a": 2}), [alone])

    assert assignment == {"m": [("a", 0), ("a", 1)]}


def test_partitions_fill_members_level_by_level_where_topics_differ():
    members = [
        joined("m1", "t"),
        joined("m2", "at", ("a", (0,))),
        joined("m3", "ct", ("c", (0, 1, 2))),
    ]

    assignment = ASSIGNORS["uniform"](Topics({"a": 1, "c": 3, "t": 6}), members)

    assert assignment == {
        "m1": [("t", 0), ("t", 1), ("t", 3), ("t", 5)],
        "m2": [("a", 0), ("t", 2), ("t", 4)],
        "m3": [("c", 0), ("c", 1), ("c", 2)],
    }
