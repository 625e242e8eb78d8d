"""One consumer: registration, rebalance, commits, shutdown, session expiry, failure."""

import json

import pytest

from coordinator_core.zookeeper import paths
from coordinator_core.zookeeper.consumer_state import (
    Claimed,
    ClaimRefused,
    FetchersStarted,
    FetchersStopped,
    RebalanceBegan,
    RebalanceEnded,
    RebalanceFailed,
    Registered,
    Released,
    SessionExpired,
    ShutDown,
    WatchFired,
)
from coordinator_core.zookeeper.messages import (
    ClientOperation,
    Create,
    Delete,
    Exists,
    GetChildren,
    GetData,
    Ping,
    SetData,
    WatchType,
)

CHILDREN_CHANGED = WatchType.NODE_CHILDREN_CHANGED
IDS = "/consumers/g/ids"
OWNERS = ("/consumers/g", "/consumers/g/owners", "/consumers/g/owners/t")


def test_the_first_consumer_registers_and_claims_all_partitions(make_group):
    group = make_group({"t": 2})

    group.start("c")
    group.run_for(1000)

    assert [event for _, _, event in group.events] == [
        Registered(),
        RebalanceBegan(0),
        Claimed("t", 0),
        Claimed("t", 1),
        FetchersStarted((("t", 0), ("t", 1))),
        RebalanceEnded(0, True),
    ]
    assert group.owners("t") == {0: "c-0", 1: "c-0"}
    assert json.loads(group.node(f"{IDS}/c")) == {
        "version": 1, "subscription": {"t": 1}, "pattern": "static", "timestamp": "0",
    }  # fmt: skip


def test_the_operations_of_a_rebalance_in_order(make_group):
    """a reads every broker twice, every consumer, and every partition that it will own."""
    group = make_group({"t": 1})
    group.start("a")
    group.run_for(1000)
    del group.sent[:]

    group.start("b")
    group.run_for(1000)

    operations = [
        m.op for _, process, _, m in group.sent if process == "a" and isinstance(m, ClientOperation)
    ]
    me = f"{IDS}/a"
    assert operations == [
        Exists(IDS, watch=True), GetChildren(IDS, watch=True),
        GetChildren("/brokers/ids"), GetData("/brokers/ids/1"), GetData(me),
        GetChildren("/brokers/ids"), GetData("/brokers/ids/1"),
        Delete("/consumers/g/owners/t/0"),
        GetData(me), GetData("/brokers/topics/t", watch=True),
        GetChildren(IDS, watch=True), GetData(me), GetData(f"{IDS}/b"),
        GetChildren(IDS, watch=True),
        GetData("/consumers/g/offsets/t/0"),
        Create("/consumers/g/owners/t/0", "a-0", is_ephemeral=True),
    ]  # fmt: skip


def test_a_second_consumer_makes_the_first_rebalance_too(make_group):
    group = make_group({"t": 4})
    group.start("a")
    group.run_for(1000)
    del group.events[:]

    group.start("b")
    group.run_for(5000)

    first = [event for _, process, event in group.events if process == "a"]
    assert first[:3] == [
        WatchFired(CHILDREN_CHANGED, IDS),
        RebalanceBegan(0),
        FetchersStopped((("t", 0), ("t", 1), ("t", 2), ("t", 3))),
    ]
    assert first[3:7] == [Released("t", n) for n in range(4)]
    assert group.owners("t") == {0: "a-0", 1: "a-0", 2: "b-0", 3: "b-0"}
    assert group.fetching() == {"a": [("t", 0), ("t", 1)], "b": [("t", 2), ("t", 3)]}


def test_changes_during_a_rebalance_cause_one_more_rebalance(make_group):
    group = make_group({"t": 6})
    group.start("a")
    group.run_for(1000)
    del group.events[:]

    for after_ms, name in ((0, "b"), (25, "c"), (40, "d")):
        group.network.at(1000 + after_ms, lambda name=name: group.start(name))
    group.run_for(10_000)

    woken = [event for _, process, event in group.events if process == "a"]
    assert woken.count(WatchFired(CHILDREN_CHANGED, IDS)) == 3
    assert woken.count(RebalanceEnded(0, True)) == 2
    assert group.ownership.all_owned_once


def test_after_a_refused_claim_all_claims_are_released_and_retried_later(make_group):
    """Another owner's node exists for three seconds: two attempts fail, the third succeeds."""
    group = make_group({"t": 2})
    group.write(*map(Create, OWNERS), Create("/consumers/g/owners/t/1", "other-0"))
    group.run_for(100)
    group.network.at(3000, lambda: group.write(Delete("/consumers/g/owners/t/1")))

    group.start("c")
    group.run_for(10_000)

    failed = [Claimed("t", 0), ClaimRefused("t", 1, "other-0"), Released("t", 0)]
    assert [event for _, _, event in group.events] == [
        Registered(),
        RebalanceBegan(0), *failed, RebalanceEnded(0, False),
        RebalanceBegan(1), *failed, RebalanceEnded(1, False),
        RebalanceBegan(2), Claimed("t", 0), Claimed("t", 1),
        FetchersStarted((("t", 0), ("t", 1))), RebalanceEnded(2, True),
    ]  # fmt: skip
    began = [at for at, _, _ in group.events_of(RebalanceBegan)]
    ended = [at for at, _, _ in group.events_of(RebalanceEnded)]
    assert [begin - end for begin, end in zip(began[1:], ended, strict=False)] == [2000, 2000]


