"""Causes and episodes from clients' lines: each kind of departure, and what is not one."""

import pytest

from coordinator_core.client_history import (
    BrokerGeneration,
    ClientRow,
    causes_of_clients,
    episodes_of_clients,
    generations_of,
    history_of_clients,
)
from coordinator_core.episodes.sentences import summary

UNKNOWN = "Attempt to heartbeat failed: UNKNOWN_MEMBER_ID"
M = "a-00000001-1111-4222-8333-000000000001"
NEXT = "a-00000002-1111-4222-8333-000000000002"


def lines(client, *events, **common):
    """``events``: (second, event, fields)."""
    return [
        ClientRow(
            client=(f"{client}.log", "", client),
            position=position,
            time_ms=round(second * 1000),
            event=event,
            client_id=client,
            **common,
            **fields,
        )
        for position, (second, event, fields) in enumerate(events)
    ]


def joined(second, generation, member_id=M):
    return (
        (second - 1, "JOINING", {}),
        (second, "JOINED", {"generation": generation, "member_id": member_id}),
        (second, "SYNCED", {"generation": generation, "member_id": member_id}),
    )


def notices(second):
    return (second, "REJOIN_REQUESTED", {"reason": "group is already rebalancing"})


def causes(rows):
    return [
        (each.generation, each.role, each.cause, each.story, each.process, each.client_reason)
        for each in causes_of_clients(history_of_clients(rows))
    ]


def episodes(rows):
    history = history_of_clients(rows)
    inferred = episodes_of_clients(generations_of(history), causes_of_clients(history))
    return [(each.kind.value, each.confidence, each.generations) for each in inferred]


def test_a_slow_poll_with_the_time_until_the_next_poll():
    own = lines(
        "a",
        *joined(10, 41),
        (400, "POLL_TIMEOUT", {}),
        (400.1, "LEAVING", {"member_id": M, "reason": "consumer poll timeout has expired."}),
        (580, "COMMIT_FAILED", {"reason": "the consumer is not part of an active group"}),
        *joined(590, 43, NEXT),
    )

    assert causes(own) == [
        (
            *(43, "trigger", "LEAVE_POLL_TIMEOUT", "slow_poll", "a"),
            "consumer poll timeout has expired; polled again 180.0 s later",
        ),
        (43, "contributing", "MEMBER_NEW", "return", "a", None),
    ]
    assert episodes(own) == [("unknown", 0.3, [41]), ("slow_poll", 1.0, [43])]


def test_a_member_that_holds_a_rebalance_until_its_poll_timeout():
    own = lines(
        "a",
        *joined(10, 55),
        *map(notices, range(400, 700, 3)),
        (700, "POLL_TIMEOUT", {}),
    )

    (generation, _) = history = generations_of(history_of_clients(own))
    assert (generation.generation, history[1].generation) == (55, 56)
    assert (history[1].preparing_ms, history[1].joined_ms) == (400_000, None)
    assert causes(own) == [
        (
            *(56, "contributing", "LEAVE_POLL_TIMEOUT", "slow_poll", "a"),
            "consumer poll timeout has expired; the rebalance waited 300.0 s for this member",
        )
    ]
    assert episodes(own) == [("unknown", 0.3, [55]), ("slow_poll", 1.0, [56])]


def test_a_member_that_did_not_rejoin_in_a_log_that_names_its_generation_late():
    own = lines(
        "a",
        notices(100),
        (160, "HEARTBEAT_FAILED", {"reason": UNKNOWN, "generation": 90, "member_id": M}),
    )

    assert causes(own) == [
        (
            *(91, "contributing", "NOT_REJOINED", "slow_rejoin", "a"),
            "unknown member, did not rejoin in time; the rebalance waited 60.0 s for this member",
        )
    ]
    assert episodes(own) == [("slow_poll", 0.9, [91])]


def test_an_expired_session_is_noticed_by_an_unknown_member():
    own = lines(
        "a",
        *joined(10, 13),
        (96.1, "HEARTBEAT_FAILED", {"reason": "member id a-1 is not valid."}),
        *joined(105.6, 14, NEXT),
    )

    assert causes(own) == [
        (
            *(14, "trigger", "SESSION_EXPIRY", "frozen", "a"),
            "unknown member, session expired",
        ),
        (14, "contributing", "MEMBER_NEW", "return", "a", None),
    ]
    assert episodes(own) == [("unknown", 0.3, [13]), ("process_frozen", 0.7, [14])]


