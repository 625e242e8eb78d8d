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
from tests.core.client.harness import LOST, NEVER, ClientHarness, once

ALL = tuple(("orders", n) for n in range(4))


def consumer(name="a", library="java-4.1", **config):
    settings = {"session_timeout_ms": 10000, "max_poll_interval_ms": 30000, **config}
    return Consumer(ConsumerConfig(group_id="g", client_id=name, **settings), LIBRARIES[library])


def harness_of(*names, library="java-4.1", to_ms=10000, **config):
    """A group that is stable by ``to_ms``, whose members join in the order of the names."""
    harness = ClientHarness("4.1", group_initial_rebalance_delay_ms=100)
    for number, name in enumerate(names):
        harness.run(number)
        harness.add(consumer(name, library, **config), name)
    harness.run(to_ms)
    return harness


def reasons(harness, name):
    return [join.reason for join in harness.of(name, JoinGroup)]


# The loop.


def test_the_requests_up_to_the_first_assignment():
    harness = harness_of("a", to_ms=1000)

    assert harness.request_names("a") == [
        "FindCoordinator", "Metadata", "JoinGroup", "JoinGroup", "SyncGroup", "OffsetFetch",
    ]  # fmt: skip
    assert [e.state.name for e in harness.of("a", MemberStateChanged)] == [
        "PREPARING_REBALANCE", "PREPARING_REBALANCE", "COMPLETING_REBALANCE", "STABLE",
    ]  # fmt: skip
    assert reasons(harness, "a") == [None, "need to re-join with the given member-id: a-1"]
    assert harness.calls("a") == [("assigned", ALL)]
    assert harness.consumers["a"].positions == dict.fromkeys(ALL, 0)


@pytest.mark.parametrize(
    ("library", "waits"),
    [("java-4.1", [100, 200, 400, 800, 1000]), ("java-2.5", [100, 100, 100, 100, 100])],
)
def test_find_coordinator_is_retried_with_backoff(library, waits):
    harness = ClientHarness("4.1")
    answer = FindCoordinatorResponse(Errors.COORDINATOR_NOT_AVAILABLE)
    harness.intercept = lambda name, r: answer if isinstance(r, FindCoordinator) else None
    harness.add(consumer(library=library), "a")
    harness.run(4000)

    times_ms = [ms for ms, _, r in harness.requests if isinstance(r, FindCoordinator)]
    gaps = [b - a - 2 for a, b in pairwise(times_ms)]
    assert gaps[:5] == waits


def test_a_second_member_makes_the_first_revoke_and_rejoin():
    harness = harness_of("a", to_ms=1000)
    harness.add(consumer("b"), "b")
    harness.run(8000)

    assert harness.calls("a") == [("assigned", ALL), ("revoked", ALL), ("assigned", ALL[:2])]
    assert harness.calls("b") == [("assigned", ALL[2:])]
    assert reasons(harness, "a")[-1] == "group is already rebalancing"


def test_a_member_survives_a_lost_connection():
    harness = harness_of("a", to_ms=1000)
    harness.at(
        3106, lambda: harness.do("a", harness.consumers["a"].disconnected(1, harness.now_ms))
    )
    harness.run(9000)

    assert harness.request_names("a").count("FindCoordinator") == 2
    assert harness.request_names("a").count("JoinGroup") == 2
    assert harness.calls("a") == [("assigned", ALL)]


def test_older_clients_send_no_reasons():
    harness = harness_of("a", to_ms=1000, library="java-2.5")

    assert reasons(harness, "a") == [None, None]


# Listener.


def test_before_kip_429_the_first_join_revokes_no_partitions():
    harness = harness_of("a", to_ms=1000, library="java-2.3")

    assert harness.calls("a") == [("revoked", ()), ("assigned", ALL)]


def test_a_cooperative_member_revokes_only_partitions_assigned_to_others():
    harness = harness_of("a", to_ms=1000, assignors=("cooperative-sticky",))
    harness.add(consumer("b", assignors=("cooperative-sticky",)), "b")
    harness.run(12000)

    assert harness.calls("a") == [
        ("assigned", ALL), ("revoked", ALL[2:]), ("assigned", ()), ("assigned", ()),
    ]  # fmt: skip
    assert harness.calls("b") == [("assigned", ()), ("assigned", ALL[2:])]
    assert "need to revoke partitions and re-join" in reasons(harness, "a")


