"""Modern groups, as real brokers left them: rebalances, members, times, causes.

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

from jobs import incident_replay
from jobs.checks.check import broken_laws
from jobs.console.errors import UsageError
from jobs.lake.existing import open_existing_lake
from jobs.replay.command import ReplayOptions, as_json, replay_whole_group
from jobs.what_if.command import WhatIfOptions, evaluate
from schemas import table_names
from tests.end_to_end.incident_lake import IncidentLake

DATA = Path(__file__).parents[1] / "data" / "modern_groups"
pytestmark = pytest.mark.slow


@pytest.fixture
def lake(incidents):
    return incidents


# group  rebalances  empty  stable  superseded  joined  left  expired  moved  Assigning and
# Reconciling ms.  4.1 makes no target for a group that becomes empty: the last leaves of its groups
# belong to no generation.
EXPECTED = {
    "4.1.2": """
invoices-consumer           17  0  13   4  10   4  3   56   6642  45881
invoices-consumer-static     9  0   8   1  10   0  3   32   2655  38297""",
    "4.4.0": """
orders-consumer-range       29  1  12  16  19  14  5  192  18910  76647
orders-consumer-static      13  0  10   3  19   0  6   75   8695  57170""",
}


@pytest.mark.parametrize("version", EXPECTED)
def test_rebalances_members_and_times_of_consumer_groups(incidents_of, version):
    rows = incidents_of(version).rows("""
        SELECT g.group_id, COUNT(*), COUNT(*) FILTER (g.outcome = 'empty'),
            COUNT(*) FILTER (g.outcome = 'stable'), COUNT(*) FILTER (g.outcome = 'superseded'),
            SUM(c.members_joined), SUM(c.members_left), SUM(c.members_expired),
            SUM(c.partitions_moved), SUM(l.join_ms), SUM(l.sync_ms)
        FROM generations g
        JOIN rebalance_latency l USING (cluster_id, group_id, incarnation, generation)
        JOIN churn c USING (cluster_id, group_id, incarnation, generation)
        WHERE g.cluster_id LIKE 'twins%'
        GROUP BY ALL ORDER BY 1""")

    expected = [line.split() for line in EXPECTED[version].splitlines() if line]
    assert [tuple(map(str, row)) for row in rows] == [tuple(line) for line in expected]


# Each row: group, type, number of incarnations, number of generations.
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


# Each row: group, rebalances, superseded targets among them.  They are counted by the truth of the
# capture: generations that became Stable, and targets of a group with members.  The target of a
# conversion is not counted again.
COUNTED = """
audit-regex            7  1
billing-consumer      12  3
clicks-streams         6  1
inventory-static       8  1
jobs-share             7  1
ledger-rolled-back    11  1
legacy-eager           7  0
search-migrated        8  1
shipping-librdkafka   16  7
"""


def test_rebalances_are_those_of_the_truth(lake):
    rows = lake.rows("""
        SELECT group_id, rebalances, superseded_targets, aborted_rebalances
        FROM q01_most_rebalanced_groups WHERE cluster_id = 'mixed-4.4.0' ORDER BY group_id""")

    expected = [line.split() for line in COUNTED.splitlines() if line]
    assert [[str(value) for value in row] for row in rows] == [[*line, "0"] for line in expected]


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
        (10, "classic", "SESSION_EXPIRY"),
        (11, "classic", "MEMBER_NEW"),
        (12, "classic", "LEAVE"),
    ]
    assert conversions == [(3,), (8,)]


@pytest.mark.parametrize(
    ("version", "topics"),
    [
        (
            "4.4.0",
            ["clicks", "clicks-streams-by-digit-repartition", "jobs", "orders", "payments",
             "web-ap", "web-eu", "web-us"],
        ),
        # Ids of web-eu and web-us; no evidence shows which id belongs to which group.
        (
            "4.1.2",
            ["CYXuiL8MRDaEjf3ze6i2-A", "aRjSXR9lSsmWH77LRkY4ng", "orders", "payments", "web-ap"],
        ),
    ],
)  # fmt: skip
def test_topic_ids_have_their_names(incidents_of, version, topics):
    rows = incidents_of(version).rows(f"""
        SELECT DISTINCT topic FROM assignments
        WHERE cluster_id = 'mixed-{version}' AND assignor = 'actual' AND role = 'active'
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
        (6, 6, "REGEX", "audit-1@127.0.0.1"),  # audit-1 is back since target 5.
        (7, 7, "TOPIC_CHANGE", None),  # topic web-us deleted
        (8, 8, "REGEX", None),
        (9, 10, "LEAVE", "audit-1@127.0.0.1"),
        (10, 10, "LEAVE", "audit-2@127.0.0.1"),
    ]


