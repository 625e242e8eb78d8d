"""rebalance_causes: trigger and other causes of each rebalance, and the processes' actions."""

import pytest

import jobs.rebalance_causes
from jobs.causes.arrivals import arrivals
from jobs.engine.keeping import computed
from jobs.lake.tables import conform
from jobs.rebalance_causes import rebalance_causes
from tests.jobs.comparison import assert_rows

SECOND = 1000
MINUTE = 60 * SECOND


def generation(number, cause, culprit=None, prepared=None, joined=None):
    return {
        "generation": number,
        "cause": cause,
        "culprit_member_id": culprit,
        "preparing_time": prepared,
        "joined_time": joined,
    }


def member(number, member_id, change="retained", process=None, **more):
    return {
        "generation": number,
        "member_id": member_id,
        "change": change,
        "process": process or member_id.upper(),
        **more,
    }


def static(number, member_id, change="retained", **more):
    return member(number, member_id, change, "i", instance_id="i", **more)


def line(ms, event, forming, member_id=None, **more):
    return {
        "event_time": ms,
        "event": event,
        "forming_generation": forming,
        "member_id": member_id,
        **more,
    }


def left(ms, forming, member_id, **more):
    return line(ms, "LEFT", forming, member_id, **more)


LOG = {"evidence": "log"}
UUID_1, UUID_2 = (f"i-00000000-0000-4000-8000-00000000000{number}" for number in (1, 2))
A_IN_1 = [member(1, "a", "joined"), generation(1, "MEMBER_NEW", "a", 10, 20)]
A_STARTED = (1, 1, "trigger", "MEMBER_NEW", "start", "a", "log")
A_JOINS = line(10, "MEMBER_JOIN", 1, "a")
STATIC_IN_1 = generation(1, "MEMBER_NEW", "s1", 10, 20)
STATIC_JOINS = line(10, "STATIC_NEW", 1, "s1", instance_id="i")
STATIC_STARTED = (1, 1, "trigger", "MEMBER_NEW", "start", "s1", "log")
POLLS = {"rebalance_timeout_ms": 5 * MINUTE}
SHORT_POLLS = {"rebalance_timeout_ms": 20 * SECOND, "session_timeout_ms": 10 * SECOND}


CONFIGURED = "a changed configuration of the group causes no rebalance"
CHANGED_SETTINGS = "a static member that replaces itself may have other settings"


def with_settings(session_timeout_ms=10_000, topics=("t",)):
    return {
        "session_timeout_ms": session_timeout_ms,
        "rebalance_timeout_ms": MINUTE,
        "subscribed_topics": list(topics),
    }


def leaver(committed_ms, **more):
    """A member that leaves after 600 s, and the last commit for its partition."""
    return {
        "generations": [
            generation(1, "MEMBER_NEW", "a", 10, 20),
            generation(2, "LEAVE", "a", 600_000, 600_010),
        ],
        "members": [member(1, "a", "joined", **POLLS | more)],
        "events": [A_JOINS, left(10 * MINUTE, 2, "a")],
        "owned": [(1, "a", 3)],
        "commits": [(3, 15 * SECOND), (3, committed_ms), (4, 599_000)],
    }


def repeats(next_offset, **more):
    """A member whose commits repeat one offset for five minutes until it leaves; then the next
    owner's first commit."""
    repeated = [(3, 5 * MINUTE + n * SECOND, 80) for n in range(4, 300, 5)]
    return leaver(15 * SECOND, **more) | {
        "commits": [(3, 4 * MINUTE, 70), *repeated, (3, 604_000, next_offset)],
    }


def streams_member(*committed_ms):
    """A member of Kafka Streams, session timeout 10 s, that is removed after 60 s."""
    own = {"process_id": "598aae7a-ceca-4047-b1a8-c5f4384a2751", **SHORT_POLLS}
    return {
        "generations": [A_IN_1[1], generation(2, "SESSION_EXPIRY", "a", 60_000, 60_010)],
        "members": [A_IN_1[0] | own],
        "events": [A_JOINS, line(60_000, "HEARTBEAT_EXPIRED", 2, "a")],
        "owned": [(1, "a", 3)],
        "commits": [(3, at_ms) for at_ms in committed_ms],
    }