def test_a_cooperative_member_revokes_unsubscribed_topics_before_it_joins():
    harness = ClientHarness("4.1", {"orders": 2, "payments": 2}, group_initial_rebalance_delay_ms=0)
    harness.add(consumer(assignors=("cooperative-sticky",)), "a", ["orders", "payments"])
    harness.run(1000)
    harness.do("a", harness.consumers["a"].subscribe(["payments"], harness.now_ms))
    harness.run(2000)

    payments = (("payments", 0), ("payments", 1))
    assert harness.calls("a")[1:] == [("revoked", ALL[:2]), ("assigned", ())]
    assert harness.consumers["a"].owned == payments
    assert reasons(harness, "a")[-1] == "subscription has changed"


def test_an_eager_member_that_changes_its_subscription_revokes_everything():
    harness = ClientHarness("4.1", {"orders": 2, "payments": 1}, group_initial_rebalance_delay_ms=0)
    harness.add(consumer(), "a")
    harness.run(1000)
    harness.do("a", harness.consumers["a"].subscribe(["payments"], harness.now_ms))
    harness.run(2000)

    assert harness.calls("a")[1:] == [("revoked", ALL[:2]), ("assigned", (("payments", 0),))]


def test_an_assignment_that_does_not_match_the_subscription_is_rejected():
    harness = ClientHarness("4.1", {"orders": 2, "payments": 1}, group_initial_rebalance_delay_ms=0)
    a = harness.add(consumer(), "a")
    harness.intercept = lambda name, r: (
        harness.do("a", a.subscribe(["payments"], harness.now_ms))
        if isinstance(r, SyncGroup)
        else None
    )
    harness.run(1000)

    assert harness.calls("a") == [("revoked", ()), ("assigned", (("payments", 0),))]
    assert (
        reasons(harness, "a")[-1] == "received assignment does not match the current subscription"
    )


def test_on_partitions_lost_is_called_after_the_generation_was_lost():
    harness = harness_of("a", to_ms=1000, assignors=("cooperative-sticky",))
    harness.broker(harness.coordinator.unload(harness.now_ms))
    harness.run(9000)

    assert harness.calls("a") == [("assigned", ALL), ("lost", ALL), ("assigned", ALL)]


def test_rebalance_latency_excludes_listener_calls():
    harness = ClientHarness("4.1", group_initial_rebalance_delay_ms=100)
    harness.listener_ms["a"] = 500
    harness.add(consumer(), "a")
    harness.run(5000)

    steps = {m.step: m.duration_ms for m in harness.of("a", Measured)}
    assert steps["rebalance"] == 106
    assert steps["rebalance-with-callbacks"] == 606
    assert steps["listener"] == 500
    assert harness.consumers["a"].metrics.rebalance_latencies_ms == [106]
    assert harness.consumers["a"].metrics.rebalance_cnt == 1


# Heartbeats, session, poll interval.


def test_heartbeats_are_one_interval_apart_from_the_join_on():
    harness = harness_of("a", to_ms=12000)

    assert [ms for ms, _, r in harness.requests if isinstance(r, Heartbeat)] == [3106, 6106, 9106]


def test_a_session_without_responses_makes_the_member_find_the_coordinator():
    harness = harness_of("a", to_ms=1000)
    harness.connections["a"].busy = "no response"
    harness.run(10200)

    assert [(ms, e.node) for ms, _, e in harness.log if isinstance(e, Disconnect)] == [(10106, 1)]
    assert harness.request_names("a")[-1] == "FindCoordinator"


def test_a_request_timeout_closes_the_connection():
    harness = harness_of("a", to_ms=1000, session_timeout_ms=45000, request_timeout_ms=5000)
    harness.intercept = once(Heartbeat, NEVER)
    harness.run(9000)

    assert [(ms, e.node) for ms, _, e in harness.log if isinstance(e, Disconnect)] == [(8106, 1)]
    assert harness.request_names("a").count("FindCoordinator") == 2


