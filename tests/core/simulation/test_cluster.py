"""Actions on processes, network and broker faults, and the rebalances that they cause."""

import pytest

from coordinator_core.simulation import (
    BrokerLogLine,
    TraceLine,
    TruthLine,
    WrittenBatch,
    fleet_of,
    simulate,
)
from coordinator_core.simulation.channels import NetworkPath
from coordinator_core.simulation.ownership_times import OwnershipTimes
from coordinator_core.simulation.spec import Network

START_MS = 1_795_161_600_000


class PlayedGroup:
    """By default three Java consumers, six partitions, a 3.9 broker, five minutes."""

    def __init__(self, plans=(), group=None, topics=None, **changed):
        start = {"kind": "start", "at": "0s", "gap": "100ms"}
        values = {
            "name": "play",
            "length": "5m",
            "cluster": {"era": "3.9"},
            "topics": topics or [{"name": "orders", "partitions": 6}],
            "groups": [
                {
                    "name": "g",
                    "topics": ["orders"],
                    "processes": 3,
                    "client": "java-3.9",
                    "assignors": ["range"],
                    "session_timeout": "10s",
                    "plans": [start, *plans],
                }
                | (group or {})
            ],
        } | changed
        self.outputs = list(simulate(fleet_of(values), START_MS))
        truth_lines = [output.truth for output in self.outputs if isinstance(output, TruthLine)]
        self.generations = [each for each in truth_lines if each["truth"] == "generation"]
        self.callbacks = [each for each in truth_lines if each["truth"] == "callback"]
        self.ends = [each for each in truth_lines if each["truth"] == "end"]
        self.group = next(each for each in truth_lines if each["truth"] == "group")
        self.lines = [output for output in self.outputs if isinstance(output, BrokerLogLine)]
        self.trace = [output.event for output in self.outputs if isinstance(output, TraceLine)]

    def starts(self):
        """(seconds since the start, cause) of each rebalance."""
        return [
            ((each["preparing_ms"] - START_MS) / 1000, each["cause"]) for each in self.generations
        ]

    def lines_with(self, text):
        return [(line.broker_id, (line.at_ms - START_MS) / 1000) for line in self.lines
                if text in line.text]  # fmt: skip


# a plan, and the rebalances after the first generation
CAUSES = [
    pytest.param({"kind": "stop"}, [(60, "LEAVE")], id="a stopped process leaves"),
    pytest.param(
        {"kind": "kill"}, [(67, "SESSION_EXPIRY")], id="a killed process's session expires"
    ),
    pytest.param(
        {"kind": "kill", "down": "2s"},
        [(62, "MEMBER_NEW")],
        id="a process restarted before its session expires joins as a new member",
    ),
    pytest.param({"kind": "freeze", "length": "5s"}, [], id="a short freeze has no effect"),
    pytest.param(
        {"kind": "freeze", "length": "20s"},
        [(67, "SESSION_EXPIRY"), (80, "MEMBER_NEW")],
        id="in a long freeze the session expires",
    ),
    pytest.param(
        {"kind": "slow_poll", "length": "90s"},
        [(120, "LEAVE_POLL_TIMEOUT"), (150, "MEMBER_NEW")],
        id="beyond max.poll.interval.ms a consumer leaves, and rejoins at its next poll",
    ),
    pytest.param(
        {"kind": "slow_poll", "length": "50s"},
        [],
        id="a slow poll within max.poll.interval.ms has no effect",
    ),
    pytest.param({"kind": "cut", "length": "4s"}, [], id="a short cut only delays heartbeats"),
    pytest.param(
        {"kind": "cut", "length": "20s"},
        [(67, "SESSION_EXPIRY"), (80, "MEMBER_NEW")],
        id="in a long cut the session expires",
    ),
]


@pytest.mark.parametrize(("plan", "expected"), CAUSES)
def test_an_action_causes_these_rebalances(plan, expected):
    play = PlayedGroup([plan | {"at": "1m", "processes": [3]}], {"max_poll_interval": "60s"})

    # Sessions expire ten seconds after the last heartbeat, which is up to three seconds before the
    # action.
    slack = {"SESSION_EXPIRY": 1.6}
    actual = play.starts()[1:]
    assert [cause for _, cause in actual] == [cause for _, cause in expected]
    for (at, cause), (expected_at, _) in zip(actual, expected, strict=True):
        assert at == pytest.approx(
            expected_at + slack.get(cause, 0), abs=slack.get(cause, 0.1) + 0.1
        )


