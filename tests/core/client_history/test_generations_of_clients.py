"""Generations from clients' lines alone: times in ms, each client with a log of its own."""

import pytest

from coordinator_core.client_history import (
    BrokerGeneration,
    ClientRow,
    generations_of_clients,
    leader_assignment,
)

UUID = "0e3d3ebe-f593-4ca0-83ab-d9e56b4d3c7b"


def lines(client, *events):
    """(ms, event, fields) of one client."""
    return [
        ClientRow(
            client=(client,), position=position, time_ms=ms, event=event, client_id=client, **fields
        )
        for position, (ms, event, fields) in enumerate(events)
    ]


def rebalance(joining, joined, synced, generation, member, **fields):
    of = {"generation": generation, "member_id": member}
    return (
        (joining, "JOINING", {}),
        (joined, "JOINED", of | fields),
        (synced, "SYNCED", of),
    )


def parts(*names):
    return frozenset(names)


def times(generation):
    return (
        generation.incarnation,
        generation.generation,
        generation.preparing_ms,
        generation.joined_ms,
        generation.stable_ms,
        generation.ended_ms,
        generation.outcome,
    )


def members(generation):
    return [
        (each.member_id, each.change, each.left_ms, each.is_gone) for each in generation.members
    ]


def test_two_clients_of_one_generation():
    """The longest wait began the rebalance; the first answer ends it."""
    first, second = generations_of_clients(
        [
            *lines("a", *rebalance(100, 3000, 3020, 1, "a-1"),
                        *rebalance(9000, 9500, 9510, 2, "a-1")),
            *lines("b", *rebalance(900, 3001, 3011, 1, "b-1"),
                        *rebalance(9400, 9501, 9520, 2, "b-1")),
        ]
    )  # fmt: skip

    assert times(first) == (1, 1, 100, 3000, 3010, 9000, "stable")
    assert times(second) == (1, 2, 9000, 9500, 9510, None, "stable")
    assert members(first) == [("a-1", "joined", None, False), ("b-1", "joined", None, False)]
    assert members(second) == [("a-1", "retained", None, False), ("b-1", "retained", None, False)]


def test_a_clients_clock_does_not_change_durations():
    """Client b's clock is an hour ahead; client a is in more generations."""
    hour = 3_600_000
    first, second, third = generations_of_clients(
        [
            *lines(
                "a",
                *rebalance(100, 3000, 3020, 1, "a-1"),
                *rebalance(9000, 9500, 9510, 2, "a-1"),
                *rebalance(15_000, 15_100, 15_110, 3, "a-1"),
            ),
            *lines("b", *rebalance(hour + 8900, hour + 9502, hour + 9511, 2, "b-1")),
        ]
    )

    assert times(first) == (1, 1, 100, 3000, 3020, 8898, "stable")
    assert times(second) == (1, 2, 8898, 9500, 9509, 15_000, "stable")
    assert times(third) == (1, 3, 15_000, 15_100, 15_110, None, "stable")


def test_a_superseded_generation_and_one_that_is_not_decided():
    events = (
        (0, "JOINING", {}),
        (50, "JOINED", {"generation": 1, "member_id": "a-1"}),
        (80, "SYNC_FAILED", {"generation": 1}),
        (90, "JOINING", {}),
        (95, "JOINED", {"generation": 2, "member_id": "a-1"}),
    )
    first, second = generations_of_clients(lines("a", *events))

    assert times(first) == (1, 1, 0, 50, None, 90, "superseded")
    assert times(second) == (1, 2, 90, 95, None, None, "unknown")


def test_a_lower_generation_begins_an_incarnation():
    own = lines("a", *rebalance(0, 10, 20, 7, "a-1"), *rebalance(50_000, 50_010, 50_020, 1, "a-2"))

    assert [times(each)[:2] for each in generations_of_clients(own)] == [(1, 7), (2, 1)]


@pytest.mark.parametrize(
    ("broker", "expected"),
    [
        # incarnation, generation, time                                    of clients alone
        ([(1, 1, 3000)], [(1, 2)]),
        ([(1, 1, 3000), (1, 2, 9500)], []),
        ([(2, 5, 1000)], [(3, 1), (3, 2)]),  # after a deletion
        ([(1, 1, 3000), (2, 1, 900_000)], [(1, 2)]),
        ([(2, 7, 90_000)], [(2, 1), (2, 2)]),
    ],
)
def test_generations_beside_those_of_brokers(broker, expected):
    own = lines("a", *rebalance(0, 3000, 3010, 1, "a-1"), *rebalance(9000, 9500, 9510, 2, "a-1"))
    of_brokers = [BrokerGeneration(*each) for each in broker]

    assert [times(each)[:2] for each in generations_of_clients(own, of_brokers)] == expected


def test_the_leader_names_all_members_and_assignments():
    plan = {f"a-{UUID}": parts("t-0"), f"b-{UUID}": parts("t-1", "t-2")}
    own = [
        (0, "JOINING", {}),
        (5, "JOINED", {"generation": 1, "member_id": f"a-{UUID}", "assignor": "range"}),
        (6, "LEADER_ASSIGNED", {"generation": 1, "plan": plan}),
        (9, "SYNCED", {"generation": 1}),
    ]

    (generation,) = generations_of_clients(lines("a", *own))

    assert (generation.member_count, generation.leader) == (2, f"a-{UUID}")
    assert generation.assignor == "range"
    assert [(m.process, m.client_id, m.is_leader, m.assigned) for m in generation.members] == [
        ("a", "a", True, parts("t-0")),
        ("b", None, False, parts("t-1", "t-2")),
    ]


