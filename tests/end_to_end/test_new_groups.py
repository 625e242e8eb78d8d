"""Groups of the new types, as real brokers left them: rebalances, members, times, causes.

The expected figures were computed from the same records by another program, and checked against
the clients' own callbacks.
"""

import gzip
import json
import re
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from deltalake import DeltaTable

from jobs.checks.check import broken_laws
from jobs.console.errors import UsageError
from jobs.replay.command import ReplayOptions, not_replayed
from jobs.what_if.command import WhatIfOptions, evaluate
from schemas import table_names
from tests.end_to_end.incident_lake import IncidentLake

DATA = Path(__file__).parents[1] / "data" / "new_groups"
pytestmark = pytest.mark.slow
FOLDERS = ("twins-4.4.0", "twins-4.1.2", "mixed-4.4.0", "mixed-4.1.2")


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """A cluster per folder of FOLDERS."""
    lake = IncidentLake(str(tmp_path_factory.mktemp("new-groups") / "lake"), "embedded")
    for folder in FOLDERS:
        read(lake, folder)
    return lake


def read(lake, folder):
    dump, log = (DATA / folder / name for name in ("records.jsonl.gz", "server.log.gz"))
    lake.run(folder, dump=str(dump), broker_log=log)


# group  rebalances  empty  stable  superseded  joined  left  expired  moved  Assigning and
# Reconciling ms.  4.1 makes no target for a group that becomes empty: the last leaves of its groups
# belong to no generation.
EXPECTED = """
invoices-consumer           17  0  13   4  10   4  3   56   6642  45881
invoices-consumer-static     9  0   8   1  10   0  3   32   2655  38297
orders-consumer-range       29  1  12  16  19  14  5  192  18910  76647
orders-consumer-static      13  0  10   3  19   0  6   75   8695  57170
"""


def test_rebalances_members_and_times_of_consumer_groups(lake):
    rows = lake.rows("""
        SELECT g.group_id, COUNT(*), COUNT(*) FILTER (g.outcome = 'empty'),
            COUNT(*) FILTER (g.outcome = 'stable'), COUNT(*) FILTER (g.outcome = 'superseded'),
            SUM(c.members_joined), SUM(c.members_left), SUM(c.members_expired),
            SUM(c.partitions_moved), SUM(l.join_ms), SUM(l.sync_ms)
        FROM generations g
        JOIN rebalance_latency l USING (cluster_id, group_id, incarnation, generation)
        JOIN churn c USING (cluster_id, group_id, incarnation, generation)
        WHERE g.cluster_id LIKE 'twins%'
        GROUP BY ALL ORDER BY 1""")

    expected = [line.split() for line in EXPECTED.splitlines() if line]
    assert [tuple(map(str, row)) for row in rows] == [tuple(line) for line in expected]


# group type, number of incarnations, of generations
TYPES = """
audit-regex          consumer  1   8
billing-consumer     consumer  1  13
clicks-streams       streams   1   7
inventory-static     consumer  1   9
jobs-share           share     1   8
ledger-rolled-back   classic   1   7
ledger-rolled-back   consumer  1   5
legacy-eager         classic   1   7
legacy-eager         consumer  1   2
search-migrated      classic   2   3
search-migrated      consumer  1   7
shipping-librdkafka  consumer  1  18
"""


def test_groups_of_every_type_have_generations(lake):
    rows = lake.rows("""
        SELECT group_id, group_type, COUNT(DISTINCT incarnation), COUNT(*) FROM generations
        WHERE cluster_id = 'mixed-4.4.0' GROUP BY ALL ORDER BY ALL""")

    expected = [line.split() for line in TYPES.splitlines() if line]
    assert [tuple(map(str, row)) for row in rows] == [tuple(line) for line in expected]


