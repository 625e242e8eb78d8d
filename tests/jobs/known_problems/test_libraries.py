"""Defects of client libraries: each raised once, and not for what is most like it.

A case has the rows that raise the finding, what the finding says, and its nearest look-alike.
"""

from typing import Any, NamedTuple

import pytest

from schemas.known_problems import problem, problems

Tables = dict[str, list[dict[str, Any]]]
MINUTE = 60_000


class Case(NamedTuple):
    """``version``: an affected one.  ``finding``: ``from_time`` and ``summary``."""

    id: str
    version: str
    rows: Tables
    finding: tuple[int, str]
    look_alike: Tables


def generation(number, joined, stable=None, **more):
    place = {"topic_partition": "__consumer_offsets-0", "first_offset": number}
    row = {"group_id": "g", "generation": number, "joined_time": joined, "last_offset": number}
    row |= {"stable_time": joined if stable is None else stable, "protocol_type": "consumer"}
    return place | row | {"protocol": "cooperative-sticky", "leader": "a"} | more


def member(name, number, **more):
    row = {"group_id": "g", "generation": number, "member_id": name, "process": name}
    return row | {"client_id": name, "client_host": "10.0.0.1"} | more


def assigned(name, number, *partitions):
    row = {"group_id": "g", "generation": number, "member_id": name, "process": name}
    return [row | {"partition": partition} for partition in partitions]


def commit(at_ms, partition, offset):
    row = {"group_id": "g", "partition": partition, "log_offset": at_ms, "append_time": at_ms}
    return row | {"committed_offset": offset}


def record(number, at_ms, members, **more):
    """``members``: claimed partitions by member id."""
    claims = [
        {
            "member_id": name,
            "client_id": name,
            "owned": [{"topic": "t", "partitions": owned}] if owned else [],
        }
        for name, owned in members.items()
    ]
    row = {"group_id": "g", "log_offset": number, "append_time": at_ms, "generation": number}
    row |= {"protocol_type": "consumer", "protocol": "cooperative-sticky", "leader": "a"}
    return row | {"members": claims} | more


def logged(at_ms, event, line="a line", client="a", library="java", file="f", **more):
    place = {"file_id": file, "position": at_ms, "file": "app.log", "library": library}
    row = {"group_id": "g", "client_id": client, "event": event, "event_time": at_ms}
    return place | row | {"line": line} | more


def rdkafka(at_ms, event, line="a line", **more):
    return logged(at_ms, event, line, library="librdkafka", **more)


def python(at_ms, event, line="a line", **more):
    return logged(at_ms, event, line, client=None, library="kafka-python", **more)


def changed(number, **more):
    return {"group_id": "g", "generation": number, "partitions_assigned": 2} | more


def expired(name, number, at_ms, **more):
    return member(name, number, left_how="session_expired", left_time=at_ms) | more


def next_rebalance(cause, joined=50_000):
    waiting = generation(5, 10_000, cause=None, member_count=2, evidence="log", leader=None)
    waiting |= {"stable_time": None, "ended_time": 40_000, "outcome": "superseded"}
    waiting |= {"protocol": None}
    after = generation(6, joined, cause=cause, culprit_member_id="a")
    return [generation(4, 0, member_count=2, protocol="roundrobin"), waiting, after]


# -- Java ------------------------------------------------------------------------------------------

