"""ownership_gaps: when each partition had no owner, and why."""

from datetime import date

import pytest

from jobs.lake.tables import conform
from jobs.modern_history.tenures import TENURES
from jobs.ownership.modern_groups import until_revoked
from jobs.ownership_gaps import ownership_gaps
from tests.jobs.comparison import assert_rows
from tests.jobs.group_histories import (
    S,
    commits,
    coop,
    empty,
    event,
    gen,
    member,
    static,
    tenures_of,
)

DAY = date(2026, 11, 21)
LAST_S = 1000  # time of the cluster's last event, in seconds


def gaps_of(frames, *, modern_groups=None, **more):
    """Rows of ownership_gaps, of tables by name."""
    of_run, tenures = tenures_of(frames)
    modern = None if modern_groups is None else until_revoked(modern_groups, of_run)
    rows = ownership_gaps(frames["assignments"], tenures, modern_tenures=modern, **more)
    return conform(rows, "ownership_gaps")


BOTH = [member(1, "a1", "joined"), member(1, "b1", "joined")]
STAY = [member(2, "a1"), member(2, "b1")]
TWO = {"a1": [0], "b1": [1]}

# rule -> generations; members; partitions by generation and member; events; commits; and
# (partition, from, to, unowned s, from process, to process, generation, why, estimated)
CASES = {
    "eager: all partitions, from the heartbeat that ends the join to the assignment": (
        [gen(1, 0, 3, 3), gen(2, 11, 12, 13)],
        BOTH + STAY, {1: TWO, 2: TWO}, [], [],
        [(0, 12.0, 13.0, 1.0, "a", "a", 2, "rebalance", True),
         (1, 12.0, 13.0, 1.0, "b", "b", 2, "rebalance", True)],
    ),
    "eager: a member that has new offsets commits when it revokes, before it rejoins": (
        [gen(1, 0, 3, 3), gen(2, 11, 12, 13)],
        BOTH + STAY, {1: TWO, 2: TWO}, [],
        commits(10.9, 11.4) + commits(10.9, 12.5, partition=1),
        [(0, 11.4, 13.0, 1.6, "a", "a", 2, "rebalance", True),
         (1, 12.0, 13.0, 1.0, "b", "b", 2, "rebalance", True)],
    ),
    "eager, join ends between two heartbeats: members revoke on average after two thirds of it": (
        [gen(1, 0, 3, 3), gen(2, 11, 12.8, 13)],
        BOTH + STAY, {1: TWO, 2: {"a1": [1], "b1": [0]}}, [], [],
        [(0, 12.2, 13.0, 0.8, "a", "b", 2, "revoked", True),
         (1, 12.2, 13.0, 0.8, "b", "a", 2, "revoked", True)],
    ),
    "eager: others revoke at their next heartbeat while the join waits for a dead member": (
        [gen(1, 0, 3, 3), gen(2, 10, 20, 20)],
        [BOTH[0], member(1, "b1", "joined", "session_expired", 20), member(2, "a1")],
        {1: TWO, 2: {"a1": [0, 1]}},
        [event("HEARTBEAT_EXPIRED", 20, 2, member_id="b1")], [],
        [(0, 12.0, 20.0, 8.0, "a", "a", 2, "rebalance", True),
         (1, 11.5, 20.0, 8.5, "b", "a", 2, "session_expired", True)],
    ),
    "an aborted rebalance revoked; the next one assigned": (
        [gen(1, 0, 3, 3), gen(2, 11, 12, None, outcome="superseded", evidence="log"),
         gen(3, 14, 15, 16)],
        [BOTH[0], member(3, "a1")], {1: {"a1": [0]}, 3: {"a1": [0]}}, [], [],
        [(0, 12.0, 16.0, 4.0, "a", "a", 3, "rebalance", True)],
    ),
    "a member that left: from its leave, which is logged": (
        [gen(1, 0, 3, 3), gen(2, 11, 12, 13)],
        [BOTH[0], member(1, "b1", "joined", "left", 11), member(2, "a1")],
        {1: TWO, 2: {"a1": [0, 1]}}, [event("LEFT", 11, 2, member_id="b1")], [],
        [(0, 12.0, 13.0, 1.0, "a", "a", 2, "rebalance", True),
         (1, 11.0, 13.0, 2.0, "b", "a", 2, "left", False)],
    ),
    "a member that left max.poll.interval.ms after its last commit owned until it was back": (
        [gen(1, 0, 3, 3), gen(2, 40, 41, 41), gen(3, 50, 51, 51)],
        [BOTH[0], member(1, "b1", "joined", "left", 40), member(2, "a1"), member(3, "a1"),
         member(3, "b2", "joined")],
        {1: TWO, 2: {"a1": [0, 1]}, 3: {"a1": [0], "b2": [1]}},
        [event("LEFT", 40, 2, member_id="b1")], commits(8, partition=1),
        [(0, 40.666, 41.0, 0.334, "a", "a", 2, "rebalance", True),
         (0, 50.666, 51.0, 0.334, "a", "a", 3, "rebalance", True),
         (1, 50.666, 51.0, 0.334, "a", "b", 3, "revoked", True)],
    ),
    "a member of sarama, which has no max.poll.interval.ms, was closed": (
        [gen(1, 0, 3, 3), gen(2, 40, 41, 41)],
        [BOTH[0], member(1, "b1", "joined", "left", 40, client_id="sarama"), member(2, "a1")],
        {1: TWO, 2: {"a1": [0, 1]}},
        [event("LEFT", 40, 2, member_id="b1")], commits(8, partition=1),
        [(0, 40.666, 41.0, 0.334, "a", "a", 2, "rebalance", True),
         (1, 40.0, 41.0, 1.0, "b", "a", 2, "left", False)],
    ),
    "the arrival of another process with the client id is no return": (
        [gen(1, 0, 3, 3), gen(2, 60, 61, 62)],
        [member(1, "a1", "joined", "left", 60, process="a1"),
         member(1, "a2", "joined", process="a2"), member(2, "a2", process="a2")],
        {1: {"a1": [0], "a2": [1]}, 2: {"a2": [0, 1]}},
        [event("MEMBER_JOIN", 0, 1, member_id="a1"), event("MEMBER_JOIN", 1, 1, member_id="a2"),
         event("LEFT", 60, 2, member_id="a1")],
        commits(10, 29.9),
        [(0, 60.0, 62.0, 2.0, "a1", "a2", 2, "left", False),
         (1, 60.666, 62.0, 1.334, "a2", "a2", 2, "rebalance", True)],
    ),
    "a dead member is assigned partitions until its session expires: still the same gap": (
        [gen(1, 0, 3, 3), gen(2, 10, 12, 13), gen(3, 21, 22, 22)],
        [BOTH[0], member(1, "b1", "joined"), member(2, "a1"),
         member(2, "b1", how="session_expired", at=21), member(3, "a1")],
        {1: TWO, 2: TWO, 3: {"a1": [0, 1]}},
        [event("HEARTBEAT_EXPIRED", 21, 3, member_id="b1")], [],
        [(0, 12.0, 13.0, 1.0, "a", "a", 2, "rebalance", True),
         (1, 12.0, 22.0, 10.0, "b", "a", 3, "session_expired", True)],
    ),
    "static: a closed process commits, off its interval; the next one takes over": (
        [gen(1, 0, 3, 3)],
        [static(1, "a1", "joined", "replaced", 22), static(1, "a2", "replaced")],
        {1: {"a2": [0]}},
        [event("RECORD", 3, 2, members=["a1"]), event("RECORD", 22, 2, members=["a2"])],
        commits(10, 15, 18),
        [(0, 18.0, 22.0, 4.0, "a", "a", 1, "replaced", True)],
    ),
    "static: a killed process ends half an interval after its last automatic commit": (
        [gen(1, 0, 3, 3)],
        [static(1, "a1", "joined", "replaced", 22), static(1, "a2", "replaced")],
        {1: {"a2": [0]}},
        [event("RECORD", 3, 2, members=["a1"]), event("RECORD", 22, 2, members=["a2"])],
        commits(10, 15),
        [(0, 17.5, 22.0, 4.5, "a", "a", 1, "replaced", True)],
    ),
    "static: of a process that is soon replaced, halfway between its last commit and that": (
        [gen(1, 0, 3, 3)],
        [static(1, "a1", "joined", "replaced", 17), static(1, "a2", "replaced")],
        {1: {"a2": [0]}},
        [event("RECORD", 3, 2, members=["a1"]), event("RECORD", 17, 2, members=["a2"])],
        commits(10, 15),
        [(0, 16.0, 17.0, 1.0, "a", "a", 1, "replaced", True)],
    ),
    "static: a commit soon after an automatic one was sent when the process was closed": (
        [gen(1, 0, 3, 3)],
        [static(1, "a1", "joined", "replaced", 22), static(1, "a2", "replaced")],
        {1: {"a2": [0]}},
        [event("RECORD", 3, 2, members=["a1"]), event("RECORD", 22, 2, members=["a2"])],
        commits(10, 15, 15.2),
        [(0, 15.2, 22.0, 6.8, "a", "a", 1, "replaced", True)],
    ),
    "static: the first automatic commit of a process, an interval after it took over": (
        [gen(1, 0, 3, 3)],
        [static(1, "a1", "joined", "replaced", 17), static(1, "a2", "replaced", "replaced", 28),
         static(1, "a3", "replaced")],
        {1: {"a3": [0]}},
        [event("RECORD", 3, 2, members=["a1"]), event("RECORD", 17, 2, members=["a2"]),
         event("RECORD", 28, 2, members=["a3"])],
        commits(10, 15, 22),
        [(0, 16.0, 17.0, 1.0, "a", "a", 1, "replaced", True),
         (0, 24.5, 28.0, 3.5, "a", "a", 1, "replaced", True)],
    ),
    "static: a process that is fenced was alive when another one took over": (
        [gen(1, 0, 3, 3)],
        [static(1, "a1", "joined", "replaced", 17), static(1, "a2", "replaced")],
        {1: {"a2": [0]}},
        [event("RECORD", 3, 2, members=["a1"]), event("RECORD", 17, 2, members=["a2"]),
         event("STATIC_FENCED", 18, 2, member_id="a1")],
        commits(10, 15),
        [],
    ),
    "static: without a recent commit, nothing shows when the process ended": (
        [gen(1, 0, 3, 3)],
        [static(1, "a1", "joined", "replaced", 222), static(1, "a2", "replaced")],
        {1: {"a2": [0]}},
        [event("RECORD", 3, 2, members=["a1"]), event("RECORD", 222, 2, members=["a2"])],
        commits(10, 15),
        [],
    ),
    "cooperative: only the partition that moves, from the assignment that lacks it": (
        [coop(1, 0, 3, 3), coop(2, 11, 12, 13), coop(3, 13, 14, 15)],
        [BOTH[0], member(2, "a1"), member(2, "b1", "joined"), member(3, "a1"), member(3, "b1")],
        {1: {"a1": [0, 1]}, 2: {"a1": [0]}, 3: TWO}, [], [],
        [(1, 13.0, 15.0, 2.0, "a", "b", 3, "revoked", False)],
    ),
    "static, slow: no heartbeat max.poll.interval.ms after the last poll, until it polls again": (
        [gen(1, 0, 3, 3), gen(2, 48, 48, 49), gen(3, 60, 60, 61)],
        [static(1, "a1", "joined", "session_expired", 48), static(1, "b1", "joined"),
         static(2, "b1"),
         static(3, "a2", "joined"), static(3, "b1")],
        {1: TWO, 2: {"b1": [0, 1]}, 3: {"a2": [0], "b1": [1]}},
        [event("STATIC_NEW", 60, 3, member_id="a2")], commits(5, 8),
        [(0, 43.0, 49.0, 6.0, "a", "b", 2, "session_expired", True),
         (0, 60.0, 61.0, 1.0, "b", "a", 3, "revoked", True),
         (1, 48.0, 49.0, 1.0, "b", "b", 2, "rebalance", True),
         (1, 60.0, 61.0, 1.0, "b", "b", 3, "rebalance", True)],
    ),
    "it was closed before its next process joined": (
        [coop(1, 0, 3, 3), coop(2, 11, 21, 21)],
        [BOTH[0], member(1, "b1", "joined", "left", 21), member(2, "a1"),
         member(2, "b2", "joined")],
        {1: TWO, 2: {"a1": [0], "b2": [1]}},
        [event("LEFT", 21, 3, member_id="b1"), event("MEMBER_JOIN", 15, 2, member_id="b2")], [],
        [(1, 13.0, 21.0, 8.0, "b", "b", 2, "left", True)],
    ),
    "cooperative: a member that leaves when a join ends was closed during the join": (
        [coop(1, 0, 3, 3), coop(2, 11, 14, 14), coop(3, 14, 17, 17)],
        [BOTH[0], BOTH[1], member(2, "a1"), member(2, "b1", how="left", at=14.01),
         member(3, "a1")],
        {1: TWO, 2: TWO, 3: {"a1": [0, 1]}}, [event("LEFT", 14.01, 3, member_id="b1")],
        commits(12, partition=1),
        [(1, 13.005, 17.0, 3.995, "b", "a", 3, "left", True)],
    ),
    "cooperative: the leave of the last member ends a join, too": (
        [coop(1, 0, 3, 3), empty(2, 11, 14)],
        [member(1, "a1", "joined", "left", 11), member(1, "b1", "joined", "left", 14)],
        {1: TWO},
        [event("LEFT", 11, 2, member_id="a1"), event("LEFT", 14, 2, member_id="b1")], [],
        [(0, 11.0, 14.0, 3.0, "a", None, 2, "left", False)],
    ),
    "cooperative: a slow application takes no new partition, and keeps those that it has": (
        [coop(1, 0, 3, 3), coop(2, 11, 12, 13), coop(3, 40, 41, 42), coop(4, 45, 46, 47)],
        [BOTH[0], BOTH[1], member(2, "a1"), member(2, "b1", how="left", at=40), member(3, "a1"),
         member(4, "a1"), member(4, "b2", "joined")],
        {1: {"a1": [0, 2], "b1": [1]}, 2: {"a1": [0], "b1": [1, 2]}, 3: {"a1": [0, 1, 2]},
         4: {"a1": [0, 1, 2]}},
        [event("LEFT", 40, 3, member_id="b1"), event("MEMBER_JOIN", 45, 4, member_id="b2")],
        commits(9, partition=1),
        [(2, 13.0, 42.0, 29.0, "a", "a", 3, "rebalance", False)],
    ),
    "cooperative: back with the generation of its partitions: it was not dead": (
        [coop(1, 0, 3, 3), coop(2, 21, 22, 23), coop(3, 30, 31, 32)],
        [BOTH[0], member(1, "b1", "joined", "session_expired", 21), member(2, "a1"),
         member(3, "a1"),
         member(3, "b2", "joined")],
        {1: TWO, 2: {"a1": [0, 1]}, 3: {"a1": [0], "b2": [1]}},
        [event("HEARTBEAT_EXPIRED", 21, 2, member_id="b1"),
         event("MEMBER_JOIN", 30, 3, member_id="b2")], [],
        [],
    ),
    "not assigned: a generation without the partition": (
        [gen(1, 0, 3, 3), gen(2, 11, 12, 13), gen(3, 22, 22, 22)],
        [BOTH[0], member(2, "a1"), member(3, "a1")],
        {1: {"a1": [0]}, 3: {"a1": [0]}}, [], [],
        [(0, 12.0, 22.0, 10.0, "a", "a", 3, "not_assigned", True)],
    ),
    "open: until the cluster's last event": (
        [gen(1, 0, 3, 3), empty(2, 21, 21, "SESSION_EXPIRY")],
        [member(1, "a1", "joined", "session_expired", 21)],
        {1: {"a1": [0]}}, [event("HEARTBEAT_EXPIRED", 21, 2, member_id="a1")], [],
        [(0, 12.5, None, 987.5, "a", None, None, "session_expired", True)],
    ),
    "a group that was shut down has no gap since its last owner stopped": (
        [gen(1, 0, 3, 3), empty(2, 20, 22), gen(3, 600, 603, 603)],
        [member(1, "a1", "joined", "left", 20), member(1, "b1", "joined", "left", 22),
         member(3, "a2", "joined")],
        {1: TWO, 3: {"a2": [0, 1]}}, [event("LEFT", 22, 2, member_id="b1")], [],
        [(0, 20.0, 21.0, 1.0, "a", None, 2, "left", False)],
    ),
    "static members that were shut down expire: no gap since the last one stopped": (
        [gen(1, 0, 3, 3), empty(2, 31, 32, "SESSION_EXPIRY")],
        [static(1, "a1", "joined", "session_expired", 31),
         static(1, "b1", "joined", "session_expired", 32)],
        {1: TWO}, [], commits(10, 15, 22) + commits(9, 14, 23, partition=1),
        [(0, 22.0, 23.0, 1.0, "a", None, 2, "session_expired", True)],
    ),
    "static members whose clients were fenced end then, and leave a gap for good": (
        [gen(1, 0, 3, 3), empty(2, 31, 32, "SESSION_EXPIRY")],
        [static(1, "a1", "joined", "session_expired", 31),
         static(1, "b1", "joined", "session_expired", 32)],
        {1: TWO},
        [event("STATIC_FENCED", 20, 1, member_id="a0", instance_id="a", old_member_id="a1"),
         event("STATIC_FENCED", 21, 1, member_id="b0", instance_id="b", old_member_id="b1"),
         event("STATIC_FENCED", 24, 1, member_id="b0", instance_id="b", old_member_id="b1"),
         event("HEARTBEAT_EXPIRED", 31, 2, member_id="a1"),
         event("HEARTBEAT_EXPIRED", 32, 2, member_id="b1")], [],
        [(0, 20.0, None, 980.0, "a", None, None, "session_expired", False),
         (1, 21.0, None, 979.0, "b", None, None, "session_expired", False)],
    ),
    "static members whose place others took were not fenced: their clients are others": (
        [gen(1, 0, 3, 3), empty(2, 31, 32, "SESSION_EXPIRY")],
        [static(1, "a1", "joined", "session_expired", 31)],
        {1: {"a1": [0]}},
        [event("STATIC_REPLACED", 19, 1, member_id="a1", instance_id="a", old_member_id="a0"),
         event("STATIC_FENCED", 20, 1, member_id="a0", instance_id="a", old_member_id="a1"),
         event("HEARTBEAT_EXPIRED", 31, 2, member_id="a1")], commits(10, 15, 22),
        [],
    ),
    "a group that was restarted has one": (
        [gen(1, 0, 3, 3), empty(2, 21, 21), gen(3, 300, 303, 303)],
        [member(1, "a1", "joined", "left", 21), member(3, "a2", "joined")],
        {1: {"a1": [0]}, 3: {"a2": [0]}}, [], [],
        [(0, 21.0, 303.0, 282.0, "a", "a", 3, "left", False)],
    ),
    "records alone: a rebalance begins a heartbeat before the join ends": (
        [gen(1, None, 3, 3, evidence="records"), gen(2, None, 12.8, 13, evidence="records")],
        BOTH + STAY, {1: TWO, 2: TWO}, [], [],
        [(0, 12.0, 13.0, 1.0, "a", "a", 2, "rebalance", True),
         (1, 12.0, 13.0, 1.0, "b", "b", 2, "rebalance", True)],
    ),
}  # fmt: skip
STATE = {"cooperative: back with the generation of its partitions: it was not dead": (3, "b2", 1)}


