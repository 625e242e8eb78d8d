"""The Java client's poll loop, heartbeat thread and listener, rule by rule."""

from itertools import pairwise

import pytest

from coordinator_core.client import (
    LIBRARIES,
    Closed,
    Consumer,
    ConsumerConfig,
    Disconnect,
    FindCoordinator,
    FindCoordinatorResponse,
    Measured,
    MemberState,
    MemberStateChanged,
    Metadata,
    Raised,
    Send,
)
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import (
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    SyncGroup,
)
from coordinator_core.records import decode_subscription
from tests.core.client.world import LOST, NEVER, World, once

ALL = tuple(("orders", n) for n in range(4))


def consumer(name="a", library="java-4.1", **config):
    settings = {"session_timeout_ms": 10000, "max_poll_interval_ms": 30000, **config}
    return Consumer(ConsumerConfig(group_id="g", client_id=name, **settings), LIBRARIES[library])


def world_of(*names, library="java-4.1", to_ms=10000, **config):
    """Members of one group that has become stable by ``to_ms``; joined in order of the names."""
    world = World("4.1", group_initial_rebalance_delay_ms=100)
    for number, name in enumerate(names):
        world.run(number)
        world.add(consumer(name, library, **config), name)
    world.run(to_ms)
    return world


def reasons(world, name):
    return [join.reason for join in world.of(name, JoinGroup)]


# The loop.


def test_the_way_to_the_first_assignment():
    world = world_of("a", to_ms=1000)

    assert world.asked("a") == [
        "FindCoordinator", "Metadata", "JoinGroup", "JoinGroup", "SyncGroup", "OffsetFetch",
    ]  # fmt: skip
    assert [e.state.name for e in world.of("a", MemberStateChanged)] == [
        "PREPARING_REBALANCE", "PREPARING_REBALANCE", "COMPLETING_REBALANCE", "STABLE",
    ]  # fmt: skip
    assert reasons(world, "a") == [None, "need to re-join with the given member-id: a-1"]
    assert world.calls("a") == [("assigned", ALL)]
    assert world.consumers["a"].positions == dict.fromkeys(ALL, 0)


@pytest.mark.parametrize(
    ("library", "waits"),
    [("java-4.1", [100, 200, 400, 800, 1000]), ("java-2.5", [100, 100, 100, 100, 100])],
)
def test_a_coordinator_that_is_not_available_is_asked_for_with_backoff(library, waits):
    world = World("4.1")
    answer = FindCoordinatorResponse(Errors.COORDINATOR_NOT_AVAILABLE)
    world.intercept = lambda name, r: answer if isinstance(r, FindCoordinator) else None
    world.add(consumer(library=library), "a")
    world.run(4000)

    asked = [ms for ms, _, r in world.requests if isinstance(r, FindCoordinator)]
    gaps = [b - a - 2 for a, b in pairwise(asked)]
    assert gaps[:5] == waits


def test_a_second_member_makes_the_first_revoke_and_rejoin():
    world = world_of("a", to_ms=1000)
    world.add(consumer("b"), "b")
    world.run(8000)

    assert world.calls("a") == [("assigned", ALL), ("revoked", ALL), ("assigned", ALL[:2])]
    assert world.calls("b") == [("assigned", ALL[2:])]
    assert reasons(world, "a")[-1] == "group is already rebalancing"


def test_a_lost_connection_is_no_lost_membership():
    world = world_of("a", to_ms=1000)
    world.at(3106, lambda: world.do("a", world.consumers["a"].disconnected(1, world.now_ms)))
    world.run(9000)

    assert world.asked("a").count("FindCoordinator") == 2
    assert world.asked("a").count("JoinGroup") == 2
    assert world.calls("a") == [("assigned", ALL)]


def test_older_clients_give_no_reasons():
    world = world_of("a", to_ms=1000, library="java-2.5")

    assert reasons(world, "a") == [None, None]


# Listener.