WAITING = {
    "generations": [generation(1, 0), generation(2, 70_000, preparing_time=10_000)],
    "generation_members": [member("a", 1, left_how="dropped"), member("b", 1)],
    "assignments": assigned("a", 1, 0),
}
COMMITS = [commit(at_ms, 0, at_ms) for at_ms in (20_000, 40_000, 60_000)]
REJOINED = {
    "generations": [generation(1, 0), generation(2, 5000)],
    "generation_members": [member("b", 1), member("b", 2), member("a", 2)],
    "group_metadata": [record(2, 5000, {"a": [0, 1], "b": [0, 1]})],
}
UNEVEN = REJOINED | {
    "assignor_quality": [
        {"group_id": "g", "generation": 2, "assignor": "actual", "own": False, "spread": 3}
    ]
}
REJECTED = (
    "[Consumer clientId=a, groupId=g] With the COOPERATIVE protocol, owned partitions cannot be"
    " reassigned to other members; however the assignor has reassigned partitions [t-0] which are"
    " still owned by some members"
)
MISSED = {
    "generations": [generation(1, 0), generation(2, 5000), generation(3, 9000)],
    "generation_members": [member("a", 1), member("a", 2), member("a", 3)],
    "assignments": [*assigned("a", 1, 0, 1), *assigned("a", 2, 0), *assigned("b", 2, 1)],
    "group_metadata": [record(3, 9000, {"a": [0, 1], "b": [1]})],
}
TAKEN = {
    "generations": [generation(3, 9000)],
    "assignments": [*assigned("a", 3, 0), *assigned("b", 3, 1)],
    "group_metadata": [record(3, 9000, {"a": [0, 1], "b": []})],
}


def with_rack(tables):
    (row,) = tables["group_metadata"]
    members = [each | {"rack_id": "r-1"} for each in row["members"]]
    return tables | {"group_metadata": [row | {"members": members}]}


LOST = "Group coordinator b:9092 is unavailable or invalid due to cause: null. isDisconnected: true"
DISCONNECTED = [
    logged(1000, "JOINED", member_id="m-1"),
    logged(2000, "JOINING"),
    logged(2500, "COORDINATOR_LOST", LOST),
    logged(2600, "JOINING"),
    logged(9000, "JOINED", member_id="m-2"),
]
RESET = [
    logged(1000, "JOINING", generation=4),
    logged(1100, "HEARTBEAT_FAILED", "Attempt to heartbeat failed since member id a is not valid."),
    logged(1200, "JOINED", generation=5),
]
LATER = [generation(6, 90_000), generation(7, 120_000)]
LATE_ANSWER = [
    logged(1000, "JOINED"),
    logged(1400, "HEARTBEAT_FAILED", "Attempt to heartbeat failed since member id a is not valid."),
    logged(1450, "JOINING"),
]
REFUSED = "Offset commit failed on partition t-0: The coordinator is not aware of this member."
SELF_ASSIGNED = [
    logged(1000, "SELF_ASSIGNED", instance_id="i-1"),
    logged(4000, "COMMIT_FAILED", REFUSED, instance_id="i-1"),
    logged(9000, "COMMIT_FAILED", REFUSED, instance_id="i-1"),
]
THREAD_ENDED = logged(
    5000,
    "HEARTBEAT_FAILED",
    "[Consumer clientId=a, groupId=g] Heartbeat thread failed due to unexpected error",
    reason="unexpected error",
)
CLOSED = logged(3000, "STATE", state="LEAVING", member_id="m-1")
FENCED = {"group_id": "g", "event": "FENCED", "cause": "SESSION_EXPIRY", "member_id": "m-1"}
FENCED |= {"event_seq": 1, "event_time": 48_000}
FENCED_CLIENT = [
    logged(1000, "FENCED", member_id="m-1", epoch=4),
    logged(90_000, "STATE", client="b", file="f-2"),
]