def test_rebalance_in_progress_between_join_and_sync_is_ignored():
    harness = ClientHarness("4.1", group_initial_rebalance_delay_ms=0)
    harness.add(consumer(), "a")
    held = []

    def intercept(name, request):
        if isinstance(request, SyncGroup):
            held.append(request)
            return NEVER
        return (
            HeartbeatResponse(Errors.REBALANCE_IN_PROGRESS) if type(request) is Heartbeat else None
        )

    harness.intercept = intercept
    harness.run(4000)
    harness.intercept = None
    harness._arrive("a", Send(held[0], 1))
    harness.run(5000)

    assert harness.calls("a") == [("assigned", ALL)]
    assert len(harness.of("a", JoinGroup)) == 2


def test_a_member_whose_application_does_not_poll_leaves():
    harness = harness_of("a", "b", to_ms=10000)
    harness.call("a", "process")
    harness.run(45000)
    harness.call("a", "poll")
    harness.run(60000)

    (left,) = harness.of("a", LeaveGroup)
    assert [ms for ms, _, r in harness.requests if isinstance(r, LeaveGroup)] == [40000]
    assert left.members[0].reason == "consumer poll timeout has expired."
    assert harness.calls("a")[-2:] == [("lost", ALL[:2]), ("assigned", ALL[:2])]


def test_a_static_member_whose_application_does_not_poll_sends_no_leave():
    harness = ClientHarness("4.1", group_initial_rebalance_delay_ms=0)
    harness.add(consumer(instance_id="i"), "a")
    harness.run(1000)
    harness.call("a", "process")
    harness.run(35000)
    harness.call("a", "poll")
    harness.run(36000)

    assert harness.of("a", LeaveGroup) == []
    assert harness.calls("a") == [("assigned", ALL), ("lost", ALL), ("assigned", ALL)]


@pytest.mark.parametrize(
    ("library", "left", "members"),
    [("aiokafka-0", 1, 0), ("kafkajs-2", 0, 0), ("sarama-1", 0, 1), ("franz-go-1", 0, 1)],
)
def test_what_a_library_does_while_its_application_is_slow(library, left, members):
    harness = harness_of("a", library=library, to_ms=1000, assignors=("range",))
    harness.call("a", "process")
    harness.run(60_000)

    assert len(harness.of("a", LeaveGroup)) == left
    assert len(harness.coordinator.groups["g"].members) == members


def test_before_kip_62_an_application_that_does_not_poll_sends_no_heartbeat():
    harness = ClientHarness("2.0", group_initial_rebalance_delay_ms=0)
    harness.add(consumer(library="java-0.9"), "a")
    harness.run(7000)
    harness.call("a", "process")
    harness.run(30000)

    assert [ms for ms, _, r in harness.requests if isinstance(r, Heartbeat)] == [3004, 6004]
    assert harness.coordinator.groups["g"].members == {}


def test_a_join_response_waits_until_the_application_polls():
    harness = harness_of("a", to_ms=1000)
    harness.at(1002, harness.call, "a", "process")
    b = consumer("b")
    harness.add(b, "b")
    harness.at(1003, harness.call, "b", "process")
    harness.run(9000)

    assert (b.state, len(harness.of("b", JoinGroup))) == (MemberState.PREPARING_REBALANCE, 1)
    harness.call("b", "poll")
    assert len(harness.of("b", JoinGroup)) == 2


# Commits.


def test_positions_are_committed_at_the_auto_commit_interval():
    harness = harness_of("a", to_ms=1000)
    harness.consume("a", 7)
    harness.run(12000)

    assert [ms for ms, _, r in harness.requests if isinstance(r, OffsetCommit)] == [5108, 10108]
    assert harness.of("a", OffsetCommit)[0].offsets == tuple((*p, 7, "") for p in ALL)


