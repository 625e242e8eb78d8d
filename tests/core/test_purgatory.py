"""Delayed operations: completed once, by an event or by time, and then no longer watched."""

from coordinator_core.coordinator.classic.purgatory import DelayedOperation, Purgatory
from coordinator_core.coordinator.timing_wheel import TimingWheel


class Operation(DelayedOperation):
    __slots__ = ("calls", "may_complete")

    def __init__(self):
        super().__init__()
        self.may_complete = False
        self.calls = []

    def try_complete(self):
        return self.may_complete and self.force_complete()

    def on_complete(self):
        self.calls.append("complete")

    def on_expiration(self):
        self.calls.append("expired")


def watched(delay_ms=100):
    wheel = TimingWheel()
    purgatory, operation = Purgatory(wheel), Operation()
    assert not purgatory.try_complete_else_watch(operation, "key", delay_ms)
    return wheel, purgatory, operation


def test_an_operation_that_may_complete_is_not_watched():
    wheel, purgatory, operation = TimingWheel(), None, Operation()
    purgatory = Purgatory(wheel)
    operation.may_complete = True

    assert purgatory.try_complete_else_watch(operation, "key", 100)
    assert (operation.calls, len(purgatory), len(wheel)) == (["complete"], 0, 0)


def test_a_check_completes_operations_under_its_key():
    wheel, purgatory, operation = watched()
    operation.may_complete = True

    assert purgatory.check_and_complete("another key") == 0
    assert purgatory.check_and_complete("key") == 1
    assert purgatory.check_and_complete("key") == 0
    assert (operation.calls, len(purgatory), len(wheel)) == (["complete"], 0, 0)


def test_an_operation_completes_and_then_expires_at_its_deadline():
    wheel, purgatory, operation = watched(delay_ms=100)

    assert wheel.pop_due(99) is None
    wheel.pop_due(100).expire()

    assert (operation.calls, len(purgatory), len(wheel)) == (["complete", "expired"], 0, 0)


def test_force_complete_works_once():
    _, _, operation = watched()

    assert operation.force_complete()
    assert not operation.force_complete()
    operation.expire()
    assert operation.calls == ["complete"]


def test_a_cancelled_operation_neither_completes_nor_expires():
    wheel, purgatory, operation = watched()
    purgatory.cancel("key")
    operation.may_complete = True

    assert purgatory.check_and_complete("key") == 0
    assert (operation.calls, len(purgatory), len(wheel)) == ([], 0, 0)
