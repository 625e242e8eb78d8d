"""librdkafka's cooperative-sticky: its rules, and every assignment of real consumers."""

from collections import defaultdict

import pytest

from coordinator_core.assignors import LIBRDKAFKA_ASSIGNORS, Member, Topics
from coordinator_core.assignors.subscriptions import as_read
from coordinator_core.records import decode_assignment
from tests.core.incident.incident_rows import FLAPPING, ROLLING, SURGE, of_twins

assign = LIBRDKAFKA_ASSIGNORS["cooperative-sticky"]
TOPICS = Topics({"t": 6})


def member(member_id, owned=(), generation=-1, topics=("t",)):
    claims = [("t", list(owned))] if owned else []
    return Member(
        member_id=member_id,
        topics=topics,
        owned=claims,
        generation=generation,
        field_generation=generation,
    )


def numbers(assignment):
    return {name: sorted(p for _, p in partitions) for name, partitions in assignment.items()}


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        # The first assignment gives one partition after another to the member with the fewest
        # partitions.
        ([member("b"), member("a")], {"a": [0, 2, 4], "b": [1, 3, 5]}),
        # The partitions of a member that left go, the last partition first, to the member with the
        # fewest partitions.
        (
            [member("a", [0, 3], 1), member("b", [1, 4], 1)],
            {"a": [0, 3, 5], "b": [1, 2, 4]},
        ),
        # From a new member partitions 0 and 1 are withheld until their owners have revoked them.
        (
            [member("a", [0, 2, 4], 1), member("b", [1, 3, 5], 1), member("c")],
            {"a": [2, 4], "b": [3, 5], "c": []},
        ),
        # The round after.
        (
            [member("a", [2, 4], 2), member("b", [3, 5], 2), member("c", (), 2)],
            {"a": [2, 4], "b": [3, 5], "c": [0, 1]},
        ),
        # The claim with the higher generation holds, so the other member loses the partition.
        (
            [member("a", [0, 1, 2], 1), member("b", [0, 3, 4, 5], 2)],
            {"a": [1, 2], "b": [3, 4, 5]},
        ),
        # A partition that does not exist stays with its owner.
        ([member("a", [0, 1, 2, 3, 4, 5, 9], 1)], {"a": [0, 1, 2, 3, 4, 5, 9]}),
        ([], {}),
    ],
)
def test_assigned(members, expected):
    assert numbers(assign(TOPICS, members)) == expected


def test_members_with_different_topics_get_their_own():
    topics = Topics({"t": 2, "u": 2})
    members = [Member(member_id="a", topics=("t",)), Member(member_id="b", topics=("t", "u"))]

    assert assign(topics, members) == {"a": [("t", 0), ("t", 1)], "b": [("u", 0), ("u", 1)]}


# -- real consumers --------------------------------------------------------------------------------


def partitions_of(record):
    return {
        each["member_id"]: {
            (topic, number)
            for topic, numbers in decode_assignment(each["assignment"]).partitions
            for number in numbers
        }
        for each in record["members"]
    }


def generations(version, script, group):
    """The first record of each generation that has members."""
    (rows,) = [rows for rows in of_twins(version, script) if group in rows.groups()]
    first = {}
    for record in rows.records[group]:
        if not record["tombstone"] and record["members"]:
            first.setdefault(record["generation"], record)
    return list(first.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "script", "group", "expected"),
    [
        ("3.9.1", ROLLING, "orders-cooperative", 23),
        ("4.1.2", ROLLING, "orders-cooperative", 23),
        ("3.9.1", ROLLING, "clicks-cooperative", 22),
        ("4.1.2", ROLLING, "clicks-cooperative", 21),
        ("3.9.1", FLAPPING, "orders-cooperative", 18),
        ("4.1.2", FLAPPING, "orders-cooperative", 19),
        ("3.9.1", FLAPPING, "clicks-cooperative", 17),
        ("4.1.2", FLAPPING, "clicks-cooperative", 16),
        ("4.1.2", SURGE, "g-cooperative", 15),
    ],
)
def test_every_assignment_of_a_real_leader(version, script, group, expected):
    records = generations(version, script, group)
    counts = defaultdict(int)
    for record in records:
        for topic, number in set().union(*partitions_of(record).values()):
            counts[topic] = max(counts[topic], number + 1)
    topics = Topics(dict(sorted(counts.items())))

    equal = 0
    for record in records:
        members = [
            as_read("cooperative-sticky", m["member_id"], m["subscription"], m["instance_id"])
            for m in record["members"]
        ]
        assigned = {name: set(listed) for name, listed in assign(topics, members).items()}
        equal += assigned == partitions_of(record)

    assert equal == len(records) == expected
