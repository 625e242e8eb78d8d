"""Groups that a real broker converted, before and after: view q10_by_protocol."""

import pytest

CLUSTER = "mixed-4.4.0"
pytestmark = pytest.mark.slow


@pytest.fixture
def lake(incidents):
    return incidents


# The script restarted all of search-migrated and two of ledger-rolled-back into the consumer
# protocol, and later these two back into the classic protocol.  A conversion is followed by a
# rebalance of the next type.
PERIODS = """
ledger-rolled-back  1  classic    3
ledger-rolled-back  2  consumer   5
ledger-rolled-back  3  classic    4
legacy-eager        1  classic    7
legacy-eager        2  consumer   2
search-migrated     1  classic    1
search-migrated     2  consumer   7
search-migrated     3  classic    2
"""


def test_each_time_under_one_group_type_is_a_row(lake):
    rows = lake.rows(f"""
        SELECT group_id, period, group_type, generations FROM q10_by_protocol
        WHERE cluster_id = '{CLUSTER}'
        QUALIFY COUNT(*) OVER (PARTITION BY group_id) > 1 ORDER BY group_id, period""")

    expected = [line.split() for line in PERIODS.split("\n") if line]
    assert [list(map(str, row)) for row in rows] == expected


def test_downtime_per_restart_is_part_of_the_groups_downtime(lake):
    """The question: what did a restart cost before and after the migration?"""
    rows = lake.rows(f"""
        SELECT p.group_type, p.restarts, p.restart_partition_ms, p.unowned_partition_ms,
            p.partition_ms_per_restart
        FROM q10_by_protocol p
        WHERE p.cluster_id = '{CLUSTER}' AND p.group_id = 'search-migrated' ORDER BY p.period""")

    before, after, _ = rows
    assert before[:3] == ("classic", 0, 0)
    assert before[4] is None
    assert after[0] == "consumer"
    assert after[1] >= 2  # search-2 and search-3 left as members of the consumer group.
    assert 0 < after[2] < after[3]
    assert after[4] == round(after[2] / after[1])


def test_the_periods_add_up_to_the_groups_figures(lake):
    (differences,) = lake.rows(f"""
        SELECT COUNT(*) FROM (
            SELECT group_id, SUM(rebalances) AS rebalances, SUM(not_stable_ms) AS ms
            FROM q10_by_protocol WHERE cluster_id = '{CLUSTER}' GROUP BY group_id
        ) p JOIN q01_most_rebalanced_groups q USING (group_id)
        WHERE q.cluster_id = '{CLUSTER}'
            AND (p.rebalances <> q.rebalances OR p.ms <> q.not_stable_ms)""")

    assert differences == (0,)


def test_movement_is_that_of_churn_in_every_group(lake):
    rows = lake.rows(f"""
        SELECT c.group_id, c.generation FROM churn c
        LEFT JOIN (
            SELECT group_id, incarnation, generation, COUNT(*) FILTER (change = 'moved') AS moved
            FROM partition_movement WHERE cluster_id = '{CLUSTER}' GROUP BY ALL
        ) m USING (group_id, incarnation, generation)
        WHERE c.cluster_id = '{CLUSTER}' AND c.partitions_moved <> COALESCE(m.moved, 0)""")

    assert rows == []


def test_findings_are_no_transient_states_of_modern_groups(lake):
    rows = lake.rows(
        "SELECT group_id, findings FROM q13_config_audit "
        f"WHERE cluster_id = '{CLUSTER}' AND findings IS NOT NULL"
    )

    assert sorted(rows) == [
        ("ledger-rolled-back", "group type changed"),
        ("legacy-eager", "group type changed"),
        ("search-migrated", "group type changed"),
    ]


def test_storage_counts_records_of_all_groups(lake):
    rows = lake.rows(f"""
        SELECT s.group_id FROM (
            SELECT group_id, COUNT(*) AS records FROM group_records
            WHERE cluster_id = '{CLUSTER}' GROUP BY group_id
        ) r JOIN (
            SELECT group_id, SUM(group_records) AS records FROM q15_storage
            WHERE cluster_id = '{CLUSTER}' GROUP BY group_id
        ) s USING (group_id) WHERE s.records < r.records""")

    assert rows == []


def test_the_last_member_that_reached_the_target_is_named(lake):
    rows = lake.rows(f"""
        SELECT generation, last_to_join, last_to_sync FROM q08_slow_members
        WHERE cluster_id = '{CLUSTER}' AND group_id = 'billing-consumer' AND generation IN (5, 11)
        ORDER BY generation""")

    assert rows == [(5, None, "billing-4@127.0.0.1"), (11, None, "billing-5@127.0.0.1")]