def tables_of(cases):
    """Rows by table; each case is a group."""
    tables = {
        name: []
        for name in ("timeline", "group_metadata", "generations", "generation_members",
                     "assignments", "committed_offsets")
    }  # fmt: skip
    for rule, (generations, members, owned, events, committed, _) in cases.items():
        tables["generations"] += [{"group_id": rule} | row for row in generations]
        tables["generation_members"] += [{"group_id": rule} | row for row in members]
        process_of = {row["member_id"]: row["process"] for row in members}
        tables["assignments"] += [
            {"group_id": rule, "generation": generation, "member_id": member_id,
             "partition": partition, "process": process_of[member_id]}
            for generation, by_member in owned.items()
            for member_id, partitions in by_member.items()
            for partition in partitions
        ]  # fmt: skip
        tables["timeline"] += [
            {"group_id": rule, "seq": seq} | row for seq, row in enumerate(events)
        ]
        tables["committed_offsets"] += [
            {"group_id": rule, "log_offset": offset} | row for offset, row in enumerate(committed)
        ]
    return tables


def last_events_of(frames, groups, at_ms=LAST_S * S, day=DAY):
    return frames["generations"].sparkSession.createDataFrame(
        [("c", group, day, at_ms) for group in groups],
        "cluster_id STRING, group_id STRING, last_date DATE, last_ms BIGINT",
    )


