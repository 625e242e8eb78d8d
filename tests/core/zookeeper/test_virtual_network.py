"""Virtual time: order of messages, timers, cuts and pauses."""

from coordinator_core.zookeeper.messages import SendMessage
from coordinator_core.zookeeper.virtual_network import VirtualNetwork


class RecordingProcess:
    """Notes what it receives and when it is woken; wants to be woken at ``deadlines``."""

    def __init__(self, *deadlines):
        self.recorded, self.deadlines = [], list(deadlines)

    def received(self, source, message, now_ms):
        self.recorded.append((now_ms, message))
        return []

    def advance(self, now_ms):
        self.recorded.append((now_ms, "woken"))
        self.deadlines = [at for at in self.deadlines if at > now_ms]
        return []

    def next_deadline_ms(self):
        return min(self.deadlines, default=None)


def world_with(process, delay_ms=lambda source, target: 5):
    network = VirtualNetwork(delay_ms)
    network.add("p", process)
    return network


def test_messages_of_one_sender_do_not_overtake_each_other():
    delays = iter([9, 1, 4])
    process = RecordingProcess()
    network = world_with(process, lambda source, target: next(delays))

    network.perform("x", [SendMessage("p", "first"), SendMessage("p", "second")])
    network.perform("y", [SendMessage("p", "of another")])
    network.run(100)

    assert process.recorded == [(4, "of another"), (9, "first"), (9, "second")]


def test_a_process_is_woken_at_each_of_its_deadlines():
    process = RecordingProcess(30, 10, 20)

    world_with(process).run(25)

    assert process.recorded == [(10, "woken"), (20, "woken")]


def test_who_stands_still_gets_all_of_it_later_in_order():
    process = RecordingProcess(12)
    network = world_with(process)
    network.pause("p", until_ms=50)

    network.perform("x", [SendMessage("p", "first"), SendMessage("p", "second")])
    network.run(100)

    assert process.recorded == [(50, "first"), (50, "second"), (50, "woken")]


def test_what_is_sent_while_two_are_cut_off_is_lost_and_what_was_under_way_is_not():
    process = RecordingProcess()
    network = world_with(process)
    network.perform("x", [SendMessage("p", "before")])
    network.cut("p", ["x"])
    network.perform("x", [SendMessage("p", "lost")])
    network.perform("y", [SendMessage("p", "of another")])
    network.heal("p")
    network.perform("x", [SendMessage("p", "after")])
    network.run(100)

    assert [message for _, message in process.recorded] == ["before", "of another", "after"]


def test_nothing_reaches_who_is_gone():
    process = RecordingProcess(3)
    network = world_with(process)
    network.perform("x", [SendMessage("p", "late")])
    network.remove("p")
    network.run(100)

    assert process.recorded == []
