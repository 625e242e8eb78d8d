"""Modern groups, as real brokers left them: every generation is reproduced."""

from collections import Counter

import pytest

from coordinator_core.incident.modern.stimuli import ModernStimulusKind
from coordinator_core.incident.stimuli import Basis
from coordinator_core.modern_history.evidence import RecordKind
from tests.core.incident.modern_group_evidence import captured, groups_of, replayed

pytestmark = pytest.mark.slow

# Each row: group, its number of target assignments.
GENERATIONS = {
    "mixed-4.4.0": """
        audit-regex           8
        billing-consumer     13
        clicks-streams        7
        inventory-static      9
        jobs-share            8
        ledger-rolled-back    5
        legacy-eager          2
        search-migrated       7
        shipping-librdkafka  18
    """,
    "mixed-4.1.2": """
        audit-regex           7
        billing-consumer     13
        inventory-static      8
        ledger-rolled-back    4
        legacy-eager          1
        search-migrated       6
        shipping-librdkafka  18
    """,
    "twins-4.4.0": """
        orders-consumer-range   29
        orders-consumer-static  13
    """,
    "twins-4.1.2": """
        invoices-consumer         17
        invoices-consumer-static   9
    """,
}
CASES = [
    (folder, *line.split())
    for folder, table in GENERATIONS.items()
    for line in table.strip().splitlines()
]


@pytest.mark.parametrize("with_log", [True, False], ids=["with log", "records alone"])
@pytest.mark.parametrize(("folder", "group", "count"), CASES)
def test_every_generation_is_reproduced(folder, group, count, with_log):
    generations = replayed(folder, group, with_log=with_log)

    assert [str(each.divergence) for each in generations if each.divergence is not None] == []
    assert len(generations) == int(count)
    assert {each.has_log for each in generations} == {with_log}


def test_the_cases_are_all_groups():
    assert {(folder, group) for folder, group, _ in CASES} == {
        (folder, group) for folder in GENERATIONS for group in groups_of(folder)
    }


def kinds(folder, group, **options):
    stimuli = [s for each in replayed(folder, group, **options) for s in each.stimuli]
    return Counter((each.kind, each.basis) for each in stimuli)


def test_with_a_log_departures_are_told_apart():
    """The log tells leaves from session expiries and rebalance timeouts."""
    inferred = kinds("mixed-4.4.0", "shipping-librdkafka")

    assert inferred[ModernStimulusKind.SESSION_EXPIRED, Basis.LOG] == 2
    assert inferred[ModernStimulusKind.TIMEOUT, Basis.LOG] == 3
    assert inferred[ModernStimulusKind.JOIN, Basis.RECORD] == 13


def test_records_alone_show_rebalance_timeouts_and_ends_of_static_members():
    """The engine's own timer is due just then; a static member that is away can only expire."""
    inferred = kinds("mixed-4.4.0", "shipping-librdkafka", with_log=False)
    static = kinds("twins-4.4.0", "orders-consumer-static", with_log=False)

    assert inferred[ModernStimulusKind.TIMEOUT, Basis.RECORD] == 3
    assert inferred[ModernStimulusKind.SESSION_EXPIRED, Basis.LOG] == 0
    assert static[ModernStimulusKind.AWAY, Basis.RECORD] == 14
    assert static[ModernStimulusKind.SESSION_EXPIRED, Basis.RECORD] == 1
    assert static[ModernStimulusKind.LEAVE, Basis.ASSUMED] == 5


def test_refused_static_members_are_in_the_log_only():
    assert kinds("mixed-4.4.0", "inventory-static")[ModernStimulusKind.REFUSED, Basis.LOG] == 3
    assert (
        kinds("mixed-4.4.0", "inventory-static", with_log=False)[
            ModernStimulusKind.REFUSED, Basis.LOG
        ]
        == 0
    )


def without(records, place):
    return [*records[:place], *records[place + 1 :]]


@pytest.mark.parametrize(
    ("kind", "share"),
    [
        (RecordKind.TARGET, 1.0),
        (RecordKind.TARGET_MEMBER, 1.0),
        (RecordKind.GROUP, 1.0),
        (RecordKind.CURRENT, 0.9),
    ],
)
def test_a_missing_record_diverges(kind, share):
    """Except for a current assignment that a later heartbeat of the member makes up for."""
    records, _, _ = captured("twins-4.4.0")
    own = records["orders-consumer-static"]
    places = [n for n, each in enumerate(own) if each.kind is kind and not each.is_tombstone][::6]

    diverged = [
        any(
            each.divergence is not None
            for each in replayed(
                "twins-4.4.0", "orders-consumer-static", records=without(own, place)
            )
        )
        for place in places
    ]

    assert sum(diverged) >= share * len(places)


def test_a_missing_line_diverges():
    _, lines, _ = captured("twins-4.4.0")
    own = lines["orders-consumer-static"]
    places = [n for n, each in enumerate(own) if each.event in ("TARGET", "EPOCH_BUMP")][1:-1:5]

    for place in places:
        generations = replayed("twins-4.4.0", "orders-consumer-static", lines=without(own, place))
        differences = [each.divergence for each in generations if each.divergence is not None]
        assert [each.replay for each in differences] == ["an event"]


@pytest.mark.parametrize(("moved_ms", "diverges"), [(-5000, False), (5000, True)])
def test_a_line_of_a_join_may_stand_seconds_before_its_records_only(moved_ms, diverges):
    _, lines, _ = captured("twins-4.4.0")
    own = list(lines["orders-consumer-range"])
    places = [n for n, each in enumerate(own) if each.event == "MEMBER_JOIN"]
    place = places[len(places) // 2]
    own[place] = own[place]._replace(at_ms=own[place].at_ms + moved_ms)
    own.sort(key=lambda each: each.at_ms)

    generations = replayed("twins-4.4.0", "orders-consumer-range", lines=own)

    assert any(each.divergence is not None for each in generations) is diverges


def test_after_a_divergence_the_engine_goes_on_from_the_records():
    """Later generations are judged independently."""
    records, _, _ = captured("twins-4.4.0")
    own = records["orders-consumer-range"]
    place = next(
        n
        for n, each in enumerate(own)
        if n > len(own) / 2 and each.kind is RecordKind.TARGET_MEMBER and not each.is_tombstone
    )

    generations = replayed("twins-4.4.0", "orders-consumer-range", records=without(own, place))

    assert 1 <= sum(each.divergence is not None for each in generations) <= 2


def test_a_history_that_begins_late_starts_from_the_first_complete_target():
    records, _, _ = captured("twins-4.4.0")
    own = records["orders-consumer-range"]
    targets = [n for n, each in enumerate(own) if each.kind is RecordKind.TARGET]

    late = own[targets[3] + 1 :]
    generations = replayed("twins-4.4.0", "orders-consumer-range", records=late)

    assert len(generations) < 29 - 4
