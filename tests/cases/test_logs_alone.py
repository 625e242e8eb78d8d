"""What tables, episodes and views say of brokers' logs without records.

Without records nothing is known of partitions and processes, and no sentence may claim it.  Random
parts of member ids are shortened to ~ and four digits.
"""

import re
from pathlib import Path

import pytest

from jobs import ingest
from jobs.engine.choice import Workload
from jobs.engine.session import open_session
from jobs.lake.opening import open_lake
from jobs.lake.scope import scope_of
from jobs.lake.sql import query
from jobs.nightly_run.pipeline import Progress, run_all

INPUTS = Path(__file__).parent / "inputs"
LOGS = {
    "UTC": (
        "broker-02", "broker-04", "broker-07", "broker-11", "broker-15", "broker-19", "broker-24",
    ),
    "Asia/Shanghai": ("broker-14",),
}  # fmt: skip
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{8}([0-9a-f]{4})")
UNKNOWN = "partition downtime unknown without records"
pytestmark = pytest.mark.again_on_spark


@pytest.fixture(scope="module")
def lake(config, tmp_path_factory):
    root = str(tmp_path_factory.mktemp("lake"))
    for timezone, cases in LOGS.items():
        session = open_session(config, Workload(0))
        opened = open_lake(session, root, timezone)  # This lake is for brokers of another cluster.
        files = [str(each) for case in cases for each in sorted((INPUTS / case).glob("*.log"))]
        logs = [each for each in files if not each.endswith("client.log")]
        ingest.run(opened, ingest.Inputs(broker_logs=logs, log_timezone=timezone))
        run_all(scope_of(opened, None, None), Progress())
    return root


def rows(lake, sql):
    return [
        tuple(UUID.sub(r"~\1", each) if isinstance(each, str) else each for each in row)
        for row in query(lake, sql)[1]
    ]


# Episodes by group. PD stands for UNKNOWN
EPISODES = {
    "test-consumer-group": [
        "session of test-consumer-group-0-~0001 expired, test-consumer-group-0-~0002 with its "
        "client id joined 42.3 s before: 1 rebalance, 42.3 s not stable, PD",
    ],
    "spans_group": [
        "rdkafka-~0001 left, rdkafka-~0003 with its client id joined 2.0 s later: "
        "2 rebalances, 1.2 s not stable, PD",
        "rdkafka-~0002 left: 1 rebalance, 122 ms not stable, PD",
    ],
    "MS-API": ["group starts with 3 members: 1 rebalance, 6.0 s not stable, PD"],
    "ingest-a": [
        "evidence begins with generation 41: 1 rebalance, PD",
        "sessions of 3 members expired: 3 ms not stable, PD",
        "group starts with 1 member: 1 rebalance, 3.0 s not stable, PD",
    ],
    "ingest-b": [
        "evidence begins with generation 12: 1 rebalance, PD",
        "sessions of 3 members expired, not back: 3 ms not stable, PD, group left empty",
    ],
    "ingest-c": [
        "evidence begins with generation 7: 1 rebalance, PD",
        "sessions of 3 members expired, not back: 3 ms not stable, PD, group left empty",
    ],
    "orders-in": [
        "group starts: 1 rebalance, 3.0 s not stable, PD",
        "group lost all members, no root cause in the evidence: PD, group left empty",
    ],
    "svc-envoy": ["no root cause in the evidence: 2 rebalances, 6.9 s not stable, PD"],
    "sched_local": [
        "session of 4a000000-0000-4000-8000-000000000001 expired 10.2 s after a broker loaded the "
        "group: 1 rebalance, 2.1 s not stable, PD",
    ],
    "console-grp": [
        "group starts with 1 process: 1 rebalance, PD",
        "group shut down (console): no rebalance, PD",
        "second process with the instance id of console: no rebalance, PD",
        "session of DDDDGU6MqTOSUYAlDFhCYJw expired: no rebalance, PD",
    ],
}


