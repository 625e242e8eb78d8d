"""The virtual network: order of messages, timers, cuts and pauses."""

from coordinator_core.zookeeper.messages import SendMessage
from coordinator_core.zookeeper.virtual_network import VirtualNetwork


class RecordingProcess:
    """Records what it receives and when a deadline passes."""

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


def network_with(process, delay_ms=lambda source, target: 5):
    network = VirtualNetwork(delay_ms)
    network.add("p", process)
    return network


def test_messages_of_one_sender_do_not_overtake_each_other():
    delays = iter([9, 1, 4])
    process = RecordingProcess()
    network = network_with(process, lambda source, target: next(delays))

    network.perform("x", [SendMessage("p", "first"), SendMessage("p", "second")])
    network.perform("y", [SendMessage("p", "from another")])
    network.run(100)

    assert process.recorded == [(4, "from another"), (9, "first"), (9, "second")]


def test_a_process_is_woken_at_each_of_its_deadlines():
    process = RecordingProcess(30, 10, 20)

    network_with(process).run(25)

    assert process.recorded == [(10, "woken"), (20, "woken")]


def test_a_paused_process_gets_all_input_later_in_order():
    process = RecordingProcess(12)
    network = network_with(process)
    network.pause("p", until_ms=50)

    network.perform("x", [SendMessage("p", "first"), SendMessage("p", "second")])
    network.run(100)

    assert process.recorded == [(50, "first"), (50, "second"), (50, "woken")]


def test_a_cut_loses_messages_sent_during_it_but_not_those_in_transit():
    process = RecordingProcess()
    network = network_with(process)
    network.perform("x", [SendMessage("p", "before")])
    network.cut("p", ["x"])
    network.perform("x", [SendMessage("p", "lost")])
    network.perform("y", [SendMessage("p", "from another")])
    network.heal("p")
    network.perform("x", [SendMessage("p", "after")])
    network.run(100)

    assert [message for _, message in process.recorded] == ["before", "from another", "after"]


def test_a_removed_process_receives_nothing():
    process = RecordingProcess(3)
    network = network_with(process)
    network.perform("x", [SendMessage("p", "late")])
    network.remove("p")
    network.run(100)

    assert process.recorded == []