# rule -> rows of the tables, and (generation, number, role, cause, story, member, evidence)
CASES = {
    "the member that the start names is the trigger, others contribute": (
        {
            "generations": [generation(1, "MEMBER_NEW", "b", 12, 3000)],
            "members": [member(1, "a", "joined"), member(1, "b", "joined")],
            "events": [line(40, "MEMBER_JOIN", 1, "a"), line(12, "MEMBER_JOIN", 1, "b")],
        },
        [
            (1, 1, "trigger", "MEMBER_NEW", "start", "b", "log"),
            (1, 2, "contributing", "MEMBER_NEW", "start", "a", "log"),
        ],
    ),
    "records alone: a process that has another member id was restarted or joined again": (
        {
            "generations": [
                generation(1, None, joined=SECOND),
                generation(2, None, joined=30 * SECOND),
            ],
            "members": [
                member(1, "a", "joined", gone=True),
                member(1, "b", "joined"),
                member(2, "a2", "joined", "A"),
                member(2, "b"),
            ],
        },
        [
            (1, 1, "trigger", "UNKNOWN", "start", "a", "records"),
            (1, 2, "contributing", "MEMBER_NEW", "start", "b", "records"),
            (2, 1, "trigger", "UNKNOWN", "restart", "a2", "records"),
        ],
    ),
    "records alone: a static member that is replaced later is no trigger": (
        {
            "generations": [generation(1, None, joined=SECOND)],
            "members": [
                static(1, "s1", "joined", left_how="replaced"),
                static(1, "s2", "replaced"),
            ],
            "events": [
                line(SECOND, "RECORD", 2, members=["s1"]),
                line(40 * SECOND, "RECORD", 2, members=["s2"]),
            ],
        },
        [
            (1, 1, "trigger", "UNKNOWN", "start", "s1", "records"),
            (1, 2, "absorbed", "STATIC_REPLACED", "restart", "s2", "records"),
        ],
    ),
    "a log alone: lines name who joined": (
        {
            "generations": [generation(1, "MEMBER_NEW", "b", 12, 3000) | LOG],
            "events": [
                line(10, "MEMBER_JOIN", 1, "b", step="id_required"),
                line(12, "MEMBER_JOIN", 1, "b", step="pending"),
                line(40, "MEMBER_JOIN", 1, "a", step="id_required"),
            ],
        },
        [
            (1, 1, "trigger", "MEMBER_NEW", None, "b", "log"),
            (1, 2, "contributing", "MEMBER_NEW", None, "a", "log"),
        ],
    ),
    "a log alone: a static member is named by its instance id": (
        {
            "generations": [generation(1, "MEMBER_NEW", UUID_1, 10, 20) | LOG],
            "events": [
                line(10, "STATIC_NEW", 1, UUID_1, instance_id="i"),
                line(
                    5 * SECOND,
                    "STATIC_REPLACED",
                    2,
                    old_member_id=UUID_1,
                    instance_id="i",
                    current_generation=1,
                ),
            ],
        },
        [
            (1, 1, "trigger", "MEMBER_NEW", "start", UUID_1, "log"),
            (1, 2, "absorbed", "STATIC_REPLACED", "restart", None, "log"),
        ],
    ),
    "a log alone: a member of the client that left a moment ago may be its restart": (
        {
            "generations": [
                generation(2, "LEAVE", UUID_1, 1000, 1010) | LOG,
                generation(3, "MEMBER_NEW", UUID_2, 5000, 5010) | LOG,
                generation(4, "LEAVE", UUID_2, 9000, 9010) | LOG,
            ],
            "events": [
                left(1000, 2, UUID_1),
                line(5000, "MEMBER_JOIN", 3, UUID_2),
                left(9000, 4, UUID_2),
            ],
        },
        [
            (2, 1, "trigger", "LEAVE", "restart", UUID_1, "log"),
            (3, 1, "trigger", "MEMBER_NEW", None, UUID_2, "log"),
            (4, 1, "trigger", "LEAVE", "stop", UUID_2, "log"),
        ],
    ),
    "records alone: of several new members the first is the trigger": (
        {
            "generations": [generation(1, "MEMBER_NEW")],
            "members": [member(1, "a", "joined"), member(1, "b", "joined")],
        },
        [
            (1, 1, "trigger", "MEMBER_NEW", "start", "a", "records"),
            (1, 2, "contributing", "MEMBER_NEW", "start", "b", "records"),
        ],
    ),
    "records alone: without new members the generation's own cause is the trigger": (
        {
            "generations": [
                generation(1, "MEMBER_NEW"),
                generation(2, "MEMBER_GONE", "b"),
                generation(3, "REJOIN"),
            ],
            "members": [
                member(1, "a", "joined"),
                member(1, "b", "joined", gone=True),
                member(2, "a"),
                member(3, "a"),
            ],
        },
        [
            (1, 1, "trigger", "MEMBER_NEW", "start", "a", "records"),
            (1, 2, "contributing", "MEMBER_NEW", "start", "b", "records"),
            (2, 1, "trigger", "MEMBER_GONE", None, "b", "records"),
            (3, 1, "trigger", "REJOIN", "rejoin", None, "records"),
        ],
    ),
    "a member that the start names for another cause may also leave": (
        {
            "generations": [A_IN_1[1], generation(2, "STORE_ERROR", "a", 1000, 9000)],
            "members": [A_IN_1[0]],
            "events": [A_JOINS, line(5000, "HEARTBEAT_EXPIRED", 2, "a")],
        },
        [
            A_STARTED,
            (2, 1, "trigger", "STORE_ERROR", None, "a", "log"),
            (2, 2, "contributing", "SESSION_EXPIRY", "session_expired", "a", "log"),
        ],
    ),
    "the broker's own cause is the trigger, although a member left before": (
        {
            "generations": [A_IN_1[1], generation(2, "CONVERT", None, 2000, 2010)],
            "members": [A_IN_1[0]],
            "events": [A_JOINS, left(1000, 2, "a")],
        },
        [
            A_STARTED,
            (2, 1, "trigger", "CONVERT", None, None, "log"),
            (2, 2, "contributing", "LEAVE", "stop", "a", "log"),
        ],
    ),
    CHANGED_SETTINGS: (
        {
            "generations": [STATIC_IN_1],
            "members": [
                static(1, "s1", "joined", left_time=5000, left_how="replaced", **with_settings()),
                static(1, "s2", "replaced", left_time=9000, **with_settings(45_000, ["t", "u"])),
                static(1, "s3", "replaced", **with_settings(45_000, ["t", "u"])),
            ],
            "events": [
                STATIC_JOINS,
                line(5000, "STATIC_REPLACED", 2, instance_id="i", old_member_id="s1"),
                line(9000, "STATIC_REPLACED", 2, instance_id="i", old_member_id="s2"),
            ],
        },
        [
            STATIC_STARTED,
            (1, 2, "absorbed", "STATIC_REPLACED", "restart", "s2", "log"),
            (1, 3, "absorbed", "STATIC_REPLACED", "restart", "s3", "log"),
        ],
    ),
    "left and back within a minute: a restart, then a return": (
        {
            "generations": [
                A_IN_1[1],
                generation(2, "LEAVE", "a", 1000, 1010),
                generation(3, "MEMBER_NEW", "a2", 61_000, 61_010),
            ],
            "members": [A_IN_1[0], member(3, "a2", "joined", "A")],
            "events": [A_JOINS, left(1000, 2, "a"), line(61_000, "MEMBER_JOIN", 3, "a2")],
        },
        [
            A_STARTED,
            (2, 1, "trigger", "LEAVE", "restart", "a", "log"),
            (3, 1, "trigger", "MEMBER_NEW", "return", "a2", "log"),
        ],
    ),
    "left and back after more than a minute: a stop, then a return": (
        {
            "generations": [
                A_IN_1[1],
                generation(2, "LEAVE", "a", 1000, 1010),
                generation(3, "MEMBER_NEW", "a2", 61_001, 61_010),
            ],
            "members": [A_IN_1[0], member(3, "a2", "joined", "A")],
            "events": [A_JOINS, left(1000, 2, "a"), line(61_001, "MEMBER_JOIN", 3, "a2")],
        },
        [
            A_STARTED,
            (2, 1, "trigger", "LEAVE", "stop", "a", "log"),
            (3, 1, "trigger", "MEMBER_NEW", "return", "a2", "log"),
        ],
    ),
    "another process that joins is no return": (
        {
            "generations": [
                A_IN_1[1],
                generation(2, "LEAVE", "a", 1000, 1010),
                generation(3, "MEMBER_NEW", "b", 2000, 2010),
            ],
            "members": [A_IN_1[0], member(3, "b", "joined")],
            "events": [A_JOINS, left(1000, 2, "a"), line(2000, "MEMBER_JOIN", 3, "b")],
        },
        [
            A_STARTED,
            (2, 1, "trigger", "LEAVE", "stop", "a", "log"),
            (3, 1, "trigger", "MEMBER_NEW", "start", "b", "log"),
        ],
    ),
    "a slow poll by the client's reason": (
        {
            "generations": [A_IN_1[1], generation(2, "LEAVE_POLL_TIMEOUT", "a", 1000, 1010)],
            "members": [A_IN_1[0]],
            "events": [A_JOINS, left(1000, 2, "a", client_cause="POLL_TIMEOUT")],
        },
        [A_STARTED, (2, 1, "trigger", "LEAVE_POLL_TIMEOUT", "slow_poll", "a", "log")],
    ),
    "a slow poll by the commits: none for max.poll.interval.ms": (
        leaver(committed_ms=5 * MINUTE + 2 * SECOND),
        [A_STARTED, (2, 1, "trigger", "LEAVE", "slow_poll", "a", "commits")],
    ),
    "a member that committed until it left was stopped": (
        leaver(committed_ms=598 * SECOND),
        [A_STARTED, (2, 1, "trigger", "LEAVE", "stop", "a", "log")],
    ),
    "commits that repeat an offset are no progress, if the next owner has records": (
        repeats(next_offset=95),
        [A_STARTED, (2, 1, "trigger", "LEAVE", "slow_poll", "a", "commits")],
    ),
    "commits that repeat an offset are usual without records": (
        repeats(next_offset=80),
        [A_STARTED, (2, 1, "trigger", "LEAVE", "stop", "a", "log")],
    ),
    "aiokafka's max.poll.interval.ms is not in its JoinGroup: it repeats offsets for longer": (
        repeats(next_offset=95, rebalance_timeout_ms=10 * SECOND, session_timeout_ms=10 * SECOND),
        [A_STARTED, (2, 1, "trigger", "LEAVE", "slow_poll", "a", "commits")],
    ),
    "sarama has no max.poll.interval.ms, and commits nothing without records": (
        leaver(committed_ms=5 * MINUTE + 2 * SECOND, client_id="sarama"),
        [A_STARTED, (2, 1, "trigger", "LEAVE", "stop", "a", "log")],
    ),
    "a commit gap of another length is no slow poll": (
        leaver(committed_ms=4 * MINUTE),
        [A_STARTED, (2, 1, "trigger", "LEAVE", "stop", "a", "log")],
    ),
    "a static member that took its place a moment ago was not slow to poll": (
        {
            "generations": [STATIC_IN_1],
            "members": [
                member(1, f"s{number}", change, "I", instance_id="i", left_how=how, **SHORT_POLLS)
                for number, change, how in (
                    (1, "joined", "replaced"),
                    (2, "replaced", "replaced"),
                    (3, "replaced", None),
                )
            ],
            "events": [
                STATIC_JOINS,
                line(65 * SECOND, "STATIC_REPLACED", 2, instance_id="i", old_member_id="s1"),
                line(68 * SECOND, "STATIC_REPLACED", 2, instance_id="i", old_member_id="s2"),
            ],
            "owned": [(1, "i", 3)],
            "commits": [(3, 40 * SECOND)],
        },
        [
            STATIC_STARTED,
            (1, 2, "absorbed", "STATIC_REPLACED", "slow_poll", "s2", "commits"),
            (1, 3, "absorbed", "STATIC_REPLACED", "restart", "s3", "log"),
        ],
    ),
    "a dynamic member whose session expires crashed": (
        {
            "generations": [A_IN_1[1], generation(2, "SESSION_EXPIRY", "a", 1000, 1010)],
            "members": [A_IN_1[0]],
            "events": [A_JOINS, line(1000, "HEARTBEAT_EXPIRED", 2, "a")],
        },
        [A_STARTED, (2, 1, "trigger", "SESSION_EXPIRY", "session_expired", "a", "log")],
    ),
    "a stop of a member of Kafka Streams looks like a crash": (
        {
            "generations": [A_IN_1[1], generation(2, "SESSION_EXPIRY", "a", 1000, 1010)],
            "members": [A_IN_1[0] | {"process_id": "598aae7a-ceca-4047-b1a8-c5f4384a2751"}],
            "events": [A_JOINS, line(1000, "HEARTBEAT_EXPIRED", 2, "a")],
        },
        [A_STARTED, (2, 1, "trigger", "SESSION_EXPIRY", "stop_or_session_expired", "a", "log")],
    ),
    "a member of Kafka Streams commits when it is closed": (
        streams_member(38_000, 49_990),
        [A_STARTED, (2, 1, "trigger", "SESSION_EXPIRY", "stop", "a", "log")],
    ),
    "a member of Kafka Streams that committed at its interval may have been killed": (
        streams_member(19_990, 49_990),
        [A_STARTED, (2, 1, "trigger", "SESSION_EXPIRY", "stop_or_session_expired", "a", "log")],
    ),
    "a stop of a static member looks like a crash": (
        {
            "generations": [STATIC_IN_1, generation(2, "SESSION_EXPIRY", "s1", 1000, 1010)],
            "members": [static(1, "s1", "joined")],
            "events": [STATIC_JOINS, line(1000, "HEARTBEAT_EXPIRED", 2, "s1")],
        },
        [
            STATIC_STARTED,
            (2, 1, "trigger", "SESSION_EXPIRY", "stop_or_session_expired", "s1", "log"),
        ],
    ),
    "a static member whose client was fenced ended": (
        {
            "generations": [STATIC_IN_1, generation(2, "SESSION_EXPIRY", "s1", 1000, 1010)],
            "members": [static(1, "s1", "joined")],
            "events": [
                STATIC_JOINS,
                line(900, "STATIC_FENCED", 1, "s0", instance_id="s", old_member_id="s1"),
                line(1000, "HEARTBEAT_EXPIRED", 2, "s1"),
            ],
        },
        [STATIC_STARTED, (2, 1, "trigger", "SESSION_EXPIRY", "client_fenced", "s1", "log")],
    ),
    "a member that does not rejoin in time contributes to the rebalance": (
        {
            "generations": [A_IN_1[1], generation(2, "LEADER_REJOIN", "b", 1000, 9000)],
            "members": [A_IN_1[0], member(2, "b")],
            "events": [A_JOINS, line(9000, "DROPPED_NOT_REJOINED", 2, None, members=["a"])],
        },
        [
            A_STARTED,
            (2, 1, "trigger", "LEADER_REJOIN", "rejoin", "b", "log"),
            (2, 2, "contributing", "NOT_REJOINED", "slow_rejoin", "a", "log"),
        ],
    ),
    "the start lists the members that did not sync in time": (
        {
            "generations": [A_IN_1[1], generation(2, "SYNC_TIMEOUT", "a", 1000, 1010)],
            "members": [A_IN_1[0]],
            "events": [
                A_JOINS,
                line(1000, "REBALANCE_START", 2, None, members=["a"], cause="SYNC_TIMEOUT"),
            ],
        },
        [A_STARTED, (2, 1, "trigger", "SYNC_TIMEOUT", "no_sync", "a", "log")],
    ),
    "a member that left before it had joined is no cause": (
        {
            "generations": [A_IN_1[1]],
            "members": [A_IN_1[0]],
            "events": [A_JOINS, left(15, 1, "x", step="pending")],
        },
        [A_STARTED],
    ),
    "members that leave in one request: one triggers, the others contribute": (
        {
            "generations": [generation(2, "LEAVE", "b", 1000, 1010)],
            "members": [member(1, "a"), member(1, "b")],
            "events": [left(1000, 2, "a"), left(1000, 2, "b")],
        },
        [
            (2, 1, "trigger", "LEAVE", "stop", "b", "log"),
            (2, 2, "contributing", "LEAVE", "stop", "a", "log"),
        ],
    ),
    "a static restart in a stable group causes no rebalance": (
        {
            "generations": [STATIC_IN_1],
            "members": [
                static(1, "s1", "joined", left_how="replaced"),
                static(1, "s2", "replaced"),
            ],
            "events": [
                STATIC_JOINS,
                line(5000, "STATIC_REPLACED", 2, instance_id="i", old_member_id="s1"),
            ],
        },
        [STATIC_STARTED, (1, 2, "absorbed", "STATIC_REPLACED", "restart", "s2", "log")],
    ),
    "a static restart in a join phase contributes": (
        {
            "generations": [STATIC_IN_1, generation(2, "MEMBER_NEW", "b", 4000, 6000)],
            "members": [
                static(1, "s1", "joined", left_how="replaced"),
                static(2, "s2", "replaced"),
                member(2, "b", "joined"),
            ],
            "events": [
                STATIC_JOINS,
                line(4000, "MEMBER_JOIN", 2, "b"),
                line(5000, "STATIC_REPLACED", 2, instance_id="i", old_member_id="s1"),
            ],
        },
        [
            STATIC_STARTED,
            (2, 1, "trigger", "MEMBER_NEW", "start", "b", "log"),
            (2, 2, "contributing", "STATIC_REPLACED", "restart", "s2", "log"),
        ],
    ),
    "a replaced member that is fenced later: a second process took over": (
        {
            "generations": [STATIC_IN_1],
            "members": [
                static(1, "s1", "joined", left_how="replaced"),
                static(1, "s2", "replaced"),
            ],
            "events": [
                STATIC_JOINS,
                line(5000, "STATIC_REPLACED", 2, instance_id="i", old_member_id="s1"),
                line(6000, "STATIC_FENCED", 2, "s1", instance_id="i"),
            ],
        },
        [STATIC_STARTED, (1, 2, "absorbed", "STATIC_REPLACED", "takeover", "s2", "log")],
    ),
    "replaced twice within a generation: each replacement has its own line": (
        {
            "generations": [STATIC_IN_1],
            "members": [
                static(1, "s9", "replaced", left_how="replaced", left_time=6000),
                static(1, "s1", "joined", left_how="replaced", left_time=5000),
                static(1, "s2", "replaced"),
            ],
            "events": [
                STATIC_JOINS,
                line(5000, "STATIC_REPLACED", 2, instance_id="i", old_member_id="s1"),
                line(6000, "STATIC_REPLACED", 2, instance_id="i", old_member_id="s9"),
                line(6500, "STATIC_FENCED", 2, "s9", instance_id="i"),
            ],
        },
        [
            STATIC_STARTED,
            (1, 2, "absorbed", "STATIC_REPLACED", "restart", "s9", "log"),
            (1, 3, "absorbed", "STATIC_REPLACED", "takeover", "s2", "log"),
        ],
    ),
    "a rejoin after partitions were left unowned is the follow-up": (
        {
            "generations": [A_IN_1[1], generation(2, "LEADER_REJOIN", "a", 1000, 1010)],
            "members": [A_IN_1[0], member(2, "a")],
            "events": [A_JOINS],
            "churn": [{"generation": 1, "partitions_orphaned": 2}],
        },
        [A_STARTED, (2, 1, "trigger", "LEADER_REJOIN", "follow_up", "a", "log")],
    ),
    "a rejoin with partitions that never had an owner is a topic change": (
        {
            "generations": [A_IN_1[1], generation(2, "METADATA_CHANGE", "a", 1000, 1010)],
            "members": [A_IN_1[0], member(2, "a")],
            "events": [A_JOINS],
            "churn": [
                {"generation": 1, "partitions_orphaned": 0, "partitions_new": 4},
                {"generation": 2, "partitions_orphaned": 0, "partitions_new": 2},
            ],
        },
        [A_STARTED, (2, 1, "trigger", "METADATA_CHANGE", "topic_change", "a", "log")],
    ),
    "any other rejoin is a rejoin": (
        {
            "generations": [A_IN_1[1], generation(2, "LEADER_REJOIN", "a", 1000, 1010)],
            "members": [A_IN_1[0], member(2, "a")],
            "events": [A_JOINS],
            "churn": [{"generation": 2, "partitions_new": 0}],
        },
        [A_STARTED, (2, 1, "trigger", "LEADER_REJOIN", "rejoin", "a", "log")],
    ),
    "a failed append of the assignment is no action of a process": (
        {
            "generations": [A_IN_1[1], generation(2, "STORE_ERROR", "a", 1000, 1010)],
            "members": [A_IN_1[0], member(2, "a")],
            "events": [A_JOINS],
        },
        [A_STARTED, (2, 1, "trigger", "STORE_ERROR", None, "a", "log")],
    ),
    "a rebalance that an assignment scheduled is no follow-up": (
        {
            "generations": [A_IN_1[1], generation(2, "PROBING_REBALANCE", "a", 1000, 1010)],
            "members": [A_IN_1[0], member(2, "a")],
            "events": [A_JOINS],
            "churn": [{"generation": 1, "partitions_orphaned": 2}],
        },
        [A_STARTED, (2, 1, "trigger", "PROBING_REBALANCE", "scheduled", "a", "log")],
    ),
    CONFIGURED: (
        {
            "generations": [A_IN_1[1]],
            "members": [A_IN_1[0]],
            "events": [
                line(1, "GROUP_CONFIG", 1, reason="a.ms -> 1,b.ms -> 2"),
                A_JOINS,
                line(90, "GROUP_CONFIG", 2, current_generation=1, reason="a.ms -> 1,b.ms -> 3"),
            ],
        },
        [A_STARTED, (1, 2, "absorbed", "GROUP_CONFIG", "group_config", None, "log")],
    ),
}


