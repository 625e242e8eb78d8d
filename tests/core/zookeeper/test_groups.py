"""Whole groups: the final owners under any delays, the herd effect, split brain."""

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coordinator_core.zookeeper.consumer_state import (
    Claimed,
    ClaimRefused,
    FetchersStarted,
    FetchersStopped,
    RebalanceBegan,
    RebalanceEnded,
    Registered,
    Released,
    SessionExpired,
    WatchFired,
)
from coordinator_core.zookeeper.measurements import OwnershipTime
from coordinator_core.zookeeper.messages import WatchType

pytestmark = pytest.mark.slow

SERVERS = ("zk-1", "zk-2", "zk-3")


def random_delays(rng, longest_ms):
    return lambda _source, _target: rng.randint(1, longest_ms)


def formed(make_group, seed, size, partitions, strategy, longest_ms):
    """A group whose members start within a second; later some leave and some are killed."""
    rng = random.Random(seed)
    group = make_group({"t": partitions, "u": 2}, random_delays(rng, longest_ms), SERVERS)
    names = [f"c{n}" for n in range(size)]
    for name in names:
        group.network.at(
            rng.randrange(1000),
            lambda name=name: group.start(
                name,
                server=rng.choice(SERVERS),
                partition_assignment_strategy=strategy,
                rebalance_max_retries=20,
            ),
        )
    for name in names[1:]:
        end = rng.choice([None, None, group.leave, group.kill])
        if end is not None:
            group.network.at(rng.randrange(15_000, 40_000), lambda n=name, end=end: end(n))
    group.run_for(150_000)
    return group


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    seed=st.integers(0, 2**32),
    size=st.integers(1, 7),
    partitions=st.integers(1, 9),
    strategy=st.sampled_from(["range", "roundrobin"]),
    longest_ms=st.sampled_from([1, 5, 200]),
)
def test_every_partition_has_one_owner_at_the_end(
    make_group, seed, size, partitions, strategy, longest_ms
):
    group = formed(make_group, seed, size, partitions, strategy, longest_ms)

    assert group.ownership.all_owned_once
    owners = {
        (topic, p): owner for topic in group.partitions for p, owner in group.owners(topic).items()
    }
    assert owners == {
        tp: f"{name}-0" for name, fetching in group.fetching().items() for tp in fetching
    }
    assert all(server.tree.nodes.keys() == group.ensemble[0].tree.nodes.keys()
               for server in group.ensemble)  # fmt: skip


def test_a_run_depends_on_its_seed_only(make_group):
    first, again, other = (formed(make_group, seed, 5, 8, "range", 5) for seed in (1, 1, 2))

    assert first.sent == again.sent
    assert first.events == again.events
    assert first.events != other.events


@pytest.mark.parametrize(
    ("members", "notifications", "attempts", "reads"),
    [
        (2,   2,  3,  44),
        (4,   4,  5,  82),
        (8,   8,  9, 182),
        (16, 16, 17, 478),
    ],
)  # fmt: skip
def test_herd_effect_a_new_member_makes_every_member_read_all_members(
    make_group, members, notifications, attempts, reads
):
    """With one partition, claims do not conflict.  Each member reads 11 nodes and the registration
    of every member; the new member reads one more node, the owner also reads an offset.
    """
    group = make_group({"t": 1})
    for n in range(members):
        group.start(f"c{n:02}")
    group.run_for(30_000)
    before = group.traffic.counts.copy()

    group.start("z")
    group.run_for(10_000)

    counts = group.traffic.counts - before
    assert counts["notifications"] == notifications
    assert counts["attempts"] == attempts
    assert counts["reads"] == reads
    assert counts["claims_refused"] == 0


