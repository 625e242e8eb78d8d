"""churn: members that joined and left, moved partitions, and null without evidence."""

import pytest

from jobs.churn import churn
from jobs.lake.tables import conform
from tests.jobs.comparison import assert_rows


def line(event, forming, event_generation=None, **more):
    return {
        "event": event,
        "event_generation": event_generation,
        "forming_generation": forming,
        "current_generation": forming - 1,
        **more,
    }


RECORD_1 = {
    "event": "RECORD",
    "event_generation": 1,
    "current_generation": 1,
    "forming_generation": 2,
}

# rule -> evidence by generation; (generation, member, change, gone); events in their order; and
# (generation, joined, left, expired, dropped, replaced, retained, gone)
MEMBERS = {
    "records alone: departures are unknown": (
        {1: "records", 2: "records"},
        [(1, "a", "joined", False), (1, "b", "joined", True), (2, "a", "retained", False)],
        [],
        [(1, 2, None, None, None, 0, 0, 0), (2, 0, None, None, None, 0, 1, 1)],
    ),
    "a log alone: joins and retained members are unknown": (
        {2: "log"},
        [],
        [line("LEFT", 2), line("HEARTBEAT_EXPIRED", 2), line("HEARTBEAT_EXPIRED", 2)],
        [(2, None, 1, 2, 0, 0, None, None)],
    ),
    "both: no line about a departure means no departure": (
        {1: "both"},
        [(1, "a", "joined", False)],
        [],
        [(1, 1, 0, 0, 0, 0, 0, 0)],
    ),
    "a member that left before it had joined does not count": (
        {2: "log"},
        [],
        [line("LEFT", 2, step="pending"), line("LEFT", 2)],
        [(2, None, 1, 0, 0, 0, None, None)],
    ),
    "dropped: all members that lines list as not rejoined or not synced": (
        {2: "log"},
        [],
        [
            line("DROPPED_NOT_REJOINED", 2, members=["b", "c"]),
            line("REBALANCE_START", 2, 1, members=["d"], cause="SYNC_TIMEOUT"),
            line("REBALANCE_START", 2, 1, members=["e"], cause="LEAVE"),
        ],
        [(2, None, 0, 0, 3, 0, None, None)],
    ),
    "a departure counts for the generation that was being formed": (
        {1: "log", 2: "log", 3: "log"},
        [],
        [line("LEFT", 1), line("LEFT", 3), line("LEFT", 3)],
        [
            (1, None, 1, 0, 0, 0, None, None),
            (2, None, 0, 0, 0, 0, None, None),
            (3, None, 2, 0, 0, 0, None, None),
        ],
    ),
    "a replacement without a rebalance counts for the generation that stores it": (
        {1: "both"},
        [(1, "s1", "joined", True), (1, "s2", "replaced", False)],
        [RECORD_1, line("STATIC_REPLACED", 2), RECORD_1],
        [(1, 2, 0, 0, 0, 1, 0, 0)],
    ),
    "a replacement during a join phase counts for the generation that is joined": (
        {1: "both", 2: "log"},
        [(1, "s1", "joined", False)],
        [
            RECORD_1,
            line("STATIC_REPLACED", 2),
            line("REBALANCE_START", 2, 1),
            line("JOIN_COMPLETE", 3, 2),
        ],
        [(1, 1, 0, 0, 0, 0, 0, 0), (2, None, 0, 0, 0, 1, None, None)],
    ),
    "records alone: replacements show in the records": (
        {1: "records", 2: "records"},
        [(1, "s1", "joined", True), (2, "s2", "replaced", False)],
        [],
        [(1, 1, None, None, None, 0, 0, 0), (2, 1, None, None, None, 1, 0, 1)],
    ),
    "members that left count as gone for the next generation with a record": (
        {1: "both", 2: "log", 3: "both"},
        [(1, "a", "joined", False), (1, "b", "joined", True), (3, "a", "retained", False)],
        [],
        [(1, 2, 0, 0, 0, 0, 0, 0), (2, None, 0, 0, 0, 0, None, None), (3, 0, 0, 0, 0, 0, 1, 1)],
    ),
}