def test_before_kip_429_every_rejoin_is_told_even_of_nothing():
    world = world_of("a", to_ms=1000, library="java-2.3")

    assert world.calls("a") == [("revoked", ()), ("assigned", ALL)]


def test_a_cooperative_member_keeps_what_it_may_keep():
    world = world_of("a", to_ms=1000, assignors=("cooperative-sticky",))
    world.add(consumer("b", assignors=("cooperative-sticky",)), "b")
    world.run(12000)

    assert world.calls("a") == [
        ("assigned", ALL), ("revoked", ALL[2:]), ("assigned", ()), ("assigned", ()),
    ]  # fmt: skip
    assert world.calls("b") == [("assigned", ()), ("assigned", ALL[2:])]
    assert "need to revoke partitions and re-join" in reasons(world, "a")


def test_a_cooperative_member_revokes_topics_it_no_longer_wants_before_it_joins():
    world = World("4.1", {"orders": 2, "payments": 2}, group_initial_rebalance_delay_ms=0)
    world.add(consumer(assignors=("cooperative-sticky",)), "a", ["orders", "payments"])
    world.run(1000)
    world.do("a", world.consumers["a"].subscribe(["payments"], world.now_ms))
    world.run(2000)

    paid = (("payments", 0), ("payments", 1))
    assert world.calls("a")[1:] == [("revoked", ALL[:2]), ("assigned", ())]
    assert world.consumers["a"].owned == paid
    assert reasons(world, "a")[-1] == "subscription has changed"


def test_an_eager_member_that_changes_its_subscription_revokes_everything():
    world = World("4.1", {"orders": 2, "payments": 1}, group_initial_rebalance_delay_ms=0)
    world.add(consumer(), "a")
    world.run(1000)
    world.do("a", world.consumers["a"].subscribe(["payments"], world.now_ms))
    world.run(2000)

    assert world.calls("a")[1:] == [("revoked", ALL[:2]), ("assigned", (("payments", 0),))]


def test_an_assignment_that_does_not_match_the_subscription_is_not_taken():
    world = World("4.1", {"orders": 2, "payments": 1}, group_initial_rebalance_delay_ms=0)
    a = world.add(consumer(), "a")
    world.intercept = lambda name, r: (
        world.do("a", a.subscribe(["payments"], world.now_ms)) if isinstance(r, SyncGroup) else None
    )
    world.run(1000)

    assert world.calls("a") == [("revoked", ()), ("assigned", (("payments", 0),))]
    assert reasons(world, "a")[-1] == "received assignment does not match the current subscription"


def test_a_generation_that_was_lost_is_told_as_lost():
    world = world_of("a", to_ms=1000, assignors=("cooperative-sticky",))
    world.broker(world.coordinator.unload(world.now_ms))
    world.run(9000)

    assert world.calls("a") == [("assigned", ALL), ("lost", ALL), ("assigned", ALL)]


def test_a_long_listener_is_outside_of_the_rebalance_latency():
    world = World("4.1", group_initial_rebalance_delay_ms=100)
    world.listener_ms["a"] = 500
    world.add(consumer(), "a")
    world.run(5000)

    steps = {m.step: m.duration_ms for m in world.of("a", Measured)}
    assert steps["rebalance"] == 106
    assert steps["rebalance-with-callbacks"] == 606
    assert steps["listener"] == 500
    assert world.consumers["a"].metrics.rebalance_latencies_ms == [106]
    assert world.consumers["a"].metrics.rebalance_cnt == 1


# Heartbeats, sessions, the poll interval.


def test_heartbeats_come_an_interval_after_the_join_and_after_each_other():
    world = world_of("a", to_ms=12000)

    assert [ms for ms, _, r in world.requests if isinstance(r, Heartbeat)] == [3106, 6106, 9106]


