"""The partitions that a consumer takes, by its view of the group."""

import pytest

from coordinator_core.zookeeper.assignors import View, decide

ONE_EACH = {"a": {"t": 1}, "b": {"t": 1}, "c": {"t": 1}}


@pytest.mark.parametrize(
    ("consumer", "taken"),
    [("a", [0, 1, 2]), ("b", [3, 4]), ("c", [5, 6])],
)
def test_range_gives_extra_partitions_to_the_first_threads(consumer, taken):
    view = View(consumer, ONE_EACH, {"t": list(range(7))})

    assert decide("range", view) == {("t", p): f"{consumer}-0" for p in taken}


def test_range_orders_threads_by_name():
    view = View("a", {"a": {"t": 11}, "b": {"t": 1}}, {"t": list(range(12))})

    decision = decide("range", view)

    assert decision == {
        ("t", 0): "a-0", ("t", 1): "a-1", ("t", 2): "a-10", ("t", 3): "a-2", ("t", 4): "a-3",
        ("t", 5): "a-4", ("t", 6): "a-5", ("t", 7): "a-6", ("t", 8): "a-7", ("t", 9): "a-8",
        ("t", 10): "a-9",
    }  # fmt: skip


def test_range_gives_no_partitions_to_surplus_threads():
    assert decide("range", View("c", ONE_EACH, {"t": [0, 1]})) == {}


@pytest.mark.parametrize("strategy", ["range", "roundrobin"])
def test_without_topics_nothing_is_assigned(strategy):
    view = View("a", {"a": {"t": 1}, "b": {"t": 1}}, {})

    assert decide(strategy, view) == {}


def test_range_fails_for_a_consumer_that_is_not_in_its_own_view():
    assert decide("range", View("d", ONE_EACH, {"t": [0, 1]})) is None


def test_roundrobin_orders_partitions_by_the_hash_of_their_name():
    """[t,0] hashes to 87540032, [u,0] to 87569823, and each next partition to 31 more."""
    members = {"a": {"t": 1, "u": 1}, "b": {"t": 1, "u": 1}}
    partitions = {"u": [0, 1], "t": [0, 1, 2]}

    assert decide("roundrobin", View("a", members, partitions)) == {
        ("t", 0): "a-0", ("t", 2): "a-0", ("u", 1): "a-0",
    }  # fmt: skip
    assert decide("roundrobin", View("b", members, partitions)) == {
        ("t", 1): "b-0", ("u", 0): "b-0",
    }  # fmt: skip


def test_roundrobin_fails_unless_all_topics_have_the_same_threads():
    members = {"a": {"t": 1, "u": 1}, "b": {"t": 1}}

    assert decide("roundrobin", View("a", members, {"t": [0], "u": [0]})) is None


def test_any_other_strategy_is_range():
    view = View("b", ONE_EACH, {"t": [0, 1, 2]})

    assert decide("fair", view) == decide("range", view) == {("t", 1): "b-0"}