@pytest.mark.parametrize(
    ("config", "attempts", "apart_ms"),
    [
        ({}, 4, 2000),
        ({"rebalance_max_retries": 2}, 2, 2000),
        ({"zookeeper_sync_time_ms": 500}, 4, 500),
        ({"zookeeper_sync_time_ms": 500, "rebalance_backoff_ms": 700}, 4, 700),
    ],
)
def test_after_the_last_attempt_a_consumer_owns_nothing_until_a_watch_fires(
    make_group, config, attempts, apart_ms
):
    group = make_group({"t": 1})
    group.write(*map(Create, OWNERS), Create("/consumers/g/owners/t/0", "other-0"))
    group.run_for(100)

    group.start("c", **config)
    group.run_for(60_000)

    began = [at for at, _, _ in group.events_of(RebalanceBegan)]
    assert [event for _, _, event in group.events_of(RebalanceFailed)] == [
        RebalanceFailed(attempts)
    ]
    assert len(began) == attempts
    assert began[1] - group.events_of(RebalanceEnded)[0][0] == apart_ms
    assert group.fetching() == {"c": []}

    group.write(Delete("/consumers/g/owners/t/0"))
    group.start("d")
    group.run_for(10_000)
    assert group.owners("t") == {0: "c-0"}


def test_changed_offsets_are_committed_by_interval_and_before_a_release(make_group):
    group = make_group({"t": 2})
    group.start("a", auto_commit_interval_ms=5000)
    group.run_for(1000)
    group.consumers["a"].consumed({("t", 0): 10, ("t", 1): 20, ("other", 0): 1})
    group.run_for(4500)

    assert group.node(paths.offset("g", "t", 0)) == "10"
    assert group.node(paths.offset("g", "t", 1)) == "20"
    assert group.node("/consumers/g/offsets/other") is None

    group.consumers["a"].consumed({("t", 1): 25})
    del group.sent[:]
    group.start("b", auto_commit_interval_ms=5000)
    group.run_for(1000)

    operations = [
        m.op for _, process, _, m in group.sent if process == "a" and isinstance(m, ClientOperation)
    ]
    commit = operations.index(SetData(paths.offset("g", "t", 1), "25"))
    assert commit < operations.index(Delete(paths.owner("g", "t", 1)))
    assert [op for op in operations if isinstance(op, SetData)] == [
        operations[commit]
    ]  # The offset of partition 0 did not change.


def test_without_auto_commit_nothing_is_committed(make_group):
    group = make_group({"t": 1})
    group.start("a", auto_commit_enable=False)
    group.run_for(1000)
    group.consumers["a"].consumed({("t", 0): 10})
    group.run_for(100_000)
    group.leave("a")
    group.run_for(1000)

    assert group.node("/consumers/g/offsets") is None


def test_a_new_owner_starts_at_the_committed_offset(make_group):
    group = make_group({"t": 1})
    group.start("b")
    group.run_for(1000)
    group.consumers["b"].consumed({("t", 0): 10})
    group.start("a")
    group.run_for(5000)
    del group.sent[:]

    group.consumers["a"].consumed({("t", 0): 11})
    group.leave("a")
    group.run_for(5000)

    assert group.node(paths.offset("g", "t", 0)) == "11"
    assert group.fetching() == {"b": [("t", 0)]}


def test_leaving_commits_and_deletes_all_nodes_of_the_consumer(make_group):
    group = make_group({"t": 2})
    group.start("c")
    group.run_for(1000)
    group.consumers["c"].consumed({("t", 0): 10})
    del group.events[:]

    group.leave("c")
    group.run_for(60_000)

    assert [event for _, _, event in group.events if not isinstance(event, WatchFired)] == [
        FetchersStopped((("t", 0), ("t", 1))),
        ShutDown(),
    ]
    assert group.owners("t") == {0: None, 1: None}
    assert group.ensemble[0].tree.nodes[IDS].children == set()
    assert group.node(paths.offset("g", "t", 0)) == "10"


def test_a_consumer_that_leaves_during_a_rebalance_claims_nothing(make_group):
    """The attempt fails, and the back-off after it is not shortened."""
    group = make_group({"t": 2})
    group.start("c")
    while not group.events_of(RebalanceBegan):
        group.run_for(1)
    group.leave("c")
    group.run_for(5000)

    assert [event for _, _, event in group.events] == [
        Registered(),
        RebalanceBegan(0),
        RebalanceEnded(0, False),
        WatchFired(CHILDREN_CHANGED, IDS),  # its own leave
        ShutDown(),
    ]
    assert group.events[3][0] - group.events[2][0] > 2000
    assert group.owners("t") == {0: None, 1: None}


