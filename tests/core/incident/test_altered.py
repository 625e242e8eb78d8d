"""Altered evidence is not reproduced: the engine decides otherwise than the altered record."""

import pytest

from coordinator_core.incident import incarnations, replay
from tests.core.incident.incident_rows import of_example

pytestmark = pytest.mark.slow

GROUPS = [
    (version, group)
    for version in ("3.9.1", "4.1.2")
    for group in ("billing-eager", "analytics-cooperative", "inventory-static", "reports-java")
]


def without(member_id, row):
    return row | {"members": [each for each in row["members"] if each["member_id"] != member_id]}


def another_leader(row):
    others = (each["member_id"] for each in row["members"] if each["member_id"] != row["leader"])
    return row | {"leader": next(others)}


def without_follower(row):
    followers = [each["member_id"] for each in row["members"] if each["member_id"] != row["leader"]]
    return without(followers[-1], row)


def with_unknown_member(row):
    unknown = row["members"][0] | {"member_id": f"unknown-{'0' * 36}", "instance_id": None}
    return row | {"members": [*row["members"], unknown]}


def another_order(row):
    first, second, *others = row["members"]
    return row | {"members": [second, first, *others]}


# Changes to a record with several members.
ALTERATIONS = {
    "another leader": another_leader,
    "no leader among the members": lambda row: without(row["leader"], row),
    "a follower is missing": without_follower,
    "a member that never existed": with_unknown_member,
    "members in another order": another_order,
    # No other record has this protocol, because members of two records support the protocols of
    # both.
    "another protocol": lambda row: row | {"protocol": f"altered-{row['log_offset']}"},
    "another generation": lambda row: row | {"generation": row["generation"] + 1},
    "another value version": lambda row: row | {"value_version": 2},
}


def far_apart(records, places):
    """The places in as few lists as possible; generations of a list are at least two apart, so that
    no two of its records can make the same generation diverge."""
    chosen = []
    for place in places:
        if not chosen or records[place]["generation"] >= records[chosen[-1]]["generation"] + 2:
            chosen.append(place)
    others = [place for place in places if place not in chosen]
    return [chosen, *(far_apart(records, others) if others else [])]


@pytest.mark.parametrize("change", ALTERATIONS)
@pytest.mark.parametrize(("version", "group"), GROUPS)
def test_an_altered_record_diverges(version, group, change):
    """For each record of the group: in its own generation or in the next."""
    evidence = of_example(version)
    records, events = evidence.records[group], evidence.events[group]
    several = [place for place, row in enumerate(records) if len(row.get("members", ())) > 1]

    for places in far_apart(records, several):
        altered = list(records)
        for place in places:
            altered[place] = ALTERATIONS[change](records[place])
        result = replay(incarnations(group, events, altered), era=version[:3])
        diverged = {each.number for each in result.generations if not each.is_reproduced}
        for place in places:
            number = records[place]["generation"]
            assert diverged & {number, number + 1}, records[place]


# Each entry: the change to the log, and the generation that diverges.
LINES = {
    "another leader sends the assignment": (
        "ASSIGNMENT_RECEIVED", {"member_id": "somebody-" + "0" * 36},
    ),
    "the join had other members": ("JOIN_COMPLETE", {"member_count": 9}),
    "the join took a minute longer": ("JOIN_COMPLETE", None),
}  # fmt: skip


@pytest.mark.parametrize("change", LINES)
def test_an_altered_line_diverges_in_its_generation(change):
    evidence = of_example("3.9.1")
    event, values = LINES[change]
    events = list(evidence.events["billing-eager"])
    place = next(
        n for n, row in enumerate(events) if row["event"] == event and row["generation"] == 5
    )
    values = values or {"at_ms": events[place]["at_ms"] + 60_000}
    events[place] = events[place] | values

    result = replay(incarnations("billing-eager", events, evidence.records["billing-eager"]))

    assert [each.number for each in result.generations if not each.is_reproduced] == [5]


def test_a_divergence_names_its_record_and_both_values():
    evidence = of_example("3.9.1")
    records = list(evidence.records["inventory-static"])
    place = next(n for n, row in enumerate(records) if row["generation"] == 3)
    leader = records[place]["leader"]
    records[place] = another_leader(records[place])

    result = replay(incarnations("inventory-static", evidence.events["inventory-static"], records))

    first = next(each for each in result.generations if not each.is_reproduced)
    assert first.number == 3
    assert first.comparison.divergence == (
        "leader",
        records[place]["leader"],
        leader,
        f"{records[place]['topic_partition']}@{records[place]['log_offset']}",
    )


def test_generations_after_a_divergence_are_judged_independently():
    """The engine is loaded with the record, as a coordinator that takes over the group."""
    evidence = of_example("4.1.2")
    events = [
        row for row in evidence.events["billing-eager"]
        if not (row["event"] == "JOIN_COMPLETE" and row["generation"] == 4)
    ]  # fmt: skip

    result = replay(incarnations("billing-eager", events, evidence.records["billing-eager"]))

    assert [each.number for each in result.generations if not each.is_reproduced] == [4]
