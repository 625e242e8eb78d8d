"""What librdkafka's consumer does otherwise than Java's."""

from coordinator_core.client import (
    LIBRARIES,
    Closed,
    Consumer,
    ConsumerConfig,
    Measured,
    Metadata,
    Raised,
)
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import (
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    OffsetFetch,
)
from coordinator_core.records import decode_subscription
from tests.core.client.world import NEVER, World, once

ALL = tuple(("orders", n) for n in range(4))
COOPERATIVE = {"assignors": ("cooperative-sticky",)}


def consumer(name="a", **config):
    settings = {"session_timeout_ms": 10000, "max_poll_interval_ms": 30000, **config}
    return Consumer(
        ConsumerConfig(group_id="g", client_id=name, **settings), LIBRARIES["librdkafka-2"]
    )


def world_of(*names, to_ms=1000, **config):
    world = World("4.1", group_initial_rebalance_delay_ms=100)
    for number, name in enumerate(names):
        world.run(number)
        world.add(consumer(name, **config), name)
    world.run(to_ms)
    return world


def test_the_way_to_the_first_assignment():
    world = world_of("a")

    assert world.asked("a") == [
        "FindCoordinator", "Metadata", "JoinGroup", "JoinGroup", "Metadata", "SyncGroup",
        "Heartbeat", "OffsetFetch",
    ]  # fmt: skip
    assert [join.reason for join in world.of("a", JoinGroup)] == [None, None]
    assert world.calls("a") == [("assigned", ALL)]


def test_the_first_heartbeat_comes_with_the_assignment():
    world = world_of("a", to_ms=8000)

    assert [ms for ms, _, r in world.requests if isinstance(r, Heartbeat)] == [112, 3112, 6112]


def test_an_eager_member_revokes_commits_and_rejoins():
    world = world_of("a")
    world.consume("a")
    world.add(consumer("b"), "b")
    world.run(8000)

    assert world.calls("a") == [("assigned", ALL), ("revoked", ALL), ("assigned", ALL[:2])]
    assert [commit.offsets[0] for commit in world.of("a", OffsetCommit)][:1] == [
        ("orders", 0, 7, "")
    ]
    metrics = world.consumers["a"].metrics
    assert (metrics.rebalances, metrics.rebalance_cnt) == (2, 3)


def test_a_cooperative_member_revokes_takes_and_rejoins():
    world = world_of("a", **COOPERATIVE)
    world.add(consumer("b", **COOPERATIVE), "b")
    world.run(12000)

    assert world.calls("a") == [
        ("assigned", ALL), ("revoked", ALL[2:]), ("assigned", ()), ("assigned", ()),
    ]  # fmt: skip
    assert world.calls("b") == [("assigned", ()), ("assigned", ALL[2:])]


def test_it_joins_and_syncs_while_the_application_is_away():
    world = world_of("a")
    world.call("a", "process")
    world.add(consumer("b"), "b")
    world.run(8000)

    assert world.calls("a") == [("assigned", ALL)]
    assert world.consumers["a"].owned == ALL
    world.call("a", "poll")
    world.run(9000)
    assert world.calls("a")[1:] == [("revoked", ALL), ("assigned", ALL[:2])]


def test_an_application_that_does_not_poll_is_told_when_it_is_back():
    world = world_of("a", **COOPERATIVE)
    world.call("a", "process")
    world.run(40000)
    world.call("a", "poll")
    world.run(45000)

    (left,) = [ms for ms, _, r in world.requests if isinstance(r, LeaveGroup)]
    assert 31000 < left <= 31500
    assert world.of("a", LeaveGroup)[0].members[0].reason is None
    assert [e.text for e in world.of("a", Raised)] == ["Application maximum poll interval exceeded"]
    assert world.calls("a")[1:] == [("lost", ALL), ("assigned", ALL)]


def test_nothing_is_committed_of_what_is_lost():
    world = world_of("a", auto_commit_interval_ms=60000)
    world.consume("a")
    world.call("a", "process")
    world.run(40000)
    world.call("a", "poll")
    world.run(45000)

    assert world.of("a", OffsetCommit) == []


def test_a_static_member_that_does_not_poll_comes_back_with_its_partitions():
    world = World("4.1", group_initial_rebalance_delay_ms=0)
    world.add(consumer(instance_id="i"), "a")
    world.run(1000)
    world.call("a", "process")
    world.run(33000)
    world.call("a", "poll")
    world.run(34000)

    assert world.of("a", LeaveGroup) == []
    assert world.calls("a")[1:] == [("lost", ALL), ("assigned", ALL)]


def test_a_session_without_answers_is_given_up_by_itself():
    world = world_of("a")
    world.connections["a"].busy = "never answered"
    world.run(12000)

    assert world.calls("a")[1:] == [("lost", ALL)]
    assert world.consumers["a"].member_id == ""


def test_one_heartbeat_is_under_way_at_a_time():
    world = world_of("a")
    world.intercept = once(Heartbeat, NEVER)
    world.run(10000)

    assert [ms for ms, _, r in world.requests if isinstance(r, Heartbeat)] == [112, 3112]


def test_offsets_are_fetched_when_commits_have_ended():
    world = world_of("a", "b", to_ms=8000, **COOPERATIVE)
    world.consume("a")
    world.intercept = once(OffsetCommit, NEVER)
    world.run(13000)
    fetched = len(world.of("a", OffsetFetch))
    world.call("b", "close")
    world.run(20000)

    assert world.calls("a")[-1] == ("assigned", (ALL[1], ALL[3]))
    assert len(world.of("a", OffsetFetch)) == fetched
    world.run(60000)
    assert len(world.of("a", OffsetFetch)) == fetched + 1


