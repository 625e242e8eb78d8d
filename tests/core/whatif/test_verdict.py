"""Whether to migrate a group: verdicts by figures, blockers by records and log, what gets worse."""

from types import SimpleNamespace

import pytest

from coordinator_core.coordinator.era_evidence import InferredEra
from coordinator_core.incident.evidence import RecordedMember
from coordinator_core.records import (
    Assignment,
    Subscription,
    encode_assignment,
    encode_subscription,
)
from coordinator_core.whatif import UNCHANGED, Figures, Prediction, SettingsChange, advise
from coordinator_core.whatif.baseline import ConsumerSettings
from coordinator_core.whatif.broker_limits import widened_limits
from coordinator_core.whatif.judgement import GroupJudgement
from coordinator_core.whatif.readiness import (
    Blocker,
    blockers_of_clients,
    blockers_of_group,
    commits_without_members,
)
from coordinator_core.whatif.verdict import not_predicted, verdict_of
from tests.core.whatif.test_limits import JAVA, LIBRDKAFKA, group

SAME = SettingsChange.of(
    [
        "group.protocol=consumer",
        "consumer.session.timeout.ms=10000",
        "consumer.heartbeat.interval.ms=3000",
    ]
)
DEFAULTS = SettingsChange.of(["group.protocol=consumer"])
COOPERATIVE = SettingsChange.of(["protocol=cooperative"])
MODERN = InferredEra("4.1", "log wording")
OLD_CLIENT = Blocker("client_version", "prevents", "Java clients before 3.4")
USER_DATA = Blocker("assignment_data", "offline", "assignments have user data")
UNKNOWN_VERSION = Blocker("client_version", "check", "Java clients 3.4 or later")


def baseline(*libraries, **fields):
    own = group(*(libraries or (JAVA,)), era="4.1")
    own.topics, own.consumer = (), None
    vars(own).update(fields)
    return own


def prediction(change, *downtimes_ms, moved=10, not_stable_ms=6000, refused=0):
    """``downtimes_ms``: one per simulation."""
    return Prediction(
        change, [Figures(2, not_stable_ms, moved, each, refused) for each in downtimes_ms]
    )


def verdict(predicted, blockers=(), *, unchanged=(100_000,) * 3, of=None):
    own, model = of or baseline(), prediction(UNCHANGED, *unchanged)
    advice = advise(own, model.median, model, predicted)
    return verdict_of(own, GroupJudgement(model.median, model, predicted, advice), blockers)


# -- verdicts --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("downtimes_ms", "blockers", "expected"),
    [
        ([50_000] * 3, [], "migrate"),
        # The difference does not occur in every simulation.
        ([50_000, 50_000, 100_000], [], "no difference"),
        ([95_000] * 3, [], "no difference"),  # The difference is 5% of the downtime.
        ([105_000] * 3, [], "no difference"),
        ([150_000] * 3, [], "stay"),
        ([150_000, 150_000, 90_000], [], "no difference"),
        ([50_000] * 3, [OLD_CLIENT], "blocked"),
        ([50_000] * 3, [USER_DATA], "migrate"),
        ([50_000] * 3, [UNKNOWN_VERSION], "migrate"),
    ],
)
def test_the_downtime_of_every_simulation_decides_unless_a_blocker_prevents_it(
    downtimes_ms, blockers, expected
):
    assert verdict([prediction(SAME, *downtimes_ms)], blockers).verdict == expected


def test_time_in_rebalances_of_the_two_protocols_is_not_compared():
    """Members that keep their partitions consume while a consumer group reconciles."""
    longer = prediction(SAME, *[50_000] * 3, not_stable_ms=90_000)

    assert verdict([longer]).verdict == "migrate"


def test_without_a_change_to_the_consumer_protocol_the_verdict_is_unknown():
    result = verdict([prediction(COOPERATIVE, *[1] * 3)])

    assert (result.verdict, result.chosen) == ("unknown", None)
    assert result.reason.startswith("no setting with the consumer protocol was simulated")