JAVA = [
    Case(
        "KAFKA-14024",
        "3.2.0",
        WAITING | {"committed_offsets": COMMITS},
        (10_000, "member a of g committed 3 times while its group was waiting for it to join, and"
                 " was removed"),
        WAITING | {"committed_offsets": COMMITS[:1]},
    ),
    Case(
        "KAFKA-12983",
        "2.8.0",
        REJOINED,
        (5000, "new member a of g claimed 2 partitions of an earlier membership in generation 2;"
               " b owns them"),
        REJOINED | {"group_metadata": [record(2, 5000, {"a": [], "b": [0, 1]})]},
    ),
    Case(
        "KAFKA-12984",
        "2.8",
        UNEVEN,
        (5000, "leader a of g computed an uneven assignment (difference 3 partitions) in"
               " generation 2: two members claimed 2 partitions"),
        UNEVEN | {"group_metadata": [record(2, 5000, {"a": [0], "b": [1]})]},
    ),
    Case(
        "KAFKA-13406",
        "2.8.1",
        {"client_events": [logged(at_ms, "ASSIGNMENT_FAILED", REJECTED) for at_ms in (5, 900)]},
        (5, "leader a of g rejected its own assignment 2 times: an owned partition would have"
            " changed its owner"),
        {"client_events": [logged(5, "ASSIGNMENT_FAILED", REJECTED)]},
    ),
    Case(
        "KAFKA-13419",
        "3.1",
        MISSED,
        (9000, "member a of g claimed 1 partitions in generation 3 that the previous assignment"
               " had taken away"),
        MISSED | {"group_metadata": [record(3, 9000, {"a": [0], "b": [1]})]},
    ),
    Case(
        "KAFKA-14639",
        "3.4.0",
        TAKEN,
        (9000, "leader a of g assigned 1 partitions in generation 3 that their owner a had not"
               " given up"),
        TAKEN | {"group_metadata": [record(3, 9000, {"a": [0, 1], "b": [1]})]},
    ),
    Case(
        "KAFKA-15170",
        "3.5-3.6",
        with_rack(TAKEN),
        (9000, "leader a of g assigned 1 partitions in generation 3 that their owner a had not"
               " given up"),
        TAKEN,
    ),
    Case(
        "KAFKA-15106",
        "3.5.1",
        {"generations": [generation(3, 9000, stable=54_000, member_count=40)]},
        (9000, "leader a of g took 45 s for the assignment of generation 3"),
        {"generations": [generation(3, 9000, stable=54_000, member_count=40, protocol="range")]},
    ),
    Case(
        "KAFKA-13214",
        "2.6.0",
        {"client_events": DISCONNECTED},
        (9000, "consumer a of g joined as new member m-2 after a disconnect; its old member id m-1"
               " stayed until its session expired"),
        {"client_events": [*DISCONNECTED[:4], logged(9000, "JOINED", member_id="m-1")]},
    ),
    Case(
        "KAFKA-9140",
        "2.3",
        {"client_events": RESET, "generations": LATER},
        (1200, "consumer a of g took part in none of the next 2 generations: a heartbeat failed"
               " while it joined"),
        {"client_events": [*RESET, logged(30_000, "LEAVING")], "generations": LATER},
    ),
    Case(
        "KAFKA-9823",
        "2.5",
        {"client_events": LATE_ANSWER},
        (1400, "consumer a of g gave up a membership within a second of joining, 1 times: a"
               " heartbeat of an older generation had failed"),
        {"client_events": [logged(-30_000, "JOINED"), *LATE_ANSWER[1:]]},
    ),
    Case(
        "KAFKA-14201",
        "2.2-3.2",
        {"client_events": SELF_ASSIGNED},
        (4000, "2 commits of consumer a of g were refused: it uses assign() with instance id i-1"),
        {"client_events": SELF_ASSIGNED, "generation_members": [member("b", 1)]},
    ),
    Case(
        "KAFKA-14729",
        "3.4",
        {"client_events": [THREAD_ENDED]},
        (5000, "the heartbeat thread of consumer a of g ended (unexpected error), and the consumer"
               " neither left nor joined again"),
        {"client_events": [THREAD_ENDED, logged(9000, "LEAVING")]},
    ),
    Case(
        "KAFKA-16639",
        "3.7",
        {"client_events": [CLOSED], "group_events": [FENCED]},
        (3000, "member m-1 of g was closed, did not leave, and its session expired later"),
        {"client_events": [CLOSED | {"state": "STABLE"}], "group_events": [FENCED]},
    ),
    Case(
        "KAFKA-16215",
        "3.7",
        {"client_events": FENCED_CLIENT},
        (1000, "member m-1 of g was fenced, and its client logged nothing more: it did not join"
               " again"),
        {"client_events": [*FENCED_CLIENT, logged(1500, "STATE", state="JOINING")]},
    ),
]  # fmt: skip

# -- librdkafka ------------------------------------------------------------------------------------

