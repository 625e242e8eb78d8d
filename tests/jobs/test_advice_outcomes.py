"""Advice that is kept from night to night, in a lake with planted tables."""

import pytest

from jobs import advice_outcomes
from jobs.advice_outcomes import within_budget
from jobs.lake.opening import open_lake
from jobs.lake.sql import query
from jobs.what_if.kept_advice import AskedPrediction, history_of

pytestmark = pytest.mark.embedded_suffices

T = 1_795_219_200_000  # 2026-11-21T00:00Z
SECOND = 1000
SENTENCE = "group.instance.id (process name): 0 rebalances instead of 12"
FIGURES = {
    "figure": "rebalances", "unchanged": 12, "unchanged_min": 11, "unchanged_max": 12,
    "predicted": 0, "predicted_min": 0, "predicted_max": 0, "promised": True,
}  # fmt: skip
ADVICE = {
    "group_id": "g", "setting": "membership=static", "sentence": SENTENCE, "share_saved": 0.5,
    "saved_unowned_partition_ms": 9000, "saved_not_stable_ms": 9000, "saved_rebalances": 12,
}  # fmt: skip


def generation(number, at_s, **more):
    times = {name: T + at_s * SECOND for name in ("joined_time", "stable_time")}
    return {
        "group_id": "g", "incarnation": 1, "generation": number, "group_type": "classic",
        "protocol": "range", "member_count": 2, "outcome": "stable", "evidence": "both",
    } | times | more  # fmt: skip


def member(number, process, *, static=False, **more):
    return {
        "group_id": "g", "incarnation": 1, "generation": number, "process": process,
        "member_id": f"{process}-{number}-{more.get('left_time')}", "is_leader": False,
        "change": "joined", "gone": False, "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 300_000, "instance_id": process if static else None,
    } | more  # fmt: skip


def deployment(number, at_s, rebalances, *, kind="rolling_deployment"):
    return {
        "group_id": "g", "incarnation": 1, "activity_time": T, "episode": number, "kind": kind,
        "from_time": T + at_s * SECOND, "to_time": T + (at_s + 30) * SECOND,
        "processes": ["a", "b"], "hosts": [], "first_generation": number,
        "last_generation": number, "generations": [number], "rebalances": rebalances,
        "not_stable_ms": 0, "summary": kind, "evidence": "log", "confidence": 1.0,
        "activity_last_generation": number,
    }  # fmt: skip


# The group is deployed at 100 s with dynamic members, becomes static at 500 s, and is deployed
# again at 900 s.
BEFORE = {
    "generations": [generation(1, 10)],
    "generation_members": [member(1, "a"), member(1, "b")],
    "episodes": [deployment(1, 100, 12)],
    "advice": [ADVICE],
}
AFTER = {
    "generations": [*BEFORE["generations"], generation(2, 510), generation(3, 525)],
    "generation_members": [
        *BEFORE["generation_members"],
        *(member(2, "a", static=True), member(2, "b")),
        *(member(3, "a", static=True), member(3, "b", static=True)),
    ],
    "episodes": [
        *BEFORE["episodes"],
        deployment(2, 500, 2, kind="configuration_change"),
        deployment(3, 900, 1),
    ],
    "advice": [ADVICE],
}
KEPT = {
    "group_id": "g", "setting": "membership=static", "settings": "group.instance.id",
    "first_advised_time": T + 130 * SECOND, "advised_time": T + 130 * SECOND,
    "sentence": SENTENCE, "kind": "rolling_deployment", "processes": 2,
    "simulated_deployments": 1, "simulated_time": T + 130 * SECOND, "predictions": [FIGURES],
    "carried_out": "no", "evidence": "no generation since the advice", "deployments_before": 0,
    "deployments_after": 0, "reason": "not carried out so far",
}  # fmt: skip


@pytest.fixture
def ran(spark, write_lake, tmp_path):
    """Runs the job on these tables, as often as given; returns the rows of advice_outcomes."""

    def run(tables, times=1):
        root = write_lake(tmp_path / "lake", tables)
        lake = open_lake(spark, root, "c")
        for _ in range(times):
            advice_outcomes.run(lake)
        return rows(root)

    return run


def rows(root, table="advice_outcomes"):
    columns, values, *_ = query(root, f"SELECT * FROM {table} ORDER BY ALL")
    return [dict(zip(columns, row, strict=True)) for row in values]


