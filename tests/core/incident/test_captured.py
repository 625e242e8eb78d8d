"""Incidents of real clients and unmodified brokers: every generation is reproduced."""

from collections import Counter

import pytest

from coordinator_core.incident import incarnations, replay
from coordinator_core.incident.divergence_hints import likely_reason
from tests.core.incident.incident_rows import FLAPPING, ROLLING, of_example, of_twins

pytestmark = pytest.mark.slow

# Each row: group, its number of generations on 3.9.1 and on 4.1.2.
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

FLAPPING_TWINS = """
    clicks-base            15  15
    clicks-cooperative     19  19
    clicks-static           5   5
    invoices-base          12  12
    invoices-cooperative   15  15
    invoices-static         5   5
    orders-base            14  14
    orders-cooperative     20  21
    orders-session         11  11
    orders-static           7   7
    orders-static+session   4   4
"""
# Each row: script (None for the mixed incident), version, generations that logs alone reproduce,
# and all other generations.
LOG_ALONE = [
    (None, "3.9.1", 35, 7),
    (None, "4.1.2", 34, 10),
    (ROLLING, "3.9.1", 109, 71),
    (ROLLING, "4.1.2", 112, 62),
    (FLAPPING, "3.9.1", 74, 53),
    (FLAPPING, "4.1.2", 85, 43),
]


def rows(table):
    return [
        (name, int(old), int(new)) for name, old, new in map(str.split, table.split("\n")[1:-1])
    ]


def rows_by_group(version, script):
    incidents = [of_example(version), *of_twins(version, script)]
    return {group: each for each in incidents for group in each.groups()}


def replayed(version, group, *, with_log, script=ROLLING):
    evidence = rows_by_group(version, script)[group]
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


@pytest.mark.parametrize("with_log", [True, False], ids=["with log", "records alone"])
@pytest.mark.parametrize(("group", "old", "new"), rows(FLAPPING_TWINS))
@pytest.mark.parametrize("version", ["3.9.1", "4.1.2"])
def test_frozen_processes_and_whole_group_restarts(version, group, old, new, with_log):
    """A commit in the millisecond of an expiry; static members that return during a rebalance."""
    result = replayed(version, group, with_log=with_log, script=FLAPPING)

    assert [
        str(each.comparison.divergence) for each in result.generations if not each.is_reproduced
    ] == []
    assert result.generations[-1].number == (old if version == "3.9.1" else new)


@pytest.mark.parametrize(("script", "version", "reproduced", "undecided"), LOG_ALONE)
def test_a_log_alone_is_too_thin_for_a_divergence(script, version, reproduced, undecided):
    """Without records, timeouts, rejoins and metadata are assumed."""
    incidents = [of_example(version)] if script is None else of_twins(version, script)

    generations = [
        generation
        for incident in incidents
        for group in incident.groups()
        for generation in replay(incarnations(group, incident.events[group], [])).generations
    ]

    verdicts = Counter(each.verdict.value for each in generations)
    assert verdicts == {"reproduced": reproduced, "undecided": undecided}
    assert not any(each.comparison.exact for each in generations)
    assert {likely_reason(each) for each in generations if not each.is_reproduced} == {
        "evidence too thin: without records, session timeouts, rejoins and metadata are assumed"
    }


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