FATAL = "Fatal error: Broker: Invalid request: ConsumerGroupHeartbeat fatal error: Invalid request"
GENERATION = "Offset commit (auto) failed: Broker: Specified group generation id is not valid"
RESUBSCRIBED = {
    "generations": [generation(1, 0), generation(2, 10_000)],
    "generation_members": [
        member("a", 1, subscribed_topics=["t"]),
        member("a", 2, subscribed_topics=["t", "u"]),
    ],
    "assignments": [*assigned("a", 1, 0), *assigned("a", 2, 0)],
    "committed_offsets": [commit(9000, 0, 500), commit(15_000, 0, 420)],
}
POLLED = {
    "generations": [generation(1, 0)],
    "generation_members": [member("a", 1)],
    "assignments": assigned("a", 1, 0),
    "client_events": [rdkafka(300_000, "POLL_TIMEOUT")],
}
GIVEN_BACK = {
    "generations": [generation(2, 5000), generation(3, 9000)],
    "assignments": [*assigned("b", 2, 1), *assigned("a", 3, 1)],
    "group_metadata": [record(3, 9000, {"a": [1], "b": [1]})],
}
UNSUBSCRIBED = {
    "generations": [generation(1, 0)],
    "generation_members": [expired("a", 1, 20_000)],
}
JOIN_PHASE = {"generations": [generation(2, 70_000, preparing_time=10_000)]}
TIMED_OUT = rdkafka(
    40_000,
    "SESSION_EXPIRED",
    "Consumer group session timed out (in join-state wait-join) after 30000 ms",
    duration_ms=30_000,
)
RETURNED = {
    "generations": [generation(1, 0), generation(2, 10_000), generation(3, 20_000)],
    "churn": [changed(1), changed(2), changed(3)],
    "assignments": [*assigned("a", 1, 0), *assigned("b", 2, 0), *assigned("a", 3, 0)],
}
OLD_OFFSETS = [commit(5000, 0, 100), commit(6000, 0, 130), commit(15_000, 0, 700)]
SUBSCRIPTIONS = [
    member("a", 4, subscribed_topics=["t"]),
    member("b", 4, subscribed_topics=["t", "u"]),
]
COMMIT_BLOCKS = [
    rdkafka(1000, "PARTITIONS_REVOKING"),
    rdkafka(1500, "COMMIT_FAILED", "Offset commit (manual) failed for 1/1 partition(s)"),
]


def lost(why):
    reason = f"{why}: revoking incremental assignment and rejoining"
    return rdkafka(1100, "PARTITIONS_LOST", reason=reason, count=4)


def of_host(at_ms, host):
    row = {"group_id": "g", "member_id": "m-1", "record": "ConsumerGroupMemberMetadata"}
    return row | {"log_offset": at_ms, "append_time": at_ms, "client_host": host}


