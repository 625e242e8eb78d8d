"""generations: times and outcome from lines, records or both, and the cause of each."""

import pytest
from chispa import assert_df_equality

from jobs.generations import generations
from jobs.lake.tables import conform
from tests.jobs.comparison import assert_rows

BILLING = "billing-1-0f8fad5b-d9cb-469f-a165-70867728950e"


def event(ms, event, event_generation, current, **more):
    forming = more.pop("forming", current + 1)
    return {
        "event_time": ms,
        "event": event,
        "event_generation": event_generation,
        "current_generation": current,
        "forming_generation": forming,
        **more,
    }


def start(ms, old, cause=None, member_id=None, **more):
    return event(ms, "REBALANCE_START", old, old, cause=cause, member_id=member_id, **more)


def joined(ms, generation, member_count=1):
    return event(ms, "JOIN_COMPLETE", generation, generation, member_count=member_count)


def assigned(ms, generation):
    return event(ms, "ASSIGNMENT_RECEIVED", generation, generation, member_id="a", member_count=1)


def record(ms, generation, members=("a",), state_ms=None):
    return event(
        ms,
        "RECORD",
        generation,
        generation,
        member_id=members[0],
        members=list(members),
        member_count=len(members),
        protocol="range",
        protocol_type="consumer",
        state_timestamp_ms=state_ms,
    )


# rule -> events in their order, and (incarnation, generation, prepared, joined, stable, ended,
# outcome, members, gap, evidence)
TIMES_AND_OUTCOMES = {
    "line and record are evidence of one generation": (
        [start(1000, 0), joined(4000, 1), assigned(4010, 1), record(4012, 1, state_ms=4000)],
        [(1, 1, 1000, 4000, 4010, None, "stable", 1, None, "both")],
    ),
    "a log alone has all times": (
        [start(1000, 0), joined(4000, 1), assigned(4010, 1), start(9000, 1), joined(9500, 2)],
        [
            (1, 1, 1000, 4000, 4010, 9000, "stable", 1, None, "log"),
            (1, 2, 9000, 9500, None, None, "unknown", 1, 0, "log"),
        ],
    ),
    "a group that dies while it prepares a rebalance has lost its members": (
        [start(1000, 1), event(1000, "GROUP_DEAD", None, 1)],
        [(1, 2, 1000, 1000, None, None, "empty", 0, None, "log")],
    ),
    "an upgrade ends the last classic generation": (
        [record(520, 3, state_ms=500), event(900, "CONVERSION_RECORD", None, 3)],
        [(1, 3, None, 500, 520, 900, "stable", 1, None, "records")],
    ),
    "a downgrade ends no classic generation": (
        [
            event(500, "CONVERSION_RECORD", None, 3, protocol_type="consumer"),
            record(520, 3, state_ms=500),
        ],
        [(1, 3, None, 500, 520, None, "stable", 1, None, "records")],
    ),
    "records alone: joined by the state's time, stable by the record's, gaps counted": (
        [record(520, 3, state_ms=500), record(950, 6, ("a", "b"), state_ms=900)],
        [
            (1, 3, None, 500, 520, None, "stable", 1, None, "records"),
            (1, 6, None, 900, 950, None, "stable", 2, 2, "records"),
        ],
    ),
    "a record before value version 2 does not say when the join completed": (
        [record(520, 3)],
        [(1, 3, None, None, 520, None, "stable", 1, None, "records")],
    ),
    "superseded: the next start came before an assignment": (
        [start(10, 0), joined(40, 1), start(50, 1), joined(90, 2), assigned(95, 2)],
        [
            (1, 1, 10, 40, None, 50, "superseded", 1, None, "log"),
            (1, 2, 50, 90, 95, None, "stable", 1, 0, "log"),
        ],
    ),
    "failed: the next start is about storing the assignment": (
        [start(10, 0), joined(40, 1), assigned(45, 1), start(50, 1, "STORE_ERROR", "a")],
        [
            (1, 1, 10, 40, 45, 50, "failed", 1, None, "log"),
            (1, 2, 50, None, None, None, "unknown", None, 0, "log"),
        ],
    ),
    "failed: a line about the failed append": (
        [joined(40, 1), assigned(45, 1), event(48, "STORE_FAILED", None, 1)],
        [(1, 1, None, 40, 45, None, "failed", 1, None, "log")],
    ),
    "stable: the append failed, but a retry succeeded": (
        [joined(40, 1), event(48, "STORE_FAILED", None, 1), record(60, 1)],
        [(1, 1, None, 40, 60, None, "stable", 1, None, "both")],
    ),
    "empty: no member joined": (
        [start(10, 4), event(70, "GROUP_EMPTY", 5, 5), event(71, "RECORD_EMPTY", 5, 5)],
        [(1, 5, 10, 70, None, None, "empty", 0, None, "both")],
    ),
    "empty by the record alone": (
        [event(71, "RECORD_EMPTY", 5, 5, state_timestamp_ms=70)],
        [(1, 5, None, 70, None, None, "empty", 0, None, "records")],
    ),
    "the group's deletion ends its last generation": (
        [joined(40, 2), assigned(45, 2), event(900, "GROUP_DEAD", None, 2)],
        [(1, 2, None, 40, 45, 900, "stable", 1, None, "log")],
    ),
    "a start in a generation without evidence makes only the next one": (
        [start(50, 7), joined(90, 8)],
        [(1, 8, 50, 90, None, None, "unknown", 1, None, "log")],
    ),
    "the second record of a static replacement is of the same generation": (
        [record(20, 1, ("s1",)), record(80, 1, ("s2",))],
        [(1, 1, None, None, 20, None, "stable", 1, None, "records")],
    ),
    "generations and gaps are counted per incarnation": (
        [
            record(20, 7),
            event(30, "TOMBSTONE", None, 7),
            record(50, 1) | {"incarnation": 2},
            record(60, 2) | {"incarnation": 2},
        ],
        [
            (1, 7, None, None, 20, 30, "stable", 1, None, "records"),
            (2, 1, None, None, 50, None, "stable", 1, None, "records"),
            (2, 2, None, None, 60, None, "stable", 1, 0, "records"),
        ],
    ),
}


