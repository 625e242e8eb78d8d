"""What brokers and clients refuse, the candidates of a group, and the lines to paste."""

from dataclasses import replace
from types import SimpleNamespace

import confluent_kafka
import pytest

from coordinator_core.incident.broker_settings import InferredDelay
from coordinator_core.incident.evidence import RecordedMember
from coordinator_core.lives import ConsumerProcess, ProcessLife, SlowPoll, TimeEstimate
from coordinator_core.whatif import InvalidSetting, SettingsChange, candidates, check, refusals
from coordinator_core.whatif.client_libraries import library_under
from coordinator_core.whatif.config_blocks import broker_properties, client_properties
from coordinator_core.whatif.handovers import Consumption
from coordinator_core.whatif.known_settings import NOTHING_KNOWN
from coordinator_core.whatif.reasons import risks_of

LIBRDKAFKA, JAVA, OLD_JAVA = "librdkafka-2", "java-3.9", "java-2.0"
START = TimeEstimate(0, 0, 0)


def group(
    *libraries, era="3.9", session_ms=10_000, poll_ms=60_000, slow_ms=None, assignors=("range",)
):
    """One process per library; ``slow_ms``: duration of a slow poll of each."""
    slow_polls = () if slow_ms is None else (SlowPoll(START, TimeEstimate(*[slow_ms] * 3), 1, ""),)
    member = RecordedMember(
        member_id="m",
        instance_id=None,
        client_id="c",
        client_host="/h",
        rebalance_timeout_ms=poll_ms,
        session_timeout_ms=session_ms,
        subscription=b"",
        assignment=b"",
    )
    life = ProcessLife(
        client_id="c",
        client_host="/h",
        member=member,
        member_ids=("m",),
        started=START,
        predates_evidence=False,
        ended=None,
        killed=False,
        slow_polls=slow_polls,
        first_generation=1,
        last_generation=1,
        confidence=1.0,
        evidence="",
    )
    processes = [
        ConsumerProcess(f"p{n}", None, (replace(life, member_ids=(f"m{n}",)),))
        for n, _ in enumerate(libraries)
    ]
    return SimpleNamespace(
        group_id="g",
        processes=processes,
        libraries={p.name: library for p, library in zip(processes, libraries, strict=True)},
        heartbeat_ms=3000,
        assignors=assignors,
        group_protocol="classic",
        consumer=None,
        consumption=None,
        protocols={},
        explained=SimpleNamespace(
            era=SimpleNamespace(name=era),
            incarnations=(),
            delay=InferredDelay(3000, "Kafka's default"),
        ),
        configured=NOTHING_KNOWN,
        from_ms=0,
        to_ms=900_000,
        clients=lambda: {f"m{n}": f"p{n}" for n, _ in enumerate(libraries)},
    )


def consuming(library):
    of_group = group(library)
    of_group.consumption = Consumption({("orders", 0): 10.0}, 5000)
    return of_group


