"""handover_costs: what the end of a tenure cost, by the rules of jobs.costs."""

from datetime import date

import numpy as np
import pytest

from jobs import handover_costs, unserved_times
from jobs.costs import of_run
from jobs.costs.evidence import before_context
from jobs.costs.habits import Habits
from jobs.costs.of_run import rows_of, rows_of_both
from jobs.costs.series import Series
from jobs.handover_costs import dated
from jobs.lake.opening import open_lake
from jobs.lake.scope import AllDates
from jobs.lake.tables import conform
from jobs.modern_history.tenures import TENURES
from jobs.ownership.of_run import owners_of
from tests.jobs.comparison import assert_rows
from tests.jobs.group_histories import S, coop, empty, event, gen, member, static, tenures_of

# The rules themselves use the same arrays on both engines.
pytestmark = pytest.mark.embedded_suffices

DAY = date(2026, 11, 21)
LAST_S = 1000
TABLES = ("timeline", "group_metadata", "generations", "generation_members", "assignments",
          "committed_offsets")  # fmt: skip

BOTH = [member(1, "a1", "joined"), member(1, "b1", "joined")]
STAY = [member(2, "a1"), member(2, "b1")]
TWO = {"a1": [0], "b1": [1]}
A_DEPARTS = {1: {"a1": [0], "b1": [1]}, 2: {"b1": [0, 1]}}
KILLED = [
    member(1, "a1", "joined", "session_expired", 60),
    member(1, "b1", "joined"),
    member(2, "b1"),
]
EXPIRED = [event("HEARTBEAT_EXPIRED", 60, 2, member_id="a1")]
REPLACED = [static(1, "a1", "joined", "replaced", 60), static(1, "a2", "replaced")]
TAKEN_OVER = [event("RECORD", 3, 2, members=["a1"]), event("RECORD", 60, 2, members=["a2"])]
ENDED_IN_60 = [gen(1, 0, 3, 3), gen(2, 60, 61, 61)]


def every(seconds, first, last, *more, partition=0, rate=10):
    """Commits at an interval, of ``rate`` records per second."""
    times = [first + seconds * n for n in range(int((last - first) / seconds) + 1)]
    return [
        {"partition": partition, "append_time": int(at * S), "committed_offset": int(at * rate)}
        for at in (*times, *more)
    ]


