"""Behavior of librdkafka's consumer that differs from Java's."""

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
from tests.core.client.harness import NEVER, ClientHarness, once

ALL = tuple(("orders", n) for n in range(4))
COOPERATIVE = {"assignors": ("cooperative-sticky",)}


def consumer(name="a", **config):
    settings = {"session_timeout_ms": 10000, "max_poll_interval_ms": 30000, **config}
    return Consumer(
        ConsumerConfig(group_id="g", client_id=name, **settings), LIBRARIES["librdkafka-2"]
    )


def harness_of(*names, to_ms=1000, **config):
    harness = ClientHarness("4.1", group_initial_rebalance_delay_ms=100)
    for number, name in enumerate(names):
        harness.run(number)
        harness.add(consumer(name, **config), name)
    harness.run(to_ms)
    return harness


def test_the_requests_up_to_the_first_assignment():
    harness = harness_of("a")

    assert harness.request_names("a") == [
        "FindCoordinator", "Metadata", "JoinGroup", "JoinGroup", "Metadata", "SyncGroup",
        "Heartbeat", "OffsetFetch",
    ]  # fmt: skip
    assert [join.reason for join in harness.of("a", JoinGroup)] == [None, None]
    assert harness.calls("a") == [("assigned", ALL)]


def test_the_first_heartbeat_is_sent_with_the_assignment():
    harness = harness_of("a", to_ms=8000)

    assert [ms for ms, _, r in harness.requests if isinstance(r, Heartbeat)] == [112, 3112, 6112]


def test_an_eager_member_revokes_commits_and_rejoins():
    harness = harness_of("a")
    harness.consume("a")
    harness.add(consumer("b"), "b")
    harness.run(8000)

    assert harness.calls("a") == [("assigned", ALL), ("revoked", ALL), ("assigned", ALL[:2])]
    assert [commit.offsets[0] for commit in harness.of("a", OffsetCommit)][:1] == [
        ("orders", 0, 7, "")
    ]
    metrics = harness.consumers["a"].metrics
    assert (metrics.rebalances, metrics.rebalance_cnt) == (2, 3)


def test_a_cooperative_member_revokes_assigns_and_rejoins():
    harness = harness_of("a", **COOPERATIVE)
    harness.add(consumer("b", **COOPERATIVE), "b")
    harness.run(12000)

    assert harness.calls("a") == [
        ("assigned", ALL), ("revoked", ALL[:2]), ("assigned", ()), ("assigned", ()),
    ]  # fmt: skip
    assert harness.calls("b") == [("assigned", ()), ("assigned", ALL[:2])]


def test_a_member_joins_and_syncs_while_the_application_does_not_poll():
    harness = harness_of("a")
    harness.call("a", "process")
    harness.add(consumer("b"), "b")
    harness.run(8000)

    assert harness.calls("a") == [("assigned", ALL)]
    assert harness.consumers["a"].owned == ALL
    harness.call("a", "poll")
    harness.run(9000)
    assert harness.calls("a")[1:] == [("revoked", ALL), ("assigned", ALL[:2])]


def test_an_exceeded_poll_interval_is_reported_at_the_next_poll():
    harness = harness_of("a", **COOPERATIVE)
    harness.call("a", "process")
    harness.run(40000)
    harness.call("a", "poll")
    harness.run(45000)

    (left,) = [ms for ms, _, r in harness.requests if isinstance(r, LeaveGroup)]
    assert 31000 < left <= 31500
    assert harness.of("a", LeaveGroup)[0].members[0].reason is None
    assert [e.text for e in harness.of("a", Raised)] == [
        "Application maximum poll interval exceeded"
    ]
    assert harness.calls("a")[1:] == [("lost", ALL), ("assigned", ALL)]