A, B, C = "a", "b", "c"
# rule -> evidence by generation; owned partitions of `t` by generation and process; and
# (generation, assigned, moved, orphaned, new, forced)
PARTITIONS = {
    "the first owners move nothing": (
        {1: "records"},
        {1: {A: [0, 1], B: [2]}},
        [(1, 3, 0, 0, 3, 0)],
    ),
    "moved: another process than the last owner; a late partition is new": (
        {1: "both", 2: "both"},
        {1: {A: [0, 1, 2, 3]}, 2: {A: [0, 1, 4], B: [2, 3]}},
        [(1, 4, 0, 0, 4, 0), (2, 5, 2, 0, 1, 1)],
    ),
    "cooperative: revoked in one generation, moved in the next": (
        {1: "both", 2: "both", 3: "both"},
        {1: {A: [0, 1, 2, 3]}, 2: {A: [0, 1], B: []}, 3: {A: [0, 1], B: [2, 3]}},
        [(1, 4, 0, 0, 4, 0), (2, 2, 0, 2, 0, 0), (3, 4, 2, 0, 0, 2)],
    ),
    "a partition revoked and assigned again to its owner has not moved": (
        {1: "both", 2: "both", 3: "both"},
        {1: {A: [0, 1]}, 2: {A: [0]}, 3: {A: [0, 1]}},
        [(1, 2, 0, 0, 2, 0), (2, 1, 0, 1, 0, 0), (3, 2, 0, 0, 0, 0)],
    ),
    "a partition is orphaned once, when it loses its owner": (
        {1: "both", 2: "both", 3: "both"},
        {1: {A: [0, 1]}, 2: {A: [0]}, 3: {A: [0]}},
        [(1, 2, 0, 0, 2, 0), (2, 1, 0, 1, 0, 0), (3, 1, 0, 0, 0, 0)],
    ),
    "an empty group orphans all partitions; they move from the last owner to the next": (
        {1: "both", 2: "both", 3: "both"},
        {1: {A: [0, 1]}, 2: {}, 3: {C: [0, 1]}},
        [(1, 2, 0, 0, 2, 0), (2, 0, 0, 2, 0, 0), (3, 2, 2, 0, 0, 2)],
    ),
    "a generation without a record owns nothing and orphans nothing": (
        {1: "both", 2: "log", 3: "both"},
        {1: {A: [0, 1]}, 3: {A: [0], B: [1]}},
        [(1, 2, 0, 0, 2, 0), (2, None, None, None, None, None), (3, 2, 1, 0, 0, 1)],
    ),
    "an exchange moves all partitions without need": (
        {1: "both", 2: "both"},
        {1: {A: [0, 1], B: [2, 3]}, 2: {A: [2, 3], B: [0, 1]}},
        [(1, 4, 0, 0, 4, 0), (2, 4, 4, 0, 0, 0)],
    ),
    "only the partitions of an owner that left are forced to move": (
        {1: "both", 2: "both"},
        {1: {A: [0, 1], B: [2, 3], C: [4, 5]}, 2: {A: [2, 0, 4], B: [1, 3, 5]}},
        [(1, 6, 0, 0, 6, 0), (2, 6, 4, 0, 0, 2)],
    ),
    "a partition assigned to several members counts once, for the last of them": (
        {1: "both", 2: "both", 3: "both", 4: "both"},
        {1: {A: [0, 1], B: [0, 1]}, 2: {A: [0, 1], B: [0, 1]}, 3: {A: [0, 1]}, 4: {A: [0]}},
        [(1, 2, 0, 0, 2, 0), (2, 2, 0, 0, 0, 0), (3, 2, 2, 0, 0, 2), (4, 1, 0, 1, 0, 0)],
    ),
}


def evidence_rows(cases):
    return [
        {"group_id": rule, "generation": generation, "evidence": evidence}
        for rule, (by_generation, *_) in cases.items()
        for generation, evidence in by_generation.items()
    ]


@pytest.fixture(scope="module")
def members(frame, by_group):
    events, rows = [], []
    for rule, (_, of_generations, lines, _) in MEMBERS.items():
        events += [{"group_id": rule, "seq": seq, **row} for seq, row in enumerate(lines)]
        names = ("generation", "member_id", "change", "gone")
        for row in of_generations:
            rows.append({"group_id": rule, "process": row[1], **dict(zip(names, row, strict=True))})
    counted = churn(
        frame("generations", evidence_rows(MEMBERS)),
        frame("generation_members", rows),
        frame("assignments", []),
        frame("timeline", events),
    )
    columns = ["generation", "members_joined", "members_left", "members_expired", "members_dropped",
               "members_replaced", "members_retained", "members_gone"]  # fmt: skip
    return by_group(conform(counted, "churn"), ["generation"], columns)


@pytest.mark.parametrize("rule", MEMBERS)
def test_members(members, rule):
    assert_rows(members[rule], MEMBERS[rule][-1])


@pytest.fixture(scope="module")
def partitions(frame, by_group):
    memberships, owned = [], []
    for rule, (_, by_generation, _) in PARTITIONS.items():
        for generation, owners in by_generation.items():
            place = {"group_id": rule, "generation": generation}
            for process, numbers in owners.items():
                # Member ids differ in every generation, so owners are compared by process.
                who = place | {"process": process, "member_id": f"{process}-{generation}"}
                memberships.append(who | {"subscribed_topics": ["t"]})
                owned += [who | {"partition": number} for number in numbers]
                owned += [who | {"partition": n, "assignor": "range"} for n in range(9)]
    counted = churn(
        frame("generations", evidence_rows(PARTITIONS)),
        frame("generation_members", memberships),
        frame("assignments", owned),
        frame("timeline", []),
    )
    columns = ["generation", "partitions_assigned", "partitions_moved", "partitions_orphaned",
               "partitions_new", "moves_forced"]  # fmt: skip
    return by_group(conform(counted, "churn"), ["generation"], columns)


@pytest.mark.parametrize("rule", PARTITIONS)
def test_partitions(partitions, rule):
    assert_rows(partitions[rule], PARTITIONS[rule][-1])