def test_a_session_without_answers_makes_it_look_for_the_coordinator():
    world = world_of("a", to_ms=1000)
    world.connections["a"].busy = "never answered"
    world.run(10200)

    assert [(ms, e.node) for ms, _, e in world.log if isinstance(e, Disconnect)] == [(10106, 1)]
    assert world.asked("a")[-1] == "FindCoordinator"


def test_a_request_that_times_out_takes_its_connection_with_it():
    world = world_of("a", to_ms=1000, session_timeout_ms=45000, request_timeout_ms=5000)
    world.intercept = once(Heartbeat, NEVER)
    world.run(9000)

    assert [(ms, e.node) for ms, _, e in world.log if isinstance(e, Disconnect)] == [(8106, 1)]
    assert world.asked("a").count("FindCoordinator") == 2


def test_a_heartbeat_between_join_and_sync_is_told_nothing_new():
    world = World("4.1", group_initial_rebalance_delay_ms=0)
    world.add(consumer(), "a")
    held = []

    def intercept(name, request):
        if isinstance(request, SyncGroup):
            held.append(request)
            return NEVER
        return (
            HeartbeatResponse(Errors.REBALANCE_IN_PROGRESS) if type(request) is Heartbeat else None
        )

    world.intercept = intercept
    world.run(4000)
    world.intercept = None
    world._arrive("a", Send(held[0], 1))
    world.run(5000)

    assert world.calls("a") == [("assigned", ALL)]
    assert len(world.of("a", JoinGroup)) == 2


def test_an_application_that_does_not_poll_leaves_the_group():
    world = world_of("a", "b", to_ms=10000)
    world.call("a", "process")
    world.run(45000)
    world.call("a", "poll")
    world.run(60000)

    (left,) = world.of("a", LeaveGroup)
    assert [ms for ms, _, r in world.requests if isinstance(r, LeaveGroup)] == [40000]
    assert left.members[0].reason == "consumer poll timeout has expired."
    assert world.calls("a")[-2:] == [("lost", ALL[:2]), ("assigned", ALL[:2])]


def test_a_static_member_that_does_not_poll_says_nothing():
    world = World("4.1", group_initial_rebalance_delay_ms=0)
    world.add(consumer(instance_id="i"), "a")
    world.run(1000)
    world.call("a", "process")
    world.run(35000)
    world.call("a", "poll")
    world.run(36000)

    assert world.of("a", LeaveGroup) == []
    assert world.calls("a") == [("assigned", ALL), ("lost", ALL), ("assigned", ALL)]


def test_before_kip_62_an_application_that_does_not_poll_sends_no_heartbeat():
    world = World("2.0", group_initial_rebalance_delay_ms=0)
    world.add(consumer(library="java-0.9"), "a")
    world.run(7000)
    world.call("a", "process")
    world.run(30000)

    assert [ms for ms, _, r in world.requests if isinstance(r, Heartbeat)] == [3004, 6004]
    assert world.coordinator.groups["g"].members == {}


def test_an_answer_to_a_join_waits_while_nobody_serves_the_network():
    world = world_of("a", to_ms=1000)
    world.at(1002, world.call, "a", "process")
    b = consumer("b")
    world.add(b, "b")
    world.at(1003, world.call, "b", "process")
    world.run(9000)

    assert (b.state, len(world.of("b", JoinGroup))) == (MemberState.PREPARING_REBALANCE, 1)
    world.call("b", "poll")
    assert len(world.of("b", JoinGroup)) == 2


# Commits.


def test_what_was_consumed_is_committed_now_and_then():
    world = world_of("a", to_ms=1000)
    world.consume("a", 7)
    world.run(12000)

    assert [ms for ms, _, r in world.requests if isinstance(r, OffsetCommit)] == [5108, 10108]
    assert world.of("a", OffsetCommit)[0].offsets == tuple((*p, 7, "") for p in ALL)


