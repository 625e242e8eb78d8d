"""The range of a prediction: the range over the seeds, widened by the errors of captures."""

import pytest

from coordinator_core.whatif import Figures, SettingsChange
from coordinator_core.whatif.calibration import setting_of, widened
from tests.core.whatif.test_in_force import classic

OUTCOMES = [Figures(4, 10_000, 3, 100_000), Figures(6, 12_000, 3, 150_000)]


def test_a_range_is_wider_by_a_share_of_the_median():
    shares = {"rebalances": 0.1, "unavailable_partition_ms": 0.2}

    least, most = widened(shares, OUTCOMES)

    # The medians are 6 rebalances and 150 s; the ranges are wider by 0.6 rebalances, rounded
    # outward, and by 30 s.
    assert (least.rebalances, most.rebalances) == (3, 7)
    assert (least.unavailable_partition_ms, most.unavailable_partition_ms) == (70_000, 180_000)
    assert (least.not_stable_ms, most.not_stable_ms) == (10_000, 12_000)
    assert (least.records_reprocessed, most.records_reprocessed) == (None, None)


def test_small_figures_are_widened_by_a_share_of_the_least_size():
    """Of 3 moved partitions a share of 0.5 is one and a half, of the least size it is 5."""
    least, most = widened({"moved_partitions": 0.5}, OUTCOMES)

    assert (least.moved_partitions, most.moved_partitions) == (0, 8)


@pytest.mark.parametrize(
    ("change", "setting"),
    [
        ("", "eager"),
        ("session.timeout.ms=25000", "eager"),
        ("group.instance.id=process", "eager to static"),
        ("group.instance.id=process protocol=cooperative", "eager to static"),
        ("protocol=cooperative", "eager to cooperative"),
        ("group.protocol=consumer", "eager to consumer"),
    ],
)
def test_the_kind_of_settings(change, setting):
    assert setting_of(classic(), SettingsChange.of(change.split())) == setting