@pytest.mark.parametrize("group", EPISODES)
def test_episodes(lake, group):
    sql = f"SELECT summary FROM episodes WHERE group_id = '{group}' ORDER BY from_time, episode"

    expected = [each.replace("PD", UNKNOWN) for each in EPISODES[group]]
    assert [summary for (summary,) in rows(lake, sql)] == [UUID.sub(r"~\1", e) for e in expected]


def test_nothing_is_known_of_partitions(lake):
    sql = """SELECT COUNT(unowned_partition_ms), COUNT(CASE WHEN partitions_moved > 0 THEN 1 END)
        FROM episodes"""

    assert rows(lake, sql) == [(0, 0)]


def test_a_consumer_group_has_its_epochs_and_causes(lake):
    of_group = "WHERE group_id = 'console-grp' ORDER BY 1, 2"

    assert rows(
        lake,
        "SELECT generation, group_type, protocol, outcome, member_count, cause, evidence "
        f"FROM generations {of_group}",
    ) == [(1, "consumer", "uniform", "unknown", 1, "MEMBER_NEW", "log")]
    assert rows(
        lake, f"SELECT epoch, generation, cause, member_id, evidence FROM group_epochs {of_group}"
    ) == [(1, 1, "MEMBER_NEW", "AAAA--2-T3iqwmYQIcJ-uQ", "log")]
    assert rows(
        lake,
        "SELECT cause_seq, role, cause, member_id, instance_id FROM rebalance_causes "
        "WHERE group_id = 'console-grp' ORDER BY cause_seq",
    ) == [
        (1, "trigger", "MEMBER_NEW", "AAAA--2-T3iqwmYQIcJ-uQ", "console"),
        (2, "absorbed", "STATIC_LEAVE", "AAAA--2-T3iqwmYQIcJ-uQ", "console"),
        (3, "absorbed", "STATIC_REFUSED", "CCCC-bmz9RnCDH3hQX_1U0w", "console"),
        (4, "absorbed", "SESSION_EXPIRY", "DDDDGU6MqTOSUYAlDFhCYJw", None),
    ]


def test_a_logged_target_counts_as_a_rebalance_whether_it_was_reached_or_not(lake):
    counts = "SELECT generations, rebalances, aborted_rebalances FROM q01_most_rebalanced_groups"

    assert rows(lake, f"{counts} WHERE group_id = 'console-grp'") == [(1, 1, 0)]
    assert rows(lake, f"{counts} WHERE group_id = 'MS-API'") == [(1, 1, 0)]


def test_a_loaded_group_was_neither_created_nor_deleted(lake):
    assert rows(lake, "SELECT group_id, group_type, reason FROM groups_without_generations") == [
        ("0", None, "loaded or unloaded by a broker, no rebalance in records or log")
    ]


def test_questions(lake):
    assert rows(
        lake,
        "SELECT culprit, client_host, rebalances_started, restarts FROM q04_offenders "
        "WHERE group_id = 'spans_group' ORDER BY 3",
    ) == [("rdkafka", None, 1, 0), ("rdkafka", "/172.18.0.1", 2, 1)]
    assert rows(
        lake,
        "SELECT last_to_join, waited_on_ms, members_dropped, did_not_rejoin[1] "
        "FROM q08_slow_members WHERE group_id = 'test-consumer-group'",
    ) == [
        ("test-consumer-group-0-~0002", 42_274, 1, "test-consumer-group-0-~0001"),
    ]
    assert rows(
        lake,
        "SELECT change, broker_id, previous_broker_id, load_ms, rebalances_within_5_min, "
        "next_cause FROM q09_coordinator_changes WHERE group_id = 'sched_local' ORDER BY 1",
    ) == [
        ("loaded", 2, 3, 160, 1, "SESSION_EXPIRY"),
        ("unloaded", 3, None, None, 1, "SESSION_EXPIRY"),
    ]
    assert rows(
        lake, "SELECT group_id, instance_id, fenced FROM q11_static_members ORDER BY 2"
    ) == [(None, "1", 1), ("console-grp", "console", 1)]