def test_it_commits_before_it_revokes_and_rejoins():
    world = world_of("a", to_ms=1000)
    world.consume("a")
    world.add(consumer("b"), "b")
    world.run(4000)

    kinds = [k for k in world.asked("a") if k != "Heartbeat"]
    assert kinds[-4:] == ["OffsetCommit", "JoinGroup", "SyncGroup", "OffsetFetch"]


def test_a_member_that_is_rebalancing_may_not_commit():
    settings = {"assignors": ("cooperative-sticky",), "enable_auto_commit": False}
    world = world_of("a", to_ms=1000, **settings)
    world.add(consumer("b", **settings), "b")
    world.intercept = once(SyncGroup, NEVER)
    world.run(3112)
    assert world.consumers["a"].state is not MemberState.STABLE
    world.call("a", "commit")
    world.run(9000)

    assert [(e.error, e.is_fatal) for e in world.of("a", Raised)] == [
        (Errors.REBALANCE_IN_PROGRESS, False)
    ]
    assert world.of("a", OffsetCommit) == []


def test_a_commit_that_fails_is_told():
    world = world_of("a", to_ms=1000, enable_auto_commit=False)
    world.broker(world.coordinator.unload(world.now_ms))
    world.call("a", "commit")
    world.run(1500)

    raised = world.of("a", Raised)
    assert [(e.error, e.is_fatal) for e in raised] == [(Errors.ILLEGAL_GENERATION, False)]


# The end.


def test_close_commits_revokes_and_leaves():
    world = world_of("a", to_ms=1000)
    world.consume("a")
    world.call("a", "close")
    world.run(2000)

    assert world.asked("a")[-2:] == ["OffsetCommit", "LeaveGroup"]
    assert world.of("a", LeaveGroup)[0].members[0].reason == "the consumer is being closed"
    assert world.calls("a")[-1] == ("revoked", ALL)
    assert world.log[-1] == (1004, "a", Closed())


def test_a_static_member_closes_without_leaving():
    world = World("4.1", group_initial_rebalance_delay_ms=0)
    world.add(consumer(instance_id="i", enable_auto_commit=False), "a")
    world.run(1000)
    world.call("a", "close")

    assert world.calls("a")[-1] == ("revoked", ALL)
    world.run(1001)
    assert (world.of("a", LeaveGroup), world.log[-1][2]) == ([], Closed())


def test_a_member_that_closes_in_a_rebalance_has_lost_what_it_owned():
    world = world_of("a", to_ms=1000, assignors=("cooperative-sticky",))
    world.add(consumer("b", assignors=("cooperative-sticky",)), "b")
    world.intercept = once(SyncGroup, LOST)
    world.run(3112)
    assert world.consumers["a"].state is not MemberState.STABLE
    world.call("a", "close")

    assert world.calls("a")[-1] == ("lost", ALL)


def test_a_close_within_a_listener_call_waits_for_it():
    world = World("4.1", group_initial_rebalance_delay_ms=0)
    world.listener_ms["a"] = 300
    world.add(consumer(), "a")
    world.at(100, world.call, "a", "close")
    world.run(2000)

    assert [kind for kind, _ in world.calls("a")] == ["assigned", "revoked"]
    assert world.log[-1][2] == Closed()


def test_unsubscribe_leaves_and_stays_away():
    world = world_of("a", to_ms=1000)
    world.call("a", "unsubscribe")
    world.run(9000)

    (left,) = world.of("a", LeaveGroup)
    assert left.members[0].reason == "the consumer unsubscribed from all topics"
    assert world.calls("a") == [("assigned", ALL), ("revoked", ALL)]
    assert world.asked("a")[-1] == "LeaveGroup"


# Topics.


def test_the_leader_rejoins_when_topics_grow_and_nobody_else_does():
    world = world_of("a", "b", to_ms=1000, metadata_max_age_ms=20000)
    world.topics["orders"] = 6
    world.run(40000)

    assert reasons(world, "a")[-1] == "cached metadata has changed"
    assert reasons(world, "b")[-1] == "group is already rebalancing"
    assert world.calls("b")[-1] == ("assigned", tuple(("orders", n) for n in (3, 4, 5)))