def test_split_brain_a_consumer_cut_off_from_zookeeper_fetches_anothers_partitions(make_group):
    """The session of a expires at 15,000 ms; a reconnects and learns of the expiry at 30,054 ms."""
    group = make_group({"t": 2})
    group.start("a")
    group.start("b")
    group.run_for(10_000)
    del group.events[:]
    assert group.ownership.until(10_000) == OwnershipTime(unowned_ms=104, double_owned_ms=0)

    group.network.cut("a", ["zk"])
    group.run_for(20_000)
    assert group.fetching() == {"a": [("t", 0)], "b": [("t", 0), ("t", 1)]}
    assert group.ownership.holders(("t", 0)) == {"a", "b"}
    assert group.owners("t") == {0: "b-0", 1: "b-0"}  # The tree has one owner per partition.
    group.network.heal("a")
    group.run_for(80)

    woken = WatchFired(WatchType.NODE_CHILDREN_CHANGED, "/consumers/g/ids")
    assert group.events == [
        (15_001, "b", woken),
        (15_005, "b", RebalanceBegan(0)),
        (15_015, "b", FetchersStopped((("t", 1),))),
        (15_017, "b", Released("t", 1)),
        (15_033, "b", Claimed("t", 0)),
        (15_035, "b", Claimed("t", 1)),
        (15_035, "b", FetchersStarted((("t", 0), ("t", 1)))),
        (15_035, "b", RebalanceEnded(0, True)),
        (30_054, "a", SessionExpired()),
        (30_058, "b", woken),
        (30_058, "a", Registered()),
        (30_058, "a", RebalanceBegan(0)),
        (30_062, "b", RebalanceBegan(0)),
        (30_068, "a", FetchersStopped((("t", 0),))),
        (30_072, "b", FetchersStopped((("t", 0), ("t", 1)))),
        (30_074, "b", Released("t", 0)),
        (30_076, "b", Released("t", 1)),
    ]
    assert group.ownership.until(30_072).double_owned_ms == 30_068 - 15_035


def test_split_brain_a_lagging_follower_shows_a_previous_group(make_group):
    """Changes reach zk-2 a second late: b registers at 5,504 ms, a does not see it at 6,0xx ms."""
    group = make_group(
        {"t": 2},
        lambda source, target: 1000 if (source, target) == ("zk-1", "zk-2") else 1,
        ("zk-1", "zk-2"),
    )
    group.start("a", server="zk-2")
    group.network.at(5500, lambda: group.start("b", server="zk-1"))
    group.run_for(12_100)

    woken = WatchFired(WatchType.NODE_CHILDREN_CHANGED, "/consumers/g/ids")
    assert group.events == [
        (5504, "b", Registered()),
        (5510, "b", RebalanceBegan(0)),
        (5544, "b", Claimed("t", 1)),
        (5544, "b", FetchersStarted((("t", 1),))),
        (5544, "b", RebalanceEnded(0, True)),
        (6018, "a", Registered()),
        (6024, "a", RebalanceBegan(0)),
        (6504, "a", woken),
        (7051, "a", Claimed("t", 0)),
        (8056, "a", ClaimRefused("t", 1, "b-0")),
        (9059, "a", Released("t", 0)),
        (9059, "a", RebalanceEnded(0, False)),
        (11_059, "a", RebalanceBegan(1)),
        (12_086, "a", Claimed("t", 0)),
        (12_086, "a", FetchersStarted((("t", 0),))),
        (12_086, "a", RebalanceEnded(1, True)),
        (12_086, "a", RebalanceBegan(0)),
        (12_096, "a", FetchersStopped((("t", 0),))),
    ]
    unowned_ms = 5544 + 12_086 + (12_100 - 12_096)
    assert group.ownership.until(12_100) == OwnershipTime(unowned_ms, double_owned_ms=0)


def test_a_delete_repeated_in_a_new_session_deletes_the_new_owners_node(make_group):
    """a is cut off while it releases t; in its next session it repeats the deletes of t only."""
    group = make_group({"t": 4, "u": 2})
    group.start("a")
    group.start("b")
    group.run_for(10_000)
    group.start("c")
    while not group.events_of(Released):
        group.run_for(1)
    group.network.cut("a", ["zk"])
    group.run_for(20_000)
    assert group.owners("t") == {0: "b-0", 1: "b-0", 2: "c-0", 3: "c-0"}
    assert group.owners("u") == {0: "b-0", 1: "c-0"}

    group.network.heal("a")
    while not group.events_of(SessionExpired):
        group.run_for(1)
    group.run_for(8)

    assert group.owners("t") == {0: "b-0", 1: None, 2: "c-0", 3: "c-0"}
    assert group.owners("u") == {0: "b-0", 1: "c-0"}
    assert group.fetching()["b"] == [("t", 0), ("t", 1), ("u", 0)]


def test_a_consumer_paused_for_longer_than_its_session_rejoins(
    make_group,
):
    group = make_group({"t": 2})
    group.start("a")
    group.start("b")
    group.run_for(10_000)

    group.network.pause("a", until_ms=30_000)
    group.run_for(19_000)
    assert group.owners("t") == {0: "b-0", 1: "b-0"}
    group.run_for(20_000)

    assert [at for at, _, _ in group.events_of(SessionExpired)] == [30_002]
    assert group.owners("t") == {0: "a-0", 1: "b-0"}
    assert group.ownership.all_owned_once
