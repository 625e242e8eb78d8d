"""unserved_times: owned partitions with records that nobody handled, by the rules of jobs.costs."""

from datetime import date

import pytest

from jobs.costs.of_run import rows_of, rows_of_both
from jobs.lake.tables import conform
from tests.jobs.comparison import assert_rows
from tests.jobs.group_histories import S, coop, event, gen, member, tenures_of

DAY = date(1970, 1, 1)
MIDNIGHT_S = 86_400
TABLES = ("timeline", "group_metadata", "generations", "generation_members", "assignments",
          "committed_offsets")  # fmt: skip

ONE = [gen(1, 0, 3, 3)]
ALONE = [member(1, "a1", "joined")]
BOTH = {1: {"a1": [0, 1]}}


def every(seconds, first, last, *more, partition=0, rate=10):
    """Commits at an interval, of ``rate`` records per second."""
    times = [first + seconds * n for n in range(int((last - first) / seconds) + 1)]
    return [
        {"partition": partition, "append_time": int(at * S), "committed_offset": int(at * rate)}
        for at in (*times, *more)
    ]


def log_end(until_s, *partitions, rate=10, stops_s=None):
    """Per partition: the log end at the begin, where records stop, and at the end."""
    stops_s = until_s if stops_s is None else stops_s
    return [
        {"partition": partition, "seen_time": int(at * S),
         "log_end_offset": int(min(at, stops_s) * rate)}
        for partition in partitions
        for at in sorted({0, stops_s, until_s})
    ]  # fmt: skip


