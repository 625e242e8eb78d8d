"""assign_partitions: the coordinator's assignors run again on the targets of consumer groups."""

import pytest

from jobs.assign_partitions import run
from jobs.group_events import SEQ_PER_MS
from jobs.lake.scope import AllDates

ORDERS = "AAAAAAAAAAAAAAAAAAAAAQ"  # topic id
JOIN_OF_A, JOIN_OF_B = 1_795_262_400_000, 1_795_262_405_000  # 2026-11-21 12:00 UTC


def record(ms, name, event="OTHER_RECORD", **values):
    return ms, name, event, values


def has(member, partitions):
    assigned = {"role": "active", "topic_id": ORDERS, "partitions": partitions}
    return {"member_id": member, "assigned": [assigned]}


def joins(ms, member, epoch, targets, assignor=None):
    """The records of a join: the member, the group's epoch, the target of all members."""
    client = {"client_id": member, "client_host": "h"}
    metadata = {"member_id": member, "topics": ["orders"]} | client
    yield record(ms, "GroupMemberMetadata", "MEMBER_RECORD", **metadata, server_assignor=assignor)
    yield record(ms, "GroupMetadata", "EPOCH_RECORD", epoch=epoch, metadata_hash=1)
    for owner, partitions in targets.items():
        yield record(ms, "GroupTargetAssignmentMember", **has(owner, partitions))
    yield record(ms, "GroupTargetAssignmentMetadata", "TARGET_RECORD", epoch=epoch)
    state = {"epoch": epoch, "previous_epoch": epoch - 1, "state": 0}
    yield record(ms, "GroupCurrentMemberAssignment", **has(member, targets[member]), **state)


# Member b is alone.  When a joins, uniform leaves partitions 0 and 1 with b, and range gives them
# to a.
GROUPS = {
    "prefers-range": ("consumer", [
        *joins(JOIN_OF_A, "b", 1, {"b": [0, 1, 2, 3]}, assignor="range"),
        *joins(JOIN_OF_B, "a", 2, {"a": [0, 1], "b": [2, 3]}, assignor="range"),
    ]),
    "prefers-uniform": ("consumer", [
        *joins(JOIN_OF_A, "b", 1, {"b": [0, 1, 2, 3]}, assignor="uniform"),
        *joins(JOIN_OF_B, "a", 2, {"a": [2, 3], "b": [0, 1]}, assignor="uniform"),
    ]),
    "no-preference": ("consumer", [
        *joins(JOIN_OF_A, "b", 1, {"b": [0, 1, 2, 3]}),
        *joins(JOIN_OF_B, "a", 2, {"a": [0, 1], "b": [2, 3]}),
    ]),
    "of-our-own": ("consumer", [
        *joins(JOIN_OF_A, "a", 1, {"a": [0, 1]}, assignor="of-our-own"),
    ]),
    "compacted": ("consumer", [*joins(JOIN_OF_B, "a", 7, {"a": [0, 1]}, assignor="uniform")]),
    "share": ("share", [*joins(JOIN_OF_A, "a", 1, {"a": [0, 1]})]),
}  # fmt: skip


def stored(group, group_type, records):
    for number, (ms, name, event, values) in enumerate(records):
        key = {"group_id": group, "log_offset": number, "topic_partition": "__consumer_offsets-0"}
        name = f"{group_type.capitalize()}{name}"
        seq = ms * SEQ_PER_MS + number
        epoch = values.get("epoch") if event == "TARGET_RECORD" else None
        yield (
            key | {"record": name, "group_type": group_type} | values,
            key | {"event": event, "event_time": ms, "seq": seq, "event_generation": epoch},
        )


@pytest.fixture
def scope(lake, write_lake):
    rows = [
        row
        for group, (group_type, records) in GROUPS.items()
        for row in stored(group, group_type, records)
    ]
    write_lake(
        lake.root,
        {
            "group_records": [of for of, _ in rows],
            "timeline": [of for _, of in rows],
            "topic_ids": [{"topic_id": ORDERS, "topic": "orders", "evidence": "records"}],
        },
    )
    return AllDates(lake)


