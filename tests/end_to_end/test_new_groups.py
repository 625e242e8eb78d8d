"""Groups of the new types, as real brokers left them: rebalances, members, times, causes.

The expected figures were computed from the same records by another program, and checked against
the clients' own callbacks.
"""

from pathlib import Path

import pytest

from tests.end_to_end.incident_lake import IncidentLake

DATA = Path(__file__).parents[1] / "data" / "new_groups"
FOLDERS = ("twins-4.4.0", "twins-4.1.2")


@pytest.fixture(scope="module")
def lake(made_once, engine):
    """A cluster per folder of FOLDERS."""

    def write(root):
        lake = IncidentLake(str(root), engine)
        for folder in FOLDERS:
            dump, log = (DATA / folder / name for name in ("records.jsonl.gz", "server.log.gz"))
            lake.run(folder, dump=str(dump), broker_log=log)

    return IncidentLake(str(made_once(f"new-groups-{engine}", write)), engine)


# group  rebalances  empty  stable  superseded  joined  left  expired  assigning and reconciling ms
EXPECTED = """
invoices-consumer           17  0  13   4  10   7  3   6642  45881
invoices-consumer-static     9  0   8   1  10   0  3   2655  38297
orders-consumer-range       29  1  12  16  19  14  5  18910  76647
orders-consumer-static      13  0  10   3  19   0  6   8695  57170
"""


def test_rebalances_members_and_times_of_consumer_groups(lake):
    rows = lake.rows("""
        SELECT g.group_id, COUNT(*), COUNT(*) FILTER (g.outcome = 'empty'),
            COUNT(*) FILTER (g.outcome = 'stable'), COUNT(*) FILTER (g.outcome = 'superseded'),
            SUM(m.joined), SUM(m.departed), SUM(m.expired), SUM(l.join_ms), SUM(l.sync_ms)
        FROM generations g
        JOIN rebalance_latency l USING (cluster_id, group_id, incarnation, generation)
        LEFT JOIN (
            SELECT cluster_id, group_id, incarnation, generation,
                COUNT(*) FILTER (change <> 'retained') AS joined,
                COUNT(*) FILTER (left_how = 'left') AS departed,
                COUNT(*) FILTER (left_how = 'expired') AS expired
            FROM generation_members GROUP BY ALL) m
            USING (cluster_id, group_id, incarnation, generation)
        GROUP BY ALL ORDER BY 1""")

    expected = [line.split() for line in EXPECTED.splitlines() if line]
    assert [tuple(map(str, row)) for row in rows] == [tuple(line) for line in expected]