@pytest.mark.parametrize("version", ["4.4.0", "4.1.2"])
def test_the_lake_violates_no_law(incidents_of, version):
    assert broken_laws(incidents_of(version).root)[1] == []


# Each row: group, and its handovers by revocation, session and heartbeat.
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


PROCESSES = (
    "assignments.process", "assignor_reruns.process", "episodes.processes", "findings.process",
    "group_epochs.process", "handover_costs.process", "handover_costs.next_process",
    "handovers.from_process", "handovers.to_process", "member_epochs.process",
    "ownership_gaps.from_process", "ownership_gaps.to_process", "rebalance_causes.process",
    "unserved_times.process",
)  # fmt: skip


@pytest.mark.parametrize("column", PROCESSES)
def test_tables_join_on_the_process(lake, column):
    """Each process of a table is one of generation_members, so that any two tables join."""
    table, name = column.split(".")
    value = f"UNNEST({name})" if name == "processes" else name

    [(rows, without)] = lake.rows(
        f"""WITH named AS (SELECT cluster_id, group_id, {value} AS process FROM {table}),
            members AS (SELECT DISTINCT cluster_id, group_id, process FROM generation_members)
        SELECT COUNT(*), LIST(DISTINCT n.process) FILTER (m.process IS NULL)
        FROM named n LEFT JOIN members m USING (cluster_id, group_id, process)
        WHERE n.process IS NOT NULL"""
    )

    assert rows > 0
    assert without is None


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
    """Sorted rows of all tables but those of runs and of read files."""
    tables = set(table_names()) - {"runs", "ingested_files", "what_if", "advice"}
    return {
        table: sorted(map(repr, DeltaTable(f"{lake.root}/{table}").to_pyarrow_table().to_pylist()))
        for table in tables
        if DeltaTable.is_deltatable(f"{lake.root}/{table}")
    }


@pytest.mark.campaign  # test_days.py has simulated groups of every type.
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


VERDICTS = """
    SELECT group_id, COUNT(*), COUNT(*) FILTER (verdict = 'reproduced'), MIN(era)
    FROM incident_replay WHERE cluster_id = 'mixed-4.4.0' GROUP BY ALL ORDER BY group_id"""


def test_every_generation_of_every_type_is_reproduced(config, lake, tmp_path):
    """Those of the times in which a group was classic, too."""
    copy = lake.copy(tmp_path)

    incident_replay.run(open_existing_lake(copy.root, "mixed-4.4.0", config))

    assert copy.rows(VERDICTS) == [
        ("audit-regex", 8, 8, "4.4"),
        ("billing-consumer", 13, 13, "4.4"),
        ("clicks-streams", 7, 7, "4.4"),
        ("inventory-static", 9, 9, "4.4"),
        ("jobs-share", 8, 8, "4.4"),
        ("ledger-rolled-back", 12, 12, "4.3"),
        ("legacy-eager", 9, 9, "4.3"),
        ("search-migrated", 11, 11, "4.3"),
        ("shipping-librdkafka", 18, 18, "4.4"),
    ]


def test_the_replay_of_a_group_that_was_classic_before_and_after(lake):
    replayed = replay_whole_group(ReplayOptions(lake.root, "mixed-4.4.0", "ledger-rolled-back"))

    answer = as_json("mixed-4.4.0", replayed)

    assert (answer["generations"], answer["reproduced"], answer["diverged"]) == (12, 12, 0)
    assert answer["by_type"] == {"classic": 7, "consumer": 5}
    sentences = [line["text"] for line in answer["story"]]
    assert "the classic group is converted to a consumer group (online upgrade)" in sentences
    assert "ledger-2 (127.0.0.1) is asked to give up payments-4, payments-5" in sentences
    assert "group is Stable at epoch 8 after 3.9 s" in sentences
    assert "the consumer group is converted to a classic group (downgrade)" in sentences


def test_what_if_refuses_a_group_of_another_type(lake):
    with pytest.raises(UsageError, match="a group of type share; only classic and consumer"):
        evaluate(
            WhatIfOptions(
                lake=lake.root,
                cluster_id="mixed-4.4.0",
                group_id="jobs-share",
                settings=["session.timeout.ms=9000"],
            )
        )


@pytest.mark.spark
def test_both_engines_give_the_same_tables(lake, tmp_path):
    in_spark, folder = IncidentLake(str(tmp_path / "lake"), "spark"), "mixed-4.4.0"
    in_spark.read_modern_groups(folder)

    embedded = rows_of_tables(lake)
    for table, rows in rows_of_tables(in_spark).items():
        own = [row for row in embedded[table] if row.startswith(f"{{'cluster_id': '{folder}'")]
        assert rows == own, table
