"""Laws of every assignor, on groups that nobody wrote down; and kernels equal to plain rules."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator_core.assignors import ASSIGNORS, CLIENT_ASSIGNORS, AssignorError, Topics
from coordinator_core.assignors.members import static_first
from coordinator_core.assignors.range.client import _topic_by_topic, topic_order
from coordinator_core.assignors.sticky import assignor as sticky
from coordinator_core.assignors.sticky import equal_runs as _equal_runs
from coordinator_core.assignors.sticky import large as _large
from coordinator_core.assignors.subscriptions import as_sent

STICKY = ["sticky", "cooperative-sticky", "uniform"]
TOPICS = [f"topic-{i}" for i in range(5)]
RACKS = ["ra", "rb", "rc"]

laws = settings(max_examples=30, deadline=None, derandomize=True)


@st.composite
def groups(draw, members=8, equal=None, conflicts=False, racks=False):
    """(partition counts, replica racks, keyword arguments of as_sent per member)."""
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
    """The assignment, or what Kafka throws instead."""
    try:
        return run(assignor, *group)
    except AssignorError as error:
        return error.kafka_name


def rejoin(consumers, given):
    return [
        consumer | {"owned": given[consumer["member_id"]], "generation": 9}
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

    wanted = {consumer["member_id"]: consumer["topics"] for consumer in consumers}
    subscribed = set().union(*wanted.values())
    assert sorted(tp for tp, _ in owners(assignment)) == sorted(
        (topic, p) for topic in subscribed for p in range(partitions[topic])
    )
    assert all(topic in wanted[member] for (topic, _), member in owners(assignment))


@pytest.mark.parametrize("assignor", [*STICKY, "roundrobin"])
@given(group=groups(equal=True))
@laws
def test_equal_subscriptions_get_equal_shares(assignor, group):
    sizes = sorted(map(len, run(assignor, *group).values()))

    if assignor != "cooperative-sticky":  # which may still withhold some
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
def test_a_cooperative_round_gives_nothing_that_another_member_still_holds(group):
    given = run("cooperative-sticky", *group)

    holder = {tp: consumer["member_id"] for consumer in group[2] for tp in consumer["owned"]}
    assert all(holder.get(tp, member) == member for tp, member in owners(given))


@given(group=groups())
@laws
def test_two_cooperative_rounds_hand_out_everything(group):
    partitions, replicas, consumers = group
    first = run("cooperative-sticky", *group)

    second = run("cooperative-sticky", partitions, replicas, rejoin(consumers, first))

    subscribed = set().union(*(consumer["topics"] for consumer in consumers))
    assert len(owners(second)) == sum(partitions[topic] for topic in subscribed)


@pytest.mark.parametrize("assignor", sorted(CLIENT_ASSIGNORS))
@given(group=groups(conflicts=True, racks=True), order=st.randoms(use_true_random=False))
@laws
def test_the_order_of_joining_decides_only_what_no_hash_decides(assignor, group, order):
    """With at most one id per bucket the map's order, and so the answer, is the ids' alone."""
    partitions, replicas, consumers = group
    renamed = [c | {"member_id": chr(ord("a") + i)} for i, c in enumerate(consumers)]
    shuffled = list(renamed)
    order.shuffle(shuffled)

    assert answer(assignor, partitions, replicas, shuffled) == answer(
        assignor, partitions, replicas, renamed
    )


@pytest.mark.parametrize("assignor", ["cooperative-sticky", "roundrobin", "sticky"])
@pytest.mark.parametrize("conflicts", [False, True], ids=["disjoint", "conflicts"])
@given(data=st.data())
@laws
def test_kernels_give_what_the_plain_rules_give(assignor, conflicts, data):
    group = data.draw(groups(members=20, conflicts=conflicts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_large, "LARGE_GROUP", 0)
        from_kernels = answer(assignor, *group)
        patch.setattr(_large, "LARGE_GROUP", 10**9)
        in_few_steps = answer(assignor, *group)
        patch.setattr(_equal_runs, "_SHORT", 0)
        by_runs = answer(assignor, *group)
        patch.setattr(sticky, "_without_racks", lambda *_: None)
        from_rules = answer(assignor, *group)

    assert from_kernels == from_rules
    assert in_few_steps == from_rules
    assert by_runs == from_rules


@st.composite
def groups_given_runs(draw):
    """Equal subscriptions; uniform assigned, then members left and joined, and topics grew."""
    partitions, _, consumers = draw(groups(members=12, equal=True))
    subscribed = draw(st.permutations(consumers[0]["topics"]))
    ids = [consumer["member_id"] for consumer in consumers]
    were = draw(st.lists(st.sampled_from(ids), min_size=1, unique=True))
    are = [*draw(st.lists(st.sampled_from(ids), unique=True)), were[0]]
    given = ASSIGNORS["uniform"](
        Topics({topic: partitions[topic] for topic in subscribed}),
        [as_sent("uniform", member, subscribed) for member in were],
    )
    grown = {topic: count + draw(st.integers(0, 2)) for topic, count in partitions.items()}
    members = [
        {"member_id": m, "topics": subscribed, "owned": given.get(m, ()), "generation": 3}
        for m in dict.fromkeys(are)
    ]
    return grown, {}, members


@pytest.mark.parametrize("assignor", ["sticky", "cooperative-sticky"])
@given(group=groups_given_runs())
@laws
def test_owned_runs_are_kept_and_cut_as_partitions_one_by_one(assignor, group):
    answered = []
    assign_runs = _equal_runs.assign

    def noted(*arguments):
        answered.append(assign_runs(*arguments))
        return answered[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_equal_runs, "_SHORT", 0)
        patch.setattr(_equal_runs, "assign", noted)
        by_runs = answer(assignor, *group)
        patch.setattr(sticky, "_without_racks", lambda *_: None)
        from_rules = answer(assignor, *group)

    assert by_runs == from_rules
    assert answered == [from_rules] or not any(member["owned"] for member in group[2])


@given(group=groups_given_runs())
@laws
def test_uniform_takes_runs_as_it_takes_partitions_one_by_one(group):
    partitions, _, consumers = group
    members = [as_sent("uniform", **consumer) for consumer in consumers]
    apart = [
        member._replace(owned=[(topic, [p]) for topic, owned in member.owned for p in owned])
        for member in members
    ]

    by_runs, one_by_one = (ASSIGNORS["uniform"](Topics(partitions), ms) for ms in (members, apart))

    assert by_runs == one_by_one


@pytest.mark.parametrize("size", [1, 4, 9, 40])
@given(group=groups(members=12, equal=True), shuffled=st.permutations(TOPICS))
@laws
def test_topics_of_one_size_are_shared_as_one_by_one(size, group, shuffled):
    topics = Topics(dict.fromkeys(shuffled, size))
    members = [as_sent("range", **consumer) for consumer in group[2]]
    wanted = topics.only(members[0].topics)
    ordered = static_first(members)

    from_client, from_server = (ASSIGNORS[a](topics, members) for a in ("range", "server-range"))

    by_hash, by_id = topic_order(wanted, members, hashed=True), list(wanted.partitions)
    assert list(from_client.values()) == topic_by_topic(wanted, ordered, by_hash)
    assert list(from_server.values()) == topic_by_topic(wanted, ordered, by_id)


def topic_by_topic(topics, ordered, in_order):
    lists = [[] for _ in ordered]
    _topic_by_topic(topics, dict.fromkeys(topics.names, lists), in_order)
    return lists


@pytest.mark.parametrize("assignor", ["range", "server-range"])
@given(group=groups(members=12))
@laws
def test_range_shares_every_topic_by_itself_the_first_by_id_getting_more(assignor, group):
    partitions, _, consumers = group

    assignment = run(assignor, *group)

    for topic, count in partitions.items():
        takers = sorted(c["member_id"] for c in consumers if topic in c["topics"])
        shares = [[p for t, p in assignment[taker] if t == topic] for taker in takers]
        assert [p for share in shares for p in share] == list(range(count if takers else 0))
        sizes = list(map(len, shares))
        assert sizes == sorted(sizes, reverse=True)
        assert not sizes or sizes[0] - sizes[-1] <= 1


def test_range_passes_over_a_topic_without_metadata():
    consumers = [
        {"member_id": "m1", "topics": ["a", "gone"], "owned": [], "generation": None},
        {"member_id": "m2", "topics": ["a", "b"], "owned": [], "generation": None},
    ]

    given = run("range", {"a": 3, "b": 1, "nobody's": 1}, {}, consumers)

    assert given == {"m1": [("a", 0), ("a", 1)], "m2": [("a", 2), ("b", 0)]}


def test_a_sticky_chain_moves_only_what_the_leaver_had():
    """Ten members, then one less each time: nothing moves but the orphans."""
    consumers = [
        {"member_id": f"m{i}", "topics": TOPICS, "owned": [], "generation": None} for i in range(10)
    ]
    partitions = dict.fromkeys(TOPICS, 12)
    given = run("sticky", partitions, {}, consumers)
    for before, after in combinations(range(10, 6, -1), 2):
        if before == after + 1:
            consumers = rejoin(consumers[:-1], given)
            orphans = set(given.pop(f"m{after}"))
            now = run("sticky", partitions, {}, consumers)
            moved = {tp for tp, member in owners(now) if tp not in given[member]}
            assert moved == orphans
            given = now