# rule -> generations; members; partitions by generation and member; events; commits; and of the
# first tenure of partition 0: how it ended, when in seconds, the earliest and the latest time;
# records handled again, at least, at most; bounded; pause in ms
CASES = {
    "revoked: a commit before the assignment, nothing is handled again": (
        [gen(1, 0, 3, 3), gen(2, 58, 61, 62)], BOTH + STAY, {1: TWO, 2: TWO}, [],
        every(5, 8, 58, 60),
        ("revoked", 60, 60, 60, 0, 0, 0, True, 2350),
    ),
    "revoked: a commit up to 1.5 s before the rebalance counts": (
        [gen(1, 0, 3, 3), gen(2, 60, 61, 62)], BOTH + STAY, {1: TWO, 2: TWO}, [],
        every(5, 8, 58, 58.6),
        ("revoked", 60.666, 60.666, 60.666, 0, 0, 0, True, 1684),
    ),
    "left: a client that closes commits": (
        ENDED_IN_60,
        [member(1, "a1", "joined", "left", 60), member(1, "b1", "joined"), member(2, "b1")],
        A_DEPARTS, [event("LEFT", 60, 2, member_id="a1")],
        every(5, 8, 58, 59.9),
        ("left", 60, 60, 60, 0, 0, 0, True, 1350),
    ),
    "revoked: no member commits when it revokes: all since the last commit": (
        [gen(1, 0, 3, 3), gen(2, 60, 61, 62)], BOTH + STAY, {1: TWO, 2: TWO}, [],
        [*every(20, 3, 43), *every(20, 3, 43, partition=1)],
        ("revoked", 60.666, 60.666, 60.666, 176.7, 0, 177.7, True, 1684),
    ),
    "revoked: the commit of this member failed, but others committed": (
        [gen(1, 0, 3, 3), gen(2, 60, 61, 62)], BOTH + STAY, {1: TWO, 2: TWO}, [],
        [*every(20, 3, 43), *every(20, 3, 43, 60.5, partition=1)],
        ("revoked", 60.666, 60.666, 60.666, 176.7, 0, 177.7, True, 1684),
    ),
    "expired: between its last commit and its next heartbeat": (
        ENDED_IN_60, KILLED, A_DEPARTS, EXPIRED, every(5, 6, 51),
        ("session_expired", 52, 51, 53, 10, 0, 21, True, 9350),
    ),
    "expired: before its next commit": (
        ENDED_IN_60, KILLED, A_DEPARTS, EXPIRED, every(1, 6, 51),
        ("session_expired", 51.75, 51, 52.5, 7.5, 0, 16, True, 9600),
    ),
    "expired and back later: it may have handled more": (
        [*ENDED_IN_60, gen(3, 70, 73, 73)],
        [*KILLED, member(3, "a2", "joined"), member(3, "b1")], A_DEPARTS,
        [*EXPIRED, event("MEMBER_JOIN", 70, 3, member_id="a2")], every(5, 6, 51, 65, 70),
        ("session_expired", 52, 51, 53, 10, 0, 21, False, 9350),
    ),
    "expired, and long without a commit: no new records, at most an interval's": (
        ENDED_IN_60, KILLED, A_DEPARTS, EXPIRED, every(5, 6, 36),
        ("session_expired", 51.5, 50, 53, 0, 0, 51, True, 9850),
    ),
    "expired together: between all of their requests": (
        [gen(1, 0, 3, 3), gen(2, 60, 63, 63)],
        [member(1, "a1", "joined", "session_expired", 60),
         member(1, "b1", "joined", "session_expired", 61.5),
         member(2, "c1", "joined")],
        {1: TWO, 2: {"c1": [0, 1]}},
        [*EXPIRED, event("HEARTBEAT_EXPIRED", 61.5, 2, member_id="b1")],
        [*every(5, 6, 51), *every(5, 6, 51, partition=1)],
        ("session_expired", 52.25, 51, 53, 12.5, 0, 21, True, 11100),
    ),
    "expired: a static member that closed committed then": (
        ENDED_IN_60,
        [static(1, "a1", "joined", "session_expired", 60), member(1, "b1", "joined"),
         member(2, "b1")],
        A_DEPARTS, EXPIRED, every(5, 6, 46, 50.2),
        ("session_expired", 50.2, 50.2, 53, 0, 0, 29, True, 11150),
    ),
    "expired in a rebalance: an eager member had committed before it joined": (
        [gen(1, 0, 3, 3), gen(2, 52, 66, 66)],
        [member(1, "a1", "joined", "session_expired", 66), member(1, "b1", "joined"),
         member(2, "b1")],
        A_DEPARTS, [event("HEARTBEAT_EXPIRED", 66, 2, member_id="a1")], every(5, 6, 51, 53),
        ("session_expired", 53, 53, 58.5, 0, 0, 56, True, 13350),
    ),
    "slow: automatic commits went on, and the last one lacks records": (
        ENDED_IN_60,
        [member(1, "a1", "joined", "left", 60, rebalance_timeout_ms=20 * S),
         member(1, "b1", "joined"), member(2, "b1")],
        A_DEPARTS, [event("LEFT", 60, 2, member_id="a1", client_cause="POLL_TIMEOUT")],
        [*every(5, 4, 29),
         {"partition": 0, "append_time": 34 * S, "committed_offset": 305}],
        ("poll_timeout", 30.698, 29, 34, 0, 0, 0, True, 30652),
    ),
    "slow: until the last poll, max.poll.interval.ms before it left": (
        ENDED_IN_60,
        [member(1, "a1", "joined", "left", 60), member(1, "b1", "joined"), member(2, "b1")],
        A_DEPARTS,
        [event("LEFT", 60, 2, member_id="a1", client_cause="POLL_TIMEOUT")],
        every(5, 4, 29),
        ("poll_timeout", 30, 29.5, 30.5, 10, 4, 16, True, 31350),
    ),
    "revoked: Java's cooperative members commit when the rebalance begins, and go on": (
        [coop(1, 0, 3, 3), coop(2, 60, 63, 63)], BOTH + STAY,
        {1: {"a1": [0], "b1": [1]}, 2: {"b1": [0, 1]}}, [], every(2, 6, 58, 60.2),
        ("revoked", 63, 63, 63, 28, 0, 29, True, 350),
    ),
    "replaced: before its next automatic commit": (
        [gen(1, 0, 3, 3)], REPLACED, {1: {"a2": [0]}}, TAKEN_OVER, every(5, 6, 51),
        ("replaced", 53.507, 51, 56.015, 25.1, 0, 51.2, True, 6843),
    ),
    "replaced: a commit that is not automatic is that of a client that closes": (
        [gen(1, 0, 3, 3)], REPLACED, {1: {"a2": [0]}}, TAKEN_OVER, every(5, 6, 51, 53),
        ("replaced", 53, 53, 53, 0, 0, 0, True, 7350),
    ),
    "batches: only what it has in its hands": (
        ENDED_IN_60, KILLED, A_DEPARTS, EXPIRED, every(1.1, 7, 51),
        ("session_expired", 51.8, 51, 52.6, 0, 0, 17, True, 9550),
    ),
    "without commits, nothing is known": (
        ENDED_IN_60, KILLED, A_DEPARTS, EXPIRED, [],
        ("session_expired", 51.5, 50, 53, None, None, None, True, None),
    ),
    "a single commit shows no rate": (
        ENDED_IN_60, KILLED, A_DEPARTS, EXPIRED, every(5, 51, 51),
        ("session_expired", 52, 51, 53, None, None, None, True, 9350),
    ),
    "a single commit when the partition is given up: nothing is handled again": (
        [gen(1, 0, 3, 3), gen(2, 58, 61, 62)], BOTH + STAY, {1: TWO, 2: TWO}, [],
        every(5, 60, 60),
        ("revoked", 60, 60, 60, 0, 0, 0, True, 2350),
    ),
    "crashed right after the assignment: any part of the backlog": (
        [gen(1, 0, 3, 3), gen(2, 13, 14, 14)],
        [member(1, "a1", "joined", "session_expired", 13), member(1, "b1", "joined"),
         member(2, "b1")],
        A_DEPARTS, [event("HEARTBEAT_EXPIRED", 13, 2, member_id="a1")],
        [*every(0.5, 0, 1), *every(5, 15, 60)],
        ("session_expired", 3.5, 3, 6, 25, 0, 51, True, 10850),
    ),
}  # fmt: skip