def test_several_consumers_of_a_process_at_once_confirm_that_it_was_frozen():
    own = lines(
        "a",
        *joined(10, 1),
        (4000, "COMMIT_FAILED", {"reason": "it was kicked out of the group", "together": 8}),
        (4000.1, "HEARTBEAT_FAILED", {"reason": UNKNOWN, "together": 8}),
    )

    assert causes(own)[-1] == (
        *(2, "trigger", "SESSION_EXPIRY", "frozen", "a"),
        "unknown member, session expired; 8 consumers of the member's process at once",
    )
    assert episodes(own)[-1] == ("process_frozen", 0.9, [2])


def test_a_session_that_the_broker_did_not_end_is_no_departure():
    own = lines("a", *joined(10, 1), (60, "SESSION_EXPIRED", {}), *joined(70, 2, M))

    assert causes(own) == [(1, "trigger", "MEMBER_NEW", "start", "a", None)]


@pytest.mark.parametrize(
    ("event", "fields", "expected", "kind"),
    [
        (
            "FENCED",
            {"reason": "fenced by other consumer with same group.instance.id"},
            (2, "trigger", "STATIC_FENCED", "fenced", "a", "group.instance.id fenced"),
            ("instance_id_conflict", 0.9, [2]),
        ),
        (
            "JOIN_FAILED",
            {"reason": "The consumer group has reached its max size."},
            (
                *(1, "absorbed", "GROUP_FULL", "group_full", "a"),
                "group has reached its maximum size",
            ),
            ("group_full", 1.0, []),
        ),
    ],
)
def test_other_departures(event, fields, expected, kind):
    own = lines("a", *joined(10, 1), (60, event, fields))

    assert causes(own)[-1] == expected
    assert episodes(own)[-1] == kind


def test_a_leader_that_cannot_assign_makes_the_next_generation():
    own = lines(
        "a",
        (1, "JOINING", {}),
        (2, "ASSIGNMENT_FAILED", {"reason": "do not have latest config"}),
        (3, "JOINED", {"generation": 7}),
        (4, "JOINING", {}),
        (5, "JOINED", {"generation": 8}),
    )

    assert causes(own) == [
        (8, "trigger", "ASSIGNMENT_FAILED", None, "a", "do not have latest config")
    ]
    assert episodes(own) == [("unknown", 0.3, [7]), ("assignment_failed", 0.95, [8])]


def test_a_leader_of_streams_that_cannot_assign_makes_no_generation():
    """All members stop, as the assignment has only an error."""
    own = lines(
        "a",
        (1, "JOINING", {}),
        (2, "JOINED", {"generation": 4, "member_id": M}),
        (3, "ASSIGNMENT_FAILED", {"reason": "source topics. [orders]"}),
        (3, "ASSIGNMENT_FAILED", {"reason": "Caught an error in the task assignment"}),
        (4, "SYNCED", {"generation": 4, "member_id": M}),
    )

    reason = "source topics. [orders]"
    assert causes(own) == [(4, "absorbed", "ASSIGNMENT_FAILED", None, "a", reason)]
    assert episodes(own)[1] == ("assignment_failed", 0.95, [])
    assert sentences(own)[1] == (
        "leader a could not assign (missing source topics [orders]): no rebalance"
    )


def test_a_consumer_with_assign_is_no_member():
    own = lines(
        "a",
        (1, "SELF_ASSIGNED", {"partitions": frozenset({"t-0"})}),
        (2, "COMMIT_FAILED", {"reason": "The coordinator is not aware of this member."}),
    )

    assert causes(own) == []


def test_a_rebalance_that_a_client_without_a_log_began_has_no_trigger():
    own = lines("a", *joined(10, 5), notices(100), *joined(102, 6))

    assert causes(own) == []
    assert episodes(own) == [("unknown", 0.3, [5]), ("unknown", 0.3, [6])]


MOVED = {"reason": "rebalance failed due to 'This is not the correct coordinator.'"}


def sentences(rows):
    history = history_of_clients(rows)
    inferred = episodes_of_clients(generations_of(history), causes_of_clients(history))
    return [summary(each, None).split(", partition downtime")[0] for each in inferred]