def test_advice_is_kept_once_and_without_a_model_has_no_prediction(ran):
    (row,) = ran(BEFORE, times=2)

    assert (row["setting"], row["sentence"]) == ("membership=static", SENTENCE)
    assert (row["kind"], row["processes"], row["predictions"]) == ("rolling_deployment", 2, None)
    assert (row["carried_out"], row["verdict"]) == ("no", None)
    assert row["first_advised_time"] == row["advised_time"]


def test_without_advice_no_table_is_written(ran):
    assert ran(BEFORE | {"advice": [ADVICE | {"setting": None}], "advice_outcomes": []}) == []


def test_advice_that_was_carried_out_is_compared_and_withdrawn(ran, tmp_path):
    (row,) = ran(AFTER | {"advice_outcomes": [KEPT]}, times=2)

    assert (row["carried_out"], row["verdict"]) == ("yes", "as predicted")
    assert row["evidence"] == "all 2 members have a group.instance.id"
    seconds = [
        row[name].timestamp() - T / 1000 for name in ("carried_out_from_time", "carried_out_time")
    ]
    assert seconds == [510, 525]
    assert (row["deployments_before"], row["deployments_after"]) == (1, 1)
    assert row["figures"] == [
        {
            "figure": "rebalances", "before": 12, "before_min": 12, "before_max": 12,
            "predicted": 0, "low": 0, "high": 1, "after": 1, "after_min": 1, "after_max": 1,
            "promised": True, "verdict": "as predicted",
        }
    ]  # fmt: skip
    (advice,) = rows(str(tmp_path / "lake"), "advice")
    assert advice["setting"] is None
    assert advice["sentence"] == (
        "group.instance.id was advised and is in force since 2026-11-21 00:08 UTC (as predicted,"
        " see advice_outcomes); not simulated since"
    )


def test_other_advice_does_not_change_the_kept_row(ran):
    other = ADVICE | {"setting": "session_timeout_ms=45000"}

    kept = {
        row["setting"]: row for row in ran(BEFORE | {"advice": [other], "advice_outcomes": [KEPT]})
    }

    assert list(kept) == ["membership=static", "session_timeout_ms=45000"]
    assert kept["membership=static"]["predictions"] == [FIGURES]


def test_replaced_static_members_count_once_and_from_their_replacement_on(ran):
    """Their session timeout changes in one generation, without a rebalance."""
    replaced = {"left_how": "replaced", "gone": True}
    of_members = [
        member(1, "a", static=True, left_time=T + 500 * SECOND, **replaced),
        member(1, "a", static=True, change="replaced", session_timeout_ms=45_000),
        member(1, "b", static=True, left_time=T + 520 * SECOND, **replaced),
        member(1, "b", static=True, change="replaced", session_timeout_ms=45_000),
    ]
    kept = KEPT | {"setting": "session_timeout_ms=45000"}

    (row,) = ran(
        BEFORE | {"generation_members": of_members, "advice": [], "advice_outcomes": [kept]}
    )

    assert row["evidence"] == "all 2 members have session.timeout.ms=45000"
    assert row["carried_out_time"].timestamp() - T / 1000 == 520


def test_groups_without_a_prediction_and_with_large_savings_come_first():
    questions = {
        name: AskedPrediction("membership=static", [], 2.0, is_renewed)
        for name, is_renewed in (("old", True), ("small", False), ("large", False))
    }
    savings = {"old": 9000, "small": 100, "large": 5000}
    advised = {name: {"saved_unowned_partition_ms": saved} for name, saved in savings.items()}

    assert within_budget(questions, advised, 6.0) == ["large", "small", "old"]
    assert within_budget(questions, advised, 5.0) == ["large", "small"]


def test_costs_belong_to_the_deployment_that_had_begun():
    episode = {"kind": "restart", "processes": 1, "rebalances": 1, "not_stable_ms": 0}
    episode |= {"moved_partitions": 0, "unavailable_partition_ms": 0}
    episodes = [episode | {"from_ms": at, "to_ms": at + 9000} for at in (10_000, 20_000)]
    handovers = [
        {"at_ms": at_ms, "tenths_reprocessed": 10, "consumption_pause_ms": 100}
        for at_ms in (9000, 12_000, 19_500, 31_000, 60_000)
    ]

    history = history_of([], episodes, handovers)

    assert [each.figures["records_reprocessed"] for each in history.deployments] == [2, 2]
    assert history.last_ms == 29_000
