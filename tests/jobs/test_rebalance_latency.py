"""rebalance_latency: join and sync phase of each rebalance, and which belong together."""

import pytest

from jobs.lake.tables import conform
from jobs.rebalance_latency import rebalance_latency


def made(generation, prepared, joined, stable, ended=None, outcome="stable", **more):
    return {
        "generation": generation,
        "preparing_time": prepared,
        "joined_time": joined,
        "stable_time": stable,
        "ended_time": ended,
        "outcome": outcome,
        **more,
    }


COOPERATIVE = {"protocol": "cooperative-sticky"}
REJOIN = {"cause": "LEADER_REJOIN"}

# rule -> generations; partitions withheld by generation; then
#         (generation, join, sync, total, end, logical rebalance, round)
CASES = {
    "join phase to the barrier, sync phase to the assignment": (
        [made(1, 1000, 4000, 4010, ended=9000)],
        {},
        [(1, 3000, 10, 3010, 4010, 1, 1)],
    ),
    "superseded: until the next one took over, and on in it": (
        [made(1, 10, 40, None, 55, "superseded"), made(2, 55, 90, 96)],
        {},
        [(1, 30, 15, 45, 55, 1, 1), (2, 35, 6, 41, 96, 1, 2)],
    ),
    "failed twice: three rounds of one rebalance": (
        [
            made(4, 10, 20, 25, 30, "failed"),
            made(5, 30, 40, 45, 50, "failed"),
            made(6, 50, 60, 65, 90),
            made(7, 90, 95, 99),
        ],
        {},
        [
            (4, 10, 10, 20, 30, 4, 1),
            (5, 10, 10, 20, 50, 4, 2),
            (6, 10, 5, 15, 65, 4, 3),
            (7, 5, 4, 9, 99, 7, 1),
        ],
    ),
    "cooperative: the rejoin for what was withheld is the second round": (
        [made(1, 0, 10, 20, **COOPERATIVE), made(2, 30, 40, 50, **COOPERATIVE, **REJOIN)],
        {1: 2},
        [(1, 10, 10, 20, 20, 1, 1), (2, 10, 10, 20, 50, 1, 2)],
    ),
    "cooperative, nothing withheld: a rejoin is a rebalance of its own": (
        [made(1, 0, 10, 20, **COOPERATIVE), made(2, 30, 40, 50, **COOPERATIVE, **REJOIN)],
        {1: 0},
        [(1, 10, 10, 20, 20, 1, 1), (2, 10, 10, 20, 50, 2, 1)],
    ),
    "cooperative, withheld, but a new member began the next: of its own": (
        [made(1, 0, 10, 20, **COOPERATIVE), made(2, 30, 40, 50, cause="MEMBER_NEW", **COOPERATIVE)],
        {1: 2},
        [(1, 10, 10, 20, 20, 1, 1), (2, 10, 10, 20, 50, 2, 1)],
    ),
    "eager leaves partitions without owner for other reasons": (
        [made(1, 0, 10, 20, protocol="range"), made(2, 30, 40, 50, protocol="range", **REJOIN)],
        {1: 2},
        [(1, 10, 10, 20, 20, 1, 1), (2, 10, 10, 20, 50, 2, 1)],
    ),
    "after a gap nothing goes on": (
        [made(1, 10, 40, None, 55, "superseded"), made(3, 70, 90, 96)],
        {},
        [(1, 30, 15, 45, 55, 1, 1), (3, 20, 6, 26, 96, 3, 1)],
    ),
    "a group that empties is done at its join barrier": (
        [made(5, 10, 70, None, ended=9000, outcome="empty")],
        {},
        [(5, 60, 0, 60, 70, 5, 1)],
    ),
    "records alone know the sync phase only": (
        [made(3, None, 500, 520)],
        {},
        [(3, None, 20, None, 520, 3, 1)],
    ),
    "records before value version 2 do not say when the join completed": (
        [made(3, None, None, 520)],
        {},
        [(3, None, None, None, 520, 3, 1)],
    ),
    "a log that breaks off knows the join phase only": (
        [made(3, 100, 500, None, outcome="unknown")],
        {},
        [(3, 400, None, None, None, 3, 1)],
    ),
    "a record's time ahead of its line's is no negative phase": (
        [made(3, 100, 500, 498)],
        {},
        [(3, 400, 0, 400, 498, 3, 1)],
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def found(frame, by_group):
    generations, withheld = [], []
    for rule, (rows, orphaned, _) in CASES.items():
        generations += [{"group_id": rule, **row} for row in rows]
        withheld += [
            {"group_id": rule, "generation": generation, "partitions_orphaned": count}
            for generation, count in orphaned.items()
        ]
    latency = rebalance_latency(frame("generations", generations), frame("churn", withheld))
    columns = ["generation", "join_ms", "sync_ms", "total_ms", "end_time", "logical_rebalance",
               "round"]  # fmt: skip
    return by_group(conform(latency, "rebalance_latency"), ["generation"], columns)


@pytest.mark.parametrize("rule", CASES)
def test_rebalance_latency(found, rule):
    assert found[rule] == CASES[rule][-1]