def test_a_member_commits_before_it_revokes_and_rejoins():
    harness = harness_of("a", to_ms=1000)
    harness.consume("a")
    harness.add(consumer("b"), "b")
    harness.run(4000)

    kinds = [k for k in harness.request_names("a") if k != "Heartbeat"]
    assert kinds[-4:] == ["OffsetCommit", "JoinGroup", "SyncGroup", "OffsetFetch"]


def test_a_rebalancing_member_must_not_commit():
    settings = {"assignors": ("cooperative-sticky",), "enable_auto_commit": False}
    harness = harness_of("a", to_ms=1000, **settings)
    harness.add(consumer("b", **settings), "b")
    harness.intercept = once(SyncGroup, NEVER)
    harness.run(3112)
    assert harness.consumers["a"].state is not MemberState.STABLE
    harness.call("a", "commit")
    harness.run(9000)

    assert [(e.error, e.is_fatal) for e in harness.of("a", Raised)] == [
        (Errors.REBALANCE_IN_PROGRESS, False)
    ]
    assert harness.of("a", OffsetCommit) == []


def test_a_failed_manual_commit_is_raised():
    harness = harness_of("a", to_ms=1000, enable_auto_commit=False)
    harness.broker(harness.coordinator.unload(harness.now_ms))
    harness.call("a", "commit")
    harness.run(1500)

    raised = harness.of("a", Raised)
    assert [(e.error, e.is_fatal) for e in raised] == [(Errors.ILLEGAL_GENERATION, False)]


# Close and unsubscribe.


def test_close_commits_revokes_and_leaves():
    harness = harness_of("a", to_ms=1000)
    harness.consume("a")
    harness.call("a", "close")
    harness.run(2000)

    assert harness.request_names("a")[-2:] == ["OffsetCommit", "LeaveGroup"]
    assert harness.of("a", LeaveGroup)[0].members[0].reason == "the consumer is being closed"
    assert harness.calls("a")[-1] == ("revoked", ALL)
    assert harness.log[-1] == (1004, "a", Closed())


def test_a_static_member_closes_without_leaving():
    harness = ClientHarness("4.1", group_initial_rebalance_delay_ms=0)
    harness.add(consumer(instance_id="i", enable_auto_commit=False), "a")
    harness.run(1000)
    harness.call("a", "close")

    assert harness.calls("a")[-1] == ("revoked", ALL)
    harness.run(1001)
    assert (harness.of("a", LeaveGroup), harness.log[-1][2]) == ([], Closed())


def test_closing_during_a_rebalance_loses_the_partitions():
    harness = harness_of("a", to_ms=1000, assignors=("cooperative-sticky",))
    harness.add(consumer("b", assignors=("cooperative-sticky",)), "b")
    harness.intercept = once(SyncGroup, LOST)
    harness.run(3112)
    assert harness.consumers["a"].state is not MemberState.STABLE
    harness.call("a", "close")

    assert harness.calls("a")[-1] == ("lost", ALL)


def test_close_waits_for_the_current_listener_call():
    harness = ClientHarness("4.1", group_initial_rebalance_delay_ms=0)
    harness.listener_ms["a"] = 300
    harness.add(consumer(), "a")
    harness.at(100, harness.call, "a", "close")
    harness.run(2000)

    assert [kind for kind, _ in harness.calls("a")] == ["assigned", "revoked"]
    assert harness.log[-1][2] == Closed()


def test_unsubscribe_leaves_the_group_permanently():
    harness = harness_of("a", to_ms=1000)
    harness.call("a", "unsubscribe")
    harness.run(9000)

    (left,) = harness.of("a", LeaveGroup)
    assert left.members[0].reason == "the consumer unsubscribed from all topics"
    assert harness.calls("a") == [("assigned", ALL), ("revoked", ALL)]
    assert harness.request_names("a")[-1] == "LeaveGroup"


# Topics.


def test_only_the_leader_rejoins_when_topics_grow():
    harness = harness_of("a", "b", to_ms=1000, metadata_max_age_ms=20000)
    harness.topics["orders"] = 6
    harness.run(40000)

    assert reasons(harness, "a")[-1] == "cached metadata has changed"
    assert reasons(harness, "b")[-1] == "group is already rebalancing"
    assert harness.calls("b")[-1] == ("assigned", tuple(("orders", n) for n in (3, 4, 5)))