def tables_of(rule, case):
    generations, members, owned, events, committed, _ = case
    process_of = {row["member_id"]: row["process"] for row in members}
    rows = {
        "generations": generations,
        "generation_members": members,
        "assignments": [
            {"generation": generation, "member_id": member_id, "partition": partition,
             "process": process_of[member_id]}
            for generation, by_member in owned.items()
            for member_id, partitions in by_member.items()
            for partition in partitions
        ],
        "timeline": [{"seq": seq} | row for seq, row in enumerate(events)],
        "committed_offsets": [
            {"log_offset": offset, "outcome": "plain"} | row for offset, row in enumerate(committed)
        ],
    }  # fmt: skip
    return {
        name: [{"group_id": rule, "event_date": DAY} | row for row in of_table]
        for name, of_table in rows.items()
    }


def costs_of(frames, groups, **more):
    """Rows of handover_costs, of tables by name."""
    _, tenures = tenures_of(frames)
    last_events = frames["generations"].sparkSession.createDataFrame(
        [("c", group, DAY, LAST_S * S) for group in groups],
        "cluster_id STRING, group_id STRING, last_date DATE, last_ms BIGINT",
    )
    both = rows_of_both(
        frames["assignments"], tenures, frames["committed_offsets"], last_events, **more
    )
    return conform(dated(rows_of(both, "handover_costs"), last_events), "handover_costs")


@pytest.fixture(scope="module")
def costs(frame, by_group):
    tables = {name: [] for name in TABLES}
    for rule, case in CASES.items():
        for name, rows in tables_of(rule, case).items():
            tables[name] += rows
    frames = {name: frame(name, rows) for name, rows in tables.items()}
    columns = ["how_ended", "to_time", "to_time_low", "to_time_high", "records_reprocessed",
               "records_reprocessed_low", "records_reprocessed_high", "bounded",
               "consumption_pause_ms"]  # fmt: skip
    return by_group(costs_of(frames, CASES), ["partition", "from_time"], columns)


@pytest.mark.every_time
@pytest.mark.parametrize("rule", CASES)
def test_handover_costs(costs, rule):
    how, *times, records, low, high, bounded, pause_ms = CASES[rule][-1]
    records = [None if each is None else float(each) for each in (records, low, high)]

    assert_rows(
        costs[rule][:1], [(how, *(int(each * S) for each in times), *records, bounded, pause_ms)]
    )