def test_a_join_that_has_not_ended_when_the_log_ends_is_an_open_rebalance():
    own = lines(
        "a",
        *joined(10, 5),
        (20, "REJOIN_REQUESTED", MOVED),
        (20, "JOINING", {}),
        (50, "JOIN_FAILED", {}),
        (51, "JOINING", {}),
        (81, "COORDINATOR_LOST", {}),
    )

    [_, generation] = generations_of(history_of_clients(own))
    assert (generation.generation, generation.preparing_ms, generation.joined_ms) == (
        6,
        20000,
        None,
    )
    assert (generation.outcome, generation.open_ms, generation.members) == ("unknown", 61000, [])
    assert causes(own) == [(6, "trigger", "COORDINATOR_MOVED", None, "a", MOVED["reason"])]
    assert sentences(own)[1] == (
        "coordinator failover: a rebalance unfinished after 61.0 s when the log ends"
    )


def test_a_first_join_that_has_not_ended_has_no_generation_number():
    logger = "org.apache.kafka.clients.consumer.internals.AbstractCoordinator"
    own = lines("a", (10, "JOINING", {"logger": logger}), (281, "COORDINATOR_FOUND", {}))

    assert [each.generation for each in generations_of(history_of_clients(own))] == [0]
    assert sentences(lines("a", (9, "SUBSCRIBED", {})) + own)[0].startswith("a asked to join the")
    assert sentences(own) == [
        "no root cause in the evidence: a rebalance unfinished after 271.0 s when the log ends"
    ]


@pytest.mark.parametrize(
    "later",
    [
        pytest.param([(30, "LEAVING", {})], id="the client leaves"),
        pytest.param([(30, "PARTITIONS_ADDED", {})], id="it has partitions"),
    ],
)
def test_a_join_that_the_client_ended_or_gave_up_is_not_open(later):
    own = lines("a", *joined(10, 5), (20, "JOINING", {}), *later)

    assert {each.open_ms for each in generations_of(history_of_clients(own))} == {None}


def test_a_join_is_not_open_if_another_client_joined_later():
    own = lines("a", *joined(10, 5), (20, "JOINING", {}))
    other = lines("b", *joined(10, 5, NEXT), *joined(30, 6, NEXT))

    both = generations_of(history_of_clients([*own, *other]))
    assert [(each.generation, each.open_ms) for each in both] == [(5, None), (6, None)]


def test_a_library_that_logs_no_join_has_no_open_ones():
    assert generations_of(history_of_clients(lines("a", (10, "JOINING", {})))) == []


def leads(second, generation, *members):
    plan = {each: frozenset({f"t-{n}"}) for n, each in enumerate([M, *members])}
    of_generation = {"generation": generation, "member_id": M}
    return (
        (second - 1, "JOINING", {}),
        (second, "JOINED", of_generation),
        (second, "LEADER_ASSIGNED", {"generation": generation, "plan": plan}),
        (second, "SYNCED", of_generation),
    )


B, B2, C = (
    f"{name}-1111-4222-8333-000000000001" for name in ("b-0000000b", "b-0000000d", "c-0000000c")
)
OF_PLAN = "known from the leader's assignment only"


def test_members_without_a_log_join_and_depart_by_the_leaders_assignments():
    own = lines("a", *leads(10, 5, B), *leads(100, 6, B, C), *leads(300, 7, C))

    assert causes(own) == [
        (6, "contributing", "MEMBER_NEW", None, None, OF_PLAN),
        (7, "contributing", "MEMBER_GONE", None, None, OF_PLAN),
    ]
    assert episodes(own) == [("unknown", 0.3, [n]) for n in (5, 6, 7)]
    assert [text.split(":")[0] for text in sentences(own)[1:]] == [
        "c joined (known from the leader's assignments only)",
        "b left or was removed (known from the leader's assignments only)",
    ]


def test_a_member_without_a_log_that_has_another_id_joined_again():
    own = lines("a", *leads(10, 5, B), *leads(100, 6, B2))

    assert sentences(own)[1].split(":")[0] == (
        "b left or was removed, b joined (known from the leader's assignments only)"
    )


def test_a_member_with_a_log_that_was_frozen_is_not_told_by_the_leaders_assignments():
    own = lines("a", *leads(10, 4, B), *leads(50, 5, B), *leads(100, 6))
    other = lines("b", *joined(10, 4, B))

    assert [each[2] for each in causes([*own, *other])] == []


def test_a_group_whose_members_all_left_was_shut_down():
    own = lines("a", *leads(10, 5, B), (90, "LEAVING", {}))
    other = lines("b", *joined(10, 5, B), (91, "LEAVING", {}))

    history = history_of_clients([*own, *other])
    assert [each.outcome for each in generations_of(history)] == ["stable", "empty"]
    assert episodes([*own, *other])[1] == ("shutdown", 0.9, [6])
    assert episodes(own)[1][0] == "scale_in"


