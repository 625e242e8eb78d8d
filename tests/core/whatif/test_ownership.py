"""Time without an owner."""

from coordinator_core.whatif.ownership import owned_within

A, B = ("t", 0), ("t", 1)


def test_from_the_first_owner_on():
    time = owned_within(0, 1000)
    time.assigned("one", A, 300)
    time.revoked("one", A, 400)
    time.assigned("two", A, 450)
    time.close(1000)
    assert time.unowned_ms == 50


def test_a_partition_stays_owned_when_one_of_two_owners_ends():
    time = owned_within(0, 1000)
    time.assigned("one", A, 0)
    time.assigned("two", A, 100)
    time.process_ended("one", 200)
    time.close(1000)
    assert time.unowned_ms == 0
    assert time.owned_by("two") == [A]


def test_only_the_period_counts_up_to_its_end():
    time = owned_within(500, 1000)
    time.assigned("one", A, 0)
    time.assigned("one", B, 0)
    time.process_ended("one", 400)
    time.assigned("two", B, 600)
    time.close(1000)
    assert time.unowned_ms == 500 + 100


def test_the_time_of_a_shutdown_does_not_count():
    time = owned_within(0, 1000, [(300, 900)])
    time.assigned("one", A, 0)
    time.process_ended("one", 200)
    time.assigned("one", A, 950)
    time.close(1000)
    assert time.unowned_ms == 100 + 50


def test_revoking_a_partition_of_another_owner_changes_nothing():
    time = owned_within(0, 100)
    time.assigned("one", A, 0)
    time.revoked("two", A, 10)
    time.revoked("two", B, 10)
    time.close(100)
    assert time.unowned_ms == 0
