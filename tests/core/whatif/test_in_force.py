"""Settings in force are not proposed again, and a model that misses what was observed gives no
advice.
"""

import pytest

from coordinator_core.whatif import UNCHANGED, Figures, Prediction, SettingsChange, advise
from coordinator_core.whatif.baseline import ConsumerSettings
from coordinator_core.whatif.broker_limits import widened_limits
from coordinator_core.whatif.candidates import candidates
from coordinator_core.whatif.in_force import in_force_text, without_in_force
from coordinator_core.whatif.known_settings import KnownSetting, KnownSettings
from tests.core.whatif.test_limits import JAVA, LIBRDKAFKA, group

FILE = "server.properties"
# These are the settings of the brokers of tests/data/twins/mixed-protocols-4.4.0.
BROKERS = {
    "group.consumer.session.timeout.ms": "10000",
    "group.consumer.heartbeat.interval.ms": "3000",
    "group.consumer.min.session.timeout.ms": "6000",
    "group.consumer.min.heartbeat.interval.ms": "1000",
}


def classic(**properties):
    of_group = group(JAVA, era="4.4")
    of_group.topics = ()
    of_group.configured = KnownSettings(
        {name: KnownSetting(v, FILE) for name, v in properties.items()}
    )
    return of_group


def of_consumers(session_ms=10_000, heartbeat_ms=3000, assignor="uniform", **properties):
    of_group = classic(**properties)
    of_group.libraries = {"p0": LIBRDKAFKA}
    of_group.group_protocol = "consumer"
    of_group.consumer = ConsumerSettings(session_ms, heartbeat_ms, assignor, FILE, FILE)
    return of_group


@pytest.mark.parametrize(
    ("of_group", "settings", "rest"),
    [
        (classic(), "session_timeout_ms=10000", ""),
        (classic(), "session_timeout_ms=30000", "session_timeout_ms=30000"),
        (classic(), "rebalance_timeout_ms=60000 membership=static", "membership=static"),
        (classic(), "assignor=range", ""),
        (classic(), "protocol=eager", ""),
        (classic(), "initial_rebalance_delay_ms=3000", ""),
        # The settings of clients of the other protocol are not known.
        (
            of_consumers(),
            "group_protocol=classic session_timeout_ms=10000",
            "session_timeout_ms=10000 group_protocol=classic",
        ),
        (
            of_consumers(),
            "consumer_session_timeout_ms=10000 consumer_heartbeat_interval_ms=3000",
            "",
        ),
        (of_consumers(), "remote_assignor=uniform", ""),
        (of_consumers(assignor=None), "remote_assignor=uniform", "remote_assignor=uniform"),
        # After a migration, the brokers' default is in force if the group has no setting.
        (
            classic(**BROKERS),
            "group_protocol=consumer consumer_session_timeout_ms=10000",
            "group_protocol=consumer",
        ),
        (
            classic(),
            "group_protocol=consumer consumer_session_timeout_ms=10000",
            "group_protocol=consumer consumer_session_timeout_ms=10000",
        ),
    ],
)
def test_what_is_in_force_is_no_change(of_group, settings, rest):
    change = SettingsChange.of(settings.split())

    assert str(without_in_force(of_group, change)) == (rest or "unchanged")


def test_no_candidate_has_a_setting_that_is_in_force():
    texts = [str(each) for each in candidates(of_consumers(**BROKERS))]

    assert "consumer_session_timeout_ms=25000" in texts
    assert not [text for text in texts if "consumer_session_timeout_ms=10000" in text]
    assert not [text for text in texts if "remote_assignor=uniform" in text]


@pytest.mark.parametrize(
    ("properties", "limits"),
    [
        ({}, ["group.consumer.min.session.timeout.ms=10000"]),
        (BROKERS, []),
        (
            {"group.consumer.min.session.timeout.ms": "20000"},
            ["group.consumer.min.session.timeout.ms=10000"],
        ),
    ],
)
def test_no_broker_restarts_for_a_limit_that_it_has(properties, limits):
    change = SettingsChange.of(["group.protocol=consumer", "consumer.session.timeout.ms=10000"])

    assert widened_limits(classic(**properties), change) == limits


def test_the_text_names_what_shows_a_setting_and_what_is_assumed():
    assert in_force_text(of_consumers(**BROKERS)) == (
        "max.poll.interval.ms=60000 (requests of members),"
        " no group.instance.id (requests of members),"
        " consumer.session.timeout.ms=10000 (server.properties),"
        " consumer.heartbeat.interval.ms=3000 (server.properties),"
        " group.remote.assignor=uniform (records),"
        " group.consumer.min.session.timeout.ms=6000 (server.properties),"
        " group.consumer.min.heartbeat.interval.ms=1000 (server.properties);"
        " assumed: group.consumer.max.session.timeout.ms=60000 (Kafka's default),"
        " group.consumer.max.heartbeat.interval.ms=15000 (Kafka's default)"
    )
    assert in_force_text(classic()) == (
        "max.poll.interval.ms=60000 (requests of members),"
        " no group.instance.id (requests of members),"
        " session.timeout.ms=10000 (requests of members),"
        " partition.assignment.strategy=range (records);"
        " assumed: group.initial.rebalance.delay.ms=3000 (Kafka's default)"
    )


# -- the bound of the model ------------------------------------------------------------------------

BETTER = SettingsChange.of(["session.timeout.ms=30000"])
DIFFERS = "no advice: the model does not explain this group: "


def advice_of(observed, *model):
    """``observed``, ``model``: rebalances and partition downtime in s; the model's per seed."""
    figures = [Figures(count, 6000, 0, 1000 * s) for count, s in (observed, *model)]
    better = Prediction(BETTER, [Figures(1, 3000, 0, 0)] * len(model))
    return advise(classic(), figures[0], Prediction(UNCHANGED, figures[1:]), [better])


@pytest.mark.parametrize(
    ("observed", "model", "sentence"),
    [
        ((8, 82), [(3, 20)], "3 rebalances predicted, 8 observed; partition downtime 20 s"),
        ((10, 100), [(8, 75)], None),
        ((10, 100), [(7, 75)], "7 rebalances predicted, 10 observed"),
        ((40, 100), [(30, 125)], None),
        ((40, 100), [(29, 125)], "29 rebalances predicted, 40 observed"),
        ((10, 100), [(10, 74)], "partition downtime 74 s predicted, 100 s observed"),
        ((10, 100), [(10, 126)], "partition downtime 126 s predicted, 100 s observed"),
        # The observed value is within the range of the seeds.
        ((10, 100), [(10, 60), (10, 130), (10, 200)], None),
        ((2, 10), [(2, 5)], None),
        ((2, 10), [(2, 4)], "partition downtime 4 s predicted, 10 s observed"),
    ],
)
def test_a_model_beyond_its_bound_gives_no_advice(observed, model, sentence):
    advice = advice_of(observed, *model)

    if sentence is None:
        assert advice.change == BETTER
        return
    assert advice.sentence.startswith(DIFFERS + sentence)
    assert (advice.change, advice.client_properties, advice.worse) == (None, None, None)


def test_a_group_that_lost_less_than_a_change_must_save_needs_no_model():
    advice = advise(
        classic(),
        Figures(9, 4900, 0, 4900),
        Prediction(UNCHANGED, [Figures(90, 60_000, 0, 600_000)]),
        [Prediction(BETTER, [Figures(1, 0, 0, 0)])],
    )

    assert advice.change is None
    assert advice.sentence == (
        "nothing to gain: at most 4.9 s of partition downtime (partition-seconds)"
    )
