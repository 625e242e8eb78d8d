"""assign_partitions: actual assignments compared with those of Kafka's assignors."""

from datetime import date

import pyarrow as pa
import pytest

from coordinator_core.records import Assignment, Subscription, encode_assignment
from coordinator_core.records import encode_subscription as encoded
from jobs.assign_partitions import run
from jobs.assignors.partition_counts import PartitionCounts
from jobs.assignors.rerun import SCHEMA, Rerun
from jobs.lake.scope import AllDates

JAVA = {"version": 3, "user_data": None}
LIBRDKAFKA = {"version": 0, "user_data": b""}


def subscription(*topics, owned=(), generation=-1, user_data=None):
    return encoded(Subscription(3, list(topics), user_data, [*owned], generation))


def assignment(partitions, client):
    return encode_assignment(
        Assignment(client["version"], [("t", partitions)], client["user_data"])
    )


def processes(**process_of):
    return [{"member_id": m, "process": process} for m, process in process_of.items()]


def generation(number, assigned, *, protocol="range", client=JAVA, claims=(), **more):
    """A row of the frame: ``assigned`` has each member's partitions of topic t, by member id."""
    ids = list(assigned)
    claims = dict(claims)
    return {
        "cluster_id": "c", "group_id": "g", "incarnation": 1, "chunk": 0, "generation": number,
        "event_date": None, "carried": False, "time_ms": number, "protocol": protocol,
        "member_id": ids, "instance_id": [None] * len(ids), "in_bounds": True,
        "subscription": [subscription("t", owned=claims.get(m, ())) for m in ids],
        "assignment": [assignment(partitions, client) for partitions in assigned.values()],
        "last_ids": ids, "processes": processes(**{m: m.upper() for m in ids}),
        **more,
    }  # fmt: skip


def rerun(rows, assignors, partitions=4):
    counts = [{"topic": "t", "partitions": partitions, "since_ms": 0, "from_table": False}]
    frame = pa.Table.from_pylist([row | {"topic_counts": counts} for row in rows])
    return Rerun(assignors)(frame).to_pylist()


def figures(rows, *columns, **filters):
    return [
        tuple(row[name] for name in columns)
        for row in rows
        if all(row[name] == value for name, value in filters.items())
    ]


# rule -> recorded generation (range would give a: 0 1, b: 2 3), assignor, equals_actual, difference
DIFFERENCES = {
    "equal": (generation(1, {"a": [0, 1], "b": [2, 3]}), "range", True, None),
    "the same partitions in another order": (
        generation(1, {"a": [1, 0], "b": [2, 3]}),
        "range",
        True,
        "order",
    ),
    "another assignor than the group's": (
        generation(1, {"a": [0, 1], "b": [2, 3]}),
        "roundrobin",
        False,
        "another_assignor",
    ),
    "another assignor with the same result": (
        generation(1, {"a": [0, 2], "b": [1, 3]}, client=LIBRDKAFKA),
        "roundrobin",
        True,
        None,
    ),
    "the leader did not know the newest partitions": (
        generation(1, {"a": [0], "b": [1]}, client=LIBRDKAFKA),
        "range",
        False,
        "topic_growth",
    ),
    "the leader is no Java client": (
        generation(1, {"a": [0, 2], "b": [1, 3]}, client=LIBRDKAFKA),
        "range",
        False,
        "custom_assignor",
    ),
    "the leader is a Java client": (
        generation(1, {"a": [0, 2], "b": [1, 3]}),
        "range",
        False,
        "other",
    ),
    "an assignor that Kafka does not have": (
        generation(1, {"a": [0, 2], "b": [1, 3]}, protocol="mine"),
        "range",
        False,
        "custom_assignor",
    ),
}


@pytest.mark.parametrize("rule", DIFFERENCES)
def test_the_reason_for_a_difference(rule):
    row, assignor, *expected = DIFFERENCES[rule]

    rows = rerun([row], (assignor,))

    steps = figures(rows, "equals_actual", "difference", assignor=assignor, mode="step")
    assert steps == [tuple(expected)]