@pytest.fixture(scope="module")
def gaps(frame, by_group):
    tables = tables_of(CASES)
    for rule, (generation, member_id, owned_generation) in STATE.items():
        subscribed = {"member_id": member_id, "owned_generation": owned_generation}
        tables["group_metadata"].append(
            {"group_id": rule, "log_offset": 0, "generation": generation, "members": [subscribed]}
        )
    frames = {name: frame(name, rows) for name, rows in tables.items()}
    columns = ["partition", "from_time", "to_time", "unowned_ms", "from_process", "to_process",
               "generation", "why", "estimated"]  # fmt: skip
    rows = gaps_of(frames, last_events=last_events_of(frames, CASES))
    return by_group(rows, ["partition", "from_time"], columns)


# rule -> generation members; the partition's commits; and the least and the greatest length of its
# gap in seconds.  The member is removed at 20 s, and its partition is assigned at 20 s.
EXPIRED = gen(2, 10, 20, 20)
LATER = gen(3, 27, 28, 28)
READINGS = {
    "a process that is back after its session expired was killed or frozen": (
        [gen(1, 0, 3, 3), EXPIRED, LATER],
        [BOTH[0], member(1, "b1", "joined", "session_expired", 20), member(2, "a1"),
         member(3, "a1"),
         member(3, "b2", "joined")],
        {1: TWO, 2: {"a1": [0, 1]}, 3: {"a1": [0], "b2": [1]}},
        [event("HEARTBEAT_EXPIRED", 20, 2, member_id="b1"),
         event("MEMBER_JOIN", 27, 3, member_id="b2")],
        [], (8.5, 0, 8.5),
    ),
    "of several processes with one client id, any that arrives soon may be back": (
        [gen(1, 0, 3, 3), EXPIRED, LATER],
        [BOTH[0], member(1, "b1", "joined", "session_expired", 20, process="b1"), member(2, "a1"),
         member(3, "a1"), member(3, "b2", "joined", process="b2")],
        {1: {"a1": [0], "b1": [1]}, 2: {"a1": [0, 1]}, 3: {"a1": [0], "b2": [1]}},
        [event("HEARTBEAT_EXPIRED", 20, 2, member_id="b1"),
         event("MEMBER_JOIN", 27, 3, member_id="b2")],
        [], (8.5, 0, 8.5),
    ),
    "a dynamic member that commits after each batch may be frozen after its last commit": (
        [gen(1, 0, 3, 3), EXPIRED, LATER],
        [BOTH[0], member(1, "b1", "joined", "session_expired", 20), member(2, "a1"),
         member(3, "a1"),
         member(3, "b2", "joined")],
        {1: TWO, 2: {"a1": [0, 1]}, 3: {"a1": [0], "b2": [1]}},
        [event("HEARTBEAT_EXPIRED", 20, 2, member_id="b1"),
         event("MEMBER_JOIN", 27, 3, member_id="b2")],
        [*commits(9.2, partition=1), *commits(10.4, partition=1)], (9.6, 0, 9.6),
    ),
    "at another address it is another process": (
        [gen(1, 0, 3, 3), EXPIRED, LATER],
        [BOTH[0], member(1, "b1", "joined", "session_expired", 20, instance_id="b"),
         member(2, "a1"),
         member(3, "a1"), member(3, "b2", "joined", instance_id="b", client_host="/other")],
        {1: TWO, 2: {"a1": [0, 1]}, 3: {"a1": [0], "b2": [1]}},
        [event("HEARTBEAT_EXPIRED", 20, 2, member_id="b1"),
         event("MEMBER_JOIN", 27, 3, member_id="b2")],
        [], (8.5, 8.5, 8.5),
    ),
    "a process that is back before its session expires was killed": (
        [gen(1, 0, 3, 3), gen(2, 14, 20, 20)],
        [BOTH[0], member(1, "b1", "joined", "session_expired", 20), member(2, "a1"),
         member(2, "b2", "joined")],
        {1: TWO, 2: {"a1": [0], "b2": [1]}},
        [event("HEARTBEAT_EXPIRED", 20, 2, member_id="b1"),
         event("MEMBER_JOIN", 14, 2, member_id="b2")],
        [], (8.5, 8.5, 8.5),
    ),
    "a process that is not back was killed": (
        [gen(1, 0, 3, 3), EXPIRED],
        [BOTH[0], member(1, "b1", "joined", "session_expired", 20), member(2, "a1")],
        {1: TWO, 2: {"a1": [0, 1]}},
        [event("HEARTBEAT_EXPIRED", 20, 2, member_id="b1")],
        [], (8.5, 8.5, 8.5),
    ),
    "a cooperative member that is back would have shown its earlier generation": (
        [coop(1, 0, 3, 3), coop(2, 10, 20, 20), coop(3, 27, 28, 28)],
        [BOTH[0], member(1, "b1", "joined", "session_expired", 20), member(2, "a1"),
         member(3, "a1"),
         member(3, "b2", "joined")],
        {1: TWO, 2: {"a1": [0, 1]}, 3: {"a1": [0], "b2": [1]}},
        [event("HEARTBEAT_EXPIRED", 20, 2, member_id="b1"),
         event("MEMBER_JOIN", 27, 3, member_id="b2")],
        [], (8.5, 8.5, 8.5),
    ),
    "a static member was closed at its last commit, or killed until the next one was due": (
        [gen(1, 0, 3, 3)],
        [static(1, "b1", "joined", "replaced", 20), static(1, "b2", "replaced")],
        {1: {"b2": [1]}},
        [event("RECORD", 3, 2, members=["b1"]), event("RECORD", 20, 2, members=["b2"])],
        commits(8, 13, partition=1), (4.5, 2, 7),
    ),
}  # fmt: skip


