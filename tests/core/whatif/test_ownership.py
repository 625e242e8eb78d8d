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


def test_two_owners_and_one_goes():
    time = owned_within(0, 1000)
    time.gained("one", A, 0)
    time.gained("two", A, 100)
    time.gone("one", 200)
    time.close(1000)
    assert time.unowned_ms == 0
    assert time.owned_by("two") == [A]


def test_to_the_end_and_within_the_span_only():
    time = owned_within(500, 1000)
    time.gained("one", A, 0)
    time.gained("one", B, 0)
    time.gone("one", 400)
    time.gained("two", B, 600)
    time.close(1000)
    assert time.unowned_ms == 500 + 100


def test_a_group_that_is_shut_down_wants_no_owner():
    time = owned_within(0, 1000, [(300, 900)])
    time.gained("one", A, 0)
    time.gone("one", 200)
    time.gained("one", A, 950)
    time.close(1000)
    assert time.unowned_ms == 100 + 50


def test_letting_go_what_another_has():
    time = owned_within(0, 100)
    time.gained("one", A, 0)
    time.let_go("two", A, 10)
    time.let_go("two", B, 10)
    time.close(100)
    assert time.unowned_ms == 0