@pytest.mark.parametrize(
    ("user_data", "expected"), [(b"", (True, None)), (b"other", (False, "custom_assignor"))]
)
def test_a_librdkafka_leader_ran_the_cooperative_sticky_of_its_library(user_data, expected):
    """Kafka's would withhold partitions 4 and 5 for the new member; librdkafka's has 0 and 1.
    librdkafka returns each member's user data in the assignment.
    """
    owned = {"a": [("t", [0, 2, 4])], "b": [("t", [1, 3, 5])], "c": []}
    row = generation(
        2, {"a": [2, 4], "b": [3, 5], "c": []}, protocol="cooperative-sticky", client=LIBRDKAFKA,
        subscription=[
            subscription("t", owned=claims, generation=1, user_data=user_data)
            for claims in owned.values()
        ],
    )  # fmt: skip

    rows = rerun([row], ("cooperative-sticky",), partitions=6)

    columns = ("equals_actual", "difference")
    assert figures(rows, *columns, assignor="cooperative-sticky", mode="step") == [expected]


def test_an_assignor_that_fails_has_no_figures():
    """The assignor fails on claims of nonexistent partitions; a chain of its own results has
    none."""
    rows = [
        generation(1, {"a": [5, 6], "b": [7, 8]}),
        generation(2, {"a": [0], "b": [1], "c": []}),
    ]

    results = rerun(rows, ("sticky",), partitions=2)

    columns = ("mode", "difference", "equals_actual", "imbalance", "chain_length", "partition")
    assert figures(results, *columns, generation=2, assignor="sticky") == [
        ("step", "assignor_fails", False, None, None, None),
        ("chain", None, True, 2, 2, None),
    ]


JOINED = [
    generation(1, {"a": [0, 1], "b": [2, 3]}),
    generation(2, {"a": [0, 1], "b": [2], "c": [3]}),
]
# assignor -> for generation 2: step or chain, and rounds, imbalance, moved, forced, stickiness
AFTER_A_JOIN = {
    "actual": [("step", 1, 2, 1, 1, 0.75)],
    "range": [("step", 1, 2, 1, 1, 0.75), ("chain", 1, 2, 1, 1, 0.75)],
    "roundrobin": [("step", 1, 2, 3, 1, 0.25), ("chain", 1, 2, 2, 1, 0.5)],
    "sticky": [("step", 1, 2, 1, 1, 0.75), ("chain", 1, 2, 1, 1, 0.75)],
    "cooperative-sticky": [("step", 2, 2, 1, 1, 0.75), ("chain", 2, 2, 1, 1, 0.75)],
    "uniform": [("step", 1, 2, 1, 1, 0.75), ("chain", 1, 2, 1, 1, 0.75)],
    "server-range": [("step", 1, 2, 1, 1, 0.75), ("chain", 1, 2, 1, 1, 0.75)],
}


@pytest.mark.parametrize("assignor", AFTER_A_JOIN)
def test_a_step_starts_from_the_actual_assignment_and_a_link_from_the_chains_own(assignor):
    rows = rerun(JOINED, tuple(AFTER_A_JOIN)[1:])

    columns = ("mode", "rounds", "imbalance", "partitions_moved", "moves_forced", "stickiness")
    assert figures(rows, *columns, generation=2, assignor=assignor) == AFTER_A_JOIN[assignor]


def test_a_partition_that_a_cooperative_round_withholds_moves_in_the_next_round():
    """A claimed partition without an owner is the one that its claimant must revoke."""
    first = {"a": [0, 1, 2, 3]}
    between = {"a": [0, 1], "b": []}
    last = {"a": [0, 1], "b": [2, 3]}
    claims = [("t", [0, 1, 2, 3])]
    rows = [
        generation(1, first, protocol="cooperative-sticky"),
        generation(2, between, protocol="cooperative-sticky", claims={"a": claims}),
        generation(3, last, protocol="cooperative-sticky", claims={"a": [("t", [0, 1])]}),
    ]

    results = rerun(rows, ("cooperative-sticky",))

    columns = ("generation", "partitions_assigned", "partitions_moved", "moves_forced")
    expected = [(1, 4, 0, 0), (2, 2, 0, 0), (3, 4, 2, 2)]
    assert figures(results, *columns, assignor="actual") == expected
    assert figures(results, *columns, assignor="cooperative-sticky", mode="step") == expected
    assert figures(results, *columns, assignor="cooperative-sticky", mode="chain") == expected