def rows(name):
    return [{"group_id": rule, **row} for rule, (tables, _) in CASES.items()
            for row in tables.get(name, [])]  # fmt: skip


def tuples(name, *columns):
    return [
        {"group_id": rule, **dict(zip(columns, row))}  # noqa: B905 - an offset is optional
        for rule, (tables, _) in CASES.items()
        for row in tables.get(name, [])
    ]


@pytest.fixture(scope="module")
def causes(frame):
    events = [row | {"seq": seq} for seq, row in enumerate(rows("events"))]
    owned = tuples("owned", "generation", "member_id", "partition")
    commits = tuples("commits", "partition", "append_time", "committed_offset")
    rows_of_all = rebalance_causes(
        frame("timeline", events),
        frame("generations", rows("generations")),
        frame("generation_members", rows("members")),
        frame("assignments", [row | {"process": row["member_id"].upper()} for row in owned]),
        frame("churn", rows("churn")),
        frame("committed_offsets", [c | {"log_offset": n} for n, c in enumerate(commits)]),
    )
    return conform(rows_of_all, "rebalance_causes").persist()


@pytest.mark.parametrize("has_clients", [False, True], ids=["brokers", "brokers and clients"])
def test_plans_stay_small(frame, engine, monkeypatch, has_clients):
    """Planning grows faster than a plan: with 160 kB it was a fifth of a small night."""
    if engine != "embedded":
        pytest.skip("plans of Spark Connect")
    sizes = []

    def size(rows):
        return rows._plan.to_proto(rows._session.client).ByteSize()

    def recorded(rows):
        sizes.append(size(rows))
        return computed(rows)

    monkeypatch.setattr(jobs.rebalance_causes, "computed", recorded)
    names = ("timeline", "generations", "generation_members", "assignments", "churn")
    tables = {name: frame(name, []) for name in names}
    if has_clients:
        tables["of_clients"] = frame("rebalance_causes", [])
        tables["client_events"] = frame("client_events", [])
    written = rebalance_causes(**tables)

    assert len(sizes) == (4 if has_clients else 2)
    assert max([*sizes, size(written)]) < 80_000