LIBRDKAFKA = [
    Case(
        "librdkafka-5541",
        "2.12.1",
        {
            "client_events": [
                rdkafka(1000, "POLL_TIMEOUT"), rdkafka(3000, "HEARTBEAT_FAILED", FATAL),
            ]
        },
        (1000, "consumer a of g polled too late and ended with the fatal error INVALID_REQUEST"),
        {"client_events": [rdkafka(1000, "POLL_TIMEOUT"), rdkafka(3000, "HEARTBEAT_FAILED")]},
    ),
    Case(
        "librdkafka-4059",
        "1.6-2.1",
        {"client_events": [lost("OffsetCommit error: Illegal generation")]},
        (1100, "consumer a of g lost 4 partitions in a rebalance because a commit failed with"
               " ILLEGAL_GENERATION"),
        {"client_events": [rdkafka(1000, "COMMIT_FAILED", GENERATION), lost("SyncGroup error")]},
    ),
    Case(
        "librdkafka-4527",
        "1.6-2.1",
        UNSUBSCRIBED | {"client_events": [rdkafka(9000, "STATE", state="wait-assign-call")]},
        (9000, "consumer a of g stayed in the state wait-assign-call until its session expired"),
        UNSUBSCRIBED
        | {
            "client_events": [
                rdkafka(9000, "STATE", state="wait-assign-call"),
                rdkafka(9001, "STATE", state="steady"),
            ]
        },
    ),
    Case(
        "librdkafka-4686",
        "1.6-2.1",
        RESUBSCRIBED,
        (15_000, "member a of g consumed 80 records of its own partitions again after it had"
                 " changed its subscription"),
        RESUBSCRIBED
        | {"generation_members": [member("a", n, subscribed_topics=["t"]) for n in (1, 2)]},
    ),
    Case(
        "librdkafka-4431",
        "1.6-2.1",
        POLLED | {"committed_offsets": [commit(n, 0, n) for n in (250_000, 270_000, 290_000)]},
        (300_000, "consumer a of g left at max.poll.interval.ms, but committed 3 times in the"
                  " minute before"),
        POLLED | {"committed_offsets": [commit(n, 0, 7) for n in (1000, 270_000, 290_000)]},
    ),
    Case(
        "librdkafka-4252",
        "1.6-2.1",
        GIVEN_BACK,
        (9000, "leader a of g gave 1 partitions of b back to a, whose claim was older"),
        GIVEN_BACK | {"group_metadata": [record(3, 9000, {"a": [1], "b": []})]},
    ),
    Case(
        "librdkafka-3306",
        "1.6.1",
        {
            "generations": [generation(3, 9000)],
            "churn": [changed(3, partitions_moved=5, moves_forced=2)],
        },
        (9000, "leader a of g moved 5 partitions in generation 3, although 2 moves were enough"),
        {
            "generations": [generation(3, 9000)],
            "churn": [changed(3, partitions_moved=5, moves_forced=5)],
        },
    ),
    Case(
        "librdkafka-3375",
        "1.6.0",
        UNSUBSCRIBED | {"client_events": [rdkafka(9000, "PARTITIONS_REVOKED")]},
        (9000, "consumer a of g gave up its partitions, did not leave, and its session expired"),
        UNSUBSCRIBED
        | {
            "client_events": [
                rdkafka(9000, "PARTITIONS_REVOKED"), rdkafka(9500, "JOINING"),
            ]
        },
    ),
    Case(
        "librdkafka-1.8.0-session",
        "-1.5",
        JOIN_PHASE | {"client_events": [TIMED_OUT]},
        (40_000, "1 clients of g took their session for expired while they waited for"
                 " generation 2"),
        JOIN_PHASE | {"client_events": [rdkafka(30_000, "COORDINATOR_LOST"), TIMED_OUT]},
    ),
    Case(
        "librdkafka-1.9.0-stored-offsets",
        "-1.5",
        RETURNED | {"committed_offsets": [*OLD_OFFSETS, commit(25_000, 0, 130)]},
        (25_000, "member a of g set 1 partitions back to its own old offset when they returned;"
                 " 570 records are consumed again"),
        RETURNED | {"committed_offsets": [*OLD_OFFSETS, commit(25_000, 0, 650)]},
    ),
    Case(
        "librdkafka-3159",
        "1.5.0",
        {
            "generations": next_rebalance("SESSION_EXPIRY"),
            "generation_members": SUBSCRIPTIONS,
        },
        (10_000, "leader a of g did not send the assignment of generation 5 (roundrobin,"
                 " different subscriptions) and was removed"),
        {
            "generations": next_rebalance("SESSION_EXPIRY"),
            "generation_members": [each | {"subscribed_topics": ["t"]} for each in SUBSCRIPTIONS],
        },
    ),
    Case(
        "librdkafka-2933",
        "0.9-1.4",
        {"client_events": COMMIT_BLOCKS, "generations": [generation(7, 90_000)]},
        (1500, "consumer a of g stopped in a rebalance after a failed commit, and the group went"
               " on without it"),
        {
            "client_events": [*COMMIT_BLOCKS, rdkafka(1600, "JOINING")],
            "generations": [generation(7, 90_000)],
        },
    ),
    Case(
        "librdkafka-5263",
        "2.10",
        {"group_records": [of_host(n, f"10.0.0.{n % 2 + 1}") for n in (10, 11, 12)]},
        (11, "member m-1 of g is on several hosts at once: 10.0.0.1, 10.0.0.2"),
        {"group_records": [of_host(n, f"10.0.0.{n % 2 + 1}") for n in (10, 11)]},
    ),
]  # fmt: skip