def test_an_upgrade_and_a_downgrade_are_one_line_of_time(lake):
    rows = lake.rows("""
        SELECT generation, group_type, cause FROM generations
        WHERE cluster_id = 'mixed-4.4.0' AND group_id = 'ledger-rolled-back' ORDER BY ALL""")
    conversions = lake.rows("""
        SELECT epoch FROM group_epochs WHERE cause = 'CONVERSION'
            AND cluster_id = 'mixed-4.4.0' AND group_id = 'ledger-rolled-back' ORDER BY ALL""")

    assert rows == [
        (1, "classic", "MEMBER_NEW"),
        (2, "classic", "MEMBER_NEW"),
        (3, "classic", "LEAVE"),
        (4, "consumer", "MEMBER_NEW"),
        (5, "consumer", "LEAVE"),
        (6, "consumer", "MEMBER_NEW"),
        (7, "consumer", "LEAVE"),
        (8, "consumer", "MEMBER_NEW"),
        (9, "classic", "CONVERT"),
        (10, "classic", "HEARTBEAT_EXPIRY"),
        (11, "classic", "MEMBER_NEW"),
        (12, "classic", "LEAVE"),
    ]
    assert conversions == [(3,), (8,)]


@pytest.mark.parametrize(
    ("cluster", "topics"),
    [
        (
            "mixed-4.4.0",
            ["clicks", "clicks-streams-by-digit-repartition", "jobs", "orders", "payments",
             "web-ap", "web-eu", "web-us"],
        ),
        # The ids of web-eu and web-us: nothing tells which is which.
        (
            "mixed-4.1.2",
            ["CYXuiL8MRDaEjf3ze6i2-A", "aRjSXR9lSsmWH77LRkY4ng", "orders", "payments", "web-ap"],
        ),
    ],
)  # fmt: skip
def test_topic_ids_have_their_names(lake, cluster, topics):
    rows = lake.rows(f"""
        SELECT DISTINCT topic FROM assignments
        WHERE cluster_id = '{cluster}' AND assignor = 'actual' AND role = 'active'
        ORDER BY topic""")

    assert [topic for (topic,) in rows] == topics


def test_targets_and_what_members_had(lake):
    rows = lake.rows("""
        SELECT generation, assignor, is_target, process, COUNT(*) FROM assignments
        WHERE cluster_id = 'mixed-4.4.0' AND group_id = 'audit-regex' AND generation <= 3
        GROUP BY ALL ORDER BY ALL""")

    assert rows == [
        (2, "actual", False, "audit-1@127.0.0.1", 8),
        (2, "uniform", True, "audit-1@127.0.0.1", 8),
        (3, "actual", False, "audit-1@127.0.0.1", 4),
        (3, "actual", False, "audit-2@127.0.0.1", 4),
        (3, "uniform", True, "audit-1@127.0.0.1", 4),
        (3, "uniform", True, "audit-2@127.0.0.1", 4),
    ]


def test_tasks_of_a_streams_group(lake):
    rows = lake.rows("""
        SELECT process, subtopology, role, topic, LIST(partition ORDER BY partition)
        FROM assignments WHERE cluster_id = 'mixed-4.4.0' AND group_id = 'clicks-streams'
            AND generation = 5 AND assignor = 'actual' GROUP BY ALL ORDER BY ALL""")

    internal = "clicks-streams-by-digit-repartition"
    assert rows == [
        ("clicks-1@127.0.0.1", "0", "active", "clicks", [1, 3]),
        ("clicks-1@127.0.0.1", "1", "active", internal, [1, 3]),
        ("clicks-2@127.0.0.1", "0", "active", "clicks", [0, 2]),
        ("clicks-2@127.0.0.1", "1", "active", internal, [0, 2]),
        ("clicks-3@127.0.0.1", "0", "active", "clicks", [4, 5]),
        ("clicks-3@127.0.0.1", "1", "active", internal, [4, 5]),
    ]


def test_steps_of_a_member_that_gives_up_half_of_its_partitions(lake):
    rows = lake.rows("""
        SELECT generation, epoch, previous_epoch, state,
            LIST_SUM([LEN(a.partitions) FOR a IN assigned]),
            LIST_SUM([LEN(p.partitions) FOR p IN pending_revocation])
        FROM member_epochs WHERE cluster_id = 'mixed-4.4.0' AND group_id = 'audit-regex'
            AND process = 'audit-1@127.0.0.1' ORDER BY time, log_offset LIMIT 4""")

    assert rows == [
        (None, 1, 0, "STABLE", None, None),
        (2, 2, 1, "STABLE", 8, None),
        (3, 2, 2, "UNREVOKED", 4, 4),
        (3, 3, 2, "STABLE", 4, None),
    ]