def test_lost_partitions_are_not_committed():
    harness = harness_of("a", auto_commit_interval_ms=60000)
    harness.consume("a")
    harness.call("a", "process")
    harness.run(40000)
    harness.call("a", "poll")
    harness.run(45000)

    assert harness.of("a", OffsetCommit) == []


def test_a_static_member_keeps_its_partitions_over_an_exceeded_poll_interval():
    harness = ClientHarness("4.1", group_initial_rebalance_delay_ms=0)
    harness.add(consumer(instance_id="i"), "a")
    harness.run(1000)
    harness.call("a", "process")
    harness.run(33000)
    harness.call("a", "poll")
    harness.run(34000)

    assert harness.of("a", LeaveGroup) == []
    assert harness.calls("a")[1:] == [("lost", ALL), ("assigned", ALL)]


def test_a_session_without_responses_expires_at_the_client():
    harness = harness_of("a")
    harness.connections["a"].busy = "no response"
    harness.run(12000)

    assert harness.calls("a")[1:] == [("lost", ALL)]
    assert harness.consumers["a"].member_id == ""


def test_at_most_one_heartbeat_is_in_flight():
    harness = harness_of("a")
    harness.intercept = once(Heartbeat, NEVER)
    harness.run(10000)

    assert [ms for ms, _, r in harness.requests if isinstance(r, Heartbeat)] == [112, 3112]


def test_offsets_are_fetched_after_commits_have_ended():
    harness = harness_of("a", "b", to_ms=8000, **COOPERATIVE)
    harness.consume("a")
    harness.intercept = once(OffsetCommit, NEVER)
    harness.run(13000)
    fetched = len(harness.of("a", OffsetFetch))
    harness.call("b", "close")
    harness.run(20000)

    assert harness.calls("a")[-1] == ("assigned", (ALL[1], ALL[3]))
    assert len(harness.of("a", OffsetFetch)) == fetched
    harness.run(60000)
    assert len(harness.of("a", OffsetFetch)) == fetched + 1


def test_close_revokes_commits_and_leaves():
    harness = harness_of("a")
    harness.consume("a")
    harness.call("a", "close")
    harness.run(2000)

    assert harness.request_names("a")[-2:] == ["OffsetCommit", "LeaveGroup"]
    assert harness.calls("a")[-1] == ("revoked", ALL)
    assert harness.log[-1][2] == Closed()


def test_a_static_member_closes_without_leaving():
    harness = ClientHarness("4.1", group_initial_rebalance_delay_ms=0)
    harness.add(consumer(instance_id="i"), "a")
    harness.run(1000)
    harness.call("a", "close")
    harness.run(2000)

    assert (harness.of("a", LeaveGroup), harness.log[-1][2]) == ([], Closed())
    assert harness.calls("a")[-1] == ("revoked", ALL)


def test_close_during_a_join_leaves_after_the_join():
    harness = harness_of("a", "b", to_ms=8000)
    harness.call("b", "process")  # The client's revoke callback waits for the next poll.
    harness.add(consumer("c"), "c")
    harness.run(12000)
    harness.call("a", "close")
    harness.run(13000)
    assert "a" in harness.consumers
    harness.call("b", "poll")
    harness.run(14000)

    assert "a" not in harness.consumers
    assert harness.calls("a")[-1] == ("revoked", ALL[:2])


def test_a_fenced_member_gets_a_fatal_error_and_revokes_nothing():
    harness = ClientHarness("4.1", group_initial_rebalance_delay_ms=0)
    harness.add(consumer(instance_id="i"), "a")
    harness.run(1000)
    harness.add(consumer("twin", instance_id="i"), "twin")
    harness.run(9000)

    raised = harness.of("a", Raised)
    assert [(e.error, e.is_fatal) for e in raised] == [(Errors.FENCED_INSTANCE_ID, True)]
    assert harness.calls("a") == [("assigned", ALL)]
    assert harness.consumers["a"].owned == ()