@pytest.mark.embedded_suffices
def test_gaps_by_another_reading_of_the_evidence(frame, by_group):
    frames = {name: frame(name, rows) for name, rows in tables_of(READINGS).items()}

    gaps = gaps_of(frames, last_events=last_events_of(frames, READINGS)).where(
        "partition = 1 AND why IN ('session_expired', 'replaced')"
    )

    columns = ["unowned_ms", "unowned_ms_low", "unowned_ms_high"]
    assert by_group(gaps, ["from_time"], columns) == {
        rule: [tuple(round(each * S) for each in expected)]
        for rule, (*_, expected) in READINGS.items()
    }


@pytest.mark.embedded_suffices
def test_a_replacement_is_dated_by_its_own_time(frame, by_group):
    """The generation began on the previous day."""
    midnight = 86_400
    rows = {
        "generations": [gen(1, midnight - 60, midnight - 57, midnight - 57)],
        "generation_members": [
            static(1, "a1", "joined", "replaced", midnight + 20), static(1, "a2", "replaced"),
        ],
        "assignments": [{"generation": 1, "member_id": "a2", "process": "a", "partition": 0}],
        "timeline": [
            {"seq": 0} | event("RECORD", midnight - 57, 2, members=["a1"]),
            {"seq": 1} | event("RECORD", midnight + 20, 2, members=["a2"]),
        ],
        "group_metadata": [],
        "committed_offsets": [
            {"log_offset": offset} | row
            for offset, row in enumerate(commits(midnight + 8, midnight + 13))
        ],
    }  # fmt: skip
    dated = {"group_id": "g", "event_date": date(1970, 1, 1)}
    frames = {name: frame(name, [dated | row for row in table]) for name, table in rows.items()}
    last_events = last_events_of(frames, ["g"], (midnight + LAST_S) * S, date(1970, 1, 2))

    gaps = gaps_of(frames, last_events=last_events)

    columns = ["event_date", "from_time", "to_time", "generation", "why"]
    assert_rows(
        by_group(gaps, ["partition"], columns)["g"],
        [(date(1970, 1, 2), (midnight + 15) * S + 500, (midnight + 20) * S, 1, "replaced")],
    )