def test_a_member_with_a_log_is_not_told_by_the_leaders_assignments():
    own = lines("a", *leads(10, 5, B), *leads(100, 6))
    other = lines("b", *joined(10, 5, B), (90, "LEAVING", {}))

    assert [(each[2], each[4]) for each in causes([*own, *other])] == [("LEAVE", "b")]


def test_a_process_that_starts_again_without_having_left():
    own = lines(
        "a",
        (1, "SUBSCRIBED", {}),
        *joined(10, 5),
        (50, "SUBSCRIBED", {}),
        *joined(60, 7, NEXT),
    )

    other = lines("b", *joined(10, 5, NEXT), (55, "LEAVING", {}))

    assert causes(own)[-1] == (7, "trigger", "MEMBER_NEW", "restart", "a", None)
    # If clients log that they leave, a client without such a line did not leave.
    assert (7, "contributing", "MEMBER_NEW", "crash_restart", "a", None) in causes([*own, *other])


def test_advice_in_a_line_about_a_poll_timeout_is_no_full_group():
    reason = "You can reduce the maximum size of batches; UNKNOWN_MEMBER_ID"
    own = lines("a", *joined(10, 5), (60, "COMMIT_FAILED", {"reason": reason}))

    assert causes(own)[-1][2] == "SESSION_EXPIRY"


def test_leaves_in_logs_without_generations_are_no_scale_in():
    own = lines("a", (10, "JOINED", {"member_id": M}), (60, "LEAVING", {}))

    assert [each[2] for each in causes(own)] == ["LEAVE"]
    assert episodes(own) == []


def test_clients_with_one_client_id_are_named_by_their_logs():
    first = lines("a", *joined(10, 5), (50, "POLL_TIMEOUT", {}))
    second = [each._replace(client=("b.log", "", "a")) for each in lines("a", *joined(10, 5, NEXT))]

    assert causes([*first, *second]) == [
        (
            *(6, "trigger", "LEAVE_POLL_TIMEOUT", "slow_poll", "a@a.log"),
            "consumer poll timeout has expired",
        )
    ]


def test_a_client_that_logs_only_its_member_id_is_named_by_it():
    own = [
        each._replace(client=(log, "", ""), client_id=None)
        for log, member_id in (("1.log", M), ("2.log", NEXT))
        for each in lines("a", (10, "JOINED", {"member_id": member_id}), (60, "POLL_TIMEOUT", {}))
    ]

    assert [each[4] for each in causes(own)] == ["a@1.log", "a@2.log"]
    assert [each[4] for each in causes(own[:2])] == ["a"]


def test_the_instance_id_of_a_member_id_that_does_not_begin_with_the_client_id():
    (own,) = causes_of_clients(
        history_of_clients(
            lines("rdkafka", *joined(10, 5, M), (50, "FENCED", {"reason": "fenced by other"}))
        )
    )

    assert (own.client_id, own.instance_id) == ("rdkafka", "a")


def test_a_member_that_no_log_names_is_found_by_its_partitions():
    own = frozenset({"t-2", "t-3"})
    rows = lines(
        "consumer-1",
        (0, "JOINING", {}),
        (3, "JOINED", {"generation": 4}),
        (3, "PARTITIONS_ADDED", {"partitions": own}),
        (90, "HEARTBEAT_FAILED", {"reason": UNKNOWN}),
    )
    broker = [
        BrokerGeneration(1, 4, 3000, {own: M, frozenset({"t-1"}): NEXT}),
        BrokerGeneration(1, 5, 80_000, {frozenset({"t-1", "t-2", "t-3"}): NEXT}),
    ]

    (cause,) = causes_of_clients(history_of_clients(rows, broker))

    assert (cause.generation, cause.cause, cause.member_id) == (5, "SESSION_EXPIRY", M)


def test_a_client_whose_log_names_no_generation_did_not_leave_an_empty_one():
    rows = lines("a", (50, "JOINED", {"member_id": M}), (90, "LEAVING", {}))
    broker = [
        BrokerGeneration(1, 15, 50_000),
        BrokerGeneration(1, 16, 89_990, is_empty=True),
    ]
    history = history_of_clients(rows, broker)

    assert [each.made for each in history.departed] == [(1, 16)]
    assert generations_of(history) == []