def test_a_member_leaves_and_a_member_that_the_leader_no_longer_names_is_gone():
    one = {"generation": 1, "plan": {"a-1": parts(), "b-1": parts(), "c-1": parts()}}
    two = {"generation": 2, "plan": {"a-1": parts()}}
    first, _ = generations_of_clients(
        [
            *lines(
                "a",
                *rebalance(0, 5, 9, 1, "a-1"),
                (10, "LEADER_ASSIGNED", one),
                *rebalance(50, 60, 70, 2, "a-1"),
                (71, "LEADER_ASSIGNED", two),
            ),
            *lines("b", *rebalance(0, 5, 9, 1, "b-1"), (40, "LEAVING", {"reason": "closed"})),
        ]
    )

    assert members(first) == [
        ("a-1", "joined", None, False),
        ("b-1", "joined", 40, True),
        ("c-1", "joined", None, True),
    ]
    assert [each.left_reason for each in first.members] == [None, "closed", None]


def test_two_members_of_one_client_id_are_processes_by_log():
    same = [
        line._replace(client_id="c")
        for name in ("a", "b")
        for line in lines(name, *rebalance(0, 5, 9, 1, f"c-{name}"))
    ]

    (generation,) = generations_of_clients(same)

    assert [each.process for each in generation.members] == ["c@a", "c@b"]


def test_what_a_cooperative_client_owns():
    """Without a line that has the whole assignment, it is followed from the subscription on."""
    own = lines(
        "a",
        (0, "SUBSCRIBED", {"topics": ("t",)}),
        *rebalance(1, 5, 9, 1, "a-1"),
        (10, "PARTITIONS_ADDED", {"partitions": parts("t-0", "t-1")}),
        (40, "PARTITIONS_REVOKED", {"partitions": parts("t-1")}),
        *rebalance(50, 60, 70, 2, "a-1"),
        (71, "PARTITIONS_ADDED", {"partitions": parts("t-2")}),
    )

    first, second = generations_of_clients(own)

    assert [each.assigned for each in first.members] == [parts("t-0", "t-1")]
    assert [each.assigned for each in second.members] == [parts("t-0", "t-2")]
    assert second.members[0].topics == ("t",)


def state(ms, epoch, before, after):
    logger = "org.apache.kafka.clients.consumer.internals.ConsumerMembershipManager"
    fields = {"member_id": "a-1", "epoch": epoch, "previous_state": before, "state": after}
    return (ms, "STATE", fields | {"logger": logger})


def test_member_epochs_are_generations_of_consumer_groups():
    """When the target was computed and when all members had it is not in clients' logs."""
    own = lines(
        "a",
        state(0, 0, "UNSUBSCRIBED", "JOINING"),
        state(5, 2, "JOINING", "RECONCILING"),
        (6, "PARTITIONS_ADDED", {"partitions": parts("t-0", "t-1")}),
        state(7, 2, "RECONCILING", "ACKNOWLEDGING"),
        state(8, 2, "ACKNOWLEDGING", "STABLE"),
        state(20, 2, "STABLE", "RECONCILING"),
        (21, "PARTITIONS_REVOKED", {"partitions": parts("t-1")}),
        state(22, 2, "RECONCILING", "STABLE"),
        state(30, 4, "STABLE", "RECONCILING"),
        (31, "PARTITIONS_ADDED", {"partitions": parts("t-2")}),
        state(32, 4, "ACKNOWLEDGING", "STABLE"),
        state(40, 4, "STABLE", "PREPARE_LEAVING"),
    )

    first, second = generations_of_clients(own)

    assert [times(each) for each in (first, second)] == [
        (1, 2, None, 5, None, None, "unknown"),
        (1, 4, None, 30, None, None, "unknown"),
    ]
    assert (first.group_type, first.member_count) == ("consumer", None)
    assert first.members[0].assigned == parts("t-0", "t-1")
    assert second.members[0].assigned == parts("t-0", "t-2")
    assert members(second) == [("a-1", "retained", 40, True)]


PLANS = [
    (
        "Finished assignment for group at generation 1: {a-1=Assignment(partitions=[t-0, t-1]), "
        "b-1=Assignment(partitions=[], userDataSize=48)} (a.B)",
        {"a-1": parts("t-0", "t-1"), "b-1": parts()},
    ),
    (
        "x [INFO] balanced; plan: a-1{t[0 1], u[0]}, b-1{}",
        {"a-1": parts("t-0", "t-1", "u-0"), "b-1": parts()},
    ),
    (
        'time=2026-11-25T22:51:17.906Z level=INFO msg=balanced plan="a-1{t[0]}"',
        {"a-1": parts("t-0")},
    ),
    ("Finished assignment for group at generation 1: {}", {}),
]  # fmt: skip


@pytest.mark.parametrize(("line", "expected"), PLANS)
def test_the_leaders_line(line, expected):
    assert leader_assignment(line) == expected


def test_a_generation_that_is_joined_again_before_its_assignment_is_one_membership():
    joined = {"generation": 7, "member_id": "a-1"}
    own = [
        (0, "JOINING", {}),
        (5, "JOINED", joined),
        (6, "JOINING", {}),
        (8, "JOINED", joined),
        (9, "ASSIGNED", {"partitions": parts("t-0")}),
    ]

    (generation,) = generations_of_clients(lines("a", *own))

    assert (generation.joined_ms, generation.stable_ms) == (8, 9)
    assert [each.assigned for each in generation.members] == [parts("t-0")]