# -- sarama, franz-go, kafka-python, aiokafka, kafkajs ---------------------------------------------

CLEANED_UP = {
    "generations": [
        generation(n, 50_000 * n, preparing_time=50_000 * n - 30_000) for n in (1, 2, 3)
    ],
    "generation_members": [
        expired("m-1", 1, 90_000, client_id="sarama", session_timeout_ms=10_000),
        expired("m-2", 2, 140_000, client_id="sarama", session_timeout_ms=10_000, change="joined"),
        member("m-3", 3, client_id="sarama", change="joined"),
    ],
}
GROWN = {
    "generations": [generation(1, 0), generation(2, 90 * MINUTE)],
    "churn": [changed(1), changed(2)],
    "assignments": [*assigned("a", 1, 0, 1), *assigned("a", 2, 0, 1, 2)],
}


def sent(*assignments):
    """A record of a leader of sarama; assignments as bytes."""
    members = [
        {"member_id": f"sarama-{n}", "client_id": "sarama", "assignment": each}
        for n, each in enumerate(assignments)
    ]
    row = record(3, 9000, {}, protocol="range", leader="sarama-0")
    return {"group_metadata": [row | {"members": members}]}


ENDED = logged(5000, "SESSION_ENDED", client=None, library="sarama", member_id="sarama-1")
EXPIRY = {"group_id": "g", "generation": 3, "cause_seq": 1, "event_time": 65_000}
EXPIRY |= {"cause": "SESSION_EXPIRY", "member_id": "sarama-1"}


def switched(protocol):
    """The assignor of generation 1 was ``protocol``; in generation 2 a member of franz-go commits
    only the partition that it got."""
    return {
        "generations": [generation(1, 0, protocol=protocol), generation(2, 20_000)],
        "churn": [changed(1), changed(2)],
        "assignments": [
            *assigned("kgo-a", 1, 0), *assigned("b", 1, 1), *assigned("kgo-a", 2, 0, 1),
        ],
        "committed_offsets": [
            commit(15_000, 0, 5), *(commit(n, 1, n) for n in (15_500, 40_000, 80_000)),
        ],
    }  # fmt: skip


NOT_RECOGNIZED = "Heartbeat: local member_id was not recognized; this consumer needs to re-join"
BLOCKED = {
    "generations": [
        generation(1, 0), generation(2, 2 * MINUTE), generation(3, 4 * MINUTE),
        generation(4, 6 * MINUTE),
    ],
    "churn": [changed(1), changed(2), changed(3), changed(4)],
    "assignments": [each for n in (1, 2, 3, 4) for each in assigned("a", n, 0, 1)],
}  # fmt: skip
OF_OTHER = [commit(each * MINUTE, 1, each) for each in (1, 3, 5, 7)]
REBALANCING = (
    "Marking the coordinator dead (node 0) for group g: [Error 27] RebalanceInProgressError."
)


def subscription(user_data):
    """Version 0, of the topic orders."""
    return bytes.fromhex("0000 00000001 0006") + b"orders" + user_data


# Previous partitions of the topic orders with generation -1, and no previous partitions.
PREVIOUS = (
    bytes.fromhex("00000018 00000001 0006")
    + b"orders"
    + bytes.fromhex("00000001 00000000 FFFFFFFF")
)
NO_PREVIOUS = bytes.fromhex("FFFFFFFF")


def sticky(user_data):
    row = {"member_id": "m-1", "client_id": "aiokafka-0.12.0", "subscribed_topics": ["orders"]}
    row |= {"subscription": subscription(user_data)}
    records = [record(n, 1000 * n, {}, protocol="sticky") for n in (1, 2, 3)]
    return {"group_metadata": [each | {"members": [row]} for each in records]}


