"""generation_members: how each member came and left, and the process behind it."""

import pytest
from chispa import assert_df_equality

from jobs.generation_members import generation_members
from jobs.lake.tables import conform
from tests.jobs.comparison import assert_rows


def member(member_id, instance_id=None, client_id=None, host="/10.0.0.1"):
    return {
        "member_id": member_id,
        "instance_id": instance_id,
        "client_id": client_id or f"client-{member_id}",
        "client_host": host,
    }


def record(ms, generation, *members):
    """A record of members; a string is a dynamic member with its own client id."""
    full = [member(m) if isinstance(m, str) else m for m in members]
    return {"append_time": ms, "generation": generation, "members": full, "leader": "a"}


def line(ms, event, current, **more):
    return {"event_time": ms, "event": event, "current_generation": current, **more}


def static(member_id):
    return member(member_id, instance_id="i")


def twin(member_id):
    return member(member_id, client_id="app")


# rule -> records in their order, lines in their order, and (generation, member, change, how it
# left, when, gone)
CASES = {
    "members of the previous record are retained, others joined": (
        [record(10, 1, "a"), record(20, 2, "a", "b")],
        [],
        [
            (1, "a", "joined", None, None, False),
            (2, "a", "retained", None, None, False),
            (2, "b", "joined", None, None, False),
        ],
    ),
    "generations without a record are skipped": (
        [record(10, 1, "a"), record(20, 4, "a")],
        [],
        [(1, "a", "joined", None, None, False), (4, "a", "retained", None, None, False)],
    ),
    "no member is retained in an empty group": (
        [record(10, 1, "a"), record(20, 2), record(30, 3, "b")],
        [],
        [(1, "a", "joined", None, None, True), (3, "b", "joined", None, None, False)],
    ),
    "records alone: a replaced static member shows": (
        [record(10, 1, static("s1")), record(20, 2, static("s2"))],
        [],
        [
            (1, "s1", "joined", "replaced", None, True),
            (2, "s2", "replaced", None, None, False),
        ],
    ),
    "a static member replaced within a generation: both member ids are in it": (
        [record(10, 1, static("s1"), "a"), record(20, 1, static("s2"), "a")],
        [],
        [
            (1, "a", "joined", None, None, False),
            (1, "s1", "joined", "replaced", None, True),
            (1, "s2", "replaced", None, None, False),
        ],
    ),
    "records alone: how a dynamic member left is unknown": (
        [record(10, 1, "a", "b"), record(20, 2, "a")],
        [],
        [
            (1, "a", "joined", None, None, False),
            (1, "b", "joined", None, None, True),
            (2, "a", "retained", None, None, False),
        ],
    ),
    "a departure is in the row of the member's last generation": (
        [record(10, 1, "a", "b"), record(20, 2, "a", "b"), record(40, 3, "a")],
        [line(30, "LEFT", 2, member_id="b")],
        [
            (1, "a", "joined", None, None, False),
            (1, "b", "joined", None, None, False),
            (2, "a", "retained", None, None, False),
            (2, "b", "retained", "left", 30, True),
            (3, "a", "retained", None, None, False),
        ],
    ),
    "a line about an expired session": (
        [record(10, 1, "a")],
        [line(30, "HEARTBEAT_EXPIRED", 1, member_id="a")],
        [(1, "a", "joined", "session_expired", 30, False)],
    ),
    "members listed for not rejoining were dropped": (
        [record(10, 1, "a", "b"), record(40, 2, "a")],
        [line(35, "DROPPED_NOT_REJOINED", 1, members=["b", "x"])],
        [
            (1, "a", "joined", None, None, False),
            (1, "b", "joined", "dropped", 35, True),
            (2, "a", "retained", None, None, False),
        ],
    ),
    "members listed for not syncing were dropped": (
        [record(10, 1, "a", "b"), record(40, 3, "a")],
        [line(35, "REBALANCE_START", 2, members=["b"], cause="SYNC_TIMEOUT")],
        [
            (1, "a", "joined", None, None, False),
            (1, "b", "joined", "dropped", 35, True),
            (3, "a", "retained", None, None, False),
        ],
    ),
    "a start that lists members for another reason drops none": (
        [record(10, 1, "a", "b"), record(40, 2, "a", "b")],
        [line(35, "REBALANCE_START", 1, members=["b"], cause="LEAVE")],
        [
            (1, "a", "joined", None, None, False),
            (1, "b", "joined", None, None, False),
            (2, "a", "retained", None, None, False),
            (2, "b", "retained", None, None, False),
        ],
    ),
    "a line has the time of a static replacement": (
        [record(10, 1, static("s1")), record(20, 1, static("s2"))],
        [line(19, "STATIC_REPLACED", 1, instance_id="i", old_member_id="s1")],
        [
            (1, "s1", "joined", "replaced", 19, True),
            (1, "s2", "replaced", None, None, False),
        ],
    ),
    "the first of two lines about a member ended its membership": (
        [record(10, 1, "a")],
        [
            line(30, "HEARTBEAT_EXPIRED", 1, member_id="a"),
            line(50, "LEFT", 1, member_id="a"),
        ],
        [(1, "a", "joined", "session_expired", 30, False)],
    ),
}