@pytest.mark.parametrize(
    ("blockers", "expected"),
    [
        ([], ("unknown", "no prediction: too old")),
        ([UNKNOWN_VERSION], ("unknown", "no prediction: too old")),
        ([UNKNOWN_VERSION, OLD_CLIENT], ("blocked", "Java clients before 3.4")),
    ],
)
def test_a_group_without_a_prediction_has_a_reason(blockers, expected):
    result = not_predicted("unknown", "no prediction: too old", blockers)

    assert (result.verdict, result.reason) == expected


def test_what_must_be_checked_or_stopped_is_named():
    result = verdict([prediction(SAME, *[50_000] * 3)], [USER_DATA, UNKNOWN_VERSION])

    assert result.reason.endswith("; assignments have user data; check first: client_version")
    assert result.client_properties.splitlines()[0] == (
        "# brokers refuse to convert this group while it runs: stop all processes first"
    )
    assert "group.protocol=consumer" in result.client_properties.splitlines()
    assert (
        "--add-config consumer.session.timeout.ms=10000,consumer.heartbeat.interval.ms=3000"
        in result.broker_properties
    )


def test_the_default_session_static_members_and_moves_get_worse():
    static = baseline(LIBRDKAFKA)
    static.processes[0] = SimpleNamespace(
        name="p0", instance_id="one", lives=static.processes[0].lives
    )
    result = verdict(
        [
            prediction(SAME, *[50_000] * 3, moved=30, refused=1),
            prediction(DEFAULTS, *[180_000] * 3),
            prediction(COOPERATIVE, *[20_000] * 3),
        ],
        of=static,
    )

    assert result.chosen.change == SAME
    assert result.defaults.change == DEFAULTS
    default, limits, refused, moved, classic = result.worse
    assert default == (
        "without consumer.session.timeout.ms the broker's default applies (45 s; today 10 s):"
        " partition downtime 180 s instead of 100 s"
    )
    assert limits.startswith(
        "brokers need group.consumer.min.session.timeout.ms=10000,"
        " group.consumer.min.heartbeat.interval.ms=3000 "
    )
    assert "UNRELEASED_INSTANCE_ID" in refused
    assert "Refused in simulation: 1 start." in refused
    assert moved == "30 partitions moved instead of 10"
    assert classic == (
        "the classic protocol with partition.assignment.strategy=cooperative-sticky has a partition"
        " downtime of 20 s instead of 50 s"
    )


# -- broker limits ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "own", "expected"),
    [
        ("consumer_session_timeout_ms=45000", None, []),
        ("consumer_session_timeout_ms=44999", None, ["min.session.timeout.ms=44999"]),
        ("consumer_session_timeout_ms=60000", None, []),
        ("consumer_session_timeout_ms=60001", None, ["max.session.timeout.ms=60001"]),
        ("consumer_heartbeat_interval_ms=4999", None, ["min.heartbeat.interval.ms=4999"]),
        ("consumer_heartbeat_interval_ms=15001", None, ["max.heartbeat.interval.ms=15001"]),
        ("consumer_session_timeout_ms=25000", (10_000, 3000, None), []),
        ("consumer_session_timeout_ms=9000", (10_000, 3000, None), ["min.session.timeout.ms=9000"]),
    ],
)
def test_values_that_brokers_refuse_by_default_need_other_limits(settings, own, expected):
    """Real brokers: tests/end_to_end/test_dynamic_settings.py."""
    consumer = None if own is None else ConsumerSettings(*own)
    change = SettingsChange.of(["group_protocol=consumer", settings])

    limits = widened_limits(baseline(consumer=consumer), change)

    assert limits == [f"group.consumer.{each}" for each in expected]


# -- blockers --------------------------------------------------------------------------------------


