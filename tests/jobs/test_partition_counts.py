"""What is known of topics' partitions: which times a new piece of knowledge reaches."""

import pytest

from jobs.assignors.partition_counts import PartitionCounts

KNOWN = [("orders", 6, 1_000), ("orders", 12, 5_000)]


@pytest.mark.parametrize(
    ("added", "from_ms", "differs"),
    [
        # came late, and is more than was known then: until 5,000
        (("orders", 8, 2_000),  3_000, True),
        (("orders", 8, 2_000),  4_999, True),
        (("orders", 8, 2_000),  5_000, False),
        # no more than was known
        (("orders", 4, 2_000),  3_000, False),
        # more than was ever known: for all times after
        (("orders", 24, 2_000), 9_000, True),
        # reaches later times, but not before it was seen
        (("orders", 24, 9_000), 3_000, True),
        (("payments", 3, 500),  3_000, True),
    ],
)  # fmt: skip
def test_what_is_seen_late_says_something_new_of_later_times_or_does_not(added, from_ms, differs):
    before, after = PartitionCounts([], KNOWN), PartitionCounts([], [*KNOWN, added])

    assert after.differ_from(before, from_ms) is differs
    assert before.differ_from(after, from_ms) is differs