@pytest.fixture(scope="module")
def by_rule(causes, by_group):
    columns = ["generation", "cause_seq", "role", "cause", "story", "member_id", "evidence"]
    return by_group(causes, ["generation", "cause_seq"], columns)


@pytest.mark.parametrize("rule", CASES)
def test_causes(by_rule, rule):
    assert_rows(by_rule[rule], CASES[rule][-1])


def test_a_cause_has_its_time_and_member(causes):
    rule = "a static restart in a stable group causes no rebalance"
    row = causes.where(f"group_id = '{rule}' AND role = 'absorbed'").first()

    assert (row.instance_id, row.event_time.timestamp()) == ("i", 5.0)


def test_a_static_member_that_is_back_is_not_dated_by_its_later_replacement(frame):
    """The member of a consumer group was removed, joined again under its id, and was replaced."""
    members = [
        static(1, "s1", "joined", left_time=3000, left_how="dropped"),
        static(3, "s1", "joined", left_time=9000, left_how="replaced"),
        static(3, "s2", "replaced"),
    ]
    events = [
        line(10, "MEMBER_JOIN", 1, "s1", instance_id="i"),
        line(5000, "MEMBER_JOIN", 3, "s1", instance_id="i"),
        line(9000, "STATIC_REPLACED", 4, "s2", instance_id="i", old_member_id="s1"),
    ]
    tables = {
        "timeline": [row | {"seq": n} for n, row in enumerate(events)],
        "generations": [generation(number, "MEMBER_NEW") for number in (1, 3)],
        "generation_members": members,
    }
    frames = {
        name: frame(name, [{"group_id": "g"} | row for row in table])
        for name, table in tables.items()
    }

    rows_of_all = arrivals(**frames, group_epochs=None)

    assert sorted(
        (row.generation, row.member_id, row.event_time.timestamp()) for row in rows_of_all.collect()
    ) == [(1, "s1", 0.01), (3, "s1", 5.0), (3, "s2", 9.0)]


