"""rebalance_causes: what made each rebalance, what fed it, and what the processes did."""

import pytest

from jobs.lake.tables import conform
from jobs.rebalance_causes import rebalance_causes

SECOND = 1000
MINUTE = 60 * SECOND


def made(generation, cause, culprit=None, prepared=None, joined=None):
    return {
        "generation": generation,
        "cause": cause,
        "culprit_member_id": culprit,
        "preparing_time": prepared,
        "joined_time": joined,
    }


def member(generation, member_id, change="retained", process=None, **more):
    return {
        "generation": generation,
        "member_id": member_id,
        "change": change,
        "process": process or member_id.upper(),
        **more,
    }


def static(generation, member_id, change="retained", **more):
    return member(generation, member_id, change, "i", instance_id="i", **more)


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


A_IN_1 = [member(1, "a", "joined"), made(1, "MEMBER_NEW", "a", 10, 20)]
A_STARTED = (1, 1, "trigger", "MEMBER_NEW", "start", "a", "log")
A_CAME = line(10, "MEMBER_JOIN", 1, "a")
STATIC_IN_1 = made(1, "MEMBER_NEW", "s1", 10, 20)
STATIC_CAME = line(10, "STATIC_NEW", 1, "s1", instance_id="i")
STATIC_STARTED = (1, 1, "trigger", "MEMBER_NEW", "start", "s1", "log")
POLLS = {"rebalance_timeout_ms": 5 * MINUTE}


def leaver(committed_ms):
    """A member that leaves after 600 s, and the last commit for what it owned."""
    return {
        "made": [made(1, "MEMBER_NEW", "a", 10, 20), made(2, "LEAVE", "a", 600_000, 600_010)],
        "members": [member(1, "a", "joined", **POLLS)],
        "events": [A_CAME, left(10 * MINUTE, 2, "a")],
        "owned": [(1, "a", 3)],
        "commits": [(3, 15 * SECOND), (3, committed_ms), (4, 599_000)],
    }


