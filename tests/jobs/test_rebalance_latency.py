"""rebalance_latency: join and sync phase of each rebalance, and logical rebalances."""

import pytest

from jobs.lake.tables import conform
from jobs.rebalance_latency import rebalance_latency
from tests.jobs.comparison import assert_rows


def row(number, prepared, joined, stable, ended=None, outcome="stable", **more):
    return {
        "generation": number,
        "preparing_time": prepared,
        "joined_time": joined,
        "stable_time": stable,
        "ended_time": ended,
        "outcome": outcome,
        **more,
    }


COOPERATIVE = {"protocol": "cooperative-sticky"}
REJOIN = {"cause": "LEADER_REJOIN"}

# rule -> generations; partitions left unowned by generation; and (generation, join, sync, total,
# end, logical rebalance, round)
CASES = {
    "join phase until all have joined, sync phase until the assignment": (
        [row(1, 1000, 4000, 4010, ended=9000)],
        {},
        [(1, 3000, 10, 3010, 4010, 1, 1)],
    ),
    "superseded: until the next rebalance begins, which continues it": (
        [row(1, 10, 40, None, 55, "superseded"), row(2, 55, 90, 96)],
        {},
        [(1, 30, 15, 45, 55, 1, 1), (2, 35, 6, 41, 96, 1, 2)],
    ),
    "failed twice: three rounds of one logical rebalance": (
        [
            row(4, 10, 20, 25, 30, "failed"),
            row(5, 30, 40, 45, 50, "failed"),
            row(6, 50, 60, 65, 90),
            row(7, 90, 95, 99),
        ],
        {},
        [
            (4, 10, 10, 20, 30, 4, 1),
            (5, 10, 10, 20, 50, 4, 2),
            (6, 10, 5, 15, 65, 4, 3),
            (7, 5, 4, 9, 99, 7, 1),
        ],
    ),
    "cooperative: the rejoin for unowned partitions is the second round": (
        [row(1, 0, 10, 20, **COOPERATIVE), row(2, 30, 40, 50, **COOPERATIVE, **REJOIN)],
        {1: 2},
        [(1, 10, 10, 20, 20, 1, 1), (2, 10, 10, 20, 50, 1, 2)],
    ),
    "cooperative, no unowned partitions: a rejoin begins a logical rebalance": (
        [row(1, 0, 10, 20, **COOPERATIVE), row(2, 30, 40, 50, **COOPERATIVE, **REJOIN)],
        {1: 0},
        [(1, 10, 10, 20, 20, 1, 1), (2, 10, 10, 20, 50, 2, 1)],
    ),
    "cooperative, unowned partitions: a new member begins a logical rebalance": (
        [row(1, 0, 10, 20, **COOPERATIVE), row(2, 30, 40, 50, cause="MEMBER_NEW", **COOPERATIVE)],
        {1: 2},
        [(1, 10, 10, 20, 20, 1, 1), (2, 10, 10, 20, 50, 2, 1)],
    ),
    "eager: unowned partitions do not continue a logical rebalance": (
        [row(1, 0, 10, 20, protocol="range"), row(2, 30, 40, 50, protocol="range", **REJOIN)],
        {1: 2},
        [(1, 10, 10, 20, 20, 1, 1), (2, 10, 10, 20, 50, 2, 1)],
    ),
    "a gap ends a logical rebalance": (
        [row(1, 10, 40, None, 55, "superseded"), row(3, 70, 90, 96)],
        {},
        [(1, 30, 15, 45, 55, 1, 1), (3, 20, 6, 26, 96, 3, 1)],
    ),
    "the rebalance of a group that becomes empty ends with its join phase": (
        [row(5, 10, 70, None, ended=9000, outcome="empty")],
        {},
        [(5, 60, 0, 60, 70, 5, 1)],
    ),
    "records alone have the sync phase only": (
        [row(3, None, 500, 520)],
        {},
        [(3, None, 20, None, 520, 3, 1)],
    ),
    "records before value version 2 do not say when the join completed": (
        [row(3, None, None, 520)],
        {},
        [(3, None, None, None, 520, 3, 1)],
    ),
    "a log that ends early has the join phase only": (
        [row(3, 100, 500, None, outcome="unknown")],
        {},
        [(3, 400, None, None, None, 3, 1)],
    ),
    "no phase is negative if a record's time is before its line's": (
        [row(3, 100, 500, 498)],
        {},
        [(3, 400, 0, 400, 498, 3, 1)],
    ),
    "no phase is known if a clock was set back meanwhile": (
        [row(3, 9_000_000, 500, 520), row(4, 9_000_100, 9_000_200, 600)],
        {},
        [(3, None, 20, None, 520, 3, 1), (4, 100, None, None, 600, 4, 1)],
    ),
    "no phase is known if a clock was set forward by more than any timeout": (
        [row(3, 100, 2**31 + 100, 2**31 + 120), row(4, 2**31, 2**31 + 1, 2**32 + 2)],
        {},
        [(3, None, 20, None, 2**31 + 120, 3, 1), (4, 1, None, None, 2**32 + 2, 4, 1)],
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def latencies(frame, by_group):
    generations, unowned = [], []
    for rule, (rows, orphaned, _) in CASES.items():
        generations += [{"group_id": rule, **row} for row in rows]
        unowned += [
            {"group_id": rule, "generation": number, "partitions_orphaned": count}
            for number, count in orphaned.items()
        ]
    latency = rebalance_latency(frame("generations", generations), frame("churn", unowned))
    columns = ["generation", "join_ms", "sync_ms", "total_ms", "to_time", "logical_rebalance",
               "round"]  # fmt: skip
    return by_group(conform(latency, "rebalance_latency"), ["generation"], columns)


@pytest.mark.parametrize("rule", CASES)
def test_rebalance_latency(latencies, rule):
    assert_rows(latencies[rule], CASES[rule][-1])