# rule -> records, and (generation, member, process)
PROCESSES = {
    "a static member's process is its instance id": (
        [record(10, 1, static("s1")), record(20, 2, static("s2"))],
        [(1, "s1", "i"), (2, "s2", "i")],
    ),
    "a dynamic member's process is its client id and host, also after a restart": (
        [
            record(10, 1, twin("x1")),
            record(20, 2, twin("x1"), twin("x2")),
            record(30, 3, twin("x2")),
        ],
        [
            (1, "x1", "app@10.0.0.1"),
            (2, "x1", "app@10.0.0.1"),
            (2, "x2", "app@10.0.0.1"),
            (3, "x2", "app@10.0.0.1"),
        ],
    ),
    "two members retained with the same client id and host are two processes": (
        [record(10, 1, twin("x1"), twin("x2"), "a"), record(20, 2, twin("x1"), twin("x2"), "a")],
        [
            (1, "a", "client-a@10.0.0.1"),
            (1, "x1", "x1"),
            (1, "x2", "x2"),
            (2, "a", "client-a@10.0.0.1"),
            (2, "x1", "x1"),
            (2, "x2", "x2"),
        ],
    ),
    "the same client id on two hosts is two processes": (
        [record(10, 1, twin("x1"), member("y1", client_id="app", host="/10.0.0.2"))],
        [(1, "x1", "app@10.0.0.1"), (1, "y1", "app@10.0.0.2")],
    ),
}


def events_and_records(rule, records, lines):
    """Events and records of a rule; the timeline orders them by time."""
    events = [line | {"seq": line["event_time"] * 10} for line in lines]
    metadata = []
    for offset, stored in enumerate(records):
        metadata.append({"group_id": rule, "log_offset": offset, **stored})
        events.append(
            {
                "seq": stored["append_time"] * 10 + 5,
                "event_time": stored["append_time"],
                "event": "RECORD" if stored["members"] else "RECORD_EMPTY",
                "event_generation": stored["generation"],
                "topic_partition": "__consumer_offsets-0",
                "log_offset": offset,
            }
        )
    return [{"group_id": rule} | event for event in events], metadata


def computed(frame, cases):
    events, records = [], []
    for rule, (stored, *lines, _) in cases.items():
        of_case = events_and_records(rule, stored, lines[0] if lines else [])
        events += of_case[0]
        records += of_case[1]
    rows = generation_members(frame("timeline", events), frame("group_metadata", records))
    return conform(rows, "generation_members")


@pytest.fixture(scope="module")
def members(frame, by_group):
    columns = ["generation", "member_id", "change", "left_how", "left_time", "gone"]
    return by_group(computed(frame, CASES), ["generation", "member_id"], columns)


@pytest.mark.parametrize("rule", CASES)
def test_members(members, rule):
    assert_rows(members[rule], CASES[rule][-1])


@pytest.fixture(scope="module")
def processes(frame, by_group):
    columns = ["generation", "member_id", "process"]
    return by_group(computed(frame, PROCESSES), ["generation", "member_id"], columns)


@pytest.mark.parametrize("rule", PROCESSES)
def test_process(processes, rule):
    assert_rows(processes[rule], PROCESSES[rule][-1])


def test_a_member_has_the_fields_of_its_record(frame):
    recorded = {
        **member("a", client_id="billing"),
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 60_000,
        "subscribed_topics": ["orders"],
    }
    lines = [line(30, "LEFT", 1, member_id="a", client_reason="unsubscribed")]
    events, records = events_and_records("g", [record(10, 1, recorded)], lines)

    computed_rows = generation_members(frame("timeline", events), frame("group_metadata", records))

    columns = ["member_id", "process", "client_id", "client_host", "session_timeout_ms",
               "rebalance_timeout_ms", "subscribed_topics", "is_leader", "left_reason"]  # fmt: skip
    values = ("a", "billing@10.0.0.1", "billing", "/10.0.0.1", 10_000, 60_000, ["orders"], True,
              "unsubscribed")  # fmt: skip
    expected = {"group_id": "g", "generation": 1, **dict(zip(columns, values, strict=True))}
    assert_df_equality(
        computed_rows.select(columns),
        frame("generation_members", [expected]).select(columns),
        ignore_nullable=True,
        ignore_metadata=True,
    )