def left(ms, current, member_id, **more):
    return event(ms, "LEFT", None, current, member_id=member_id, **more)


# rule -> events in their order, and (generation, cause, client reason, culprit, culprit's client,
# host)
CAUSES = {
    "the start's own reason and member; the client by the records": (
        [start(10, 0, "MEMBER_NEW", "a", client_reason="rebalance enforced"), record(40, 1)],
        [(1, "MEMBER_NEW", "rebalance enforced", "a", "client-a", "/10.0.0.1")],
    ),
    "the client id of a member without a record is taken from its member id": (
        [start(10, 0, "MEMBER_NEW", BILLING), joined(40, 1)],
        [(1, "MEMBER_NEW", None, BILLING, "billing-1", None)],
    ),
    "a member id other than client id and UUID gives no client id": (
        [start(10, 0, "MEMBER_NEW", "x-1"), joined(40, 1)],
        [(1, "MEMBER_NEW", None, "x-1", None, None)],
    ),
    "a LeaveGroup request with several members: the first, with the reason of its own line": (
        [
            left(9, 1, "b", client_reason="the consumer is being closed", client_cause="CLOSING"),
            left(9, 1, "a", client_reason="unsubscribed", client_cause="UNSUBSCRIBED"),
            start(10, 1, "LEAVE", None, members=["a", "b"]),
        ],
        [(2, "LEAVE", "unsubscribed", "a", "client-a", "/10.0.0.1")],
    ),
    "the client's reason shows a leave beyond max.poll.interval.ms": (
        [
            left(9, 1, "a", client_reason="poll timeout", client_cause="POLL_TIMEOUT"),
            start(10, 1, "LEAVE", "a"),
        ],
        [(2, "LEAVE_POLL_TIMEOUT", "poll timeout", "a", "client-a", "/10.0.0.1")],
    ),
    "another member's poll timeout is not the culprit's": (
        [
            start(10, 1, "LEAVE", "a"),
            left(11, 1, "a"),
            left(15, 1, "b", client_reason="poll timeout", client_cause="POLL_TIMEOUT"),
        ],
        [(2, "LEAVE", None, "a", "client-a", "/10.0.0.1")],
    ),
    "before 2.1 a start has no reason: an expiry in its join phase is the cause": (
        [event(9, "HEARTBEAT_EXPIRED", None, 1, member_id="b"), start(10, 1)],
        [(2, "SESSION_EXPIRY", None, "b", None, None)],
    ),
    "before 2.1: a departure in its join phase is the cause": (
        [left(9, 1, "a"), left(12, 1, "b"), start(10, 1)],
        [(2, "LEAVE", None, "a", "client-a", "/10.0.0.1")],
    ),
    "without a reason: the only member that joined": (
        [record(10, 1), record(20, 2, ("a", "b"))],
        [
            (1, "MEMBER_NEW", None, "a", "client-a", "/10.0.0.1"),
            (2, "MEMBER_NEW", None, "b", None, None),
        ],
    ),
    "without a reason: if two members joined, neither is the culprit": (
        [record(10, 1, ("a", "b"))],
        [(1, "MEMBER_NEW", None, None, None, None)],
    ),
    "without a reason: the only member that left": (
        [record(10, 1, ("a", "b")), record(20, 2)],
        [(1, "MEMBER_NEW", None, None, None, None), (2, "MEMBER_GONE", None, "b", None, None)],
    ),
    "without a reason: the same members rejoined": (
        [record(10, 1), record(20, 2)],
        [
            (1, "MEMBER_NEW", None, "a", "client-a", "/10.0.0.1"),
            (2, "REJOIN", None, None, None, None),
        ],
    ),
    "the first generation seen has no known cause, unless it is generation 1": (
        [record(10, 500), record(20, 501, ("a", "b"))],
        [(500, None, None, None, None, None), (501, "MEMBER_NEW", None, "b", None, None)],
    ),
    "a generation without a record has no known cause": (
        [record(10, 1), start(20, 1), joined(30, 2), start(40, 2), record(60, 3)],
        [
            (1, "MEMBER_NEW", None, "a", "client-a", "/10.0.0.1"),
            (2, None, None, None, None, None),
            (3, "REJOIN", None, None, None, None),
        ],
    ),
    "a member that joins an empty group is new": (
        [event(10, "RECORD_EMPTY", 500, 500), record(20, 501)],
        [
            (500, None, None, None, None, None),
            (501, "MEMBER_NEW", None, "a", "client-a", "/10.0.0.1"),
        ],
    ),
    "the last member of a group that became empty is gone": (
        [record(10, 1), event(20, "RECORD_EMPTY", 2, 2)],
        [
            (1, "MEMBER_NEW", None, "a", "client-a", "/10.0.0.1"),
            (2, "MEMBER_GONE", None, "a", "client-a", "/10.0.0.1"),
        ],
    ),
}
CLIENT_A = {
    "append_time": 1,
    "generation": 1,
    "members": [{"member_id": "a", "client_id": "client-a", "client_host": "/10.0.0.1"}],
}