def test_causes_of_the_epochs_of_a_group_with_a_regular_expression(lake):
    rows = lake.rows("""
        SELECT epoch, generation, cause, process FROM group_epochs
        WHERE cluster_id = 'mixed-4.4.0' AND group_id = 'audit-regex' ORDER BY epoch""")

    assert rows == [
        (2, 2, "MEMBER_NEW", "audit-1@127.0.0.1"),
        (3, 3, "MEMBER_NEW", "audit-2@127.0.0.1"),
        (4, 4, "REGEX", None),  # topic web-ap created
        (5, 5, "LEAVE", "audit-1@127.0.0.1"),
        (6, 6, "REGEX", "audit-1@127.0.0.1"),  # it is back since target 5
        (7, 7, "TOPIC_CHANGE", None),  # topic web-us deleted
        (8, 8, "REGEX", None),
        (9, 10, "LEAVE", "audit-1@127.0.0.1"),
        (10, 10, "LEAVE", "audit-2@127.0.0.1"),
    ]


STORY = """
    SELECT group_id, incarnation, generation, role, cause, COALESCE(story, '-'),
        COALESCE(SPLIT_PART(process, '@', 1), '-')
    FROM rebalance_causes WHERE cluster_id = 'mixed-4.4.0'
    ORDER BY group_id, incarnation, generation, cause_seq"""