# case -> generations; members; partitions by generation and member; events; commits; log end
# offsets; the time of the last event; and per row: partition, from and to in seconds, reason,
# committed offset, records behind, evidence, estimated
CASES = {
    "slow poll: from the last poll until the client leaves": (
        [gen(1, 0, 3, 3), gen(2, 60, 61, 61)],
        [member(1, "a1", "joined", "left", 60), member(1, "b1", "joined"), member(2, "b1")],
        {1: {"a1": [0], "b1": [1]}, 2: {"b1": [0, 1]}},
        [event("LEFT", 60, 2, member_id="a1", client_cause="POLL_TIMEOUT")],
        [*every(5, 4, 29, 66, 71, 76), *every(5, 4, 76, partition=1)],
        log_end(80, 0, 1), 80,
        [(0, 30.1, 60, "slow_poll", 290, 310, "log", True)],
    ),
    "frozen: from a heartbeat until the session expires": (
        [coop(1, 0, 3, 3), coop(2, 40, 41, 41), coop(3, 70, 73, 73)],
        [member(1, "a1", "joined", "session_expired", 40), member(1, "b1", "joined"),
         member(2, "b1"), member(3, "a2", "joined"), member(3, "b1")],
        {1: {"a1": [0], "b1": [1]}, 2: {"b1": [0, 1]}, 3: {"a2": [0], "b1": [1]}},
        [event("HEARTBEAT_EXPIRED", 40, 2, member_id="a1"),
         event("MEMBER_JOIN", 70, 3, member_id="a2", client_cause="ERROR_RESPONSE")],
        [*every(5, 4, 29, 45, 50, 55, 60, 65, 70, 75), *every(5, 4, 75, partition=1)],
        log_end(80, 0, 1), 80,
        [(0, 31.6, 41, "frozen", 290, 120, "log", True)],
    ),
    "stuck: the owner's other partition advances": (
        ONE, ALONE, BOTH, [],
        [*every(5, 4, 29), *every(5, 4, 99, partition=1)],
        log_end(100, 0, 1), 99,
        [(0, 29.1, 99, "stuck", 290, 700, "commits+end_offsets", False)],
    ),
    "stuck: until it goes on, between two commits": (
        ONE, ALONE, BOTH, [],
        [*every(5, 4, 29), *every(5, 79, 99), *every(5, 4, 99, partition=1)],
        log_end(100, 0, 1), 99,
        [(0, 29.1, 76.5, "stuck", 290, 475, "commits+end_offsets", True)],
    ),
    "stuck: the commit before lacks records that the log had": (
        ONE, ALONE, BOTH, [],
        [*every(5, 4, 24), {"partition": 0, "append_time": 29 * S, "committed_offset": 260},
         *every(5, 4, 99, partition=1)],
        log_end(100, 0, 1), 99,
        [(0, 26.1, 99, "stuck", 260, 730, "commits+end_offsets", False)],
    ),
    "stuck, commits per batch: since the last commit, if the next one lacks records": (
        ONE, ALONE, BOTH, [],
        [*every(1.1, 4, 30), {"partition": 0, "append_time": 36 * S, "committed_offset": 320},
         *every(1.1, 37.1, 60), *every(1.1, 4, 60, partition=1)],
        log_end(60, 0, 1), 60,
        [(0, 29.4, 35.45, "stuck", 293, 62, "commits+end_offsets", True)],
    ),
    "the owner stalled: until the next commit it may have handled records": (
        ONE, ALONE, BOTH, [],
        [*every(5, 4, 29), *every(5, 4, 29, partition=1)],
        log_end(100, 0, 1), 60,
        [(0, 31.5, 60, "owner_stalled", 290, 310, "commits+end_offsets", True),
         (1, 31.5, 60, "owner_stalled", 290, 310, "commits+end_offsets", True)],
    ),
    "idle: no new records": (
        ONE, ALONE, BOTH, [],
        [*every(5, 4, 29), *every(5, 4, 99, partition=1)],
        [*log_end(100, 0, stops_s=29), *log_end(100, 1)], 99, [],
    ),
    "idle at first: since the next record": (
        ONE, ALONE, BOTH, [],
        [*every(5, 4, 29), *every(5, 4, 99, partition=1)],
        [{"partition": 0, "seen_time": at * S, "log_end_offset": offset}
         for at, offset in ((0, 0), (29, 290), (60, 290), (61, 291), (99, 300))]
        + log_end(100, 1), 99,
        [(0, 61, 99, "stuck", 290, 10, "commits+end_offsets", False)],
    ),
    "lazy commits": (
        ONE, ALONE, BOTH, [],
        [*every(30, 3, 123), *every(30, 3, 123, partition=1)],
        log_end(130, 0, 1), 123, [],
    ),
    "one late commit": (
        ONE, ALONE, BOTH, [],
        [*every(5, 4, 29), *every(5, 36, 99), *every(5, 4, 99, partition=1)],
        log_end(100, 0, 1), 99, [],
    ),
    "without log ends: perhaps idle": (
        ONE, ALONE, BOTH, [],
        [*every(5, 4, 59), *every(5, 4, 199, partition=1)], [], 199,
        [(0, 59, 199, "no_progress", 590, None, "commits", False)],
    ),
    "without log ends, for less than twenty of its intervals": (
        ONE, ALONE, BOTH, [],
        [*every(5, 4, 59), *every(5, 4, 154, partition=1)], [], 154, [],
    ),
    "without log ends, no partition advances": (
        ONE, ALONE, BOTH, [],
        [*every(5, 4, 59), *every(5, 4, 59, partition=1)], [], 199, [],
    ),
    "short tenures without a commit": (
        [gen(n + 1, 60 * bool(n) + 4 * n, 63 * bool(n) + 4 * n, 63 * bool(n) + 4 * n + 3 * (not n))
         for n in range(4)],
        [member(n, "a1", "joined" if n == 1 else "retained") for n in range(1, 5)],
        {n: {"a1": [0, 1]} for n in range(1, 5)}, [],
        [*every(5, 4, 29, 82), *every(5, 4, 59, 64.2, 67.6, 68.1, 71.6, 72.1, 77, 82, partition=1)],
        log_end(90, 0, 1), 82,
        [(0, 29.1, 64.2, "stuck", 290, 352, "commits+end_offsets", False),
         (0, 67, 68.1, "owner_stalled", 290, 391, "commits+end_offsets", False),
         (0, 71, 72.1, "owner_stalled", 290, 431, "commits+end_offsets", False)],
    ),
    "over midnight: a row per date with commits": (
        [gen(1, MIDNIGHT_S - 100, MIDNIGHT_S - 97, MIDNIGHT_S - 97)], ALONE, BOTH, [],
        [*every(5, MIDNIGHT_S - 96, MIDNIGHT_S - 21),
         *every(5, MIDNIGHT_S - 96, MIDNIGHT_S + 99, partition=1)],
        [{"partition": 0, "seen_time": (MIDNIGHT_S + at) * S,
          "log_end_offset": 10 * (MIDNIGHT_S + at)} for at in (-100, 100)],
        MIDNIGHT_S + 99,
        [(0, MIDNIGHT_S - 20.9, MIDNIGHT_S, "stuck", 863_790, 210, "commits+end_offsets", False),
         (0, MIDNIGHT_S, MIDNIGHT_S + 99, "stuck", 863_790, 1200, "commits+end_offsets", False)],
    ),
}  # fmt: skip