def test_a_topic_that_does_not_exist_is_asked_for_again_and_again():
    world = World("4.1", {"other": 1}, group_initial_rebalance_delay_ms=0)
    world.add(consumer(), "a")
    world.run(2000)
    world.topics["orders"] = 4
    world.run(8000)

    assert world.asked("a").count("Metadata") > 3
    assert world.calls("a")[-1] == ("assigned", ALL)


def test_a_pattern_looks_at_topics_before_each_join():
    world = World("4.1", group_initial_rebalance_delay_ms=0)
    world.add(consumer(), "a", is_pattern=True)
    world.run(1000)
    world.topics["orders"] = 6
    world.add(consumer("b"), "b")
    world.run(5000)

    assert len(world.of("a", Metadata)) == 2
    assert len(world.calls("a")[-1][1]) == 3


# What it writes.


@pytest.mark.parametrize(
    ("library", "version", "user_data"),
    [
        ("java-4.1", 3, None),
        ("java-2.5", 1, None),
        ("java-2.0", 0, None),
        ("kafka-python-3", 0, b""),
    ],
)
def test_the_subscription_is_of_the_librarys_version(library, version, user_data):
    world = world_of("a", to_ms=1000, library=library, assignors=("range",))

    ((name, data),) = world.of("a", JoinGroup)[-1].protocols
    read = decode_subscription(data)
    assert (name, read.version, read.topics) == ("range", version, ["orders"])
    assert read.user_data == user_data


def test_a_sticky_member_says_what_it_had():
    world = world_of("a", to_ms=1000, assignors=("sticky",))
    world.add(consumer("b", assignors=("sticky",)), "b")
    world.run(8000)

    read = decode_subscription(world.of("a", JoinGroup)[-1].protocols[0][1])
    assert (read.owned_partitions, read.generation_id) == ([], 1)
    assert read.user_data == bytes.fromhex(
        "00000001" "0006" "6f7264657273" "00000004"
        "00000000" "00000001" "00000002" "00000003" "00000001"
    )  # fmt: skip


def test_heartbeats_skipped_are_as_if_they_had_been_sent():
    plain, skipping = world_of("a", to_ms=4000), world_of("a", to_ms=4000)
    one, other = plain.consumers["a"], skipping.consumers["a"]
    assert other.is_idle
    assert other.next_other_deadline_ms() == 5108  # the automatic commit

    plain.run(5100)
    last_ms = other.skip_heartbeats(5100)

    assert (last_ms, other.next_deadline_ms()) == (None, one.next_deadline_ms())


def test_hours_of_heartbeats_are_skipped_at_once():
    settings = {"enable_auto_commit": False, "metadata_max_age_ms": 10**9}
    plain, skipping = world_of("a", to_ms=4000, **settings), world_of("a", to_ms=4000, **settings)
    one, other = plain.consumers["a"], skipping.consumers["a"]

    plain.run(100_000)
    last_ms = other.skip_heartbeats(100_000)

    sent = [ms for ms, _, r in plain.requests if isinstance(r, Heartbeat)]
    assert last_ms == sent[-1] == 99106
    assert other.next_deadline_ms() == one.next_deadline_ms() == 102106
    assert other.metrics.heartbeats == one.metrics.heartbeats


def test_a_fenced_member_hears_of_it_once_and_is_out_of_poll():
    world = World("4.1", group_initial_rebalance_delay_ms=0)
    world.add(consumer("a", instance_id="i"), "a")
    world.run(1000)
    world.add(consumer("twin", instance_id="i"), "twin")
    world.run(20000)

    raised = world.of("a", Raised)
    assert [(e.error, e.is_fatal) for e in raised] == [(Errors.FENCED_INSTANCE_ID, True)]
    assert world.calls("twin") == [("assigned", ALL)]
