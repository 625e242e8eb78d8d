"""When librdkafka's main thread wakes up, and what waits for it."""

from itertools import pairwise

from coordinator_core.client import LIBRARIES, Consumer, ConsumerConfig
from coordinator_core.client.librdkafka.main_loop import WakeTimes
from coordinator_core.protocol.errors import Errors
from coordinator_core.protocol.messages import Heartbeat, HeartbeatResponse
from tests.core.client.harness import ClientHarness


def test_without_an_assignment_it_wakes_up_once_a_second():
    wakes = WakeTimes(0)
    wakes.began_ms = 150

    assert [wakes.first_ms(due_ms) for due_ms in (100, 150, 151, 1150, 3001)] == [
        150, 150, 1150, 1150, 3150,
    ]  # fmt: skip


def test_while_the_poll_interval_is_watched_it_wakes_up_twice_a_second_more():
    wakes = WakeTimes(0)
    wakes.began_ms, wakes.watched_ms = 150, 400

    assert [wakes.first_ms(due_ms) for due_ms in (400, 401, 1100, 1160)] == [400, 900, 1150, 1400]


def test_delays_of_timers_add_up():
    wakes = WakeTimes(333)
    wakes.began_ms, wakes.watched_ms = 150, 200

    assert wakes.first_ms(3200) == 3201  # The sixth check is 6 x 0.333 ms late.


def test_a_heartbeat_waits_for_the_next_wake_up():
    """heartbeat.interval.ms 700: each heartbeat is sent a second after the previous one."""
    sent = sent_by(heartbeat_interval_ms=700)

    times = [ms for ms, request in sent if isinstance(request, Heartbeat)]
    assert [after - before for before, after in pairwise(times[1:5])] == [1000, 1000, 1000]


def test_a_frozen_process_sends_what_was_due_once_and_restarts_its_timers():
    """Frozen from 6 to 8.3 s, less than the session: one heartbeat at 8.3 s, the next 3 s later."""
    consumer, harness = started()
    harness.run(6000)
    harness.now_ms = 8300

    effects = consumer.thawed(8300)

    assert [type(each.request) for each in effects] == [Heartbeat]
    consumer.received(effects[0].request.request_id, HeartbeatResponse(Errors.NONE), 8302)
    assert heartbeats(consumer.advance(11_299)) == 0
    assert heartbeats(consumer.advance(11_300)) == 1


def heartbeats(effects):
    return sum(isinstance(getattr(each, "request", None), Heartbeat) for each in effects)


def started(**config):
    harness = ClientHarness("4.1", group_initial_rebalance_delay_ms=0)
    settings = ConsumerConfig(group_id="g", client_id="c", session_timeout_ms=10_000, **config)
    consumer = Consumer(settings, LIBRARIES["librdkafka-2"])
    harness.add(consumer, "c")
    return consumer, harness


def sent_by(**config):
    _, harness = started(**config)
    harness.run(8000)
    return [(ms, request) for ms, _, request in harness.requests]
