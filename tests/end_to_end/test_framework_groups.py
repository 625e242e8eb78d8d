"""Kafka Connect and Kafka Streams on a real broker: what workers and applications say they had."""

import gzip
import json
from pathlib import Path

import pytest

from tests.end_to_end.incident_lake import IncidentLake

DATA = Path(__file__).parents[1] / "data" / "frameworks"
TRUTH = [
    json.loads(line)
    for line in gzip.decompress((DATA / "truth.jsonl.gz").read_bytes()).splitlines()
]
ASSIGNED = """
    SELECT group_id, generation, client_id, role, subtopology, topic, partition, m.process_id
    FROM generation_members m LEFT JOIN assignments a
        USING (cluster_id, group_id, incarnation, generation, member_id)
    WHERE assignor = 'actual' OR assignor IS NULL"""


@pytest.fixture(scope="module")
def lake(made_once):
    def write(root):
        sources = root.parent / f"{root.name}-sources"
        folder = sources / "__consumer_offsets-0"
        folder.mkdir(parents=True)
        segment = folder / "00000000000000000000.log"
        segment.write_bytes(gzip.decompress((DATA / "segment.log.gz").read_bytes()))
        log = sources / "server.log"
        log.write_bytes(gzip.decompress((DATA / "server.log.gz").read_bytes()))
        IncidentLake(str(root), "embedded").run("c", segment, log)

    return IncidentLake(str(made_once("frameworks", write)), "embedded")


@pytest.fixture(scope="module")
def rows(lake):
    """Rows of assignments by group, generation and client.id; empty of members without any."""
    assigned = {}
    for group, generation, client, role, subtopology, topic, partition, process in lake.rows(
        ASSIGNED
    ):
        of_member = assigned.setdefault((group, generation, client), [])
        if role is not None:
            of_member.append((role, subtopology, topic, partition, process))
    return assigned


def truth(kind):
    return [row for row in TRUTH if row["kind"] == kind]


def place(row):
    return row["group"], row["generation"], row["process"]


def connector_tasks(rows):
    return sorted([topic, partition] for _, _, topic, partition, _ in rows)


def task_ids(rows, *roles):
    return sorted({f"{sub}_{partition}" for role, sub, _, partition, _ in rows if role in roles})


def test_workers_have_the_connectors_and_tasks_that_they_log(rows):
    """Newly assigned ones and those that a worker kept, by all three protocols of Connect."""
    workers = truth("worker")

    assert {row["group"] for row in workers} == {
        "connect-eager",
        "connect-compatible",
        "connect-sessioned",
    }
    assert {place(row): connector_tasks(rows[place(row)]) for row in workers} == {
        place(row): row["tasks"] for row in workers
    }


def test_connectors_and_tasks_have_roles(rows):
    roles = {
        (role, partition == -1)
        for (group, _, _), of_member in rows.items()
        if group.startswith("connect-") and group not in ("connect-copy", "connect-store")
        for role, _, _, partition, _ in of_member
    }

    assert roles == {("connector", True), ("task", False)}


def test_running_tasks_by_the_rest_interface_are_those_of_the_generation(lake, rows):
    stable = lake.rows(
        "SELECT group_id, generation, EPOCH_MS(stable_time) FROM generations ORDER BY generation"
    )
    answers = truth("rest")

    assert len(answers) >= 10
    for answer in answers:
        generation = max(
            number
            for group, number, stable_ms in stable
            if group == answer["group"] and stable_ms and stable_ms <= answer["time_ms"]
        )
        stored = {
            client.removeprefix("connect-"): connector_tasks(of_member)
            for (group, number, client), of_member in rows.items()
            if (group, number) == (answer["group"], generation) and of_member
        }
        assert stored == answer["tasks"], (answer["group"], generation)


def test_threads_have_the_tasks_that_they_log(rows):
    """Active tasks pair with partitions; warm-ups are standby tasks to the application."""
    threads = truth("thread")

    assert {row["group"] for row in threads} == {
        "words",
        "words-from-0.10.0",
        "words-from-0.10.2",
        "words-from-2.3",
    }
    for row in threads:
        of_member = rows[place(row)]
        assert task_ids(of_member, "active") == row["active"], row
        assert task_ids(of_member, "standby", "warmup") == row["standby"], row