# group  incarnation  generation  role  cause  story  process
CAUSES = """
audit-regex         1  2 trigger      MEMBER_NEW       start         audit-1
audit-regex         1  3 trigger      MEMBER_NEW       start         audit-2
audit-regex         1  4 trigger      REGEX            -             -
audit-regex         1  5 trigger      LEAVE            restart       audit-1
audit-regex         1  5 contributing MEMBER_NEW       return        audit-1
audit-regex         1  6 trigger      REGEX            -             audit-1
audit-regex         1  7 trigger      TOPIC_CHANGE     -             -
audit-regex         1  8 trigger      REGEX            -             -
audit-regex         1 10 trigger      LEAVE            stop          audit-1
audit-regex         1 10 contributing LEAVE            stop          audit-2
billing-consumer    1  2 trigger      MEMBER_NEW       start         billing-1
billing-consumer    1  3 trigger      MEMBER_NEW       start         billing-2
billing-consumer    1  4 trigger      MEMBER_NEW       start         billing-3
billing-consumer    1  5 trigger      MEMBER_NEW       start         billing-4
billing-consumer    1  6 trigger      SESSION_EXPIRY   crash         billing-3
billing-consumer    1  7 trigger      MEMBER_NEW       return        billing-3
billing-consumer    1  8 trigger      LEAVE            restart       billing-1
billing-consumer    1  9 trigger      TOPIC_CHANGE     -             -
billing-consumer    1 10 trigger      MEMBER_NEW       return        billing-1
billing-consumer    1 11 trigger      MEMBER_NEW       start         billing-5
billing-consumer    1 12 trigger      LEAVE            stop          billing-5
billing-consumer    1 13 trigger      LEAVE            stop          billing-1
billing-consumer    1 16 trigger      LEAVE            stop          billing-2
billing-consumer    1 16 contributing LEAVE            stop          billing-3
billing-consumer    1 16 contributing LEAVE            stop          billing-4
clicks-streams      1  3 trigger      MEMBER_NEW       start         clicks-1
clicks-streams      1  3 contributing MEMBER_NEW       start         clicks-2
clicks-streams      1  4 trigger      TOPIC_CHANGE     -             -
clicks-streams      1  5 trigger      MEMBER_NEW       start         clicks-3
clicks-streams      1  6 trigger      SESSION_EXPIRY   crash         clicks-2
clicks-streams      1  7 trigger      MEMBER_NEW       return        clicks-2
clicks-streams      1  8 trigger      LEAVE            stop          clicks-3
clicks-streams      1 10 trigger      LEAVE            stop          clicks-1
clicks-streams      1 10 contributing LEAVE            stop          clicks-2
inventory-static    1  2 trigger      MEMBER_NEW       start         inventory-pod-1
inventory-static    1  3 trigger      MEMBER_NEW       start         inventory-pod-2
inventory-static    1  4 trigger      MEMBER_NEW       start         inventory-pod-3
inventory-static    1  4 absorbed     STATIC_LEAVE     restart       inventory-pod-1
inventory-static    1  4 absorbed     STATIC_RETURN    restart       inventory-pod-1
inventory-static    1  5 trigger      SESSION_EXPIRY   stop_or_crash inventory-pod-2
inventory-static    1  6 trigger      MEMBER_NEW       return        inventory-pod-2
inventory-static    1  7 trigger      TOPIC_CHANGE     -             -
inventory-static    1  7 absorbed     STATIC_LEAVE     restart       inventory-pod-3
inventory-static    1  8 trigger      SESSION_EXPIRY   stop_or_crash inventory-pod-3
inventory-static    1  9 trigger      MEMBER_NEW       return        inventory-pod-3
inventory-static    1  9 absorbed     STATIC_LEAVE     stop          inventory-pod-1
inventory-static    1  9 absorbed     STATIC_LEAVE     stop          inventory-pod-2
inventory-static    1  9 absorbed     STATIC_LEAVE     stop          inventory-pod-3
inventory-static    1 12 trigger      SESSION_EXPIRY   stop_or_crash inventory-pod-3
inventory-static    1 12 contributing SESSION_EXPIRY   stop_or_crash inventory-pod-2
inventory-static    1 12 contributing SESSION_EXPIRY   stop_or_crash inventory-pod-1
jobs-share          1  2 trigger      MEMBER_NEW       start         jobs-1
jobs-share          1  3 trigger      MEMBER_NEW       start         jobs-2
jobs-share          1  4 trigger      TOPIC_CHANGE     -             -
jobs-share          1  5 trigger      MEMBER_NEW       start         jobs-3
jobs-share          1  6 trigger      SESSION_EXPIRY   crash         jobs-1
jobs-share          1  7 trigger      MEMBER_NEW       return        jobs-1
jobs-share          1  8 trigger      LEAVE            stop          jobs-3
jobs-share          1 10 trigger      LEAVE            stop          jobs-1
jobs-share          1 10 contributing LEAVE            stop          jobs-2
ledger-rolled-back  1  1 trigger      MEMBER_NEW       start         ledger-1
ledger-rolled-back  1  1 contributing MEMBER_NEW       start         ledger-2
ledger-rolled-back  1  2 trigger      MEMBER_NEW       start         ledger-3
ledger-rolled-back  1  3 trigger      LEAVE            restart       ledger-1
ledger-rolled-back  1  4 trigger      MEMBER_NEW       return        ledger-1
ledger-rolled-back  1  4 contributing CONVERSION       -             -
ledger-rolled-back  1  5 trigger      LEAVE            restart       ledger-2
ledger-rolled-back  1  6 trigger      MEMBER_NEW       return        ledger-2
ledger-rolled-back  1  7 trigger      LEAVE            restart       ledger-1
ledger-rolled-back  1  8 trigger      MEMBER_NEW       return        ledger-1
ledger-rolled-back  1  8 contributing LEAVE            restart       ledger-2
ledger-rolled-back  1  9 trigger      CONVERT          -             -
ledger-rolled-back  1  9 contributing MEMBER_NEW       return        ledger-2
ledger-rolled-back  1 10 trigger      HEARTBEAT_EXPIRY crash         ledger-2
ledger-rolled-back  1 11 trigger      MEMBER_NEW       return        ledger-2
ledger-rolled-back  1 12 trigger      LEAVE            stop          ledger-1
ledger-rolled-back  1 12 contributing LEAVE            stop          ledger-2
ledger-rolled-back  1 12 contributing LEAVE            stop          ledger-3
legacy-eager        1  1 trigger      MEMBER_NEW       start         legacy-1
legacy-eager        1  1 contributing MEMBER_NEW       start         legacy-2
legacy-eager        1  1 contributing MEMBER_NEW       start         legacy-3
legacy-eager        1  2 trigger      LEAVE            restart       legacy-2
legacy-eager        1  3 trigger      LEADER_REJOIN    topic_change  legacy-1
legacy-eager        1  4 trigger      MEMBER_NEW       return        legacy-2
legacy-eager        1  5 trigger      HEARTBEAT_EXPIRY crash         legacy-3
legacy-eager        1  6 trigger      MEMBER_NEW       return        legacy-3
legacy-eager        1  7 trigger      LEAVE            stop          legacy-1
legacy-eager        1  7 contributing LEAVE            stop          legacy-2
legacy-eager        1  7 contributing LEAVE            stop          legacy-3
legacy-eager        2  2 trigger      MEMBER_NEW       start         legacy-new
legacy-eager        2  3 trigger      LEAVE            stop          legacy-new
search-migrated     1  1 trigger      MEMBER_NEW       start         search-1
search-migrated     1  1 contributing MEMBER_NEW       start         search-2
search-migrated     1  1 contributing MEMBER_NEW       start         search-3
search-migrated     1  2 trigger      MEMBER_NEW       return        search-1
search-migrated     1  2 contributing LEAVE            restart       search-1
search-migrated     1  2 contributing CONVERSION       -             -
search-migrated     1  4 trigger      LEAVE            restart       search-2
search-migrated     1  4 contributing MEMBER_NEW       return        search-2
search-migrated     1  6 trigger      LEAVE            restart       search-3
search-migrated     1  6 contributing MEMBER_NEW       return        search-3
search-migrated     1  7 trigger      TOPIC_CHANGE     -             -
search-migrated     1  8 trigger      MEMBER_NEW       return        search-2
search-migrated     1  9 trigger      SESSION_EXPIRY   crash         search-2
search-migrated     1 12 trigger      LEAVE            stop          search-1
search-migrated     1 12 contributing LEAVE            stop          search-2
search-migrated     1 12 contributing LEAVE            stop          search-3
search-migrated     2  1 trigger      MEMBER_NEW       return        search-1
search-migrated     2  2 trigger      LEAVE            stop          search-1
shipping-librdkafka 1  2 trigger      MEMBER_NEW       start         shipping-1
shipping-librdkafka 1  3 trigger      MEMBER_NEW       start         shipping-2
shipping-librdkafka 1  4 trigger      MEMBER_NEW       start         shipping-3
shipping-librdkafka 1  5 trigger      MEMBER_NEW       start         shipping-4
shipping-librdkafka 1  6 trigger      SESSION_EXPIRY   crash         shipping-2
shipping-librdkafka 1  7 trigger      MEMBER_NEW       return        shipping-2
shipping-librdkafka 1  8 trigger      TOPIC_CHANGE     -             -
shipping-librdkafka 1  9 trigger      SESSION_EXPIRY   crash         shipping-3
shipping-librdkafka 1 10 trigger      MEMBER_NEW       return        shipping-3
shipping-librdkafka 1 11 trigger      MEMBER_NEW       start         shipping-5
shipping-librdkafka 1 13 trigger      REBALANCE_TIMEOUT slow_revoke   shipping-2
shipping-librdkafka 1 13 contributing REBALANCE_TIMEOUT slow_revoke   shipping-3
shipping-librdkafka 1 14 trigger      REBALANCE_TIMEOUT slow_revoke   shipping-4
shipping-librdkafka 1 15 trigger      MEMBER_NEW       return        shipping-2
shipping-librdkafka 1 17 trigger      MEMBER_NEW       return        shipping-3
shipping-librdkafka 1 17 contributing MEMBER_NEW       return        shipping-4
shipping-librdkafka 1 22 trigger      LEAVE            stop          shipping-4
shipping-librdkafka 1 22 contributing LEAVE            restart       shipping-1
shipping-librdkafka 1 22 contributing LEAVE            restart       shipping-3
shipping-librdkafka 1 22 contributing LEAVE            stop          shipping-5
shipping-librdkafka 1 22 contributing LEAVE            restart       shipping-2
shipping-librdkafka 1 23 trigger      MEMBER_NEW       return        shipping-1
shipping-librdkafka 1 25 trigger      MEMBER_NEW       return        shipping-3
shipping-librdkafka 1 25 contributing MEMBER_NEW       return        shipping-2
shipping-librdkafka 1 28 trigger      LEAVE            stop          shipping-1
shipping-librdkafka 1 28 contributing LEAVE            stop          shipping-2
shipping-librdkafka 1 28 contributing LEAVE            stop          shipping-3
"""


