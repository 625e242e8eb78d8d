"""What changes make better and worse, in all currencies, and which changes no other one beats."""

import pytest

from coordinator_core.whatif import UNCHANGED, Figures, Prediction, SettingsChange, advise
from coordinator_core.whatif.currencies import (
    PREFERENCES,
    better_and_worse,
    pareto,
    worse_changes,
)
from tests.core.whatif.test_limits import JAVA, group

STATIC = SettingsChange.of(["group.instance.id=process"])
LONGER = SettingsChange.of(["session.timeout.ms=30000"])
LONGEST = SettingsChange.of(["session.timeout.ms=45000"])
CONSUMER = SettingsChange.of(["group.protocol=consumer"])
# Figures: rebalances, time in rebalances, moves, downtime, refused, records, pauses.
NOW = (16, 40_000, 100, 60_000, 0, 50, 90_000)


def prediction(change, *figures):
    return Prediction(change, [Figures(*each) for each in figures])


def one(change, **figures):
    """Two simulations with these figures, and the others of NOW."""
    return prediction(change, *[Figures(*NOW)._replace(**figures)] * 2)


UNCHANGED_NOW = one(UNCHANGED)
CAUGHT_UP = ((UNCHANGED, 30_000), (STATIC, 12_000))


def test_better_and_worse_figures_are_named_with_those_of_the_unchanged_settings():
    changed = one(
        STATIC,
        rebalances=1,
        not_stable_ms=6000,
        moved_partitions=0,
        unavailable_partition_ms=377_000,
        records_reprocessed=51,
        consumption_pause_ms=386_000,
    )

    assert better_and_worse(UNCHANGED_NOW, changed, "classic") == (
        [
            "1 rebalance instead of 16",
            "6 s in rebalances instead of 40 s",
            "0 partitions moved instead of 100",
        ],
        [
            "partition downtime 377 s instead of 60 s (partition-seconds)",
            "51 records reprocessed instead of 50",
            "consumption pauses 386 s instead of 90 s (partition-seconds)",
        ],
    )


def test_catch_up_is_compared_where_it_is_known():
    unchanged, changed = (one(each, catch_up_ms=ms) for each, ms in CAUGHT_UP)

    assert better_and_worse(unchanged, changed, "classic") == (
        ["12 s of catch-up instead of 30 s"],
        [],
    )
    assert better_and_worse(UNCHANGED_NOW, changed, "classic") == ([], [])


def test_what_some_simulation_contradicts_is_neither_better_nor_worse():
    changed = prediction(STATIC, (1, *NOW[1:]), (17, *NOW[1:]))

    assert better_and_worse(UNCHANGED_NOW, changed, "classic") == ([], [])


def test_unknown_figures_are_not_compared():
    unknown = one(STATIC, records_reprocessed=None, consumption_pause_ms=None)

    assert better_and_worse(UNCHANGED_NOW, unknown, "classic") == ([], [])


def test_time_in_rebalances_is_not_compared_between_the_protocols():
    assert better_and_worse(UNCHANGED_NOW, one(CONSUMER, not_stable_ms=1), "classic") == ([], [])


def test_each_currency_names_the_changes_that_are_worse_in_it():
    changed = [
        one(LONGEST, unavailable_partition_ms=90_000, consumption_pause_ms=120_000),
        one(STATIC, rebalances=17, unavailable_partition_ms=70_000),
    ]

    assert worse_changes(UNCHANGED_NOW, changed, "classic") == (
        "longer partition downtime than 60 s: session.timeout.ms=45000 (90 s);"
        " group.instance.id (process name) (70 s)."
        " More rebalances than 16: group.instance.id (process name) (17)."
        " Longer consumption pauses than 90 s: session.timeout.ms=45000 (120 s)"
    )
    assert worse_changes(UNCHANGED_NOW, [one(LONGER)], "classic") is None


def test_the_changes_that_no_other_one_beats():
    fewest = one(STATIC, rebalances=4, unavailable_partition_ms=90_000)
    shortest = one(LONGER, unavailable_partition_ms=50_000)
    beaten = one(LONGEST, unavailable_partition_ms=55_000)
    same = one(SettingsChange.of(["max.poll.interval.ms=90000", "session.timeout.ms=45000"]))
    expensive = one(
        SettingsChange.of(["group.instance.id=process", "session.timeout.ms=30000"]),
        rebalances=4,
        unavailable_partition_ms=90_000,
    )

    best = pareto(UNCHANGED_NOW, [expensive, fewest, shortest, beaten, same], "classic")

    assert [each.change for each in best] == [STATIC, LONGER]


@pytest.mark.parametrize(
    ("prefer", "expected", "text"),
    [
        ("downtime", LONGER, "16 rebalances instead of 16, partition downtime 40 s instead of"),
        (
            "rebalances",
            STATIC,
            "4 rebalances instead of 16, but partition downtime 90 s instead of 60 s",
        ),
        ("reprocessed", None, "nothing to gain: no change surely saves 10% of the records"),
        ("lag", LONGEST, "16 rebalances instead of 16, consumption pauses 30 s instead of 90 s"),
    ],
)
def test_the_preferred_currency_decides(prefer, expected, text):
    changed = [
        one(LONGER, unavailable_partition_ms=40_000),
        one(STATIC, rebalances=4, unavailable_partition_ms=90_000),
        one(LONGEST, consumption_pause_ms=30_000),
    ]

    advice = advise(group(JAVA), UNCHANGED_NOW.median, UNCHANGED_NOW, changed, PREFERENCES[prefer])

    assert advice.change == expected
    assert text in advice.sentence


@pytest.mark.parametrize(
    ("prefer", "figures", "sentence"),
    [
        (
            "downtime",
            {"unavailable_partition_ms": 0},
            "at most 0 s of partition downtime (partition-seconds)",
        ),
        ("rebalances", {"rebalances": 1}, "at most 1 rebalance"),
        ("reprocessed", {"records_reprocessed": 4}, "at most 4 records reprocessed"),
        (
            "lag",
            {"consumption_pause_ms": 4000},
            "at most 4 s of consumption pauses (partition-seconds)",
        ),
        (
            "lag",
            {"consumption_pause_ms": None},
            "the lake has no commits, so the number of processed records is unknown",
        ),
    ],
)
def test_little_of_a_currency_is_nothing_to_gain(prefer, figures, sentence):
    little = one(UNCHANGED, **figures)

    advice = advise(group(JAVA), little.median, little, [], PREFERENCES[prefer])

    assert advice.sentence == f"nothing to gain: {sentence}"