def one_group(frame, case):
    tables = {name: [] for name in TABLES} | tables_of("g", case)
    return {name: frame(name, rows) for name, rows in tables.items()}


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("session_expired", [(0, 135.0), (1, 5.0), (2, 45.0)]),
        # If no owner crashed before, no record is known to kill its owner.
        ("left", [(0, 135.0), (1, 635.0), (2, 135.0)]),
    ],
)
def test_a_crash_loop(frame, by_group, how, expected):
    """The partition with the oldest commit has the record that kills each owner: partitions before
    it were handled up to their end, those behind it were not."""
    logged = "HEARTBEAT_EXPIRED" if how == "session_expired" else "LEFT"
    case = (
        [gen(1, 0, 3, 3), gen(2, 200, 203, 203), gen(3, 213, 214, 214)],
        [member(1, "z1", "joined", how, 200), member(2, "a1", "joined", "session_expired", 213),
         member(3, "b1", "joined")],
        {1: {"z1": [0, 1, 2]}, 2: {"a1": [0, 1, 2]}, 3: {"b1": [0, 1, 2]}},
        [event(logged, 200, 2, member_id="z1"),
         event("HEARTBEAT_EXPIRED", 213, 3, member_id="a1")],
        [*every(1, 142, 190), *every(1, 100, 140, partition=1), *every(1, 142, 190, partition=2)],
        None,
    )  # fmt: skip

    rows = by_group(
        costs_of(one_group(frame, case), ["g"]).where("from_generation = 2"),
        ["partition"],
        ["partition", "records_reprocessed"],
    )

    assert_rows(rows["g"], expected)


def test_an_owner_that_never_committed_had_handled_the_backlog_before_it(frame, by_group):
    """The owner began at 61 s with the records since 51 s, and stopped between 70 and 73 s."""
    case = (
        [gen(1, 0, 3, 3), gen(2, 60, 61, 61), gen(3, 80, 81, 81)],
        [member(1, "a1", "joined", "session_expired", 60),
         member(2, "b1", "joined", "session_expired", 80),
         member(3, "c1", "joined")],
        {1: {"a1": [0]}, 2: {"b1": [0]}, 3: {"c1": [0]}},
        [*EXPIRED, event("HEARTBEAT_EXPIRED", 80, 3, member_id="b1")], every(20, 11, 51), None,
    )  # fmt: skip

    rows = by_group(
        costs_of(one_group(frame, case), ["g"]),
        ["from_time"],
        ["process", "records_reprocessed", "records_reprocessed_low", "records_reprocessed_high"],
    )

    assert_rows(rows["g"], [("a", 10.0, 0.0, 21.0), ("b", 205.0, 89.0, 221.0)])


def test_a_crash_loop_of_two_partitions_that_cannot_be_told_apart(frame, by_group):
    """One of both has the record: half of the records before it, and half of a third of the other
    one's backlog."""
    case = (
        [gen(1, 200, 203, 203), gen(2, 213, 214, 214), gen(3, 224, 225, 225)],
        [member(1, "a1", "joined", "session_expired", 213),
         member(2, "b1", "joined", "session_expired", 224),
         member(3, "c1", "joined")],
        {1: {"a1": [0, 1]}, 2: {"b1": [0, 1]}, 3: {"c1": [0, 1]}},
        [event("HEARTBEAT_EXPIRED", 213, 2, member_id="a1"),
         event("HEARTBEAT_EXPIRED", 224, 3, member_id="b1")],
        [*every(1, 142, 202), *every(1, 142, 202, partition=1)],
        None,
    )  # fmt: skip

    rows = by_group(
        costs_of(one_group(frame, case), ["g"]),
        ["from_generation", "partition"],
        ["from_generation", "partition", "records_reprocessed"],
    )

    assert_rows(rows["g"], [(1, 0, 15.0), (1, 1, 15.0), (2, 0, 23.3), (2, 1, 23.3)])


def test_each_process_of_a_static_member_has_its_own_tenure(frame, by_group):
    """The second owner ends without a commit."""
    case = (
        [gen(1, 0, 3, 3)],
        [static(1, "a1", "joined", "replaced", 60), static(1, "a2", "replaced", "replaced", 90),
         static(1, "a3", "replaced")],
        {1: {"a3": [0]}},
        [event("RECORD", 3, 2, members=["a1"]), event("RECORD", 60, 2, members=["a2"]),
         event("RECORD", 90, 2, members=["a3"])],
        every(5, 6, 51), None,
    )  # fmt: skip

    rows = by_group(costs_of(one_group(frame, case), ["g"]), ["from_time"], ["from_time"])

    assert_rows(rows["g"], [(3 * S,), (60 * S,)])


