"""Incidents of real clients and unmodified brokers: every generation is reproduced."""

import pytest

from coordinator_core.incident import incarnations, replay
from tests.core.incident.incident_rows import of_example, of_twins

# group, its number of generations on 3.9.1 and on 4.1.2
MIXED = """
    analytics-cooperative   8   9
    audit-python            6   6
    billing-eager          16  18
    inventory-static        5   5
    reports-java            7   6
"""
TWINS = """
    clicks-base            16  16
    clicks-cooperative     23  22
    clicks-static           5   4
    invoices-base          14  14
    invoices-cooperative   22  19
    invoices-static         4   3
    orders-base            22  22
    orders-cooperative     26  26
    orders-delay           22  22
    orders-session         21  21
    orders-static           4   4
    orders-static+session   1   1
"""


def rows(table):
    return [
        (name, int(old), int(new)) for name, old, new in map(str.split, table.split("\n")[1:-1])
    ]


def rows_by_group(version):
    incidents = [of_example(version), *of_twins(version)]
    return {group: each for each in incidents for group in each.groups()}


def replayed(version, group, *, with_log):
    evidence = rows_by_group(version)[group]
    events = evidence.events[group] if with_log else []
    commits = evidence.commits.get(group, [])
    return replay(incarnations(group, events, evidence.records[group]), committed=commits)


@pytest.mark.parametrize(("group", "old", "new"), rows(MIXED) + rows(TWINS))
@pytest.mark.parametrize("version", ["3.9.1", "4.1.2"])
def test_from_logs_and_records(version, group, old, new):
    result = replayed(version, group, with_log=True)

    assert result.era.name == version[:3]
    assert result.delay.delay_ms == (6000 if group == "orders-delay" else 3000)
    assert [
        str(each.comparison.divergence) for each in result.generations if not each.is_reproduced
    ] == []
    assert [each.number for each in result.generations] == list(
        range(1, 1 + (old if version == "3.9.1" else new))
    )


@pytest.mark.parametrize(("group", "old", "new"), rows(MIXED) + rows(TWINS))
@pytest.mark.parametrize("version", ["3.9.1", "4.1.2"])
def test_from_records_alone(version, group, old, new):
    """Without comparing times: records do not show when a rebalance started."""
    result = replayed(version, group, with_log=False)

    assert [
        str(each.comparison.divergence) for each in result.generations if not each.is_reproduced
    ] == []
    assert {each.evidence for each in result.generations} == {"records"}


def test_most_records_are_reproduced_byte_for_byte():
    """State timestamps included, unless a timer of the broker set them."""
    groups = [("3.9.1", group) for group, *_ in rows(MIXED)]
    generations = [
        each
        for version, group in groups
        for each in replayed(version, group, with_log=True).generations
    ]

    exact = sum(each.comparison.exact for each in generations)
    assert exact / len(generations) > 0.8
    assert max(abs(each.comparison.late_ms) for each in generations) < 50
