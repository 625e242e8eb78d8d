"""Laws of every assignor, on generated groups."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator_core.assignors import ASSIGNORS, CLIENT_ASSIGNORS, AssignorError, Topics
from coordinator_core.assignors.subscriptions import as_sent

pytestmark = pytest.mark.slow

STICKY = ["sticky", "cooperative-sticky", "uniform"]
TOPICS = [f"topic-{i}" for i in range(5)]
RACKS = ["ra", "rb", "rc"]

laws = settings(max_examples=30, deadline=None, derandomize=True)


@st.composite
def groups(draw, members=8, equal=None, conflicts=False, racks=False):
    """Returns partition counts, replica racks, and keyword arguments of as_sent per member."""
    partitions = {topic: draw(st.integers(1, 9)) for topic in TOPICS}
    replicas = {
        topic: [draw(st.lists(st.sampled_from(RACKS), max_size=2)) for _ in range(count)]
        for topic, count in partitions.items()
        if racks
    }
    equal = draw(st.booleans()) if equal is None else equal
    subscription = st.lists(st.sampled_from(TOPICS), min_size=1, unique=True)
    shared = draw(subscription)
    free = [(topic, p) for topic, count in partitions.items() for p in range(count)]
    name = st.text("abcxyz-09é", min_size=1, max_size=6)
    names = draw(st.lists(name, min_size=1, max_size=members, unique=True))
    consumers = []
    for name in names:
        owned = draw(st.lists(st.sampled_from(free), unique=True, max_size=6)) if free else []
        if not conflicts:
            free = [tp for tp in free if tp not in owned]
        generation = draw(st.sampled_from([None, 2, 3, 3, 3])) if conflicts else 3
        consumers.append(
            {
                "member_id": name,
                "topics": shared if equal else draw(subscription),
                "owned": owned,
                "generation": generation,
                "rack": draw(st.sampled_from([None, *RACKS])) if racks else None,
            }
        )
    return partitions, replicas, consumers


def run(assignor, partitions, replicas, consumers):
    members = [as_sent(assignor, **consumer) for consumer in consumers]
    return ASSIGNORS[assignor](Topics(partitions, replicas), members)


def answer(assignor, *group):
    """Returns the assignment, or the name of the exception that Kafka throws."""
    try:
        return run(assignor, *group)
    except AssignorError as error:
        return error.kafka_name


def rejoin(consumers, assignment):
    return [
        consumer | {"owned": assignment[consumer["member_id"]], "generation": 9}
        for consumer in consumers
    ]


def owners(assignment):
    return [(tp, member) for member, partitions in assignment.items() for tp in partitions]


@pytest.mark.parametrize("assignor", sorted(set(ASSIGNORS) - {"cooperative-sticky"}))
@given(group=groups(racks=True))
@laws
def test_every_subscribed_partition_goes_to_exactly_one_subscriber(assignor, group):
    partitions, _, consumers = group

    assignment = run(assignor, *group)

    topics_of = {consumer["member_id"]: consumer["topics"] for consumer in consumers}
    subscribed = set().union(*topics_of.values())
    assert sorted(tp for tp, _ in owners(assignment)) == sorted(
        (topic, p) for topic in subscribed for p in range(partitions[topic])
    )
    assert all(topic in topics_of[member] for (topic, _), member in owners(assignment))


@pytest.mark.parametrize("assignor", [*STICKY, "roundrobin"])
@given(group=groups(equal=True))
@laws
def test_equal_subscriptions_get_equal_shares(assignor, group):
    sizes = sorted(map(len, run(assignor, *group).values()))

    # The first round of cooperative-sticky may withhold some partitions.
    if assignor != "cooperative-sticky":
        assert sizes[-1] - sizes[0] <= 1
    else:
        assert sizes[-1] <= -(-sum(group[0][t] for t in group[2][0]["topics"]) // len(sizes))


@pytest.mark.parametrize("assignor", STICKY)
@given(group=groups(equal=True))
@laws
def test_sticky_keeps_everything_when_nothing_changes(assignor, group):
    partitions, replicas, consumers = group
    settled = run(assignor, partitions, replicas, consumers)
    settled = run(assignor, partitions, replicas, rejoin(consumers, settled))

    again = run(assignor, partitions, replicas, rejoin(consumers, settled))

    assert {m: set(tps) for m, tps in again.items()} == {m: set(t) for m, t in settled.items()}


@given(group=groups())
@laws
def test_a_cooperative_round_assigns_nothing_that_another_member_still_owns(group):
    assignment = run("cooperative-sticky", *group)

    previous_owner = {
        tp: consumer["member_id"] for consumer in group[2] for tp in consumer["owned"]
    }
    assert all(previous_owner.get(tp, member) == member for tp, member in owners(assignment))


@pytest.mark.parametrize(("equal", "rounds"), [(True, 2), (False, 8)])
@given(data=st.data())
@laws
def test_repeated_cooperative_rounds_assign_every_partition(equal, rounds, data):
    """Two rounds with equal subscriptions; with different ones balancing may need more."""
    partitions, replicas, consumers = data.draw(groups(equal=equal))
    assignment = run("cooperative-sticky", partitions, replicas, consumers)

    for _ in range(rounds - 1):
        consumers = rejoin(consumers, assignment)
        assignment = run("cooperative-sticky", partitions, replicas, consumers)

    subscribed = set().union(*(consumer["topics"] for consumer in consumers))
    assert len(owners(assignment)) == sum(partitions[topic] for topic in subscribed)


@pytest.mark.parametrize("assignor", sorted(CLIENT_ASSIGNORS))
@given(group=groups(conflicts=True, racks=True), order=st.randoms(use_true_random=False))
@laws
def test_the_join_order_only_matters_within_a_hash_bucket(assignor, group, order):
    """With at most one member id per bucket, the ids alone decide the map's order."""
    partitions, replicas, consumers = group
    renamed = [c | {"member_id": chr(ord("a") + i)} for i, c in enumerate(consumers)]
    shuffled = list(renamed)
    order.shuffle(shuffled)

    assert answer(assignor, partitions, replicas, shuffled) == answer(
        assignor, partitions, replicas, renamed
    )