def member(*, version=3, user_data=None, topics=("orders",), assigned=b"", name="m"):
    subscription = encode_subscription(Subscription(version, list(topics), user_data))
    return RecordedMember(
        member_id=name,
        instance_id=None,
        client_id="c",
        client_host="/h",
        rebalance_timeout_ms=60_000,
        session_timeout_ms=10_000,
        subscription=subscription,
        assignment=assigned,
    )


def record(*members, protocol="range", protocol_type="consumer"):
    return SimpleNamespace(
        members=members or (member(),), protocol=protocol, protocol_type=protocol_type
    )


ASSIGNED = encode_assignment(Assignment(1, [("orders", [0])], b"sticky"))
PLAIN = encode_assignment(Assignment(1, [("orders", [0])], b""))


@pytest.mark.parametrize(
    ("records", "logged", "era", "expected"),
    [
        ([record()], [], MODERN, []),
        ([record(member(assigned=PLAIN))], [], MODERN, []),
        ([record()], [], InferredEra("3.9", "wording"), [("broker_version", "prevents")]),
        ([record(protocol="fair")], [], MODERN, [("custom_assignor", "prevents")]),
        ([record(protocol_type="connect")], [], MODERN, [("framework", "prevents")]),
        ([record(protocol="stream")], [], MODERN, [("framework", "prevents")]),
        ([record(member(assigned=ASSIGNED))], [], MODERN, [("assignment_data", "offline")]),
        (
            [record(), record(member(topics=("orders", "refunds")))],
            [],
            MODERN,
            [("regular_expression", "check")],
        ),
        ([], ["upgrade_too_large"], MODERN, [("group_size", "prevents")]),
        ([], ["upgrade_disabled"], MODERN, [("migration_policy", "offline")]),
        ([], ["UPGRADE_FAILED"], None, [("assignment_data", "offline")]),
        ([], ["OVER_CAPACITY"], None, [("group_size", "check")]),
        ([record(protocol="fair"), record()], [], MODERN, []),  # no longer
    ],
)
def test_blockers_by_records_and_log(records, logged, era, expected):
    blockers = blockers_of_group(records, logged, era)

    assert [(each.blocker, each.effect) for each in blockers] == expected
    assert all(each.detail for each in blockers)


@pytest.mark.parametrize(
    ("library", "members", "expected"),
    [
        (JAVA, [member(version=3)], ("check", "Java clients 3.4 or later (subscriptions of")),
        (JAVA, [member(version=1)], ("prevents", "Java clients before 3.4 (subscriptions of")),
        (JAVA, [member(version=3), member(version=0)], ("prevents", "Java clients before 3.4")),
        (JAVA, [], ("check", "Java clients of an unknown version")),
        (LIBRDKAFKA, [member(version=3)], ("check", "librdkafka clients of a recent version")),
        (LIBRDKAFKA, [member(version=1)], ("prevents", "librdkafka clients (subscriptions of")),
        (
            "kafka-python-3",
            [member(version=0)],
            ("prevents", "kafka-python clients do not support"),
        ),
    ],
)
def test_clients_that_are_too_old_or_unknown(library, members, expected):
    """A record has the version of the subscription, not that of the client."""
    own = baseline(*[library] * max(len(members), 1))
    names = [f"m{n}" for n, _ in enumerate(members)]
    for process, name in zip(own.processes, names, strict=False):
        object.__setattr__(process.lives[0], "member_ids", (name,))
    records = [
        record(*(each._replace(member_id=name) for each, name in zip(members, names, strict=True)))
    ]

    (blocker,) = blockers_of_clients(own, records if members else [])

    assert (blocker.blocker, blocker.effect) == ("client_version", expected[0])
    assert blocker.detail.startswith(expected[1])


@pytest.mark.parametrize(
    ("first_ms", "last_ms", "expected"),
    [(None, None, 0), (0, 100, 0), (-1, 100, 1)],
)
def test_commits_before_the_first_member(first_ms, last_ms, expected):
    """The processes start at 0 and still run."""
    assert len(list(commits_without_members(baseline(), first_ms, last_ms))) == expected
