"""Advice that was carried out: since when, and predicted beside observed figures."""

from types import SimpleNamespace

import pytest

from coordinator_core.whatif import Figures, Prediction, SettingsChange, calibration
from coordinator_core.whatif.advice_outcomes import (
    DeploymentEpisode,
    PredictedFigure,
    SimulatedDeployment,
    Spread,
    outcome_of,
    predicted_figures,
    typical,
)
from coordinator_core.whatif.carried_out import (
    ConfiguredSetting,
    GenerationSettings,
    MemberSettings,
    carried_out,
)

STATIC = SettingsChange.of(["membership=static"])
ADVISED_MS = 1000


def generation(at_ms, *, static=0, dynamic=0, session_ms=10_000, partitions=12, protocol="range"):
    members = [
        MemberSettings(is_static, session_ms, 300_000, count)
        for is_static, count in ((True, static), (False, dynamic))
        if count
    ]
    return GenerationSettings(at_ms, "classic", protocol, partitions, members)


BEFORE = generation(900, dynamic=6)


@pytest.mark.parametrize(
    ("later", "status", "text", "times"),
    [
        ([], "no", "no generation since the advice", (None, None, None)),
        (
            [generation(1100, dynamic=6)],
            "no",
            "0 of 6 members have a group.instance.id",
            (None, None, None),
        ),
        (
            [generation(1100, dynamic=5), generation(1200, static=1, dynamic=5)],
            "partly",
            "1 of 6 members have a group.instance.id",
            (1200, None, None),
        ),
        (
            [generation(1200, static=1, dynamic=5), generation(1300, static=6)],
            "yes",
            "all 6 members have a group.instance.id",
            (1200, 1300, None),
        ),
        (
            [generation(1200, static=6), generation(99_000, static=5, dynamic=1)],
            "yes",
            "all 6 members have a group.instance.id",
            (1200, 1200, 99_000),
        ),
        # While the sixth process restarts, the group has only five members.
        (
            [
                generation(1200, static=5),
                generation(9000, static=5, dynamic=1),
                generation(21_000, static=5),
                generation(24_000, static=6),
            ],
            "yes",
            "all 6 members have a group.instance.id",
            (1200, 21_000, None),
        ),
        (
            [generation(1200, static=5), generation(9000, static=5, dynamic=1)],
            "partly",
            "5 of 6 members have a group.instance.id",
            (1200, None, None),
        ),
    ],
)
def test_generations_show_static_membership(later, status, text, times):
    shown = carried_out(STATIC, ADVISED_MS, [BEFORE, *later], {})

    assert (shown.status, shown.text) == (status, text)
    assert (shown.from_ms, shown.to_ms, shown.until_ms) == times


def test_some_members_were_static_when_the_advice_was_given():
    generations = [generation(900, static=3, dynamic=3), generation(1100, static=3, dynamic=3)]

    assert carried_out(STATIC, ADVISED_MS, generations, {}).status == "no"


def test_another_value_than_advised():
    change = SettingsChange.of(["session_timeout_ms=45000"])
    generations = [BEFORE, generation(1100, dynamic=6, session_ms=30_000)]

    shown = carried_out(change, ADVISED_MS, generations, {})

    assert (shown.status, shown.text) == (
        "other values",
        "session.timeout.ms=30000 instead of 45000",
    )


@pytest.mark.parametrize(
    ("name", "value", "status"),
    [
        ("consumer.session.timeout.ms", "20000", "yes"),
        ("group.consumer.session.timeout.ms", "20000", "yes"),
        ("consumer.session.timeout.ms", "45000", "no"),
        ("consumer.heartbeat.interval.ms", "20000", "unknown"),
    ],
)
def test_a_configuration_shows_a_setting_of_a_consumer_group(name, value, status):
    change = SettingsChange.of(["consumer_session_timeout_ms=20000"])

    shown = carried_out(change, ADVISED_MS, [BEFORE], {name: ConfiguredSetting(value, 5000)})

    assert shown.status == status
    assert (shown.from_ms, shown.to_ms) == ((1000, 5000) if status == "yes" else (None, None))


def test_no_evidence_shows_a_commit_interval():
    change = SettingsChange.of(["commit_interval_ms=1000"])

    assert carried_out(change, ADVISED_MS, [BEFORE], {}).text == (
        "no evidence shows commit_interval_ms"
    )


# -- the comparison --------------------------------------------------------------------------------


def deployment(from_ms, downtime_ms, *, rebalances=12, processes=6, kind="rolling_deployment"):
    figures = {"unavailable_partition_ms": downtime_ms, "rebalances": rebalances}
    return DeploymentEpisode(kind, processes, from_ms, from_ms + 50, figures)