def test_warmups_are_the_standby_tasks_that_the_leader_added(rows):
    stored = {(row["group"], row["generation"]): {} for row in truth("warmups")}
    for (group, generation, _), of_member in rows.items():
        for role, subtopology, _, partition, process in of_member:
            if role == "warmup":
                of_task = stored[group, generation].setdefault(f"{subtopology}_{partition}", [])
                of_task.append(process)

    assert stored == {
        (row["group"], row["generation"]): {k: v for k, v in row["process_ids"].items() if v}
        for row in truth("warmups")
    }
    assert sum(map(bool, stored.values())) == 7


CAUSES = """
group              causes of rebalances but of arrivals and departures
connect-sessioned  3-8 CONFIG_CHANGE, 10 LEADER_REJOIN, 12 SCHEDULED_REBALANCE, 14 METADATA_CHANGE, 16 SCHEDULED_REBALANCE, 17 CONFIG_CHANGE, 18 METADATA_CHANGE, 20 SCHEDULED_REBALANCE
words              2 LEADER_REJOIN, 4-6 METADATA_CHANGE, 8 METADATA_CHANGE, 9-10 PROBING_REBALANCE, 11 METADATA_CHANGE, 13 METADATA_CHANGE, 15 LEADER_REJOIN, 16 PROBING_REBALANCE, 17 METADATA_CHANGE, 19 METADATA_CHANGE
""".strip().splitlines()[1:]  # noqa: E501


@pytest.mark.parametrize("line", CAUSES, ids=lambda line: line.split()[0])
def test_causes(lake, line):
    group, causes = line.split(maxsplit=1)
    expected = {}
    for part in causes.split(", "):
        generations, cause = part.split()
        first, _, last = generations.partition("-")
        expected |= dict.fromkeys(range(int(first), int(last or first) + 1), cause)

    stored = lake.rows(
        f"""SELECT generation, cause FROM rebalance_causes WHERE group_id = '{group}'
        AND role = 'trigger' AND cause NOT IN ('MEMBER_NEW', 'SESSION_EXPIRY', 'LEAVE')"""
    )
    assert dict(stored) == expected


def test_connectors_and_tasks_count_as_moved_once(lake):
    """A worker killed at generation 11 leaves four, which the scheduled rebalance moves; a return
    within the delay moves none."""
    counts = lake.rows(
        """SELECT generation, partitions_assigned, partitions_moved, partitions_orphaned
        FROM churn WHERE group_id = 'connect-sessioned' AND generation BETWEEN 11 AND 16
        ORDER BY generation"""
    )

    assert counts == [
        (11, 8, 0, 4),
        (12, 12, 4, 0),
        (13, 8, 0, 4),
        (14, 12, 4, 0),
        (15, 8, 0, 4),
        (16, 12, 0, 0),
    ]


def test_connectors_have_no_gaps_of_ownership_and_standby_tasks_own_nothing(lake):
    gaps = lake.rows(
        """SELECT DISTINCT group_id FROM ownership_gaps
        WHERE group_id IN ('connect-eager', 'connect-compatible', 'connect-sessioned')"""
    )
    owners = lake.rows(
        """SELECT COUNT(*) FROM ownership_gaps g JOIN assignments a ON a.group_id = g.group_id
            AND a.generation = g.generation AND a.process = g.to_process AND a.topic = g.topic
            AND a.partition = g.partition AND a.role <> 'active' AND a.assignor = 'actual'"""
    )

    assert (gaps, owners) == ([], [(0,)])


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        (
            "words",
            [
                ("group_start", [1, 3, 4, 5, 6]),
                ("topic_change", [2]),
                ("scale_out", [7, 8, 9, 10, 11]),
                ("process_lost", [12, 13, 14, 15, 16, 17]),
                ("process_lost", [18, 19]),
            ],
        ),
        (
            "connect-sessioned",
            [
                ("group_start", [1, 2, 9, 10]),
                ("configuration_change", [3, 4, 5, 6, 7, 8]),
                ("process_lost", [11, 12, 13, 14]),
                ("process_lost", [15, 16]),
                ("configuration_change", [17, 18]),
                ("scale_in", [19, 20]),
                ("scale_in", [21]),
            ],
        ),
    ],
)
def test_follow_ups_belong_to_the_episode_that_made_them_necessary(lake, group, expected):
    rows = lake.rows(
        f"SELECT kind, generations FROM episodes WHERE group_id = '{group}' ORDER BY episode"
    )

    assert [(kind, list(generations)) for kind, generations in rows] == expected