def tables_of(name, case):
    generations, members, owned, events, committed, log_ends, _, _ = case
    process_of = {row["member_id"]: row["process"] for row in members}
    rows = {
        "generations": generations,
        "generation_members": members,
        "assignments": [
            {"generation": generation, "member_id": member_id, "partition": partition,
             "process": process_of[member_id], "topic": name}
            for generation, by_member in owned.items()
            for member_id, partitions in by_member.items()
            for partition in partitions
        ],
        "timeline": [{"seq": seq} | row for seq, row in enumerate(events)],
        "committed_offsets": [
            {"log_offset": offset, "outcome": "plain", "topic": name} | row
            for offset, row in enumerate(committed)
        ],
    }  # fmt: skip
    tables = {
        table: [{"group_id": name, "event_date": DAY} | row for row in of_table]
        for table, of_table in rows.items()
    }
    tables["end_offsets"] = [
        {"topic": name, "event_date": DAY, "file_id": "f", "position": n, "source": "end_offsets",
         "format": "json", "file": "f"} | row
        for n, row in enumerate(log_ends)
    ]  # fmt: skip
    return tables


@pytest.fixture(scope="module")
def unserved(frame, by_group):
    tables = {name: [] for name in (*TABLES, "end_offsets")}
    for name, case in CASES.items():
        for table, rows in tables_of(name, case).items():
            tables[table] += rows
    frames = {name: frame(name, rows) for name, rows in tables.items()}
    end_offsets = frames.pop("end_offsets")
    _, tenures = tenures_of(frames)
    last_events = frames["generations"].sparkSession.createDataFrame(
        [("c", name, DAY, int(case[-2] * S)) for name, case in CASES.items()],
        "cluster_id STRING, group_id STRING, last_date DATE, last_ms BIGINT",
    )
    both = rows_of_both(
        frames["assignments"], tenures, frames["committed_offsets"], last_events, end_offsets
    )
    columns = ["partition", "from_time", "to_time", "reason", "committed_offset", "behind",
               "evidence", "estimated", "event_date", "unserved_ms"]  # fmt: skip
    return by_group(
        conform(rows_of(both, "unserved_times"), "unserved_times"),
        ["partition", "from_time"],
        columns,
    )


@pytest.mark.parametrize("name", CASES)
def test_unserved_times(unserved, name):
    expected = [
        (partition, int(from_s * S), int(to_s * S), *more,
         date(1970, 1, 1 + (from_s >= MIDNIGHT_S)), int(to_s * S) - int(from_s * S))
        for partition, from_s, to_s, *more in CASES[name][-1]
    ]  # fmt: skip

    assert_rows(unserved.get(name, []), expected)