def test_every_cause_is_found_and_none_invented(lake):
    """Commits are cut, so that no slow poll shows."""
    rows = lake.rows(STORY)

    expected = [tuple(line.split()) for line in CAUSES.splitlines() if line]
    assert [tuple(map(str, row)) for row in rows] == expected


def test_the_lake_violates_no_law(lake):
    assert broken_laws(lake.root)[1] == []


# group  handovers: revocation, session, heartbeat
HANDOVERS = """
audit-regex           6   0   8
billing-consumer     17   5  27
clicks-streams        0   4  12
inventory-static      6   9  11
ledger-rolled-back   22   3  12
legacy-eager         30   7   0
search-migrated       1   2   2
shipping-librdkafka   5   6  63
"""


def test_each_moved_partition_is_a_handover(lake):
    """Shares of jobs-share are not exclusive: they are not handed over."""
    rows = lake.rows("""
        SELECT group_id, COUNT(*) FILTER (waited_for = 'revocation'),
            COUNT(*) FILTER (waited_for = 'session'), COUNT(*) FILTER (waited_for = 'heartbeat')
        FROM handovers WHERE cluster_id = 'mixed-4.4.0' GROUP BY ALL ORDER BY ALL""")

    expected = [line.split() for line in HANDOVERS.splitlines() if line]
    assert [tuple(map(str, row)) for row in rows] == [tuple(line) for line in expected]


