"""Partition-ms without a consumer and with several, and messages by kind."""

from coordinator_core.zookeeper.measurements import OwnershipMeter, OwnershipTime, TrafficMeter
from coordinator_core.zookeeper.messages import (
    ClientOperation,
    Connect,
    Create,
    GetData,
    Notification,
    Ping,
    Reply,
    SendMessage,
    WatchType,
)

T0, T1 = ("t", 0), ("t", 1)


def test_unowned_time_counts_from_adding_a_partition_to_its_first_consumer():
    ownership = OwnershipMeter([T0, T1], now_ms=100)
    ownership.start("a", [T0], 150)

    assert ownership.until(200) == OwnershipTime(unowned_ms=50 + 100, double_owned_ms=0)
    assert not ownership.all_owned_once


def test_time_with_several_consumers_counts_once():
    ownership = OwnershipMeter([T0])
    for at_ms, name in ((0, "a"), (10, "b"), (20, "c")):
        ownership.start(name, [T0], at_ms)
    assert ownership.doubled == 1
    ownership.stop("a", [T0], 30)
    ownership.stop("b", [T0], 45)

    assert ownership.until(100) == OwnershipTime(unowned_ms=0, double_owned_ms=35)
    assert ownership.holders(T0) == {"c"}
    assert ownership.doubled == 0


def test_all_owned_once_is_the_current_state():
    ownership = OwnershipMeter([T0, T1])
    ownership.start("a", [T0], 5)
    ownership.start("b", [T1], 7)

    assert ownership.all_owned_once
    assert ownership.until(50) == ownership.until(50) == OwnershipTime(12, 0)
    assert ownership.changed_ms == 7
    ownership.start("a", [T1], 60)
    assert not ownership.all_owned_once
    ownership.stop("a", [T1], 61)
    assert ownership.all_owned_once
    ownership.add([("t", 2)], 70)
    assert not ownership.all_owned_once


def test_messages_by_kind():
    traffic = TrafficMeter()
    for message in (
        Connect(1, 0, 6000, 0),
        ClientOperation(1, 1, GetData("/a")), ClientOperation(1, 2, GetData("/b")),
        ClientOperation(1, 3, Create("/c")), Ping(1), Reply(1, 1, 5, None),
        Notification(1, WatchType.NODE_CREATED, "/a"),
    ):  # fmt: skip
        traffic(0, "x", SendMessage("y", message))

    assert traffic.counts == {
        "connects": 1, "reads": 2, "writes": 1, "pings": 1, "notifications": 1,
    }  # fmt: skip