def test_restarting_a_dynamic_member_is_two_rebalances_a_static_one_none():
    restart = {"kind": "stop", "at": "1m", "processes": [3], "down": "3s"}

    assert [cause for _, cause in PlayedGroup([restart]).starts()] == [
        "MEMBER_NEW",
        "LEAVE",
        "MEMBER_NEW",
    ]
    assert [cause for _, cause in PlayedGroup([restart], {"static": True}).starts()] == [
        "MEMBER_NEW"
    ]


def test_a_leave_behind_a_join_is_read_when_the_join_ends():
    """As real brokers do: librdkafka's member 2 closes its consumer while its JoinGroup waits for
    member 1, whose application does not poll.  The client waits 5 s for the response to its
    LeaveGroup; the broker reads it after the join, though the connection was closed.
    """
    plans = [
        {"kind": "slow_poll", "at": "1m", "processes": [1], "length": "40s"},
        {"kind": "stop", "at": "70s", "processes": [3]},
        {"kind": "stop", "at": "75s", "processes": [2], "down": "2s"},
    ]

    play = PlayedGroup(plans, {"client": "librdkafka-2", "max_poll_interval": "30s"})

    left_s = [at_s for name in (3, 1, 2) for _, at_s in play.lines_with(f"clientId=g-{name},")]
    closed = [(each["process"], (each["at_ms"] - START_MS) // 1000) for each in play.ends]
    assert closed == [("g-3", 70), ("g-2", 80)]
    assert left_s == pytest.approx([70, 90.1, 90.1], abs=0.05)
    # The process that should start after 2 s started only when the previous process had closed.
    assert play.starts()[1:] == [(70.001, "LEAVE"), (90.127, "LEAVE"), (100.008, "MEMBER_NEW")]


def test_a_slow_listener_delays_the_join_of_all_members():
    kill = {"kind": "stop", "at": "1m", "processes": [3]}

    quick, slow = PlayedGroup([kill]), PlayedGroup([kill], {"listener": "4s"})

    assert quick.generations[1]["join_ms"] < 3_100
    assert slow.generations[1]["join_ms"] > 4_000


def test_new_partitions_are_assigned_after_the_leader_rejoins():
    topics = [{"name": "orders", "partitions": 6, "grows": [{"at": "1m", "to": 9}]}]

    play = PlayedGroup(group={"metadata_max_age": "30s"}, topics=topics)

    first, second = play.generations
    assert second["cause"] == "LEADER_REJOIN"
    assert sum(map(len, first["assignment"].values())) == 6
    assert sum(map(len, second["assignment"].values())) == 9


def test_a_failed_process_is_restarted_only_with_a_restart_time():
    limit = {"era": "4.1", "config": {"group_max_size": 2}}

    alone, watched = (
        PlayedGroup(cluster=limit),
        PlayedGroup(cluster=limit, group={"restart": "20s"}),
    )

    assert [end["how"] for end in alone.ends] == ["failed: GROUP_MAX_SIZE_REACHED"]
    assert len(watched.ends) == 15


@pytest.mark.parametrize("era", ["2.5", "3.9", "4.1"])
def test_the_log_line_of_a_replaced_static_leader_has_both_member_ids(era):
    group = {"static": True, "session_timeout": "45s", "max_poll_interval": "15s"}
    group["client"] = "java-2.5" if era == "2.5" else "java-3.9"
    plans = [
        {"kind": "kill", "at": "1m", "processes": [2]},
        {"kind": "scale", "at": "61s", "to": 4},
    ]

    play = PlayedGroup(plans, group, cluster={"era": era})

    former, leader = (each["leader"] for each in play.generations[:2])
    assert former.startswith("g-2-")
    (line,) = [line.text for line in play.lines if "rebalance timeout" in line.text]
    assert former in line
    assert leader in line
    assert leader != former


# -- brokers -------------------------------------------------------------------------------------

THREE = {"era": "3.9", "brokers": 3, "failover": "2s", "load": "100ms"}


def test_groups_of_a_stopped_broker_move_and_return():
    stop = {"kind": "broker_stops", "at": "1m", "broker": 1, "length": "30s"}

    play = PlayedGroup(group={"name": "g"}, cluster=THREE, faults=[stop])

    loaded = play.lines_with("Loading group metadata for g with generation 1")
    assert loaded == [(2, 62.1), (1, 92.1)]
    assert play.lines_with("Unloading group metadata for g ") == [(2, 92.0)]
    assert play.group["generations"] == 1


def test_a_rebalance_starts_over_when_leadership_moves():
    stop = {"kind": "stop", "at": "1m", "processes": [3]}
    move = {"kind": "leadership_moves", "at": "60100ms", "group": "g"}

    moved = PlayedGroup([stop], cluster=THREE, faults=[move])

    assert moved.lines_with("Unloading group metadata for g ") == [(1, 60.1)]
    assert moved.lines_with("Loading group metadata for g ") == [(2, 60.2)]
    stayed = [member["client_id"] for member in moved.generations[1]["members"]]
    assert stayed == ["g-1", "g-2"]
    epochs = {output.leader_epoch for output in moved.outputs if isinstance(output, WrittenBatch)}
    assert epochs == {0, 1}


@pytest.mark.parametrize("era", ["2.5", "3.9", "4.1"])
def test_a_failed_store_causes_another_rebalance(era):
    fault = {"kind": "append_error", "at": "1m", "length": "5s", "error": "NOT_ENOUGH_REPLICAS"}
    stop = {"kind": "stop", "at": "1m", "processes": [3]}
    client = {"client": "java-2.5" if era == "2.5" else "java-3.9"}

    play = PlayedGroup([stop], client, cluster={"era": era}, faults=[fault])

    outcomes = [each["outcome"] for each in play.generations]
    assert outcomes[0] == "stable"
    assert outcomes[1] == "failed"
    assert outcomes[-1] == "stable"
    assert play.starts()[2][1] == "STORE_ERROR"


# -- the network ---------------------------------------------------------------------------------


def test_messages_of_a_connection_arrive_in_order():
    network_path = NetworkPath(Network(1, 50), 7)
    last_ms = 0

    for now_ms in range(1_000):
        last_ms, before_ms = network_path.transit(now_ms, last_ms).arrives_ms, last_ms
        assert before_ms <= last_ms <= now_ms + 51 or last_ms == before_ms


def test_with_reordering_some_messages_overtake():
    network_path = NetworkPath(Network(1, 50, reordering=0.5), 7)

    arrived = [
        network_path.transit(now_ms, now_ms + 100).arrives_ms - now_ms for now_ms in range(400)
    ]

    assert 150 < sum(delay < 100 for delay in arrived) < 250


def test_the_shares_of_lost_and_duplicated_messages():
    network_path = NetworkPath(Network(loss=0.1, duplication=0.2), 7)
    transits = [network_path.transit(now_ms, 0) for now_ms in range(4_000)]

    assert 300 < sum(each.arrives_ms is None for each in transits) < 500
    assert 600 < sum(each.copy_ms is not None for each in transits) < 850


@pytest.mark.parametrize(
    "network", [{"loss": 0.005}, {"duplication": 1.0}, {"reordering": 0.3, "jitter": "200ms"}]
)
def test_a_group_becomes_stable_on_a_bad_network(network):
    play = PlayedGroup(group={"session_timeout": "45s"}, network=network, length="15m")

    assert play.generations[-1]["outcome"] == "stable"
    assert len(play.generations[-1]["assignment"]) == 3


# -- ownership times -----------------------------------------------------------------------------


def test_times_without_an_owner_and_with_two_owners():
    owned = OwnershipTimes()
    owned.assigned("a", ("t", 0), 1_000)
    owned.assigned("a", ("t", 1), 1_000)
    owned.assigned("b", ("t", 1), 1_400)  # The partition has two owners for 100 ms.
    owned.revoked("a", ("t", 1), 1_500)
    owned.process_ended("a", 2_000)  # From here on, ("t", 0) has no owner.
    owned.close(2_700)

    assert (owned.unowned_ms, owned.double_ms, owned.moves) == (700, 100, 1)