def test_a_next_owner_that_stops_at_once_leaves_the_records_to_the_one_after_it(frame, by_group):
    case = (
        [*ENDED_IN_60, gen(3, 63, 64, 64)],
        [*KILLED, member(3, "b1"), member(3, "c1", "joined")],
        {1: {"a1": [0]}, 2: {"b1": [0]}, 3: {"c1": [0]}}, EXPIRED, every(5, 6, 51, 70), None,
    )  # fmt: skip

    rows = by_group(
        costs_of(one_group(frame, case), ["g"]),
        ["from_time"],
        ["process", "records_reprocessed", "last_commit_offset", "handled_offset"],
    )

    assert_rows(rows["g"], [("a", 0.0, 510, 520), ("b", 10.0, 510, 520)])


def test_the_tenure_of_a_cooperative_member_lasts_through_rebalances(frame, by_group):
    case = (
        [coop(1, 0, 3, 3), coop(2, 20, 21, 21), coop(3, 60, 61, 61)],
        [member(1, "a1", "joined"), member(2, "a1"), member(2, "b1", "joined"), member(3, "b1"),
         member(3, "a1")],
        {1: {"a1": [0]}, 2: {"a1": [0]}, 3: {"b1": [0]}}, [], every(5, 4, 59), None,
    )  # fmt: skip

    rows = costs_of(one_group(frame, case), ["g"])

    columns = ["from_time", "to_time", "from_generation", "generation", "next_process"]
    assert_rows(by_group(rows, ["from_time"], columns)["g"], [(3 * S, 61 * S, 2, 3, "b")])


def test_a_run_that_reads_less_finds_the_begin_of_a_tenure(frame, by_group):
    """A run reads from generation 2 on; generation 1 assigned the partition to the same member."""
    assignments = [
        {"generation": n, "member_id": each, "process": each[0], "partition": 0, "group_id": "g"}
        for n, each in ((1, "a1"), (2, "a1"), (3, "b1"))
    ]
    generations = [
        {"group_id": "g"} | each
        for each in (coop(1, 0, 3, 3), coop(2, 20, 21, 21), coop(3, 60, 61, 61))
    ]
    case = (
        [],
        [member(2, "a1"), member(2, "b1", "joined"), member(3, "b1"), member(3, "a1")],
        {2: {"a1": [0]}, 3: {"b1": [0]}}, [], every(5, 4, 59), None,
    )  # fmt: skip
    frames = one_group(frame, case) | {"generations": frame("generations", generations[1:])}
    contexts = frames["generations"].sparkSession.createDataFrame(
        [("c", "g", 1, 2)],
        "cluster_id STRING, group_id STRING, incarnation INT, context_generation INT",
    )
    kept = before_context(
        owners_of(frame("assignments", assignments)), frame("generations", generations), contexts
    )

    rows = costs_of(frames, ["g"], kept_before=kept)

    ended = by_group(rows, ["from_time"], ["from_time", "to_time", "from_generation"])
    assert_rows(ended["g"], [(3 * S, 61 * S, 2)])


def test_a_stored_tenure_gets_its_next_owner(frame, by_group):
    """A run reads from generation 2 on: partition 0 has been without an owner since generation 1,
    and what an earlier run computed of its end stays."""
    case = (
        [gen(2, 11, 12, 13), gen(3, 22, 22, 22)], [member(2, "a1"), member(3, "a1")],
        {2: {"a1": [1]}, 3: {"a1": [0]}}, [], every(1, 23, 40), None,
    )  # fmt: skip
    stored = {
        "group_id": "g", "topic": "t", "partition": 0, "process": "b", "member_id": "b1",
        "from_time": 3 * S,
        "to_time": 12 * S, "to_time_low": 11 * S, "to_time_high": 13 * S,
        "how_ended": "session_expired", "last_commit_offset": 100, "last_commit_time": 10 * S,
        "records_reprocessed": 20.0, "records_reprocessed_low": 9.0,
        "records_reprocessed_high": 31.0, "bounded": True, "records_per_second": 10.0,
        "commit_interval_ms": 5000, "from_generation": 1, "evidence": "log", "estimated": True,
    }  # fmt: skip

    rows = costs_of(one_group(frame, case), ["g"], earlier=frame("handover_costs", [stored])).where(
        "partition = 0"
    )

    columns = ["how_ended", "from_time", "to_time", "last_commit_offset", "records_reprocessed",
               "records_reprocessed_high", "next_process", "next_time", "generation",
               "consumption_pause_ms", "consumption_pause_ms_low"]  # fmt: skip
    assert_rows(
        by_group(rows, ["from_time"], columns)["g"],
        [("session_expired", 3000, 12_000, 100, 20.0, 31.0, "a", 22_000, 3, 10_350, 9000)],
    )