def test_close_revokes_commits_and_leaves():
    world = world_of("a")
    world.consume("a")
    world.call("a", "close")
    world.run(2000)

    assert world.asked("a")[-2:] == ["OffsetCommit", "LeaveGroup"]
    assert world.calls("a")[-1] == ("revoked", ALL)
    assert world.log[-1][2] == Closed()


def test_a_static_member_closes_without_leaving():
    world = World("4.1", group_initial_rebalance_delay_ms=0)
    world.add(consumer(instance_id="i"), "a")
    world.run(1000)
    world.call("a", "close")
    world.run(2000)

    assert (world.of("a", LeaveGroup), world.log[-1][2]) == ([], Closed())
    assert world.calls("a")[-1] == ("revoked", ALL)


def test_a_close_while_it_joins_leaves_after_the_join():
    world = world_of("a", "b", to_ms=8000)
    world.call("b", "process")  # it would revoke, but nobody asks it
    world.add(consumer("c"), "c")
    world.run(12000)
    world.call("a", "close")
    world.run(13000)
    assert "a" in world.consumers
    world.call("b", "poll")
    world.run(14000)

    assert "a" not in world.consumers
    assert world.calls("a")[-1] == ("revoked", ALL[:2])


def test_a_fenced_member_is_told_and_nothing_is_revoked():
    world = World("4.1", group_initial_rebalance_delay_ms=0)
    world.add(consumer(instance_id="i"), "a")
    world.run(1000)
    world.add(consumer("twin", instance_id="i"), "twin")
    world.run(9000)

    raised = world.of("a", Raised)
    assert [(e.error, e.is_fatal) for e in raised] == [(Errors.FENCED_INSTANCE_ID, True)]
    assert world.calls("a") == [("assigned", ALL)]
    assert world.consumers["a"].owned == ()


def test_any_member_rejoins_when_topics_grow():
    world = world_of("a", "b", to_ms=8000, metadata_max_age_ms=20000)
    world.topics["orders"] = 6
    world.run(60000)

    assert len(world.calls("a")[-1][1]) == 3
    causes = [e.fields["cause"] for _, e in world.events if e.kind == "REBALANCE_START"]
    assert causes[-1] in ("LEADER_REJOIN", "METADATA_CHANGE")


def test_a_leader_asks_for_topics_before_each_assignment():
    world = world_of("a")
    world.topics["orders"] = 6
    world.add(consumer("b"), "b")
    world.run(8000)

    assert len(world.calls("a")[-1][1]) == 3
    assert len(world.of("a", Metadata)) == 3


def test_a_new_subscription_waits_for_the_rebalance_that_runs():
    world = World("4.1", {"orders": 2, "payments": 1}, group_initial_rebalance_delay_ms=0)
    world.add(consumer(), "a")
    world.run(6)
    world.do("a", world.consumers["a"].subscribe(["payments"], world.now_ms))
    world.run(5000)

    assert world.calls("a")[-1] == ("assigned", (("payments", 0),))
    assert world.consumers["a"].owned == (("payments", 0),)


def test_a_cooperative_member_changes_its_subscription_without_giving_up_the_rest():
    world = World("4.1", {"orders": 2, "payments": 1}, group_initial_rebalance_delay_ms=0)
    world.add(consumer(**COOPERATIVE), "a", ["orders", "payments"])
    world.run(1000)
    world.do("a", world.consumers["a"].subscribe(["payments"], world.now_ms))
    world.run(5000)

    assert world.calls("a")[1:] == [("revoked", ALL[:2]), ("assigned", ())]


def test_unsubscribe_leaves():
    world = world_of("a")
    world.call("a", "unsubscribe")
    world.run(5000)

    assert world.calls("a")[-1] == ("revoked", ALL)
    assert len(world.of("a", LeaveGroup)) == 1
    assert world.asked("a")[-1] == "LeaveGroup"


def test_a_commit_of_the_application_that_fails_is_told():
    world = world_of("a", enable_auto_commit=False)
    world.broker(world.coordinator.unload(world.now_ms))
    world.call("a", "commit")
    world.run(1500)

    assert [(e.error, e.is_fatal) for e in world.of("a", Raised)] == [
        (Errors.ILLEGAL_GENERATION, False)
    ]


def test_it_writes_subscriptions_its_own_way():
    world = world_of("a", **COOPERATIVE)
    world.add(consumer("b", **COOPERATIVE), "b")
    world.run(12000)

    first, last = (
        decode_subscription(world.of("a", JoinGroup)[at].protocols[0][1]) for at in (0, -1)
    )
    assert (first.version, first.user_data, first.rack_id) == (3, b"", "")
    assert first.generation_id == -1
    assert last.owned_partitions == [("orders", [0, 1])]
    assert last.generation_id == 2


def test_heartbeats_skipped_are_as_if_they_had_been_sent():
    plain, skipping = (world_of("a", enable_auto_commit=False) for _ in range(2))
    one, other = plain.consumers["a"], skipping.consumers["a"]
    assert other.is_idle

    plain.run(100_000)
    last_ms = other.skip_heartbeats(100_000)

    sent = [ms for ms, _, r in plain.requests if isinstance(r, Heartbeat)]
    assert last_ms == sent[-1] == 99112
    assert other.next_deadline_ms() == one.next_deadline_ms() == 102112
    assert other.metrics.heartbeats == one.metrics.heartbeats


def test_a_rebalance_is_measured_from_the_first_join_to_the_sync():
    world = world_of("a")

    steps = {m.step: m.duration_ms for m in world.of("a", Measured)}
    assert steps["rebalance"] == 108