# Days apart -----------------------------------------------------------------------------------

MIDNIGHT = datetime(2026, 11, 24, tzinfo=UTC)
LOGGED = re.compile(r"^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\]", re.MULTILINE)


@pytest.fixture(scope="module")
def over_midnight(tmp_path_factory):
    """Records and log of groups of every type, with their times shifted: half of it is the next
    day."""
    folder = tmp_path_factory.mktemp("over-midnight")
    source = DATA / "mixed-4.4.0"
    lines = gzip.decompress((source / "records.jsonl.gz").read_bytes()).splitlines()
    records = [json.loads(line) for line in lines]
    middle = sorted(record["timestamp"] for record in records)[len(records) // 2]
    shift = timedelta(milliseconds=MIDNIGHT.timestamp() * 1000 - middle)
    for record in records:
        record["timestamp"] += round(shift.total_seconds() * 1000)
    (folder / "records.jsonl").write_text("\n".join(map(json.dumps, records)))

    def shifted(match):
        time = datetime.strptime(match[1], "%Y-%m-%d %H:%M:%S,%f") + shift
        return f"[{time:%Y-%m-%d %H:%M:%S},{time.microsecond // 1000:03}]"

    log = gzip.decompress((source / "server.log.gz").read_bytes()).decode()
    (folder / "server.log").write_text(LOGGED.sub(shifted, log))
    return folder


def rows_of_tables(lake):
    """Sorted rows of all tables but those of runs and of read files, and of ownership_gaps, whose
    ``why`` differs for some gaps of consumer groups."""
    tables = set(table_names()) - {"runs", "ingested_files", "what_if", "advice", "ownership_gaps"}
    return {
        table: sorted(map(repr, DeltaTable(f"{lake.root}/{table}").to_pyarrow_table().to_pylist()))
        for table in tables
        if DeltaTable.is_deltatable(f"{lake.root}/{table}")
    }


def test_days_apart_give_the_tables_of_one_run(over_midnight, tmp_path):
    sources = {
        "dump": str(over_midnight / "records.jsonl"),
        "broker_log": over_midnight / "server.log",
    }
    apart, together = (
        IncidentLake(str(tmp_path / name), "embedded") for name in ("apart", "together")
    )

    together.run("c", **sources)
    for day in (date(2026, 11, 23), date(2026, 11, 24)):
        apart.run("c", **sources, date=str(day))

    expected = rows_of_tables(together)
    for table, rows in rows_of_tables(apart).items():
        assert rows == expected[table], table
    assert broken_laws(apart.root)[1] == []


def test_replay_counts_what_is_not_replayed(lake):
    options = ReplayOptions(lake.root, "mixed-4.4.0", "search-migrated")

    assert not_replayed(options) == {"consumer": 7}


def test_what_if_refuses_a_group_of_another_type(lake):
    with pytest.raises(UsageError, match="a group of type share; only classic groups can be"):
        evaluate(WhatIfOptions(lake.root, "mixed-4.4.0", "jobs-share", ["session.timeout.ms=9000"]))


@pytest.mark.spark
def test_both_engines_give_the_same_tables(lake, tmp_path):
    in_spark, folder = IncidentLake(str(tmp_path / "lake"), "spark"), "mixed-4.4.0"
    read(in_spark, folder)

    embedded = rows_of_tables(lake)
    for table, rows in rows_of_tables(in_spark).items():
        own = [row for row in embedded[table] if row.startswith(f"{{'cluster_id': '{folder}'")]
        assert rows == own, table
