"""Keyed timers: at most one per key; it fires once, or is replaced or cancelled before."""

from coordinator_core.coordinator.keyed_timers import KeyedTimer, KeyedTimers
from coordinator_core.coordinator.timing_wheel import TimingWheel


class Counting(KeyedTimer):
    __slots__ = ("fired",)

    def __init__(self):
        super().__init__()
        self.fired = 0

    def fire(self):
        self.fired += 1


def scheduled(delay_ms=100):
    wheel = TimingWheel()
    timers, timer = KeyedTimers(wheel), Counting()
    timers.schedule(timer, "key", delay_ms)
    return wheel, timers, timer


def test_a_timer_fires_at_its_deadline_and_frees_its_key():
    wheel, timers, timer = scheduled(delay_ms=100)

    assert wheel.pop_due(99) is None
    wheel.pop_due(100).expire()

    assert (timer.fired, timers.get("key"), len(timers), len(wheel)) == (1, None, 0, 0)


def test_scheduling_under_a_key_replaces_its_timer():
    wheel, timers, first = scheduled()
    second = Counting()
    timers.schedule(second, "key", 100)

    assert timers.get("key") is second
    wheel.pop_due(100).expire()
    assert wheel.pop_due(100) is None
    assert (first.fired, second.fired) == (0, 1)


def test_a_renewed_timer_fires_at_its_new_deadline():
    wheel, timers, timer = scheduled(delay_ms=100)
    assert timers.renew("key", 250)
    assert not timers.renew("another key", 250)

    assert wheel.pop_due(249) is None
    wheel.pop_due(250).expire()
    assert (timer.fired, len(wheel)) == (1, 0)


def test_a_cancelled_timer_does_not_fire():
    wheel, timers, timer = scheduled()
    timers.cancel("another key")
    timers.cancel("key")

    assert wheel.pop_due(100) is None
    assert (timer.fired, len(timers), len(wheel)) == (0, 0, 0)