def test_a_cause_has_the_client_that_a_line_names(frame):
    left_with_host = {"client_id": "rdkafka", "client_host": "/h"}
    events = [
        left(1000, 2, UUID_1, **left_with_host),
        left(1001, 2, UUID_2),
        line(900, "STATIC_NEW", 2, "s-1", instance_id="s"),
        left(1002, 2, "s-00000000-0000-4000-8000-000000000009"),
    ]
    rows_of_all = rebalance_causes(
        frame("timeline", [each | {"seq": n, "group_id": "g"} for n, each in enumerate(events)]),
        frame(
            "generations", [generation(2, "LEAVE", UUID_1, 1000, 1010) | LOG | {"group_id": "g"}]
        ),
        *(frame(name, []) for name in ("generation_members", "assignments", "churn")),
    )

    rows = conform(rows_of_all, "rebalance_causes").where("cause = 'LEAVE'").collect()
    assert {row.member_id: (row.instance_id, row.client_id, row.client_host) for row in rows} == {
        UUID_1: (None, "rdkafka", "/h"),
        UUID_2: (None, "i", None),
        "s-00000000-0000-4000-8000-000000000009": ("s", None, None),
    }


def test_a_replaced_static_member_has_the_settings_that_changed(causes):
    rows = causes.where(f"group_id = '{CHANGED_SETTINGS}'").collect()

    assert {row.member_id: row.settings for row in rows} == {
        "s1": None,
        "s2": ["session.timeout.ms 10000 -> 45000", "topics t -> t,u"],
        "s3": None,
    }