def test_every_member_rejoins_when_topics_grow():
    harness = harness_of("a", "b", to_ms=8000, metadata_max_age_ms=20000)
    harness.topics["orders"] = 6
    harness.run(60000)

    assert len(harness.calls("a")[-1][1]) == 3
    causes = [e.fields["cause"] for _, e in harness.events if e.kind == "REBALANCE_START"]
    assert causes[-1] in ("LEADER_REJOIN", "METADATA_CHANGE")


def test_the_leader_requests_metadata_before_each_assignment():
    harness = harness_of("a")
    harness.topics["orders"] = 6
    harness.add(consumer("b"), "b")
    harness.run(8000)

    assert len(harness.calls("a")[-1][1]) == 3
    assert len(harness.of("a", Metadata)) == 3


def test_a_new_subscription_waits_for_the_current_rebalance():
    harness = ClientHarness("4.1", {"orders": 2, "payments": 1}, group_initial_rebalance_delay_ms=0)
    harness.add(consumer(), "a")
    harness.run(6)
    harness.do("a", harness.consumers["a"].subscribe(["payments"], harness.now_ms))
    harness.run(5000)

    assert harness.calls("a")[-1] == ("assigned", (("payments", 0),))
    assert harness.consumers["a"].owned == (("payments", 0),)


def test_a_cooperative_member_keeps_topics_that_stay_subscribed():
    harness = ClientHarness("4.1", {"orders": 2, "payments": 1}, group_initial_rebalance_delay_ms=0)
    harness.add(consumer(**COOPERATIVE), "a", ["orders", "payments"])
    harness.run(1000)
    harness.do("a", harness.consumers["a"].subscribe(["payments"], harness.now_ms))
    harness.run(5000)

    assert harness.calls("a")[1:] == [("revoked", ALL[:2]), ("assigned", ())]


def test_unsubscribe_leaves():
    harness = harness_of("a")
    harness.call("a", "unsubscribe")
    harness.run(5000)

    assert harness.calls("a")[-1] == ("revoked", ALL)
    assert len(harness.of("a", LeaveGroup)) == 1
    assert harness.request_names("a")[-1] == "LeaveGroup"


def test_a_failed_manual_commit_is_raised():
    harness = harness_of("a", enable_auto_commit=False)
    harness.broker(harness.coordinator.unload(harness.now_ms))
    harness.call("a", "commit")
    harness.run(1500)

    assert [(e.error, e.is_fatal) for e in harness.of("a", Raised)] == [
        (Errors.ILLEGAL_GENERATION, False)
    ]


def test_subscriptions_have_librdkafkas_fields():
    harness = harness_of("a", **COOPERATIVE)
    harness.add(consumer("b", **COOPERATIVE), "b")
    harness.run(12000)

    first, last = (
        decode_subscription(harness.of("a", JoinGroup)[at].protocols[0][1]) for at in (0, -1)
    )
    assert (first.version, first.user_data, first.rack_id) == (3, b"", "")
    assert first.generation_id == -1
    assert last.owned_partitions == [("orders", [2, 3])]
    assert last.generation_id == 2


def test_skipping_heartbeats_leaves_the_same_state_as_sending_them():
    plain, skipping = (harness_of("a", enable_auto_commit=False) for _ in range(2))
    one, other = plain.consumers["a"], skipping.consumers["a"]
    assert other.is_idle

    plain.run(100_000)
    last_ms = other.skip_heartbeats(100_000)

    sent = [ms for ms, _, r in plain.requests if isinstance(r, Heartbeat)]
    assert last_ms == sent[-1] == 99112
    assert other.next_deadline_ms() == one.next_deadline_ms() == 102112
    assert other.metrics.heartbeats == one.metrics.heartbeats


def test_a_rebalance_is_measured_from_the_first_join_to_the_sync():
    harness = harness_of("a")

    steps = {m.step: m.duration_ms for m in harness.of("a", Measured)}
    assert steps["rebalance"] == 108