@pytest.mark.embedded_suffices
def test_earlier_gaps_continue(frame, by_group):
    """A run reads from generation 2 on: partition 0 has been unowned since generation 1."""
    rows = {
        "generations": [gen(2, 11, 12, 13), gen(3, 22, 22, 22)],
        "generation_members": [member(2, "a1"), member(3, "a1")],
        "assignments": [
            {"generation": 2, "member_id": "a1", "process": "a", "partition": 1},
            {"generation": 3, "member_id": "a1", "process": "a", "partition": 0},
        ],
        "timeline": [],
        "group_metadata": [],
        "committed_offsets": [],
    }
    frames = {
        name: frame(name, [{"group_id": "g"} | row for row in table])
        for name, table in rows.items()
    }
    earlier = {
        "group_id": "g", "topic": "t", "partition": 0, "from_time": 12 * S, "unowned_ms": 900 * S,
        "unowned_ms_low": 895 * S, "unowned_ms_high": 902 * S,
        "from_process": "b", "from_generation": 1, "why": "left", "evidence": "log",
        "estimated": False,
    }  # fmt: skip
    last_events = last_events_of(frames, ["g"])

    gaps = gaps_of(frames, last_events=last_events, earlier=frame("ownership_gaps", [earlier]))

    columns = ["partition", "from_time", "to_time", "unowned_ms", "unowned_ms_low",
               "unowned_ms_high", "from_process", "to_process", "generation", "why",
               "from_generation"]  # fmt: skip
    rows = by_group(gaps, ["partition"], columns)["g"]
    assert_rows(
        rows,
        [
            (0, 12_000, 22_000, 10_000, 5_000, 12_000, "b", "a", 3, "left", 1),
            (1, 22_000, None, 978_000, 978_000, 978_000, "a", None, None, "not_assigned", 2),
        ],
    )