@pytest.mark.parametrize(
    ("of_group", "change", "message"),
    [
        (
            group(JAVA),
            "session.timeout.ms=1",
            "below the broker's group.min.session.timeout.ms (6000)",
        ),
        (
            group(JAVA),
            "session.timeout.ms=5999",
            "below the broker's group.min.session.timeout.ms (6000)",
        ),
        (
            group(JAVA),
            "session.timeout.ms=1800001",
            "above the broker's group.max.session.timeout.ms (1800000)",
        ),
        (
            group(JAVA, era="2.0"),
            "session.timeout.ms=300001",
            "above the broker's group.max.session.timeout.ms (300000)",
        ),
        (
            group(JAVA, session_ms=2000),
            "session.timeout.ms=2999",
            "Java clients require it above heartbeat.interval.ms (3000 in this group)",
        ),
        (
            group(LIBRDKAFKA),
            "session.timeout.ms=60001",
            "session.timeout.ms=60001: librdkafka requires max.poll.interval.ms (60000) to be",
        ),
        (
            group(LIBRDKAFKA),
            "max.poll.interval.ms=9999",
            "librdkafka requires max.poll.interval.ms (9999) to be",
        ),
        (group(LIBRDKAFKA), "max.poll.interval.ms=86400001", "librdkafka's maximum is 86400000"),
        (
            consuming(LIBRDKAFKA),
            "auto.commit.interval.ms=86400001",
            "auto.commit.interval.ms=86400001: librdkafka's maximum is 86400000",
        ),
        (
            group(JAVA),
            "auto.commit.interval.ms=1000",
            "auto.commit.interval.ms: no commits of the group show how many records it processes",
        ),
        (
            group(LIBRDKAFKA),
            "partition.assignment.strategy=sticky",
            "librdkafka supports range, roundrobin and cooperative-sticky only",
        ),
        (
            group(OLD_JAVA),
            "group.instance.id=process",
            "java-2.0 clients do not support static members",
        ),
        (
            group(JAVA),
            "client_library=java-2.0 group.instance.id=process",
            "java-2.0 clients do not support static members",
        ),
        (
            group(JAVA, assignors=("sticky",)),
            "client_library=librdkafka-2",
            "partition.assignment.strategy=sticky: librdkafka supports range, roundrobin",
        ),
        (
            group(JAVA, session_ms=30_000, poll_ms=20_000),
            "client_library=librdkafka-2",
            "session.timeout.ms=30000: librdkafka requires max.poll.interval.ms (20000) to be",
        ),
        (
            group(JAVA, era="4.4"),
            "group.protocol=consumer client_library=java-3.9",
            "group.protocol=consumer: java-3.9 clients do not support this value",
        ),
        (
            group("kafka-python-3", era="4.4"),
            "group.protocol=consumer",
            "group.protocol=consumer: kafka-python clients do not support this value",
        ),
        (
            group("sarama-1"),
            "max.poll.interval.ms=60000",
            "sarama clients have no such setting: a member with a slow handler stays in the"
            " group, and its partitions wait",
        ),
        (
            group("kafkajs-2"),
            "max.poll.interval.ms=60000",
            "kafkajs clients have no such setting: a member with a slow handler sends no"
            " heartbeats, and its session expires after session.timeout.ms",
        ),
        (
            group(OLD_JAVA),
            "protocol=cooperative",
            "java-2.0 clients do not support cooperative-sticky",
        ),
        (
            group(JAVA, era="2.0"),
            "group.instance.id=process",
            "brokers before Kafka 2.3 do not support static members",
        ),
    ],
)
def test_refused(of_group, change, message):
    with pytest.raises(InvalidSetting) as raised:
        check(of_group, SettingsChange.of(change.split()))

    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("of_group", "change"),
    [
        (group(JAVA), "session.timeout.ms=6000"),
        (group(JAVA), "session.timeout.ms=1800000"),
        # Java allows a session timeout above max.poll.interval.ms.
        (group(JAVA), "session.timeout.ms=90000"),
        (group(JAVA, session_ms=4000), "session.timeout.ms=5000"),  # The broker has other limits.
        (group(LIBRDKAFKA), "session.timeout.ms=60000"),
        (group(LIBRDKAFKA, session_ms=2000), "session.timeout.ms=2999"),
        (group(JAVA), "partition.assignment.strategy=sticky"),
        (group(JAVA, LIBRDKAFKA), "group.instance.id=process"),
    ],
)
def test_accepted(of_group, change):
    check(of_group, SettingsChange.of([change]))


def test_candidates_of_librdkafka_include_what_it_requires():
    """Its longer sessions need longer poll intervals, and it has no sticky assignor."""
    tried = [str(each) for each in candidates(group(LIBRDKAFKA, poll_ms=15_000))]

    assert len(tried) == 11
    assert "session_timeout_ms=45000 rebalance_timeout_ms=45000" in tried
    assert "assignor=sticky" not in tried


@pytest.mark.parametrize(
    ("slow_ms", "poll_ms", "interval"),
    [(20_000, 15_000, 60_000), (19_000, 15_000, 30_000), (45_000, 60_000, 120_000)],
)
def test_the_candidate_poll_interval_is_as_long_as_slow_polls_require(slow_ms, poll_ms, interval):
    of_group = group(JAVA, poll_ms=poll_ms, slow_ms=slow_ms)

    assert SettingsChange(rebalance_timeout_ms=interval) in candidates(of_group)


def test_java_changes_to_cooperative_in_two_deployments():
    change = SettingsChange.of(["protocol=cooperative"])

    assert client_properties(group(JAVA), change) == (
        "# every consumer of group g\n"
        "# first rolling deployment: old and new processes share an assignor\n"
        "partition.assignment.strategy=org.apache.kafka.clients.consumer.CooperativeStickyAssignor,"
        "org.apache.kafka.clients.consumer.RangeAssignor\n"
        "# second rolling deployment, after the first has ended:\n"
        "# partition.assignment.strategy="
        "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
    )
    assert risks_of(group(JAVA), change).startswith("two rolling deployments")