def computed(frame, cases):
    events = [
        {
            "group_id": rule,
            "seq": seq,
            "log_offset": seq if "RECORD" in row["event"] else None,
            **row,
        }
        for rule, (rows, _) in cases.items()
        for seq, row in enumerate(rows)
    ]
    records = [{"group_id": rule, "log_offset": 0, **CLIENT_A} for rule in cases]
    return conform(
        generations(frame("timeline", events), frame("group_metadata", records)), "generations"
    )


@pytest.fixture(scope="module")
def courses(frame, by_group):
    columns = ["incarnation", "generation", "preparing_time", "joined_time", "stable_time",
               "ended_time", "outcome", "member_count", "gap_before", "evidence"]  # fmt: skip
    return by_group(computed(frame, TIMES_AND_OUTCOMES), ["incarnation", "generation"], columns)


@pytest.mark.parametrize("rule", TIMES_AND_OUTCOMES)
def test_times_and_outcome(courses, rule):
    assert_rows(courses[rule], TIMES_AND_OUTCOMES[rule][-1])


@pytest.fixture(scope="module")
def causes(frame, by_group):
    columns = ["generation", "cause", "client_reason", "culprit_member_id", "culprit_client_id",
               "culprit_client_host"]  # fmt: skip
    return by_group(computed(frame, CAUSES), ["generation"], columns)


@pytest.mark.parametrize("rule", CAUSES)
def test_cause(causes, rule):
    assert_rows(causes[rule], CAUSES[rule][-1])


def own(assigned_ms, **facts):
    """A record of members of Connect or Streams, at this time; facts of their own metadata."""
    offset, delay_ms, next_ms = (facts.get(name) for name in ("offset", "delay_ms", "next_ms"))
    fields = {
        "member_id": "a",
        "assigned_config_offset": offset,
        "delay_ms": delay_ms,
        "next_rebalance_ms": next_ms,
    }
    return {"append_time": assigned_ms, "task_members": [fields, {"member_id": "b"}]}