def test_a_group_that_was_shut_down_has_no_next_owner(frame, by_group):
    case = (
        [gen(1, 0, 3, 3), empty(2, 60, 60), gen(3, 900, 903, 903)],
        [member(1, "a1", "joined", "left", 60), member(3, "a2", "joined")],
        {1: {"a1": [0]}, 3: {"a2": [0]}},
        [event("LEFT", 60, 2, member_id="a1")], every(5, 4, 59), None,
    )  # fmt: skip

    rows = by_group(
        costs_of(one_group(frame, case), ["g"]),
        ["from_time"],
        ["next_process", "generation", "records_reprocessed", "consumption_pause_ms"],
    )

    assert_rows(rows["g"], [(None, 2, 0.0, None)])


# rule -> the process that owns the partition in the next incarnation, and from when in s; and the
# next process, the generation, the pause in ms
MIGRATIONS = {
    "its process is back in the consumer protocol": ("a", 64, ("a", 2, 4350)),
    "another process begins in the consumer protocol": ("b", 64, (None, 2, None)),
    "its process is back after 5 minutes": ("a", 363, (None, 2, None)),
}


@pytest.mark.parametrize("rule", MIGRATIONS)
def test_a_handover_to_another_protocol(rule, frame, by_group):
    """The classic group is empty from 60 s on; the generations of its next incarnation begin at 1,
    so they do not come before the tenures that ended."""
    process, back_s, expected = MIGRATIONS[rule]
    case = (
        [gen(1, 0, 3, 3), empty(2, 60, 60)],
        [member(1, "a1", "joined", "left", 60)], {1: {"a1": [0]}},
        [event("LEFT", 60, 2, member_id="a1")], every(5, 4, 59), None,
    )  # fmt: skip
    frames = one_group(frame, case)
    tenure = {
        "cluster_id": "c", "group_id": "g", "incarnation": 2, "generation": 1, "topic": "t",
        "partition": 0, "event_date": DAY, "process": process, "from_ms": back_s * S,
        "until_ms": 900 * S, "how": "left", "evidence": "records", "is_estimated": False,
    }  # fmt: skip
    modern = frames["generations"].sparkSession.createDataFrame(
        [tuple(tenure.get(name) for name in TENURES.names)], TENURES
    )

    rows = by_group(
        costs_of(frames, ["g"], modern_tenures=modern).where("incarnation = 1"),
        ["from_time"],
        ["next_process", "generation", "consumption_pause_ms"],
    )

    assert_rows(rows["g"], [expected])


def log_ends(partition, *sightings):
    return [
        {"file_id": "f", "position": n, "topic": "t", "partition": partition,
         "log_end_offset": offset, "seen_time": int(at * S), "source": "end_offsets",
         "format": "json", "file": "f"}
        for n, (at, offset) in enumerate(sightings)
    ]  # fmt: skip


def test_the_lag_that_a_handover_leaves(frame, by_group):
    """The owner stops at 52 s, 10 records behind its last commit; the next one begins at 61.35 s
    with a lag of 93 records, and has none at its first commit."""
    case = (
        ENDED_IN_60, KILLED, A_DEPARTS, EXPIRED,
        every(5, 6, 51, 65, 70, 75), None,
    )  # fmt: skip
    ends = frame("end_offsets", log_ends(0, (0, 0), (100, 1000)))

    rows = costs_of(one_group(frame, case), ["g"], end_offsets=ends)

    columns = ["peak_lag", "catch_up_ms", "record_seconds", "records_reprocessed"]
    ended = by_group(rows.where("partition = 0 AND from_generation = 1"), ["from_time"], columns)
    assert_rows(ended["g"], [(94, 9350, 437.1, 10.0)])