# Generation 5 of a consumer group is downgraded at 100 s: rule -> classic generations, and the
# begin and end of the gap in seconds.
DOWNGRADES = {
    "no rebalance follows, as a static member came back: no gap": ([], []),
    "eager members revoke at the next heartbeat": ([gen(6, 100, 103, 104)], [(101.5, 104)]),
    "they do so before they have joined": ([gen(6, 100, 101, 102)], [(101, 102)]),
    "a later rebalance revokes": ([gen(6, 400, 403, 404)], [(401.5, 404)]),
    "a rebalance without a log line": ([gen(6, None, 403, 404)], [(401.5, 404)]),
    "cooperative members revoke nothing": ([coop(6, 400, 403, 404)], []),
    "the last member leaves": ([empty(6, 400, 400)], [(400, None)]),
}


@pytest.fixture(scope="module")
def downgraded(frame, by_group):
    tables = {"group_metadata": [], "committed_offsets": [], "timeline": []}
    tables |= {"generations": [], "generation_members": [], "assignments": []}
    for rule, (generations, _) in DOWNGRADES.items():
        for each in generations:
            of_generation = {"group_id": rule, "generation": each["generation"]}
            tables["generations"].append(each | of_generation)
            if each.get("outcome") != "empty":
                tables["generation_members"].append(member(6, "a1") | of_generation)
                owned = {"member_id": "a1", "process": "a", "partition": 0}
                tables["assignments"].append(owned | of_generation)
    frames = {name: frame(name, rows) for name, rows in tables.items()}
    spark = frames["generations"].sparkSession
    tenure = {
        "cluster_id": "c", "incarnation": 1, "generation": 5, "topic": "t", "partition": 0,
        "process": "a", "event_date": DAY, "from_ms": 50 * S, "until_ms": 100 * S,
        "how": "converted", "evidence": "records", "is_estimated": False,
    }  # fmt: skip
    tenures = [
        tuple((tenure | {"group_id": rule}).get(name) for name in TENURES.names)
        for rule in DOWNGRADES
    ]
    last_events = last_events_of(frames, DOWNGRADES)
    modern_groups = spark.createDataFrame(tenures, TENURES)
    rows = gaps_of(frames, last_events=last_events, modern_groups=modern_groups)
    return by_group(rows, ["from_time"], ["from_time", "to_time"])