def test_a_killed_consumers_partitions_are_claimed_after_its_session_expired(make_group):
    """The last ping is at 8,0xx ms, so the session expires at the first tick after 14,0xx ms."""
    group = make_group({"t": 4})
    group.start("a")
    group.start("b")
    group.run_for(10_000)
    assert group.owners("t")[0] == "a-0"
    pinged_ms = [at for at, process, _, m in group.sent if process == "a" and isinstance(m, Ping)][
        -1
    ]

    group.kill("a")
    group.run_for(10_000)

    assert 8000 < pinged_ms < 9000
    assert group.owners("t") == dict.fromkeys(range(4), "b-0")
    assert 15_000 < group.events_of(FetchersStarted)[-1][0] < 15_100


def test_new_partitions_make_all_consumers_rebalance(make_group):
    group = make_group({"t": 2})
    group.start("a")
    group.start("b")
    group.run_for(10_000)
    del group.events[:]

    group.ownership.add([("t", 2), ("t", 3)], group.network.now_ms)
    group.write(SetData(paths.topic("t"), paths.topic_data({p: [1] for p in range(4)})))
    group.run_for(10_000)

    fired = [(process, event) for _, process, event in group.events_of(WatchFired)]
    assert sorted(fired) == [
        (name, WatchFired(WatchType.NODE_DATA_CHANGED, paths.topic("t"))) for name in "ab"
    ]
    assert group.node(paths.owner("g", "t", 3)) == "b-0"


def test_without_brokers_a_consumer_owns_nothing_until_one_registers(make_group):
    group = make_group({"t": 1})
    group.write(Delete(paths.broker(1)))
    group.run_for(100)
    group.start("c")
    group.run_for(10_000)
    assert group.fetching() == {"c": []}
    assert group.events_of(RebalanceEnded)[-1][2] == RebalanceEnded(0, True)

    group.write(Create(paths.broker(2), paths.broker_data("b", 9092)))
    group.run_for(10_000)

    assert group.fetching() == {"c": [("t", 0)]}


def test_a_consumer_fetches_until_it_learns_of_its_expired_session(make_group):
    group = make_group({"t": 1})
    group.start("c")
    group.run_for(1000)
    del group.events[:]

    group.network.cut("c", ["zk"])
    group.run_for(20_000)
    assert group.node(f"{IDS}/c") is None
    assert group.fetching() == {"c": [("t", 0)]}
    assert group.events == []
    group.network.heal("c")
    group.run_for(20_000)

    events = [event for _, _, event in group.events]
    assert events[:4] == [
        SessionExpired(),
        Registered(),
        RebalanceBegan(0),
        FetchersStopped((("t", 0),)),
    ]
    assert group.fetching() == {"c": [("t", 0)]}
    assert group.owners("t") == {0: "c-0"}


def test_a_session_that_expires_before_the_first_listener_causes_no_rebalance(make_group):
    """The registration is repeated in the next session."""
    group = make_group({"t": 1})
    group.start("c")
    group.run_for(2)  # connected
    group.network.cut("c", ["zk"])
    group.run_for(20_000)
    group.network.heal("c")
    group.run_for(20_000)

    assert [event for _, _, event in group.events[:3]] == [
        SessionExpired(),
        Registered(),
        RebalanceBegan(0),
    ]
    assert len(group.events_of(Registered)) == 1
    assert group.fetching() == {"c": [("t", 0)]}
    group.start("b")
    group.run_for(20_000)
    assert group.fetching() == {"c": [], "b": [("t", 0)]}


def test_after_two_expiries_in_a_row_a_consumer_misses_all_changes(make_group):
    """KAFKA-1387: the consumer registers after the first expiry.  After the second one it waits
    until its node, which its own live session owns, is deleted; meanwhile it handles no watch.
    """
    group = make_group({"t": 2})
    group.start("c")
    group.run_for(1000)
    group.network.cut("c", ["zk"])
    group.run_for(20_000)
    group.network.heal("c")
    while not group.events_of(SessionExpired):
        group.run_for(1)
    group.run_for(1)  # The second session is open, but the reply is in transit.
    group.network.cut("c", ["zk"])
    group.run_for(20_000)
    group.network.heal("c")
    group.run_for(20_000)
    assert len(group.events_of(SessionExpired)) == 2
    assert group.fetching() == {"c": [("t", 0), ("t", 1)]}
    del group.sent[:]

    group.start("d")
    group.run_for(60_000)

    attempts = [
        message
        for _, process, _, message in group.sent
        if process == "c"
        and isinstance(message, ClientOperation)
        and isinstance(message.op, Create)
    ]
    assert len(attempts) == 10
    assert group.events_of(RebalanceFailed)[-1][1] == "d"
    assert group.fetching() == {"c": [("t", 0), ("t", 1)], "d": []}
