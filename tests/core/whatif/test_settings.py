"""KEY=VALUE of what-if: valid texts, and the messages for invalid ones."""

import pytest

from coordinator_core.whatif import GRID, UNCHANGED, InvalidSetting, SettingsChange


def test_parsed_and_printed():
    change = SettingsChange.of(["session_timeout_ms=45000", "membership=static"])

    assert change == SettingsChange(membership="static", session_timeout_ms=45_000)
    assert str(change) == "membership=static session_timeout_ms=45000"
    assert str(UNCHANGED) == "unchanged"


def test_a_protocol_is_an_assignor():
    assert SettingsChange.of(["protocol=cooperative"]).assignors == ("cooperative-sticky",)
    assert SettingsChange.of(["protocol=eager"]).assignors == ("range",)
    assert SettingsChange.of(["assignor=sticky", "protocol=eager"]).assignors == ("sticky",)
    assert UNCHANGED.assignors is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("speed=1", "speed=1: unknown setting; must be one of membership, instance_ids"),
        ("sesion.timeout.ms=1", "=1: unknown setting; did you mean session.timeout.ms?"),
        ("group.instance.id=a-1", "a-1: instance_ids must be one of process, ordinal"),
        ("membership", "membership: membership must be one of static, dynamic"),
        ("membership=maybe", "must be one of static, dynamic"),
        ("assignor=mine", "must be one of range, roundrobin, sticky, cooperative-sticky"),
        ("era=1.2", "must be one of 0.9"),
        ("session_timeout_ms=45s", "must be a whole number of milliseconds"),
        ("session_timeout_ms=-1", "must be a whole number of milliseconds"),
        ("session_timeout_ms=0", "must be 1 to 2147483647"),
        ("rebalance_timeout_ms=99999999999", "must be 1 to 2147483647"),
        ("auto.commit.interval.ms=0", "commit_interval_ms must be 1 to 2147483647"),
        ("instance_ids=ordinal", "instance_ids=ordinal: needs membership=static"),
    ],
)
def test_invalid_settings(text, message):
    with pytest.raises(InvalidSetting, match=message.replace("(", r"\(")):
        SettingsChange.of([text])


@pytest.mark.parametrize(
    "texts", [["era=4.1", "era=3.9"], ["session.timeout.ms=9000", "session_timeout_ms=8000"]]
)
def test_a_setting_given_twice(texts):
    with pytest.raises(InvalidSetting, match="given more than once"):
        SettingsChange.of(texts)


@pytest.mark.parametrize(
    ("kafka", "short"),
    [
        ("session.timeout.ms=45000", "session_timeout_ms=45000"),
        ("max.poll.interval.ms=600000", "rebalance_timeout_ms=600000"),
        ("auto.commit.interval.ms=1000", "commit_interval_ms=1000"),
        ("group.initial.rebalance.delay.ms=0", "initial_rebalance_delay_ms=0"),
        ("group.instance.id=process", "membership=static instance_ids=process"),
        ("group.instance.id=ordinal", "membership=static instance_ids=ordinal"),
        ("group.instance.id=", "membership=dynamic"),
        ("partition.assignment.strategy=cooperative-sticky", "assignor=cooperative-sticky"),
        (
            "partition.assignment.strategy=org.apache.kafka.clients.consumer.StickyAssignor",
            "assignor=sticky",
        ),
    ],
)
def test_names_of_kafka(kafka, short):
    assert SettingsChange.of([kafka]) == SettingsChange.of(short.split())


def test_printed_with_names_of_kafka():
    change = SettingsChange.of(
        [
            "membership=static",
            "instance_ids=ordinal",
            "session_timeout_ms=45000",
            "protocol=cooperative",
        ]
    )

    assert change.in_kafka_names() == (
        "group.instance.id (a name that a process keeps), session.timeout.ms=45000,"
        " partition.assignment.strategy=cooperative-sticky"
    )
    assert UNCHANGED.in_kafka_names() == "unchanged"


def test_names_that_last_cost_more_than_names_of_processes():
    process, ordinal = (
        SettingsChange.of([f"group.instance.id={source}"]) for source in ("process", "ordinal")
    )
    assert (process.cost, ordinal.cost) == (2, 6)


def test_the_initial_delay_may_be_zero():
    assert SettingsChange.of(["initial_rebalance_delay_ms=0"]).initial_rebalance_delay_ms == 0


def test_the_grid_has_twelve_changes():
    assert len(set(GRID)) == 12
    assert UNCHANGED not in GRID
