"""Time without an owner."""

from coordinator_core.whatif.ownership import owned_within

A, B = ("t", 0), ("t", 1)


def test_from_the_first_owner_on():
    time = owned_within(0, 1000)
    time.gained("one", A, 300)
    time.let_go("one", A, 400)
    time.gained("two", A, 450)
    time.close(1000)
    assert time.unowned_ms == 50


def test_one_of_two_owners_ends():
    time = owned_within(0, 1000)
    time.gained("one", A, 0)
    time.gained("two", A, 100)
    time.gone("one", 200)
    time.close(1000)
    assert time.unowned_ms == 0
    assert time.owned_by("two") == [A]


def test_only_the_period_counts_up_to_its_end():
    time = owned_within(500, 1000)
    time.gained("one", A, 0)
    time.gained("one", B, 0)
    time.gone("one", 400)
    time.gained("two", B, 600)
    time.close(1000)
    assert time.unowned_ms == 500 + 100


def test_the_time_of_a_shutdown_does_not_count():
    time = owned_within(0, 1000, [(300, 900)])
    time.gained("one", A, 0)
    time.gone("one", 200)
    time.gained("one", A, 950)
    time.close(1000)
    assert time.unowned_ms == 100 + 50


def test_revoking_a_partition_of_another_owner_changes_nothing():
    time = owned_within(0, 100)
    time.gained("one", A, 0)
    time.let_go("two", A, 10)
    time.let_go("two", B, 10)
    time.close(100)
    assert time.unowned_ms == 0
