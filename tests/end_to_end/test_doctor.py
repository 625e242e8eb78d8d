"""doctor against a real broker: what it answers, and what its living log tells."""

import confluent_kafka as ck
import pytest

from jobs.command_line.config import Config
from jobs.doctor import broker_logs, brokers
from tools import kafka_broker


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    folder = tmp_path_factory.mktemp("broker")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "UTC")  # of the clock that its log shows
        with kafka_broker.Broker(folder, offsets_partitions=3) as broker:
            yield broker


@pytest.fixture
def with_a_group(broker):
    consumer = ck.Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "g", "log_level": 0})
    consumer.subscribe(["orders"], on_assign=lambda consumer, _: consumer.unassign())
    for _ in range(100):
        consumer.poll(0.2)
        if "Stabilized group g" in broker.log.read_text():
            break
    yield
    consumer.close()


def test_a_broker_before_its_first_group(broker):
    [found] = brokers.examine(broker.bootstrap, Config())

    assert (found.state, found.found) == (
        "warning",
        f"{broker.bootstrap} answers, and has no __consumer_offsets",
    )


def test_a_broker_with_a_group(broker, with_a_group):
    [found] = brokers.examine(broker.bootstrap, Config())

    assert (found.state, found.found) == (
        "ok",
        f"{broker.bootstrap} answers, __consumer_offsets has 3 partitions on 1 broker",
    )


@pytest.mark.parametrize(
    ("zone", "state", "said"),
    [
        ("UTC", "ok", "and so they do: the file was last written then"),
        ("Asia/Tokyo", "warning", "they are 9 h behind Asia/Tokyo"),
    ],
)
def test_a_log_that_is_being_written_tells_its_zone(broker, with_a_group, zone, state, said):
    lines, dates = broker_logs.examine(str(broker.log), zone)

    assert lines.state == "ok"
    assert (dates.check, dates.state) == ("log dates", state)
    assert said in dates.found