# Each row: group, generation, assignor, mode, own, partitions moved, equal to the target,
# difference.
EXPECTED = """
compacted        7  actual        step   False  0  True   None
compacted        7  server-range  chain  False  0  True   None
compacted        7  server-range  step   False  0  True   None
compacted        7  uniform       chain  True   0  True   None
compacted        7  uniform       step   True   None  False  previous_target_unknown
no-preference    1  actual        step   False  0  True   None
no-preference    1  server-range  chain  False  0  True   None
no-preference    1  server-range  step   False  0  True   None
no-preference    1  uniform       chain  True   0  True   None
no-preference    1  uniform       step   True   0  True   None
no-preference    2  actual        step   False  2  True   None
no-preference    2  server-range  chain  False  2  True   None
no-preference    2  server-range  step   False  2  True   None
no-preference    2  uniform       chain  True   2  False  None
no-preference    2  uniform       step   True   2  False  assignor_assumed
of-our-own       1  actual        step   False  0  True   None
of-our-own       1  server-range  chain  False  0  True   None
of-our-own       1  server-range  step   False  0  True   None
of-our-own       1  uniform       chain  False  0  True   None
of-our-own       1  uniform       step   False  0  True   None
prefers-range    1  actual        step   False  0  True   None
prefers-range    1  server-range  chain  True   0  True   None
prefers-range    1  server-range  step   True   0  True   None
prefers-range    1  uniform       chain  False  0  True   None
prefers-range    1  uniform       step   False  0  True   None
prefers-range    2  actual        step   False  2  True   None
prefers-range    2  server-range  chain  True   2  True   None
prefers-range    2  server-range  step   True   2  True   None
prefers-range    2  uniform       chain  False  2  False  None
prefers-range    2  uniform       step   False  2  False  another_assignor
prefers-uniform  1  actual        step   False  0  True   None
prefers-uniform  1  server-range  chain  False  0  True   None
prefers-uniform  1  server-range  step   False  0  True   None
prefers-uniform  1  uniform       chain  True   0  True   None
prefers-uniform  1  uniform       step   True   0  True   None
prefers-uniform  2  actual        step   False  2  True   None
prefers-uniform  2  server-range  chain  False  2  False  None
prefers-uniform  2  server-range  step   False  2  False  another_assignor
prefers-uniform  2  uniform       chain  True   2  True   None
prefers-uniform  2  uniform       step   True   2  True   None
"""


def test_each_target_is_compared_with_the_coordinators_assignors(scope):
    """Share groups have no exclusive owners: they are left out."""
    run(scope)

    columns = ("group_id", "generation", "assignor", "mode", "own", "partitions_moved",
               "equals_actual", "difference")  # fmt: skip
    rows = scope.lake.read("assignor_quality").collect()
    assert {row["partition_count_source"] for row in rows} == {"target"}
    assert sorted([str(row[name]) for name in columns] for row in rows) == [
        line.split() for line in EXPECTED.split("\n")[1:-1]
    ]

    rows = scope.lake.read("assignor_reruns").where("group_id = 'prefers-range'").collect()
    columns = ("generation", "assignor", "member_id", "process", "topic", "partition")
    assert sorted(tuple(row[name] for name in columns) for row in rows) == [
        (1, "uniform", "b", "b@h", "orders", 0),
        (1, "uniform", "b", "b@h", "orders", 1),
        (1, "uniform", "b", "b@h", "orders", 2),
        (1, "uniform", "b", "b@h", "orders", 3),
        (2, "uniform", "a", "a@h", "orders", 2),
        (2, "uniform", "a", "a@h", "orders", 3),
        (2, "uniform", "b", "b@h", "orders", 0),
        (2, "uniform", "b", "b@h", "orders", 1),
    ]