@pytest.mark.parametrize("assignor", ["range", "server-range"])
@given(group=groups(members=12))
@laws
def test_range_divides_each_topic_and_gives_the_extra_partitions_to_the_first_ids(assignor, group):
    partitions, _, consumers = group

    assignment = run(assignor, *group)

    for topic, count in partitions.items():
        takers = sorted(c["member_id"] for c in consumers if topic in c["topics"])
        shares = [[p for t, p in assignment[taker] if t == topic] for taker in takers]
        assert [p for share in shares for p in share] == list(range(count if takers else 0))
        sizes = list(map(len, shares))
        assert sizes == sorted(sizes, reverse=True)
        assert not sizes or sizes[0] - sizes[-1] <= 1


def test_range_skips_a_topic_without_metadata():
    consumers = [
        {"member_id": "m1", "topics": ["a", "gone"], "owned": [], "generation": None},
        {"member_id": "m2", "topics": ["a", "b"], "owned": [], "generation": None},
    ]

    assignment = run("range", {"a": 3, "b": 1, "unsubscribed": 1}, {}, consumers)

    assert assignment == {"m1": [("a", 0), ("a", 1)], "m2": [("a", 2), ("b", 0)]}


def test_when_a_member_leaves_sticky_moves_only_its_partitions():
    """Ten members, then one less each time."""
    consumers = [
        {"member_id": f"m{i}", "topics": TOPICS, "owned": [], "generation": None} for i in range(10)
    ]
    partitions = dict.fromkeys(TOPICS, 12)
    assignment = run("sticky", partitions, {}, consumers)
    for before, after in combinations(range(10, 6, -1), 2):
        if before == after + 1:
            consumers = rejoin(consumers[:-1], assignment)
            orphans = set(assignment.pop(f"m{after}"))
            next_assignment = run("sticky", partitions, {}, consumers)
            moved = {tp for tp, member in owners(next_assignment) if tp not in assignment[member]}
            assert moved == orphans
            assignment = next_assignment