def eager(user_data):
    """A member of franz-go in four generations."""
    row = {"member_id": "kgo-1", "client_id": "kgo", "subscribed_topics": ["orders"]}
    row |= {"subscription": subscription(user_data)}
    records = [record(n, 1000 * n, {}, protocol="sticky") for n in (1, 2, 3, 4)]
    return {
        "generations": [generation(n, 1000 * n) for n in (1, 2, 3, 4)],
        "assignments": [each for n in (1, 2, 3, 4) for each in assigned("kgo-1", n, 0)],
        "group_metadata": [each | {"members": [row]} for each in records],
    }


def looping(processes):
    members = [
        member(f"m-{n}-{m}", n, client_id="aiokafka-0.7.0", change="joined")
        for n in range(1, 12)
        for m in range(processes)
    ]
    return {
        "generations": [generation(n, 5000 * n) for n in range(1, 12)],
        "generation_members": members,
    }


STALE = {
    "generations": [generation(1, 0), generation(2, 20_000)],
    "churn": [changed(1), changed(2)],
    "assignments": [*assigned("a", 1, 0), *assigned("b", 2, 0)],
}
ALTERNATING = [commit(at, 0, offset) for at, offset in ((15_000, 100), (21_000, 90), (22_000, 140),
               (23_000, 95))]  # fmt: skip
UNASSIGNED = logged(1000, "JOINED", library="kafkajs", client=None, member_id="m-1", partitions=[])
NO_HEARTBEATS = {"group_id": "g", "event": "HEARTBEAT_EXPIRED", "member_id": "m-1", "event_seq": 1}
NO_HEARTBEATS |= {"event_time": 31_000}