def test_cutting_into_chunks_changes_no_step_and_no_chain_without_memory():
    one_chunk = [
        generation(1, {"a": [0], "b": [1, 2, 3]}),
        generation(2, {"a": [0, 1, 2, 3]}),
        generation(3, {"a": [0, 1], "c": [2, 3]}),
    ]
    first, second, third = one_chunk
    carried = second | {"chunk": 1, "carried": True}
    two_chunks = [first, second, carried, third | {"chunk": 1}]

    uncut, cut = (rerun(rows, ("range", "uniform")) for rows in (one_chunk, two_chunks))

    columns = [name for name in SCHEMA.names if name != "chain_length"]
    assert figures(cut, *columns, mode="step") == figures(uncut, *columns, mode="step")
    chains = {"mode": "chain", "assignor": "range"}
    assert figures(cut, *columns, **chains) == figures(uncut, *columns, **chains)
    lengths = ("generation", "chain_length")
    assert figures(uncut, *lengths, **chains) == [(1, 1), (2, 2), (3, 3)]
    assert figures(cut, *lengths, **chains) == [(1, 1), (2, 2), (3, 1)]


def test_a_replaced_static_member_is_named_by_its_last_id():
    row = generation(1, {"a": [0, 1], "b": [2, 3]}, instance_id=["A", "B"])
    last = {"last_ids": ["a", "z"], "processes": processes(a="A", b="B", z="B")}
    rows = rerun([row | last], ("range",))

    columns = ("member_id", "process", "topic", "partition")
    assert figures(rows, *columns, assignor="range", mode="step") == [
        (["a", "a", "z", "z"], ["A", "A", "B", "B"], ["t"] * 4, [0, 1, 2, 3])
    ]


def test_a_restarted_static_member_keeps_its_partitions_only_with_the_coordinators_assignors():
    rows = [
        generation(1, {"b": [0, 1], "a": [2, 3]}, instance_id=["B", "A"]),
        generation(2, {"y": [0, 1], "z": [2, 3]}, instance_id=["A", "B"],
            processes=processes(y="A", z="B")),
    ]  # fmt: skip

    results = rerun(rows, ("sticky", "uniform"))

    step = {"generation": 2, "mode": "step"}
    assert figures(results, "partitions_moved", assignor="sticky", **step) == [(2,)]
    assert figures(results, "partitions_moved", assignor="uniform", **step) == [(0,)]


def test_partition_counts_at_a_time():
    table = [("t", 3, 10), ("t", 2, 20)]
    seen = [("t", 1, 5), ("t", 9, 1), ("u", 4, 7), ("u", 2, 9)]
    counts = PartitionCounts(table, seen)

    assert counts.at(["t"], 9) == ({"t": 9}, "assignments")
    assert counts.at(["t"], 10) == ({"t": 3}, "table")
    assert counts.at(["t"], 20) == ({"t": 2}, "table")
    assert counts.at(["t", "u", "v"], 20) == ({"t": 2, "u": 4}, "assignments")
    assert counts.at(["u"], 6) == ({}, "assignments")


def recorded(group, number, offset, assigned, protocol="range", client=JAVA, instances=(), **more):
    """A record, its event and its members, as the input tables of the job have them."""
    key = {"group_id": group, "generation": number}
    members = [
        {"member_id": m, "instance_id": dict(instances).get(m), "subscribed_topics": ["t"],
         "subscription": subscription("t"), "assignment": assignment(partitions, client),
         "assigned": [{"topic": "t", "partitions": partitions}]}
        for m, partitions in assigned.items()
    ]  # fmt: skip
    record = {"log_offset": offset, "protocol_type": "consumer", "protocol": protocol,
              "append_time": 1000 * offset, "members": members, **more}  # fmt: skip
    event = {"group_id": group, "topic_partition": "__consumer_offsets-0", "log_offset": offset,
            "seq": offset, "event": "RECORD", "event_generation": number}  # fmt: skip
    processes = [key | {"member_id": m, "process": dict(instances).get(m, m)} for m in assigned]
    return key | record, event, processes


def tables(stored):
    members = {(m["group_id"], m["generation"], m["member_id"]): m for *_, ms in stored for m in ms}
    return {
        "group_metadata": [record for record, _, _ in stored],
        "timeline": [event for _, event, _ in stored],
        "generation_members": list(members.values()),
    }


STORED = [
    # Generations 255 and 256 are in different chunks, and a static member is replaced in 255.
    recorded("g", 254, 1, {"a": [0, 1], "b": [2, 3]}),
    recorded("g", 255, 2, {"a": [0, 1], "s1": [2, 3]}, instances={"s1": "S"}),
    recorded("g", 255, 3, {"a": [0, 1], "s2": [2, 3]}, instances={"s2": "S"}),
    # Another group gets the new partitions before the leader of this group knows of them.
    recorded("other", 1, 4, {"m": [0, 1, 2, 3, 4, 5], "n": []}, protocol="mine", client=LIBRDKAFKA),
    recorded("g", 256, 5, {"a": [2, 3], "s2": [0, 1]}, instances={"s2": "S"}),
]


