"""The assignors of share and streams groups: rules, laws, and answers of Kafka's own."""

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator_core.assignors import simple, sticky_tasks
from coordinator_core.assignors.model import NoSuchElement, PartitionAssignorError
from coordinator_core.assignors.simple import ShareSubscriber, ShareTopics
from coordinator_core.assignors.sticky_tasks import TaskAssignee, TaskSubtopology
from tools.assignor_differential.group_cases import is_kafkas

FILE = Path(__file__).parents[2] / "data" / "assignors" / "groups.jsonl.gz"
KAFKAS = [json.loads(line) for line in gzip.decompress(FILE.read_bytes()).splitlines()]
A = "AAAAAAAAAAAAAAAAAAAAAQ"  # hash code 1
B = "AAAAAAAAAAAAAAAAAAAAAg"  # hash code 2

laws = settings(max_examples=60, deadline=None, derandomize=True)


@pytest.mark.parametrize("row", KAFKAS, ids=lambda row: row["kafka_line"])
def test_answers_equal_kafkas(row):
    assert is_kafkas(row["given"], row["expected"], row["kafka_line"])


@pytest.mark.parametrize(
    ("rule", "partitions", "members", "expected"),
    [
        ("one member has everything", {A: 3}, [("m", [A], {})], {"m": {A: [0, 1, 2]}}),
        (
            "fewer members than partitions: each partition has one member",
            {A: 3},
            [("m", [A], {}), ("n", [A], {})],
            {"m": {A: [0, 1]}, "n": {A: [2]}},  # The hash order is 1, 2, 0.
        ),
        (
            "more members than partitions: members share",
            {A: 1},
            [("m", [A], {}), ("n", [A], {}), ("o", [A], {})],
            {"m": {A: [0]}, "n": {A: [0]}, "o": {A: [0]}},
        ),
        (
            "a member keeps what it had up to its quota",
            {A: 4},
            [("m", [A], {A: [0, 1, 2, 3]}), ("n", [A], {})],
            {"m": {A: [0, 3]}, "n": {A: [1, 2]}},  # The hash order is 1, 2, 3, 0.
        ),
        (
            "a topic of which all is given up stays without partitions",
            {A: 1, B: 1},
            [("m", [A, B], {A: [0], B: [0]}), ("n", [A, B], {})],
            {"m": {A: [0], B: []}, "n": {B: [0]}},
        ),
        (
            "with different topics, a topic without subscribers stays with those that had it",
            {A: 1, B: 1},
            [("m", [A], {B: [0]}), ("n", [], {})],
            {"m": {B: [0], A: [0]}, "n": {}},
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_simple(rule, partitions, members, expected):
    homogeneous = len({tuple(topics) for _, topics, _ in members}) == 1

    assignment = simple.assign(
        ShareTopics(partitions), [ShareSubscriber(*member) for member in members], homogeneous
    )

    assert {member: {**topics} for member, topics in assignment.items()} == expected


def test_only_initialised_partitions_are_assigned():
    assignment = simple.assign(ShareTopics({A: 4}, {A: {1, 3}}), [ShareSubscriber("m", [A])], True)

    assert assignment == {"m": {A: [1, 3]}}


@pytest.mark.parametrize("assign", [simple.assign, simple.assign_by_hash])
def test_a_topic_without_metadata_is_an_error(assign):
    with pytest.raises(PartitionAssignorError):
        assign(ShareTopics({}), [ShareSubscriber("m", [A])], True)


def test_kafka_fails_if_a_partition_that_may_no_longer_be_assigned_needs_members():
    members = [ShareSubscriber("m", [A], {A: [0]}), ShareSubscriber("n", [A], {A: [1]})]
    topics = ShareTopics({A: 2}, {A: {1}})

    with pytest.raises(NoSuchElement):
        simple.assign(topics, [*members, ShareSubscriber("o", [A])], True)


@pytest.mark.parametrize(
    ("member_id", "expected"),
    [("a", {A: [1]}), ("b", {A: [2]}), ("c", {A: [0]})],  # The hash codes are 97, 98 and 99.
)
def test_4_1_places_a_member_by_the_hash_code_of_its_id(member_id, expected):
    assignment = simple.assign_by_hash(
        ShareTopics({A: 3}), [ShareSubscriber(each, [A]) for each in "abc"], True
    )

    assert assignment[member_id] == expected


def streams(member_id, process_id, active=None, standby=None, offsets=None):
    return TaskAssignee(member_id, process_id, active or {}, standby or {}, offsets or {})


@pytest.mark.parametrize(
    ("rule", "standbys", "members", "active", "standby"),
    [
        ("one member has all", 0, [streams("m", "p")], {"m": [0, 1, 2, 3]}, {}),
        (
            "new tasks go to the process with the fewest tasks per member",
            0,
            [streams("m", "p"), streams("n", "p"), streams("o", "q")],
            {"m": [0], "n": [2], "o": [1, 3]},
            {},
        ),
        (
            "a task goes back to the member that had it, up to its quota",
            0,
            [streams("m", "p", {"0": [3, 2, 1, 0]}), streams("n", "q")],
            {"m": [0, 1], "n": [2, 3]},
            {},
        ),
        (
            "else to the member that had its standby",
            0,
            [streams("m", "p", {"0": [0, 1]}), streams("n", "q", None, {"0": [3]})],
            {"m": [0, 1], "n": [2, 3]},
            {},
        ),
        (
            "no standby on the process of the task",
            1,
            [streams("m", "p"), streams("n", "p")],
            {
                "m": [0, 2],
                "n": [1, 3],
            },
            {},
        ),
        (
            "a standby on another process",
            1,
            [streams("m", "p"), streams("n", "q")],
            {"m": [0, 2], "n": [1, 3]},
            {"m": [1, 3], "n": [0, 2]},
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_sticky_tasks(rule, standbys, members, active, standby):
    assignment = sticky_tasks.assign([TaskSubtopology("0", 4, True)], members, standbys)

    assert {m: [*tasks.active["0"]] for m, tasks in assignment.items()} == active
    assert {m: [*tasks.standby["0"]] for m, tasks in assignment.items() if tasks.standby} == standby


def test_stateless_subtopologies_have_no_standbys():
    members = [streams("m", "p"), streams("n", "q")]

    assignment = sticky_tasks.assign([TaskSubtopology("0", 2, False)], members, 1)

    assert [tasks.standby for tasks in assignment.values()] == [{}, {}]


@st.composite
def topologies(draw):
    subtopologies = [
        TaskSubtopology(str(number), draw(st.integers(1, 6)), draw(st.booleans()))
        for number in range(draw(st.integers(1, 4)))
    ]
    processes = draw(st.lists(st.sampled_from("pqrs"), min_size=1, max_size=9))
    return subtopologies, [(f"m{n}", process) for n, process in enumerate(processes)]


@pytest.mark.slow
@pytest.mark.parametrize("assign", [sticky_tasks.assign, sticky_tasks.assign_avoiding_pairs])
@laws
@given(group=topologies(), standbys=st.integers(0, 3), fewer=st.integers(0, 8))
def test_every_task_has_one_active_member_and_each_process_once(assign, group, standbys, fewer):
    subtopologies, members = group
    before = assign(subtopologies, [streams(*member) for member in members], standbys)
    left = members[: max(1, len(members) - fewer)]

    assignment = assign(subtopologies, [streams(*m, *before[m[0]]) for m in left], standbys)

    active = Counter(
        (s, n) for tasks in assignment.values() for s, ns in tasks.active.items() for n in ns
    )
    places = Counter(
        (process, subtopology, number)
        for member, process in left
        for role in assignment[member]
        for subtopology, numbers in role.items()
        for number in numbers
    )
    copies = min(standbys, len({process for _, process in left}) - 1)
    expected = sum(each.tasks * (1 + copies * each.stateful) for each in subtopologies)
    assert active == {(s.subtopology_id, n): 1 for s in subtopologies for n in range(s.tasks)}
    assert set(places.values()) == {1}
    assert sum(places.values()) == expected


@pytest.mark.slow
@laws
@given(count=st.integers(1, 20), first=st.integers(1, 30), later=st.integers(1, 30))
def test_every_partition_has_members_but_not_more_than_its_share(count, first, later):
    topics = ShareTopics({A: count, B: 3})
    before = simple.assign(topics, [ShareSubscriber(f"m{n}", [A, B]) for n in range(first)], True)
    members = [ShareSubscriber(f"m{n}", [A, B], before.get(f"m{n}", {})) for n in range(later)]

    assignment = simple.assign(topics, members, True)

    sharers = Counter(
        (topic, number)
        for assigned in assignment.values()
        for topic, numbers in assigned.items()
        for number in numbers
    )
    assert len(sharers) == count + 3
    assert max(sharers.values()) <= -(-later // (count + 3))
