"""Virtual time: order of messages, timers, cuts and pauses."""

from coordinator_core.zookeeper.messages import Send
from coordinator_core.zookeeper.world import World


class Noting:
    """Notes what it receives and when it is woken; wants to be woken at ``deadlines``."""

    def __init__(self, *deadlines):
        self.noted, self.deadlines = [], list(deadlines)

    def received(self, source, message, now_ms):
        self.noted.append((now_ms, message))
        return []

    def advance(self, now_ms):
        self.noted.append((now_ms, "woken"))
        self.deadlines = [at for at in self.deadlines if at > now_ms]
        return []

    def next_deadline_ms(self):
        return min(self.deadlines, default=None)


def world_with(process, delay_ms=lambda source, target: 5):
    world = World(delay_ms)
    world.add("p", process)
    return world


def test_messages_of_one_sender_do_not_overtake_each_other():
    delays = iter([9, 1, 4])
    process = Noting()
    world = world_with(process, lambda source, target: next(delays))

    world.perform("x", [Send("p", "first"), Send("p", "second")])
    world.perform("y", [Send("p", "of another")])
    world.run(100)

    assert process.noted == [(4, "of another"), (9, "first"), (9, "second")]


def test_a_process_is_woken_at_each_of_its_deadlines():
    process = Noting(30, 10, 20)

    world_with(process).run(25)

    assert process.noted == [(10, "woken"), (20, "woken")]


def test_who_stands_still_gets_all_of_it_later_in_order():
    process = Noting(12)
    world = world_with(process)
    world.pause("p", until_ms=50)

    world.perform("x", [Send("p", "first"), Send("p", "second")])
    world.run(100)

    assert process.noted == [(50, "first"), (50, "second"), (50, "woken")]


def test_what_is_sent_while_two_are_cut_off_is_lost_and_what_was_under_way_is_not():
    process = Noting()
    world = world_with(process)
    world.perform("x", [Send("p", "before")])
    world.cut("p", ["x"])
    world.perform("x", [Send("p", "lost")])
    world.perform("y", [Send("p", "of another")])
    world.heal("p")
    world.perform("x", [Send("p", "after")])
    world.run(100)

    assert [message for _, message in process.noted] == ["before", "of another", "after"]


def test_nothing_reaches_who_is_gone():
    process = Noting(3)
    world = world_with(process)
    world.perform("x", [Send("p", "late")])
    world.remove("p")
    world.run(100)

    assert process.noted == []