PREDICTED = [
    PredictedFigure(
        "unavailable_partition_ms",
        Spread(40_000, 38_000, 42_000),
        Spread(24_000, 22_000, 26_000),
        is_promised=True,
    ),
    PredictedFigure("rebalances", Spread(12, 11, 12), Spread(0, 0, 0), is_promised=True),
]


def test_predicted_figures_have_the_calibrated_range(monkeypatch):
    shares = {"unavailable_partition_ms": 0.1}
    monkeypatch.setattr(calibration, "widening", lambda: {"what-if": {"other": shares}})
    baseline = SimpleNamespace(group_protocol="classic", processes=(), assignors=("range",))
    simulated = [
        SimulatedDeployment(
            baseline,
            Prediction(SettingsChange(), [Figures(12, 9000, 20, each) for each in (39, 40_000)]),
            Prediction(STATIC, [Figures(0, 0, 0, each) for each in (23_000, 25_000)]),
        )
    ]

    figures = {each.figure: each for each in predicted_figures(simulated)}

    assert list(figures) == [
        "unavailable_partition_ms",
        "rebalances",
        "not_stable_ms",
        "moved_partitions",
    ]
    assert figures["unavailable_partition_ms"].predicted == (24_000, 20_500, 27_500)
    assert not figures["unavailable_partition_ms"].is_promised
    assert figures["rebalances"] == ("rebalances", (12, 12, 12), (0, 0, 0), True)


def outcome(after, *, later=None, size=("rolling_deployment", 6)):
    """The change takes from 1200 to 1300 ms; deployed before it, and by it."""
    later = later or generation(1300, static=6)
    generations = [BEFORE, generation(1200, static=1, dynamic=5), later]
    status = carried_out(STATIC, ADVISED_MS, generations, {})
    deployments = [deployment(800, 39_000), deployment(900, 41_000), deployment(1250, 99_000)]
    return outcome_of(STATIC, status, PREDICTED, size, [*deployments, *after], generations)


@pytest.mark.parametrize(
    ("downtimes_ms", "verdict"),
    [
        # The range is 22 to 26 s, and the noise is 2.5 s.
        ([24_000, 25_000], "as predicted"),
        ([28_500], "as predicted"),
        ([28_501], "worse"),
        ([19_499], "better"),
        # The median is 45 s, and half the range of 30 s widens the interval to 41 s.
        ([30_000, 60_000], "worse"),
        ([20_000, 50_000], "as predicted"),
    ],
)
def test_downtime_beside_its_interval(downtimes_ms, verdict):
    after = [
        deployment(2000 + 100 * place, each, rebalances=0)
        for place, each in enumerate(downtimes_ms)
    ]

    result = outcome(after)

    assert result.verdict == verdict
    downtime, rebalances = result.figures
    assert downtime.verdict == verdict
    assert (rebalances.low, rebalances.high, rebalances.verdict) == (0, 1, "as predicted")
    assert (len(result.before), len(result.after)) == (2, len(after))


def test_the_sentence_names_the_promised_figures():
    result = outcome([deployment(2000, 24_500, rebalances=0)])

    assert result.reason == (
        "per rolling deployment of 6 processes: partition downtime 24 s (predicted 24 s, interval"
        " 20 s to 28 s; before 40 s); rebalances 0 (predicted 0, interval 0 to 1; before 12)"
    )
    assert result.basis == (
        "the predicted range and the spread of 2 deployments before and 1 after"
    )


@pytest.mark.parametrize(
    ("after", "options", "reason"),
    [
        ([], {}, "no deployment since the change"),
        (
            [deployment(2000, 24_000, processes=8)],
            {},
            "no deployment of equal size: rolling deployment of 6 processes before,"
            " rolling deployment of 8 processes after",
        ),
        ([], {"size": None}, "the group had no deployment before the advice"),
        (
            [deployment(2000, 24_000)],
            {"later": generation(1300, static=6, session_ms=45_000)},
            "other changes at the same time: session.timeout.ms 10000 -> 45000",
        ),
        (
            [deployment(2000, 24_000)],
            {"later": generation(1300, static=6, partitions=24)},
            "other changes at the same time: partitions 12 -> 24",
        ),
    ],
)
def test_not_comparable(after, options, reason):
    result = outcome(after, **options)

    assert (result.verdict, result.reason) == ("not comparable", reason)


def test_more_members_are_a_remark():
    result = outcome([deployment(2000, 24_000)], later=generation(1300, static=8))

    assert result.others == "members 6 -> 8"
    assert result.figures


def test_the_last_deployment_of_the_whole_group_decides_the_size():
    deployments = [
        deployment(1, 1),
        deployment(2, 1, processes=8),
        deployment(3, 1),
        deployment(4, 1),
        deployment(5, 1, processes=1, kind="restart"),
    ]

    assert [each.from_ms for each in typical(deployments, 2)] == [3, 4]
    assert [each.kind for each in typical(deployments[-1:], 2)] == ["restart"]
