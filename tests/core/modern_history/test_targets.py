"""What a server assignor had to compute a target, by the records of a group."""

import pytest

from coordinator_core.modern_history import RecordKind, replay
from tests.core.modern_history.group_records import bump, record, removed

A, B, C = "a", "b", "c"


def joins(ms, member, *topics, **fields):
    return record(ms, RecordKind.MEMBER, member, topics=topics or ("t",), **fields)


def matched(ms, regex, *topics):
    return record(ms, RecordKind.REGEX, regex=regex, topics=topics)


def target(ms, epoch, **owned):
    return [
        *(owns(ms, member, numbers) for member, numbers in owned.items()),
        record(ms, RecordKind.TARGET, epoch=epoch),
    ]


def owns(ms, member, numbers):
    partitions = frozenset(("active", None, "T", int(number)) for number in numbers)
    return record(ms, RecordKind.TARGET_MEMBER, member, assigned=partitions, topic_ids=("T",))


def input_of(records):
    """The input of the last target."""
    return replay(records).generations[-1].input


FIRST = [joins(0, A), bump(0, 1), *target(0, 1, a="01")]
SECOND = [joins(5, B), bump(5, 2), *target(5, 2, a="0", b="1")]

# records -> members, previous target of each member, and whether the records are complete
INPUTS = {
    "a new group has no previous target": (FIRST, [A], {}, True),
    "the previous target is that of earlier records": (
        [*FIRST, *SECOND], [A, B], {A: (0, 1)}, True,
    ),
    "a target has records of the members that it changes only": (
        [*FIRST, *SECOND, bump(6, 3), *target(6, 3, b="2")], [A, B], {A: (0,), B: (1,)}, True,
    ),
    "who left has no previous target": (
        [*FIRST, *SECOND, *removed(6, A), bump(6, 3), *target(7, 3, b="01")], [B], {B: (1,)}, True,
    ),
    "who joined and left in one batch is no member": (
        [*FIRST, joins(5, B), *removed(5, B), bump(5, 2), *target(5, 2, a="01")],
        [A], {A: (0, 1)}, True,
    ),
    "a static member has the previous target of the member that it replaces": (
        [
            joins(0, A, instance_id="i"), bump(0, 1), *target(0, 1, a="01"),
            *removed(5, A), joins(5, B, instance_id="i"), owns(5, B, "01"),
            record(5, RecordKind.CURRENT, B, 1, state=0), bump(5, 2), *target(5, 2, b="012"),
        ],
        [B], {B: (0, 1)}, True,
    ),
    "an upgrade leaves its assignment as the previous target": (
        [
            record(0, RecordKind.CLASSIC, is_tombstone=True), joins(0, A), bump(0, 9),
            *target(0, 9, a="01"),
            joins(5, B), bump(5, 10), *target(5, 10, a="0", b="1"),
        ],
        [A, B], {A: (0, 1)}, True,
    ),
    "the first records are not those of a new group": (
        [joins(0, A), bump(5, 7), *target(5, 7, a="01")], [A], {}, False,
    ),
    "a second member joined before the first epoch that is left": (
        [joins(0, A), joins(5, B), bump(5, 2), *target(5, 2, a="0", b="1")], [A, B], {}, False,
    ),
    "an epoch is missing": (
        [*FIRST, joins(5, B), bump(5, 3), *target(5, 3, a="0", b="1")], [A, B], {A: (0, 1)}, False,
    ),
    "the first member waits until its regular expression is resolved": (
        [
            joins(0, A, regex="t.*"), matched(5, "t.*", "t"), bump(6, 2), *target(6, 2, a="01"),
        ],
        [A], {}, True,
    ),
}  # fmt: skip


@pytest.mark.parametrize("rule", INPUTS)
def test_members_and_previous_target(rule):
    records, members, previous, is_complete = INPUTS[rule]

    input_ = input_of(records)

    assert sorted(each.member_id for each in input_.members) == members
    assert {member: lists["T"] for member, lists in input_.previous.items()} == previous
    assert input_.is_complete == is_complete
    assert input_.is_first == (not previous and not is_complete)


# records before the target -> topics of each member, and whether the coordinator considers them
# equal
SUBSCRIPTIONS = {
    "named topics": ([joins(0, A, "t", "u"), joins(0, B, "u", "t")], {A: "tu", B: "tu"}, True),
    "different topics": ([joins(0, A, "t"), joins(0, B, "u")], {A: "t", B: "u"}, False),
    "a resolved regular expression": (
        [joins(0, A, regex="x", client_id="a"), matched(0, "x", "t", "v")], {A: "tv"}, False,
    ),
    "a regular expression alone": (
        [record(0, RecordKind.MEMBER, A, regex="x"), matched(0, "x", "t", "v")], {A: "tv"}, True,
    ),
    "two regular expressions with the same topic": (
        [
            record(0, RecordKind.MEMBER, A, regex="x"), matched(0, "x", "t"),
            record(0, RecordKind.MEMBER, B, regex="y"), matched(0, "y", "t"),
        ],
        {A: "t", B: "t"}, False,
    ),
    "a regular expression that is not resolved": ([joins(0, A, regex="x")], {A: "t"}, False),
}  # fmt: skip


@pytest.mark.parametrize("rule", SUBSCRIPTIONS)
def test_subscriptions(rule):
    records, topics, are_equal = SUBSCRIPTIONS[rule]

    input_ = input_of([*records, bump(0, 1), *target(0, 1, a="01")])

    assert {each.member_id: "".join(sorted(each.names)) for each in input_.members} == topics
    assert input_.are_equal == are_equal


def test_members_are_in_the_order_of_the_map_new_ones_last():
    """The map of the coordinator: slots by hash code; the batch's new members are not in it yet."""
    members = ["m3", "m1", "m2"]
    old = [each for ms, m in enumerate(members) for each in (joins(ms, m), bump(ms, ms + 1))]
    new = [joins(9, "m0"), bump(9, 4)]

    input_ = input_of([*old, *target(5, 3, m1="0"), *new, *target(9, 4, m0="1")])

    assert [each.member_id for each in input_.members][-1] == "m0"
    assert {each.member_id for each in input_.members} == {"m0", "m1", "m2", "m3"}


@pytest.mark.parametrize(
    ("votes", "expected"),
    [
        ((None, None), ("uniform", True)),
        (("range", None), ("range", False)),
        (("range", "range", "uniform"), ("range", False)),
        (("range", "uniform"), ("range", True)),
    ],
)
def test_an_assignor_without_evidence_is_assumed(votes, expected):
    """Nobody names one, or the votes are equal: a log line would tell."""
    members = [joins(0, f"m{n}", server_assignor=vote) for n, vote in enumerate(votes)]

    generation = replay([*members, bump(0, 1), *target(0, 1, m0="01")]).generations[-1]

    assert (generation.assignor, generation.is_assumed) == expected