PROBE = "triggered followup rebalance scheduled for "
# rule -> own metadata of generations 1 and 2, and start and cause of generation 2
TASK_CAUSES = {
    "the config topic has grown": (
        [own(50, offset=3), own(90, offset=5)], start(80, 1, "LEADER_REJOIN", "a"), "CONFIG_CHANGE"
    ),
    "the config topic is the same": (
        [own(50, offset=3), own(90, offset=3)], start(80, 1, "LEADER_REJOIN", "a"), "LEADER_REJOIN"
    ),
    "the config topic has grown, but a worker joined": (
        [own(50, offset=3), own(90, offset=5)], start(80, 1, "MEMBER_NEW", "b"), "MEMBER_NEW"
    ),
    "the scheduled delay is over": (
        [own(50, offset=3, delay_ms=10_000), own(10_100, offset=3)],
        start(10_051, 1, "METADATA_CHANGE", "a"),
        "SCHEDULED_REBALANCE",
    ),
    "the scheduled delay is over by the clock of a worker that is ahead": (
        [own(50, offset=3, delay_ms=10_000), own(9_500, offset=4)],
        start(9_400, 1, "METADATA_CHANGE", "a"),
        "SCHEDULED_REBALANCE",
    ),
    "the config topic has grown during the delay": (
        [own(50, offset=3, delay_ms=10_000), own(6_000, offset=4)],
        start(5_000, 1, "METADATA_CHANGE", "a"),
        "CONFIG_CHANGE",
    ),
    "a thread says that the rebalance was scheduled": (
        [own(50, next_ms=60_000), own(90)],
        start(61_000, 1, "METADATA_CHANGE", "a", client_reason=f"{PROBE}60000"),
        "PROBING_REBALANCE",
    ),
    "a thread joins again at once, to have tasks that others revoked": (
        [own(50, next_ms=0), own(90)],
        start(80, 1, "METADATA_CHANGE", "a", client_reason=f"{PROBE}0"),
        "METADATA_CHANGE",
    ),
    "a thread gives no reason: the time was scheduled": (
        [own(50, next_ms=60_000), own(90)],
        start(60_001, 1, "METADATA_CHANGE", "a"),
        "PROBING_REBALANCE",
    ),
    "a thread gives no reason, earlier than scheduled": (
        [own(50, next_ms=60_000), own(90)],
        start(50_000, 1, "METADATA_CHANGE", "a"),
        "METADATA_CHANGE",
    ),
    "a thread gives another reason": (
        [own(50, next_ms=60_000), own(90)],
        start(60_001, 1, "LEADER_REJOIN", "a", client_reason="cached metadata has changed"),
        "LEADER_REJOIN",
    ),
    "the broker logs no reason": (
        [own(50, offset=3), own(90, offset=4)], start(80, 1), "CONFIG_CHANGE"
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def task_causes(frame, by_group):
    events, records = [], []
    for rule, (of_generations, begun, _) in TASK_CAUSES.items():
        rows = [record(40, 1, ("a", "b")), begun, record(90, 2, ("a", "b"))]
        for seq, row in enumerate(rows):
            offset = seq if row["event"] == "RECORD" else None
            place = {"group_id": rule, "seq": seq, "log_offset": offset}
            events.append(place | {"topic_partition": "__consumer_offsets-0"} | row)
        for offset, generation, facts in zip((0, 2), (1, 2), of_generations, strict=True):
            place = {"group_id": rule, "log_offset": offset, "generation": generation}
            records.append(place | facts)
    rows = generations(frame("timeline", events), frame("group_metadata", records))
    return by_group(conform(rows, "generations"), ["generation"], ["generation", "cause"])


@pytest.mark.parametrize("rule", TASK_CAUSES)
def test_causes_of_connect_and_streams(task_causes, rule):
    assert_rows(task_causes[rule][1:], [(2, TASK_CAUSES[rule][-1])])


def test_a_generation_has_the_offsets_and_the_protocol_of_its_records(frame):
    events = [
        {"group_id": "g", "topic_partition": "__consumer_offsets-3", **row}
        for row in (
            record(20, 1, ("s1", "t")) | {"seq": 1, "log_offset": 7},
            record(80, 1, ("s2", "t")) | {"seq": 2, "log_offset": 9},
        )
    ]

    computed = generations(frame("timeline", events), frame("group_metadata", []))

    columns = ["topic_partition", "first_offset", "last_offset", "protocol", "protocol_type",
               "leader"]  # fmt: skip
    values = ("__consumer_offsets-3", 7, 9, "range", "consumer", "s1")
    expected = {"group_id": "g", "generation": 1, **dict(zip(columns, values, strict=True))}
    assert_df_equality(
        computed.select(columns),
        frame("generations", [expected]).select(columns),
        ignore_nullable=True,
        ignore_metadata=True,
    )
