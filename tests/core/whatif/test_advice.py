"""Which change is advised: what it must save, and in every simulation."""

import pytest

from coordinator_core.whatif import UNCHANGED, Figures, Prediction, SettingsChange, advise
from coordinator_core.whatif.kafka_names import seconds
from tests.core.whatif.test_limits import JAVA, group

LONGER_SESSION = SettingsChange.of(["session.timeout.ms=30000"])


def prediction(change, *downtimes_ms, rebalances=2, not_stable_ms=6000):
    """``downtimes_ms``: one per simulation."""
    outcomes = [Figures(rebalances, not_stable_ms, 0, each) for each in downtimes_ms]
    return Prediction(change, outcomes)


def advised(unchanged, changed):
    return advise(group(JAVA), unchanged.median, unchanged, [changed]).change


@pytest.mark.parametrize(
    ("now_ms", "then_ms", "not_stable_ms", "expected"),
    [
        ([60_000] * 3, [50_000] * 3, 6000, LONGER_SESSION),
        ([60_000] * 3, [56_000] * 3, 6000, None),  # The change saves 7% of the downtime.
        ([20_000] * 3, [16_000] * 3, 6000, None),  # 4 s
        ([2000] * 3, [0] * 3, 6000, None),  # 2 s
        # The change saves 2 s of downtime, and 5 s of time in rebalances.
        ([2000] * 3, [0] * 3, 900, LONGER_SESSION),
        # The change does not save downtime in every simulation.
        ([60_000] * 3, [40_000, 40_000, 70_000], 6000, None),
        ([60_000] * 3, [50_000] * 3, 6001, None),  # The change increases the time in rebalances.
    ],
)
def test_a_change_must_save_enough_in_every_simulation(now_ms, then_ms, not_stable_ms, expected):
    changed = prediction(LONGER_SESSION, *then_ms, not_stable_ms=not_stable_ms)

    assert advised(prediction(UNCHANGED, *now_ms), changed) == expected


def with_costs(change, downtime_ms, *costs):
    """``costs``: records reprocessed and consumption pause of each simulation."""
    return Prediction(change, [Figures(2, 6000, 0, downtime_ms, 0, *each) for each in costs])


@pytest.mark.parametrize(
    ("costs", "worse"),
    [
        ([(50, 90_000), (70, 95_000)], ""),
        ([(49, 90_000), (70, 150_000)], ""),  # The change does not help in every simulation.
        ([(51, 90_000), (70, 95_000)], ", but 70 records reprocessed instead of 50"),
        (
            [(51, 100_001), (70, 120_000)],
            ", but 70 records reprocessed instead of 50 and consumption pauses 120 s"
            " instead of 100 s (partition-seconds)",
        ),
        ([(None, None), (None, None)], ""),
    ],
)
def test_the_sentence_names_what_the_change_surely_makes_worse(costs, worse):
    unchanged = with_costs(UNCHANGED, 60_000, (40, 80_000), (50, 100_000))
    changed = with_costs(LONGER_SESSION, 30_000, *costs)

    result = advise(group(JAVA), unchanged.median, unchanged, [changed])

    assert result.sentence == (
        "session.timeout.ms=30000: 2 rebalances instead of 2, partition downtime 30 s instead of"
        f" 60 s (partition-seconds){worse}; members may send no heartbeat for longer before"
        " their session expires"
    )


def test_without_a_log_the_confidence_is_at_most_half():
    unchanged = prediction(UNCHANGED, 60_000)

    result = advise(group(JAVA), unchanged.median, unchanged, [])

    assert result.confidence == 0.5
    assert result.confidence_reason.endswith(
        "expired sessions cannot be told from members that left"
    )


def test_confidence_is_the_nearness_of_the_model():
    unchanged = prediction(UNCHANGED, 30_000)

    result = advise(group(JAVA), Figures(2, 6000, 0, 100_000), unchanged, [])

    assert result.confidence == 0.3
    assert result.confidence_reason.startswith(
        "the model has 2 rebalances (observed: 2) and 30 s of partition downtime (observed: 100 s)"
    )


@pytest.mark.parametrize(
    ("ms", "text"),
    [(0, "0 s"), (40, "0 s"), (60, "0.1 s"), (6000, "6 s"), (9940, "9.9 s"), (12_400, "12 s")],
)
def test_seconds(ms, text):
    assert seconds(ms) == text