def test_the_tables(spark, lake, write_lake):
    write_lake(lake.root, tables(STORED))

    run(AllDates(lake), ("range", "sticky"))
    run(AllDates(lake), ("range",))

    stored = lake.read("assignor_quality").collect()
    columns = ("group_id", "generation", "assignor", "mode", "own", "chain_length",
             "partitions_moved", "difference", "partition_count_source")  # fmt: skip
    assert sorted((tuple(row[name] for name in columns) for row in stored), key=str) == sorted([
        ("g", 254, "actual", "step", False, None, 0, None, "assignments"),
        ("g", 254, "range", "step", True, None, 0, None, "assignments"),
        ("g", 254, "range", "chain", True, 1, 0, None, "assignments"),
        ("g", 255, "actual", "step", False, None, 2, None, "assignments"),
        ("g", 255, "range", "step", True, None, 4, "other", "assignments"),
        ("g", 255, "range", "chain", True, 2, 4, None, "assignments"),
        ("g", 256, "actual", "step", False, None, 4, None, "assignments"),
        ("g", 256, "range", "step", True, None, 3, "topic_growth", "assignments"),
        ("g", 256, "range", "chain", True, 1, 1, None, "assignments"),
        ("other", 1, "actual", "step", False, None, 0, None, "assignments"),
        ("other", 1, "range", "step", False, None, 0, "custom_assignor", "assignments"),
        ("other", 1, "range", "chain", False, 1, 0, None, "assignments"),
    ], key=str)  # fmt: skip

    rows = lake.read("assignor_reruns").where("group_id = 'g' AND generation < 256").collect()
    columns = ("generation", "assignor", "member_id", "process", "partition")
    assert sorted(tuple(row[name] for name in columns) for row in rows) == [
        (254, "range", "a", "a", 0),
        (254, "range", "a", "a", 1),
        (254, "range", "b", "b", 2),
        (254, "range", "b", "b", 3),
        (255, "range", "a", "a", 2),
        (255, "range", "a", "a", 3),
        (255, "range", "s2", "S", 0),
        (255, "range", "s2", "S", 1),
    ]


@pytest.mark.embedded_suffices
def test_later_large_generations_are_not_rerun_and_said_to_be(lake, write_lake, monkeypatch):
    """The next chunk continues from the last assignment, which is read."""
    monkeypatch.setattr("jobs.assign_partitions.LARGE", 5)
    monkeypatch.setattr("jobs.assign_partitions.LARGE_RERUNS", 1)
    four = [0, 1], [2, 3]
    stored = [
        recorded("g", 253, 1, dict(zip("ab", four, strict=True))),
        recorded("g", 254, 2, {"a": [0, 1, 2, 3], "b": []}),
        recorded("g", 255, 3, dict(zip("ac", four, strict=True))),
        recorded("g", 256, 4, dict(zip("ac", four, strict=True)), event_date=date(2026, 11, 22)),
    ]
    write_lake(lake.root, tables(stored))

    run(AllDates(lake), ("sticky",))

    rows = lake.read("assignor_quality").where("mode = 'step'").collect()
    columns = ("generation", "assignor", "difference", "partitions_assigned", "partitions_moved")
    assert sorted(tuple(row[name] for name in columns) for row in rows) == [
        (253, "actual", None, 4, 0),
        (253, "sticky", "another_assignor", 4, 0),
        (254, "actual", "not_rerun", 4, None),
        (255, "actual", "not_rerun", 4, None),
        (256, "actual", None, 4, 0),
        (256, "sticky", None, 4, 0),
    ]
    assert {row.generation for row in lake.read("assignor_reruns").collect()} == {253, 256}


@pytest.mark.embedded_suffices
def test_thousands_of_members_with_long_names(lake, write_lake):
    """A copy of all members for each member would need more than the 2 GiB of a column."""
    names = [f"{number:05}{'-member' * 6}" for number in range(5_000)]
    stored = [
        recorded("g", number, number, {name: [n] for n, name in enumerate(names)})
        for number in (1, 2)
    ]
    write_lake(lake.root, tables(stored))

    run(AllDates(lake), ("range",))

    own = "assignor = 'range' AND mode = 'step'"
    rows = lake.read("assignor_quality").where(own).select("equals_actual").collect()
    assert [row.equals_actual for row in rows] == [True, True]
    assert lake.read("assignor_reruns").count() == 2 * 5_000
