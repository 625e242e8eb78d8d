"""assignments: the partitions of each member by the last record of a generation."""

from datetime import date

import pytest

from jobs.assignments import assignments, run
from jobs.lake.opening import open_lake
from jobs.lake.scope import scope_of
from jobs.lake.tables import conform
from tests.jobs.comparison import assert_rows


def stored(generation, **assigned):
    """A record; each member with its topics and partitions."""
    return generation, {
        name: [{"topic": topic, "partitions": numbers} for topic, numbers in topics.items()]
        for name, topics in assigned.items()
    }


# rule -> records in the order of the log, and (generation, member, process, topic, partition)
CASES = {
    "one row per partition": (
        [stored(1, a={"t": [0, 1], "u": [0]}, b={"t": [2]})],
        [
            (1, "a", "A", "t", 0),
            (1, "a", "A", "t", 1),
            (1, "a", "A", "u", 0),
            (1, "b", "B", "t", 2),
        ],
    ),
    "a member without partitions has no row": (
        [stored(1, a={"t": [0]}, b={})],
        [(1, "a", "A", "t", 0)],
    ),
    "the last record of a generation counts": (
        [stored(1, a={"t": [0]}), stored(1, b={"t": [0]}), stored(2, b={"t": [0]})],
        [(1, "b", "B", "t", 0), (2, "b", "B", "t", 0)],
    ),
    "an empty group has no rows": ([stored(1, a={"t": [0]}), stored(2)], [(1, "a", "A", "t", 0)]),
}


@pytest.fixture(scope="module")
def assigned_partitions(frame, by_group):
    events, records, members = [], [], set()
    for rule, (stored_records, _) in CASES.items():
        for offset, (generation, assigned) in enumerate(stored_records):
            place = {"group_id": rule, "log_offset": offset}
            event = {
                "event": "RECORD" if assigned else "RECORD_EMPTY",
                "event_generation": generation,
            }
            topic_partition = {"topic_partition": "__consumer_offsets-0"}
            events.append(place | event | topic_partition | {"seq": offset})
            members_of = [{"member_id": name, "assigned": has} for name, has in assigned.items()]
            records.append(place | {"generation": generation, "members": members_of})
            members |= {(rule, generation, name) for name in assigned}
    processes = [
        {"group_id": g, "generation": n, "member_id": m, "process": m.upper()}
        for g, n, m in sorted(members)
    ]
    rows = assignments(
        frame("timeline", events),
        frame("group_metadata", records),
        frame("generation_members", processes),
    )
    columns = ["generation", "member_id", "process", "topic", "partition"]
    return by_group(conform(rows, "assignments"), columns, columns)


@pytest.mark.parametrize("rule", CASES)
def test_assignments(assigned_partitions, rule):
    assert_rows(assigned_partitions[rule], CASES[rule][-1])


def test_members_of_connect_and_streams_have_what_their_own_metadata_says(frame):
    """Also those without a task; partitions of other records have no subtopology."""
    tasks = [
        {"role": "active", "subtopology": "1", "topic": "t", "partition": 0},
        {"role": "standby", "subtopology": "0", "topic": "u", "partition": 3},
    ]
    has = [{"topic": "t", "partitions": [0]}]
    members = [{"member_id": name, "assigned": has} for name in "ab"]
    own = [{"member_id": "a", "tasks": tasks}, {"member_id": "b", "tasks": []}]
    place = {"group_id": "g", "topic_partition": "__consumer_offsets-0"}
    events = [
        place | {"event": "RECORD", "event_generation": n, "seq": n, "log_offset": n}
        for n in (1, 2)
    ]
    records = [
        place | {"log_offset": 1, "generation": 1, "members": members, "task_members": own},
        place | {"log_offset": 2, "generation": 2, "members": members[:1]},
    ]
    processes = [
        {"group_id": "g", "generation": n, "member_id": m, "process": m.upper()}
        for n, m in ((1, "a"), (1, "b"), (2, "a"))
    ]

    rows = assignments(
        frame("timeline", events),
        frame("group_metadata", records),
        frame("generation_members", processes),
    ).collect()

    assert sorted(
        (row.generation, row.process, row.role, row.subtopology or "", row.topic, row.partition)
        for row in rows
    ) == [(1, "A", "active", "1", "t", 0), (1, "A", "standby", "0", "u", 3),
          (2, "A", "active", "", "t", 0)]  # fmt: skip


def test_re_runs_of_an_older_lake_move_to_their_own_table(spark, tmp_path, write_lake):
    """A run for other dates moves them, too; a target and another cluster's rows stay."""
    owned = {"group_id": "g", "generation": 1, "member_id": "m", "process": "m", "topic": "t",
             "partition": 0}  # fmt: skip
    older = [
        owned | {"assignor": "actual"},
        owned | {"assignor": "uniform", "is_target": True},
        owned | {"assignor": "range", "is_target": False},
        owned | {"assignor": "sticky", "is_target": None},
        owned | {"assignor": "range", "is_target": False, "cluster_id": "d"},
    ]
    lake = open_lake(spark, write_lake(tmp_path, {"assignments": older}), "c")
    of_another_date = scope_of(lake, date(2020, 1, 1), date(2020, 1, 1))

    run(of_another_date)

    assert sorted(row.assignor for row in lake.read("assignments").collect()) == [
        "actual",
        "uniform",
    ]
    assert sorted(row.assignor for row in lake.read("assignor_reruns").collect()) == [
        "range",
        "sticky",
    ]
    assert open_lake(spark, lake.root, "d").read("assignments").count() == 1