def test_a_changed_configuration_has_what_differs_from_the_previous_one(causes):
    [row] = causes.where(f"group_id = '{CONFIGURED}' AND cause = 'GROUP_CONFIG'").collect()

    assert row.settings == ["b.ms -> 3"]


def test_an_absorbed_cause_has_its_own_date_other_causes_that_of_the_generation(causes):
    """The fixture's generations are of another date than their times."""
    rule = "a static restart in a stable group causes no rebalance"
    dates = {
        row.role: f"{row.event_date}" for row in causes.where(f"group_id = '{rule}'").collect()
    }

    assert dates == {"trigger": "2026-11-21", "absorbed": "1970-01-01"}


def test_without_times_of_causes_no_commits_are_needed(frame):
    """A record tells that a member joined, but not when."""
    members = [
        {"group_id": "g", "generation": 1, "member_id": "a", "process": "A", "change": "joined"}
    ]
    rows_of_all = rebalance_causes(
        frame("timeline", []),
        frame("generations", [{"group_id": "g", "generation": 1, "evidence": "records"}]),
        frame("generation_members", members),
        frame("assignments", []),
        frame("churn", []),
    )

    [row] = conform(rows_of_all, "rebalance_causes").collect()

    assert (row.member_id, row.cause, row.story) == ("a", "UNKNOWN", "start")
    assert (row.event_time, row.evidence) == (None, "records")