def test_an_owner_that_ends_while_it_handles_a_backlog(frame, by_group):
    """The owner handled 140 records until its only commit, 0.55 s after its first fetch.  At this
    speed, it reached the end of the log before it stopped at 43.5 s."""
    case = (
        [gen(1, 0, 3, 3), gen(2, 40, 41, 41), gen(3, 52, 53, 53)],
        [member(1, "a1", "joined", "session_expired", 40),
         member(2, "b1", "joined", "session_expired", 52),
         member(3, "c1", "joined")],
        {1: {"a1": [0]}, 2: {"b1": [0]}, 3: {"c1": [0]}},
        [event("HEARTBEAT_EXPIRED", 40, 2, member_id="a1"),
         event("HEARTBEAT_EXPIRED", 52, 3, member_id="b1")],
        [*every(5, 6, 16), {"partition": 0, "append_time": 41_900, "committed_offset": 300}],
        None,
    )  # fmt: skip
    ends = frame("end_offsets", log_ends(0, (0, 0), (100, 1000)))

    rows = costs_of(one_group(frame, case), ["g"], end_offsets=ends)

    ended = by_group(rows, ["from_time"], ["process", "records_reprocessed"])
    assert_rows(ended["g"][1:], [("b", 136.0)])


def failed(client, *positions):
    """Lines of failed commits of partition 0: times in seconds, and offsets."""
    return [
        {"file_id": "f", "position": n, "event": "COMMIT_FAILED", "event_time": int(at * S),
         "group_id": "g", "client_id": client, "library": "java", "partitions": ["t-0"],
         "offsets": [offset], "source": "s", "line": "l", "file": "f", "event_date": DAY}
        for n, (at, offset) in enumerate(positions)
    ]  # fmt: skip


FROZEN = (
    [*ENDED_IN_60, gen(3, 70, 73, 73)],
    [*KILLED, member(3, "a2", "joined"), member(3, "b1")], A_DEPARTS,
    [*EXPIRED, event("MEMBER_JOIN", 70, 3, member_id="a2")], every(5, 6, 51, 65, 70), None,
)  # fmt: skip


@pytest.mark.parametrize(
    ("client", "positions", "expected"),
    [
        ("a", [(69, 522), (69.5, 590)], (80.0, 80.0, 80.0, True)),
        ("a", [(69, 505)], (10.0, 0.0, 21.0, False)),  # The last commit has this position.
        ("a", [(400, 590)], (10.0, 0.0, 21.0, False)),  # The line is more than five minutes later.
        ("b", [(69, 590)], (10.0, 0.0, 21.0, False)),  # another client
        (None, [(69, 590)], (80.0, 80.0, 80.0, True)),  # The library logs no client id.
    ],
)
def test_a_failed_commit_names_the_last_position(frame, by_group, client, positions, expected):
    lines = frame("client_events", failed(client, *positions))

    rows = costs_of(one_group(frame, FROZEN), ["g"], client_events=lines)

    columns = ["records_reprocessed", "records_reprocessed_low", "records_reprocessed_high",
               "bounded"]  # fmt: skip
    of_a = rows.where("partition = 0 AND from_generation = 1")
    assert_rows(by_group(of_a, ["from_time"], columns)["g"], [expected])


def test_partitions_with_one_commit_each_show_no_interval():
    commits = Series(np.array([0, 1]), np.array([1000, 2000]), np.array([7, 8]))

    interval_ms, most = Habits(commits, np.array([0, 0])).on_date(np.array([0]), np.array([9000]))

    assert (interval_ms.tolist(), most.tolist()) == ([5000.0], [0.0])


def test_a_run_computes_both_tables_by_one_pass_over_the_commits(
    spark, tmp_path, write_lake, monkeypatch
):
    rule = "crashed right after the assignment: any part of the backlog"
    tables = {name: [] for name in TABLES} | tables_of(rule, CASES[rule])
    scope = AllDates(open_lake(spark, write_lake(tmp_path, tables), "c"))
    passes = []

    def counted(**tables):
        passes.append(tables)
        return rows_of_both(**tables)

    monkeypatch.setattr(of_run, "rows_of_both", counted)
    for job in (unserved_times, handover_costs):
        job.run(scope)

    assert len(passes) == 1
    ended = scope.read("handover_costs").select("partition", "how_ended").collect()
    assert sorted(map(tuple, ended)) == [(0, "session_expired"), (1, "revoked")]