def test_librdkafka_stops_for_the_change_to_cooperative():
    change = SettingsChange.of(["protocol=cooperative"])

    assert client_properties(group(LIBRDKAFKA), change) == (
        "# every consumer of group g\n"
        "# librdkafka cannot change the rebalance protocol online: stop all processes first\n\n"
        '{"partition.assignment.strategy": "cooperative-sticky"}'
    )
    assert risks_of(group(LIBRDKAFKA), change).startswith(
        "librdkafka consumers must all be stopped for the change"
    )


def test_a_consumer_group_is_configured_at_the_clients_and_for_the_group():
    settings = "group.protocol=consumer group.remote.assignor=range"
    times = "consumer.session.timeout.ms=10000 consumer.heartbeat.interval.ms=3000"
    change = SettingsChange.of([*settings.split(), *times.split()])

    assert client_properties(group(JAVA), change) == (
        "# every consumer of group g\n"
        "# one rolling deployment; the broker converts the group when the first process joins\n"
        "group.protocol=consumer\n"
        "group.remote.assignor=range\n"
        "# remove session.timeout.ms, heartbeat.interval.ms, partition.assignment.strategy: clients"
        " refuse them"
    )
    assert broker_properties(group(JAVA), change) == (
        "# server.properties of each broker, then restart it; kafka-configs.sh cannot change it\n"
        "# for all groups of the broker\n"
        "group.consumer.min.session.timeout.ms=10000\n"
        "group.consumer.min.heartbeat.interval.ms=3000\n"
        "# once, for this group; takes effect at once\n"
        "kafka-configs.sh --bootstrap-server BROKER --alter --entity-type groups --entity-name g"
        " --add-config consumer.session.timeout.ms=10000,consumer.heartbeat.interval.ms=3000"
    )


def test_clients_without_the_consumer_protocol_are_named():
    change = SettingsChange.of(["group.protocol=consumer", "era=4.4"])

    assert list(refusals(group("kafka-python-3"), change)) == [
        "group.protocol=consumer: kafka-python clients do not support this value"
    ]


def test_the_initial_delay_is_a_setting_of_the_broker():
    change = SettingsChange.of(["group.initial.rebalance.delay.ms=6000"])

    assert client_properties(group(JAVA), change) is None
    assert broker_properties(group(JAVA), change) == (
        "# server.properties of each broker, then restart it; kafka-configs.sh cannot change it\n"
        "# for all groups of the broker\n"
        "group.initial.rebalance.delay.ms=6000"
    )


@pytest.mark.parametrize(
    ("change", "properties"),
    [
        ("session.timeout.ms=60001", {"session.timeout.ms": 60_001}),
        ("session.timeout.ms=60000", {"session.timeout.ms": 60_000}),
        ("max.poll.interval.ms=9999", {"max.poll.interval.ms": 9999}),
        ("max.poll.interval.ms=86400001", {"max.poll.interval.ms": 86_400_001}),
        ("assignor=sticky", {"partition.assignment.strategy": "sticky"}),
        ("assignor=roundrobin", {"partition.assignment.strategy": "roundrobin"}),
        (
            "session.timeout.ms=3600001 max.poll.interval.ms=4000000",
            {"session.timeout.ms": 3_600_001, "max.poll.interval.ms": 4_000_000},
        ),
    ],
)
def test_librdkafka_itself_refuses_the_same(change, properties):
    own = {"session.timeout.ms": 10_000, "max.poll.interval.ms": 60_000, "group.id": "g"}
    # Limits of the broker do not matter here.
    refused = [
        text
        for text in refusals(group(LIBRDKAFKA), SettingsChange.of(change.split()))
        if "the broker" not in text
    ]
    try:
        confluent_kafka.Consumer({**own, **properties}).close()
        accepted = True
    except confluent_kafka.KafkaException:
        accepted = False

    assert accepted == (not refused)


@pytest.mark.parametrize(
    ("present", "change", "library"),
    [
        ("java-3.9", "session.timeout.ms=20000", "java-3.9"),
        ("java-3.9", "group.protocol=consumer", "java-4.1"),
        ("java-3.9", "client_library=java-2.5", "java-2.5"),
        ("kafka-python-3", "client_library=java-4.4 group.protocol=consumer", "java-4.4"),
        ("librdkafka-2", "group.protocol=consumer", "librdkafka-2"),
    ],
)
def test_the_client_library_after_a_change(present, change, library):
    assert library_under(group(present), "p0", SettingsChange.of(change.split())) == library


def test_another_client_library_is_among_the_lines_to_paste():
    change = SettingsChange.of(["client_library=java-4.4", "session.timeout.ms=20000"])

    assert client_properties(group("kafka-python-3"), change) == (
        "# every consumer of group g\n# with the client java-4.4\nsession.timeout.ms=20000"
    )