def test_metadata_of_a_missing_topic_is_requested_repeatedly():
    harness = ClientHarness("4.1", {"other": 1}, group_initial_rebalance_delay_ms=0)
    harness.add(consumer(), "a")
    harness.run(2000)
    harness.topics["orders"] = 4
    harness.run(8000)

    assert harness.request_names("a").count("Metadata") > 3
    assert harness.calls("a")[-1] == ("assigned", ALL)


def test_with_a_pattern_metadata_is_requested_before_each_join():
    harness = ClientHarness("4.1", group_initial_rebalance_delay_ms=0)
    harness.add(consumer(), "a", is_pattern=True)
    harness.run(1000)
    harness.topics["orders"] = 6
    harness.add(consumer("b"), "b")
    harness.run(5000)

    assert len(harness.of("a", Metadata)) == 2
    assert len(harness.calls("a")[-1][1]) == 3


# Contents of JoinGroup.


@pytest.mark.parametrize(
    ("library", "version", "user_data"),
    [
        ("java-4.1", 3, None),
        ("java-2.5", 1, None),
        ("java-2.0", 0, b""),
        ("kafka-python-3", 0, b""),
    ],
)
def test_the_subscription_has_the_librarys_version(library, version, user_data):
    harness = harness_of("a", to_ms=1000, library=library, assignors=("range",))

    ((name, data),) = harness.of("a", JoinGroup)[-1].protocols
    read = decode_subscription(data)
    assert (name, read.version, read.topics) == ("range", version, ["orders"])
    assert read.user_data == user_data


def test_a_sticky_member_sends_its_previous_assignment():
    harness = harness_of("a", to_ms=1000, assignors=("sticky",))
    harness.add(consumer("b", assignors=("sticky",)), "b")
    harness.run(8000)

    read = decode_subscription(harness.of("a", JoinGroup)[-1].protocols[0][1])
    assert (read.owned_partitions, read.generation_id) == ([], 1)
    assert read.user_data == bytes.fromhex(
        "00000001" "0006" "6f7264657273" "00000004"
        "00000000" "00000001" "00000002" "00000003" "00000001"
    )  # fmt: skip


def test_skipping_heartbeats_leaves_the_same_state_as_sending_them():
    plain, skipping = harness_of("a", to_ms=4000), harness_of("a", to_ms=4000)
    one, other = plain.consumers["a"], skipping.consumers["a"]
    assert other.is_idle
    assert other.next_other_deadline_ms() == 5108  # the automatic commit

    plain.run(5100)
    last_ms = other.skip_heartbeats(5100)

    assert (last_ms, other.next_deadline_ms()) == (None, one.next_deadline_ms())


def test_hours_of_heartbeats_are_skipped_at_once():
    settings = {"enable_auto_commit": False, "metadata_max_age_ms": 10**9}
    plain, skipping = (
        harness_of("a", to_ms=4000, **settings),
        harness_of("a", to_ms=4000, **settings),
    )
    one, other = plain.consumers["a"], skipping.consumers["a"]

    plain.run(100_000)
    last_ms = other.skip_heartbeats(100_000)

    sent = [ms for ms, _, r in plain.requests if isinstance(r, Heartbeat)]
    assert last_ms == sent[-1] == 99106
    assert other.next_deadline_ms() == one.next_deadline_ms() == 102106
    assert other.metrics.heartbeats == one.metrics.heartbeats


def test_a_fenced_member_gets_one_fatal_error():
    harness = ClientHarness("4.1", group_initial_rebalance_delay_ms=0)
    harness.add(consumer("a", instance_id="i"), "a")
    harness.run(1000)
    harness.add(consumer("twin", instance_id="i"), "twin")
    harness.run(20000)

    raised = harness.of("a", Raised)
    assert [(e.error, e.is_fatal) for e in raised] == [(Errors.FENCED_INSTANCE_ID, True)]
    assert harness.calls("twin") == [("assigned", ALL)]
