"""The timing wheel: timers fire by deadline, then in the order in which they were set."""

from hypothesis import given
from hypothesis import strategies as st

from coordinator_core.coordinator.timing_wheel import Timer, TimingWheel


class Named(Timer):
    __slots__ = ("name",)

    def __init__(self, name):
        super().__init__()
        self.name = name


def fired(wheel, now_ms):
    names = []
    while (timer := wheel.pop_due(now_ms)) is not None:
        names.append(timer.name)
    return names


def test_timers_of_one_deadline_fire_in_the_order_set_at_any_distance():
    wheel = TimingWheel()
    wheel.add(Named("from far"), 1000)
    assert fired(wheel, 985) == []
    wheel.add(Named("from near"), 1000)
    wheel.add(Named("earlier"), 999)

    assert fired(wheel, 1000) == ["earlier", "from far", "from near"]


def test_a_peek_does_not_change_the_order():
    wheel = TimingWheel()
    wheel.add(Named("first"), 1000)
    assert wheel.next_deadline_ms() == 1000
    fired(wheel, 970)
    wheel.add(Named("second"), 1000)
    assert wheel.next_deadline_ms() == 1000
    fired(wheel, 985)
    wheel.add(Named("third"), 1000)

    assert fired(wheel, 1000) == ["first", "second", "third"]


def test_a_timer_that_a_timer_sets_for_now_fires_now():
    wheel = TimingWheel()
    wheel.add(Named("one"), 50)
    wheel.add(Named("two"), 50)
    assert wheel.pop_due(50).name == "one"
    wheel.add(Named("set by one"), 10)

    assert fired(wheel, 50) == ["two", "set by one"]


def test_a_cancelled_timer_does_not_fire_and_is_gone():
    wheel = TimingWheel()
    timer = Named("cancelled")
    wheel.add(timer, 300_000)
    wheel.cancel(timer)
    wheel.cancel(timer)

    assert len(wheel) == 0
    assert wheel.next_deadline_ms() is None
    assert fired(wheel, 400_000) == []


def test_a_timer_that_is_set_again_fires_once_in_its_new_order():
    wheel, renewed = TimingWheel(), Named("renewed")
    wheel.add(renewed, 1000)
    wheel.add(Named("other"), 3000)
    wheel.add(renewed, 3000)
    assert wheel.next_deadline_ms() == 3000
    assert fired(wheel, 2000) == []
    wheel.add(renewed, 3000)

    assert fired(wheel, 3000) == ["other", "renewed"]


def test_a_timer_that_is_set_again_for_an_earlier_time_fires_then():
    wheel, timer = TimingWheel(), Named("earlier")
    wheel.add(timer, 3000)
    wheel.add(timer, 50)

    assert (fired(wheel, 50), len(wheel)) == (["earlier"], 0)


delays = st.one_of(st.integers(0, 50), st.integers(0, 500_000))


actions = st.sampled_from(["add", "again", "cancel", "pass", "peek"])


@given(st.lists(st.tuples(actions, delays), max_size=60))
def test_the_wheel_fires_as_a_sorted_list_would(steps):
    wheel, pending, now_ms, count = TimingWheel(), {}, 0, 0
    for action, value in steps:
        if action == "add":
            count += 1
            timer = Named(count)
            wheel.add(timer, now_ms + value)
            pending[timer] = (now_ms + value, count)
        elif action == "again" and pending:
            count += 1
            timer = list(pending)[value % len(pending)]
            wheel.add(timer, now_ms + value)
            pending[timer] = (now_ms + value, count)
        elif action == "cancel" and pending:
            timer = list(pending)[value % len(pending)]
            wheel.cancel(timer)
            del pending[timer]
        elif action == "pass":
            now_ms += value
            due = sorted((t for t in pending if pending[t][0] <= now_ms), key=pending.get)
            assert fired(wheel, now_ms) == [timer.name for timer in due]
            for timer in due:
                del pending[timer]
        earliest = min((deadline for deadline, _ in pending.values()), default=None)
        assert wheel.next_deadline_ms() == earliest
        assert len(wheel) == len(pending)
