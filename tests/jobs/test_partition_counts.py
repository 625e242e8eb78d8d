"""Partition counts of topics: the times at which an additional count changes them."""

import pytest

from jobs.assignors.partition_counts import PartitionCounts

SEEN = [("orders", 6, 1_000), ("orders", 12, 5_000)]


@pytest.mark.parametrize(
    ("added", "from_ms", "differs"),
    [
        # A late entry has a count above the count of its time, so counts differ until 5,000.
        (("orders", 8, 2_000),  3_000, True),
        (("orders", 8, 2_000),  4_999, True),
        (("orders", 8, 2_000),  5_000, False),
        # no higher count
        (("orders", 4, 2_000),  3_000, False),
        # The entry has the highest count, so counts differ for all later times.
        (("orders", 24, 2_000), 9_000, True),
        # For an entry after from_ms, counts differ from the entry's time on.
        (("orders", 24, 9_000), 3_000, True),
        (("payments", 3, 500),  3_000, True),
    ],
)  # fmt: skip
def test_whether_a_late_count_changes_counts_from_a_time_on(added, from_ms, differs):
    before, after = PartitionCounts([], SEEN), PartitionCounts([], [*SEEN, added])

    assert after.differ_from(before, from_ms) is differs
    assert before.differ_from(after, from_ms) is differs