@pytest.mark.parametrize("rule", DOWNGRADES)
def test_who_owned_a_partition_before_a_downgrade_owns_it_until_revoked(downgraded, rule):
    expected = [
        (int(began * S), ended if ended is None else ended * S)
        for began, ended in DOWNGRADES[rule][-1]
    ]

    assert_rows(downgraded.get(rule, []), expected)


# A classic group, whose processes a and b owned a partition each, is empty from 22 s on; b revokes
# at 21 s.  Each rule has the next owners of partitions 0 and 1 in the next incarnation, its begin,
# and the ends of the gaps. None: the partition has no gap.
MIGRATIONS = {
    "one process is back in the consumer protocol, the other one is not": ("aa", 24, [21, None]),
    "each process is back in the consumer protocol": ("ab", 24, [24, 24]),
    "each process is back after 5 minutes": ("ab", 323, [21, None]),
}


@pytest.mark.embedded_suffices
@pytest.mark.parametrize("rule", MIGRATIONS)
def test_a_gap_lasts_until_the_group_is_back_in_another_protocol(rule, frame, by_group):
    processes, back_s, ends_s = MIGRATIONS[rule]
    rows = {
        "generations": [gen(1, 0, 3, 3), empty(2, 20, 22)],
        "generation_members": [
            member(1, "a1", "joined", "left", 20), member(1, "b1", "joined", "left", 22),
        ],
        "assignments": [
            {"generation": 1, "member_id": "a1", "process": "a", "partition": 0},
            {"generation": 1, "member_id": "b1", "process": "b", "partition": 1},
        ],
        "timeline": [{"seq": 0} | event("LEFT", 20, 2, member_id="a1"),
                     {"seq": 1} | event("LEFT", 22, 2, member_id="b1")],
        "group_metadata": [],
        "committed_offsets": [],
    }  # fmt: skip
    frames = {
        name: frame(name, [{"group_id": "g"} | row for row in table])
        for name, table in rows.items()
    }
    spark = frames["generations"].sparkSession
    tenure = {
        "cluster_id": "c", "group_id": "g", "incarnation": 2, "generation": 2, "topic": "t",
        "event_date": DAY, "from_ms": back_s * S, "until_ms": 900 * S, "how": "left",
        "evidence": "records", "is_estimated": False,
    }  # fmt: skip
    tenures = [
        tuple(
            (tenure | {"partition": partition, "process": process}).get(name)
            for name in TENURES.names
        )
        for partition, process in enumerate(processes)
    ]
    last_events = last_events_of(frames, ["g"])
    modern_groups = spark.createDataFrame(tenures, TENURES)

    gaps = gaps_of(frames, last_events=last_events, modern_groups=modern_groups)

    columns = ["partition", "from_time", "to_time", "to_process", "generation", "why"]
    rows = by_group(gaps.where("incarnation = 1"), ["partition"], columns)["g"]
    first, second = (end if end is None else end * S for end in ends_s)
    expected = [(0, 20 * S, first, None, 2, "left")]
    if second is not None:
        expected.append((1, 21 * S, second, None, 2, "revoked"))
    assert_rows(rows, expected)


@pytest.mark.parametrize("rule", CASES)
def test_ownership_gaps(gaps, rule):
    expected = [
        (partition, int(began * S), ended if ended is None else int(ended * S),
         round(unowned * S), *others)
        for partition, began, ended, unowned, *others in CASES[rule][-1]
    ]  # fmt: skip

    assert_rows(gaps.get(rule, []), expected)