# rule -> what the tables say, then
#         (generation, number, role, cause, story, member, evidence)
CASES = {
    "the trigger is whom the start names, others contribute": (
        {
            "made": [made(1, "MEMBER_NEW", "b", 12, 3000)],
            "members": [member(1, "a", "joined"), member(1, "b", "joined")],
            "events": [line(40, "MEMBER_JOIN", 1, "a"), line(12, "MEMBER_JOIN", 1, "b")],
        },
        [
            (1, 1, "trigger", "MEMBER_NEW", "start", "b", "log"),
            (1, 2, "contributing", "MEMBER_NEW", "start", "a", "log"),
        ],
    ),
    "records alone: membership changed; the first cause there is, is the trigger": (
        {
            "made": [made(1, "MEMBER_NEW")],
            "members": [member(1, "a", "joined"), member(1, "b", "joined")],
        },
        [
            (1, 1, "trigger", "MEMBER_NEW", "start", "a", "records"),
            (1, 2, "contributing", "MEMBER_NEW", "start", "b", "records"),
        ],
    ),
    "records alone: nobody came; the generation's own cause is all there is": (
        {
            "made": [
                made(1, "MEMBER_NEW"),
                made(2, "MEMBER_GONE", "b"),
                made(3, "REJOIN"),
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
    "whom a start names for something else may leave as well": (
        {
            "made": [A_IN_1[1], made(2, "STORE_ERROR", "a", 1000, 9000)],
            "members": [A_IN_1[0]],
            "events": [A_CAME, line(5000, "HEARTBEAT_EXPIRED", 2, "a")],
        },
        [
            A_STARTED,
            (2, 1, "trigger", "STORE_ERROR", None, "a", "log"),
            (2, 2, "contributing", "HEARTBEAT_EXPIRY", "crash", "a", "log"),
        ],
    ),
    "left and back within a minute: a restart, then a return": (
        {
            "made": [
                A_IN_1[1],
                made(2, "LEAVE", "a", 1000, 1010),
                made(3, "MEMBER_NEW", "a2", 61_000, 61_010),
            ],
            "members": [A_IN_1[0], member(3, "a2", "joined", "A")],
            "events": [A_CAME, left(1000, 2, "a"), line(61_000, "MEMBER_JOIN", 3, "a2")],
        },
        [
            A_STARTED,
            (2, 1, "trigger", "LEAVE", "restart", "a", "log"),
            (3, 1, "trigger", "MEMBER_NEW", "return", "a2", "log"),
        ],
    ),
    "left and back after more than a minute: a stop, then a return": (
        {
            "made": [
                A_IN_1[1],
                made(2, "LEAVE", "a", 1000, 1010),
                made(3, "MEMBER_NEW", "a2", 61_001, 61_010),
            ],
            "members": [A_IN_1[0], member(3, "a2", "joined", "A")],
            "events": [A_CAME, left(1000, 2, "a"), line(61_001, "MEMBER_JOIN", 3, "a2")],
        },
        [
            A_STARTED,
            (2, 1, "trigger", "LEAVE", "stop", "a", "log"),
            (3, 1, "trigger", "MEMBER_NEW", "return", "a2", "log"),
        ],
    ),
    "another process that comes is no return": (
        {
            "made": [
                A_IN_1[1],
                made(2, "LEAVE", "a", 1000, 1010),
                made(3, "MEMBER_NEW", "b", 2000, 2010),
            ],
            "members": [A_IN_1[0], member(3, "b", "joined")],
            "events": [A_CAME, left(1000, 2, "a"), line(2000, "MEMBER_JOIN", 3, "b")],
        },
        [
            A_STARTED,
            (2, 1, "trigger", "LEAVE", "stop", "a", "log"),
            (3, 1, "trigger", "MEMBER_NEW", "start", "b", "log"),
        ],
    ),
    "a slow poll that the client tells": (
        {
            "made": [A_IN_1[1], made(2, "LEAVE_POLL_TIMEOUT", "a", 1000, 1010)],
            "members": [A_IN_1[0]],
            "events": [A_CAME, left(1000, 2, "a", client_cause="POLL_TIMEOUT")],
        },
        [A_STARTED, (2, 1, "trigger", "LEAVE_POLL_TIMEOUT", "slow_poll", "a", "log")],
    ),
    "a slow poll that commits give away: none for max.poll.interval.ms": (
        leaver(committed_ms=5 * MINUTE + 2 * SECOND),
        [A_STARTED, (2, 1, "trigger", "LEAVE", "slow_poll", "a", "commits")],
    ),
    "who committed until it left was stopped": (
        leaver(committed_ms=598 * SECOND),
        [A_STARTED, (2, 1, "trigger", "LEAVE", "stop", "a", "log")],
    ),
    "silence of another length is no slow poll": (
        leaver(committed_ms=4 * MINUTE),
        [A_STARTED, (2, 1, "trigger", "LEAVE", "stop", "a", "log")],
    ),
    "a dynamic member whose session expires crashed": (
        {
            "made": [A_IN_1[1], made(2, "HEARTBEAT_EXPIRY", "a", 1000, 1010)],
            "members": [A_IN_1[0]],
            "events": [A_CAME, line(1000, "HEARTBEAT_EXPIRED", 2, "a")],
        },
        [A_STARTED, (2, 1, "trigger", "HEARTBEAT_EXPIRY", "crash", "a", "log")],
    ),
    "of a static member a stop looks like a crash": (
        {
            "made": [STATIC_IN_1, made(2, "HEARTBEAT_EXPIRY", "s1", 1000, 1010)],
            "members": [static(1, "s1", "joined")],
            "events": [STATIC_CAME, line(1000, "HEARTBEAT_EXPIRED", 2, "s1")],
        },
        [STATIC_STARTED, (2, 1, "trigger", "HEARTBEAT_EXPIRY", "stop_or_crash", "s1", "log")],
    ),
    "who does not rejoin in time contributes to what it delayed": (
        {
            "made": [A_IN_1[1], made(2, "LEADER_REJOIN", "b", 1000, 9000)],
            "members": [A_IN_1[0], member(2, "b")],
            "events": [A_CAME, line(9000, "DROPPED_NOT_REJOINED", 2, None, members=["a"])],
        },
        [
            A_STARTED,
            (2, 1, "trigger", "LEADER_REJOIN", "rejoin", "b", "log"),
            (2, 2, "contributing", "NOT_REJOINED", "slow_rejoin", "a", "log"),
        ],
    ),
    "who does not sync in time is what the start lists": (
        {
            "made": [A_IN_1[1], made(2, "SYNC_TIMEOUT", "a", 1000, 1010)],
            "members": [A_IN_1[0]],
            "events": [
                A_CAME,
                line(1000, "REBALANCE_START", 2, None, members=["a"], cause="SYNC_TIMEOUT"),
            ],
        },
        [A_STARTED, (2, 1, "trigger", "SYNC_TIMEOUT", "no_sync", "a", "log")],
    ),
    "who left before it had joined is no cause": (
        {
            "made": [A_IN_1[1]],
            "members": [A_IN_1[0]],
            "events": [A_CAME, left(15, 1, "x", step="pending")],
        },
        [A_STARTED],
    ),
    "several that leave in one request: one triggers, the others contribute": (
        {
            "made": [made(2, "LEAVE", "b", 1000, 1010)],
            "members": [member(1, "a"), member(1, "b")],
            "events": [left(1000, 2, "a"), left(1000, 2, "b")],
        },
        [
            (2, 1, "trigger", "LEAVE", "stop", "b", "log"),
            (2, 2, "contributing", "LEAVE", "stop", "a", "log"),
        ],
    ),
    "a static restart in a stable group makes no rebalance": (
        {
            "made": [STATIC_IN_1],
            "members": [
                static(1, "s1", "joined", left_how="replaced"),
                static(1, "s2", "replaced"),
            ],
            "events": [
                STATIC_CAME,
                line(5000, "STATIC_REPLACED", 2, instance_id="i", old_member_id="s1"),
            ],
        },
        [STATIC_STARTED, (1, 2, "absorbed", "STATIC_REPLACED", "restart", "s2", "log")],
    ),
    "a static restart on the way to a join contributes": (
        {
            "made": [STATIC_IN_1, made(2, "MEMBER_NEW", "b", 4000, 6000)],
            "members": [
                static(1, "s1", "joined", left_how="replaced"),
                static(2, "s2", "replaced"),
                member(2, "b", "joined"),
            ],
            "events": [
                STATIC_CAME,
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
    "a replaced member that is heard of again: a second process took over": (
        {
            "made": [STATIC_IN_1],
            "members": [
                static(1, "s1", "joined", left_how="replaced"),
                static(1, "s2", "replaced"),
            ],
            "events": [
                STATIC_CAME,
                line(5000, "STATIC_REPLACED", 2, instance_id="i", old_member_id="s1"),
                line(6000, "STATIC_FENCED", 2, "s1", instance_id="i"),
            ],
        },
        [STATIC_STARTED, (1, 2, "absorbed", "STATIC_REPLACED", "takeover", "s2", "log")],
    ),
    "replaced twice within a generation: each by the line about the one before": (
        {
            "made": [STATIC_IN_1],
            "members": [
                static(1, "s9", "replaced", left_how="replaced", left_time=6000),
                static(1, "s1", "joined", left_how="replaced", left_time=5000),
                static(1, "s2", "replaced"),
            ],
            "events": [
                STATIC_CAME,
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
    "a rejoin after partitions were withheld is the follow-up": (
        {
            "made": [A_IN_1[1], made(2, "LEADER_REJOIN", "a", 1000, 1010)],
            "members": [A_IN_1[0], member(2, "a")],
            "events": [A_CAME],
            "churn": [{"generation": 1, "partitions_orphaned": 2}],
        },
        [A_STARTED, (2, 1, "trigger", "LEADER_REJOIN", "follow_up", "a", "log")],
    ),
    "a rejoin that brings partitions nobody had is a topic's change": (
        {
            "made": [A_IN_1[1], made(2, "METADATA_CHANGE", "a", 1000, 1010)],
            "members": [A_IN_1[0], member(2, "a")],
            "events": [A_CAME],
            "churn": [
                {"generation": 1, "partitions_orphaned": 0, "partitions_new": 4},
                {"generation": 2, "partitions_orphaned": 0, "partitions_new": 2},
            ],
        },
        [A_STARTED, (2, 1, "trigger", "METADATA_CHANGE", "topic_change", "a", "log")],
    ),
    "any other rejoin is just that": (
        {
            "made": [A_IN_1[1], made(2, "LEADER_REJOIN", "a", 1000, 1010)],
            "members": [A_IN_1[0], member(2, "a")],
            "events": [A_CAME],
            "churn": [{"generation": 2, "partitions_new": 0}],
        },
        [A_STARTED, (2, 1, "trigger", "LEADER_REJOIN", "rejoin", "a", "log")],
    ),
    "a broker that cannot store an assignment is nobody's story": (
        {
            "made": [A_IN_1[1], made(2, "STORE_ERROR", "a", 1000, 1010)],
            "members": [A_IN_1[0], member(2, "a")],
            "events": [A_CAME],
        },
        [A_STARTED, (2, 1, "trigger", "STORE_ERROR", None, "a", "log")],
    ),
}


def rows(name):
    return [{"group_id": rule, **row} for rule, (told, _) in CASES.items()
            for row in told.get(name, [])]  # fmt: skip


def tuples(name, *columns):
    return [
        {"group_id": rule, **dict(zip(columns, row, strict=True))}
        for rule, (told, _) in CASES.items()
        for row in told.get(name, [])
    ]


@pytest.fixture(scope="module")
def causes(frame):
    events = [row | {"seq": seq} for seq, row in enumerate(rows("events"))]
    owned = tuples("owned", "generation", "member_id", "partition")
    commits = tuples("commits", "partition", "append_time")
    made_of = rebalance_causes(
        frame("timeline", events),
        frame("generations", rows("made")),
        frame("generation_members", rows("members")),
        frame("assignments", [row | {"process": row["member_id"].upper()} for row in owned]),
        frame("committed_offsets", [c | {"log_offset": n} for n, c in enumerate(commits)]),
        frame("churn", rows("churn")),
    )
    return conform(made_of, "rebalance_causes").persist()


@pytest.fixture(scope="module")
def found(causes, by_group):
    columns = ["generation", "cause_seq", "role", "cause", "story", "member_id", "evidence"]
    return by_group(causes, ["generation", "cause_seq"], columns)


@pytest.mark.parametrize("rule", CASES)
def test_causes(found, rule):
    assert found[rule] == CASES[rule][-1]


def test_a_cause_knows_when_and_who(causes):
    rule = "a static restart in a stable group makes no rebalance"
    row = causes.where(f"group_id = '{rule}' AND role = 'absorbed'").first()

    assert (row.instance_id, row.event_time.timestamp()) == ("i", 5.0)