OTHERS = [
    Case(
        "sarama-2110",
        "1.0-1.25",
        CLEANED_UP,
        (90_000, "sessions of sarama at 10.0.0.1 in g expired in 2 rebalances, and the process"
                 " joined again each time"),
        CLEANED_UP | {"generation_members": CLEANED_UP["generation_members"][:2]},
    ),
    Case(
        "sarama-2563",
        "1.0-1.25",
        GROWN | {"seen_partitions": [{"topic": "t", "partitions": 3, "since": 10 * MINUTE}]},
        (10 * MINUTE, "g consumes 2 partitions of t, which has 3: its leader did not start a"
                      " rebalance"),
        GROWN | {"seen_partitions": [{"topic": "t", "partitions": 3, "since": 85 * MINUTE}]},
    ),
    Case(
        "sarama-2717",
        "1.26-1.41",
        {"client_events": [ENDED], "rebalance_causes": [EXPIRY]},
        (5000, "member sarama-1 of g logged the end of its session and did not leave; the"
               " coordinator removed it when its session expired"),
        {"client_events": [ENDED | {"member_id": "sarama-2"}], "rebalance_causes": [EXPIRY]},
    ),
    Case(
        "sarama-2292",
        "1.0-1.25",
        sent(b"\x00\x00\x00\x01", b"", b""),
        (9000, "leader sarama-0 of g sent no assignment for 2 members in generation 3"),
        sent(b"\x00\x00\x00\x01", b"\x00\x00\x00\x00"),
    ),
    Case(
        "franz-go-686",
        "-1.14",
        switched("range"),
        (20_000, "kgo-a of g did not commit 1 partitions, which it had kept, for 60 s after the"
                 " group had changed to cooperative-sticky"),
        switched("cooperative-sticky"),
    ),
    Case(
        "franz-go-1.10.0-sticky",
        "1.9",
        eager(bytes.fromhex("00000008 00000000 00000003")),
        (2000, "1 members of g sent none of their previous partitions in 3 rebalances, so that"
               " the assignor sticky could not keep them"),
        eager(PREVIOUS),
    ),
    Case(
        "kafka-python-3131",
        "3.0.8",
        BLOCKED | {"committed_offsets": [commit(50_000, 0, 5), commit(7 * MINUTE, 0, 9), *OF_OTHER,
                                         commit(5 * MINUTE, 0, 8)]},
        (2 * MINUTE, "member a of g did not consume t-0 until the next rebalance, although it had"
                     " kept these partitions"),
        BLOCKED | {"committed_offsets": [commit(50_000, 0, 5), *OF_OTHER]},
    ),
    Case(
        "kafka-python-3082",
        "3.0.2",
        {
            "client_events": [
                python(n, "COORDINATOR_LOST", REBALANCING, reason="[Error 27]"
                       " RebalanceInProgressError") for n in (1, 2)
            ]
        },
        (1, "clients of g marked their coordinator as dead 2 times because the group was"
            " rebalancing"),
        {"client_events": [python(1, "COORDINATOR_LOST", reason="KafkaConnectionError")]},
    ),
    Case(
        "kafka-python-2614",
        "2.2.3",
        {
            "client_events": [
                python(1, "COMMIT_FAILED", "failed: RebalanceInProgressError"),
                python(2, "JOINING"),
                python(3, "MEMBER_ID", member_id="m-2"),
            ]
        },
        (3, "a client of g joined as 1 new members after REBALANCE_IN_PROGRESS"),
        {
            "client_events": [
                python(1, "COMMIT_FAILED", "failed: RebalanceInProgressError"),
                python(2, "JOIN_FAILED", "failed due to unknown member id m-1"),
                python(3, "MEMBER_ID", member_id="m-2"),
            ]
        },
    ),
    Case(
        "kafka-python-1902",
        "1.4.6",
        {
            "client_events": [
                python(0, "ASSIGNED"),
                python(660_000, "SESSION_EXPIRED"),
                python(664_000, "HEARTBEAT_FAILED", NOT_RECOGNIZED),
            ]
        },
        (660_000, "a consumer of g sent no heartbeats while it was idle for 660 s, and was"
                  " removed"),
        {
            "client_events": [
                python(0, "ASSIGNED"),
                python(659_000, "COORDINATOR_LOST"),
                python(660_000, "SESSION_EXPIRED"),
                python(664_000, "HEARTBEAT_FAILED", NOT_RECOGNIZED),
            ]
        },
    ),
    Case(
        "aiokafka-1176",
        "0.12.0",
        sticky(PREVIOUS),
        (1000, "1 members of g sent their previous partitions with generation -1 in 3"
               " generations"),
        sticky(NO_PREVIOUS),
    ),
    Case(
        "aiokafka-727",
        "0.7.0",
        looping(processes=1),
        (5000, "client aiokafka-0.7.0 at 10.0.0.1 joined g as a new member 11 times within ten"
               " minutes"),
        looping(processes=3),
    ),
    Case(
        "kafkajs-1046",
        "1.15-",
        STALE | {"committed_offsets": ALTERNATING},
        (21_000, "offsets of 1 partitions of g went back 2 times after they moved from a to b:"
                 " both commit them"),
        STALE | {"committed_offsets": ALTERNATING[:3]},
    ),
    Case(
        "kafkajs-1361",
        "2.0.0",
        {"client_events": [UNASSIGNED], "group_events": [NO_HEARTBEATS]},
        (1000, "member m-1 of g was assigned no partition, and its session expired although its"
               " process was running"),
        {"client_events": [UNASSIGNED | {"partitions": ["t-0"]}], "group_events": [NO_HEARTBEATS]},
    ),
]  # fmt: skip

CASES = [*JAVA, *LIBRDKAFKA, *OTHERS]
IDS = [case.id for case in CASES]


def versions_of(case):
    component = problem(case.id).component
    assert component is not None
    return {component: case.version}


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_the_defect_is_found(findings, case):
    rows = findings(case.id, case.rows, "from_time", "summary", versions=versions_of(case))

    assert rows == [case.finding]


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_its_look_alike_is_not_the_defect(findings, case):
    assert findings(case.id, case.look_alike, "finding", versions=versions_of(case)) == []


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_other_software_does_not_have_it(findings, case):
    other = dict.fromkeys(versions_of(case))

    assert findings(case.id, case.rows, "finding", versions=other) == []


IN_TEST_CLIENTS = {"KAFKA-20985", "librdkafka-4783"}


def test_each_defect_of_a_library_has_a_case():
    defects = {
        each.id
        for each in problems()
        if each.kind == "client_bug" and each.component not in ("connect", "streams")
    }

    assert defects == set(IDS) | IN_TEST_CLIENTS
