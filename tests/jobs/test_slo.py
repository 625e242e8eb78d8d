"""Objectives of [slo]: reading them, error budgets by date, the alert and the metric."""

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from jobs.alerts import prometheus
from jobs.alerts.alerting import AlertsOptions, find_alerts
from jobs.configuration.alert_settings import AlertSettings
from jobs.configuration.config import load_config
from jobs.configuration.slo_settings import Objectives, SloSettings
from jobs.console.errors import UsageError
from jobs.lake.sql import query
from jobs.report.budgets import budgets
from jobs.report.lake import ReportLake
from jobs.report.window import ReportWindow

MIDNIGHT = int(datetime(2026, 11, 21, tzinfo=UTC).timestamp() * 1000)
HOUR = 3_600_000
PLACE = {"group_id": "g", "incarnation": 1, "generation": 1}
PARTITION = {"topic": "t", "partition": 0}


def settings_of(tmp_path, text):
    file = tmp_path / "regroup.toml"
    file.write_text(text)
    return load_config(str(file)).alerts.slo


def test_the_last_pattern_has_priority(tmp_path):
    slo = settings_of(
        tmp_path,
        """[slo]
        served_percent = 99.5
        [slo.groups."etl-*"]
        served_percent = 90
        catch_up_s = 600
        [slo.groups."etl-nightly"]
        catch_up_s = 3600""",
    )

    assert slo.of_group("billing") == Objectives(served_percent=99.5)
    assert slo.of_group("etl-1") == Objectives(served_percent=90, catch_up_s=600)
    assert slo.of_group("etl-nightly") == Objectives(served_percent=90, catch_up_s=3600)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[slo]\nserved = 99", "unknown objective 'served'; did you mean served_percent?"),
        ("[slo]\nserved_percent = 100", "served_percent must be below 100"),
        ("[slo]\nserved_percent = 0", "served_percent must be a number above 0, not 0"),
        ("[slo]\ncatch_up_s = '60s'", "catch_up_s must be a number above 0, not '60s'"),
        ("[slo]\ncatch_up_s = true", "catch_up_s must be a number above 0, not True"),
        ("[slo]\ncatch_up_s = nan", "catch_up_s must be a number above 0, not nan"),
        ("[slo]\ngroups = 3", r'\[slo.groups."PATTERN"\] must be a table of objectives'),
        ("slo = 3", "slo must be a table, not 3"),
    ],
)
def test_a_wrong_objective_is_refused(tmp_path, text, message):
    with pytest.raises(UsageError, match=message):
        settings_of(tmp_path, text)


@pytest.fixture(scope="module")
def lake(write_lake, tmp_path_factory):
    """Two partitions from 22:00 on; the lake ends at 02:00 of the next date.  From 23:30 to 00:30
    one of them has no owner, and at 01:00 it is not served for 15 minutes."""
    begin = MIDNIGHT - 2 * HOUR
    gap = MIDNIGHT - HOUR // 2
    times = {"preparing_time": begin, "joined_time": begin, "stable_time": begin}
    handover = PLACE | PARTITION | {"from_generation": 1, "process": "a", "member_id": "a"}
    stretch = (
        PLACE | PARTITION | {"process": "a", "member_id": "a", "event_date": date(2026, 11, 21)}
    )
    served_again = MIDNIGHT + HOUR + HOUR // 4
    tables = {
        "generations": [PLACE | times | {"event_date": date(2026, 11, 20)}],
        "rebalance_latency": [
            PLACE | {"preparing_time": begin, "to_time": begin, "event_date": date(2026, 11, 20)}
        ],
        "assignments": [
            PLACE | {"topic": "t", "partition": number, "member_id": "a", "process": "a"}
            for number in (0, 1)
        ],
        "committed_offsets": [
            {"group_id": "g", "topic": "t", "partition": 0, "committed_offset": 1}
            | {"log_offset": n, "append_time": at, "event_date": day}
            for n, (at, day) in enumerate(
                [
                    (begin, date(2026, 11, 20)),
                    (MIDNIGHT + 2 * HOUR, date(2026, 11, 21)),
                ]
            )
        ],
        "timeline": [
            {"group_id": "g", "seq": 1, "event": "RECORD", "event_time": begin}
            | {"event_date": date(2026, 11, 20)}
        ],
        "ownership_gaps": [
            PLACE
            | PARTITION
            | {"from_time": gap, "to_time": gap + HOUR, "unowned_ms": HOUR, "from_process": "a"}
            | {"from_generation": 1, "why": "left", "evidence": "log", "estimated": False}
            | {"event_date": date(2026, 11, 21)}
        ],
        "unserved_times": [
            stretch
            | {"from_time": MIDNIGHT + HOUR, "to_time": served_again, "unserved_ms": HOUR // 4}
            | {"reason": reason, "evidence": "commits", "estimated": True}
            | {"commit_interval_ms": 5000}
            for reason in ("slow_poll",)
        ],
        "handover_costs": [
            handover
            | {"from_time": begin, "to_time": gap, "to_time_low": gap, "to_time_high": gap}
            | {"how_ended": "left", "bounded": True, "evidence": "log", "estimated": True}
            | {"records_reprocessed": 50.0, "records_reprocessed_low": 40.0}
            | {"records_reprocessed_high": 60.0, "catch_up_ms": 90_000}
            | {"commit_interval_ms": 5000, "event_date": date(2026, 11, 21)}
        ],
        "rebalance_causes": [],
        "generation_members": [],
        "churn": [],
        "episodes": [],
        "findings": [],
    }
    return write_lake(tmp_path_factory.mktemp("lake"), tables)


def test_the_service_of_each_date(lake):
    """Of the first date two hours of two partitions, and half an hour without an owner."""
    rows = query(
        lake,
        """SELECT CAST(event_date AS VARCHAR), partition_ms, unowned_ms, unserved_ms,
            served_percent, records_reprocessed, longest_catch_up_ms
        FROM group_day_service ORDER BY event_date""",
    )[1]

    assert rows == [
        ("2026-11-20", 4 * HOUR, HOUR // 2, 0, 87.5, None, None),
        ("2026-11-21", 4 * HOUR, HOUR // 2, HOUR // 4, 81.25, 50.0, 90_000),
    ]


OBJECTIVES = Objectives(served_percent=87.5, reprocessed_per_day=100, catch_up_s=60)


@pytest.mark.parametrize(
    ("objectives", "expected"),
    [
        # 18.75 % were not served, although only 12.5 % may be, and catching up took 90 s instead of
        # 60 s.
        (
            OBJECTIVES,
            [
                (
                    150,
                    "90 s to catch up, objective 60 s;"
                    " served 81.25 % of the partition time, objective 87.5 %;"
                    " 150 % of the day's error budget used",
                )
            ],
        ),
        # Half of the allowed records were handled again.
        (Objectives(reprocessed_per_day=100), []),
        (
            Objectives(reprocessed_per_day=50),
            [
                (
                    100,
                    "50 records handled again, objective 50; 100 % of the day's error budget used",
                )
            ],
        ),
        (Objectives(), []),
    ],
)
def test_a_missed_objective_is_an_alert(lake, objectives, expected):
    settings = replace(AlertSettings(), slo=SloSettings(objectives))
    alerts, _ = find_alerts(AlertsOptions(lake), settings)

    assert [(a.value, a.message) for a in alerts if a.alert == "slo"] == expected


def page_lake(lake, objectives, group_id=None, window=None):
    return ReportLake(lake, "c", group_id, window or ReportWindow(), SloSettings(objectives))


def test_the_page_has_budgets_by_date_the_newest_first(lake):
    assert budgets(page_lake(lake, Objectives(served_percent=87.5, reprocessed_per_day=100))) == {
        "count": 2,
        "listed": {
            "columns": ["group_id", "day", "used_percent", "objectives"],
            "rows": [
                [
                    "g",
                    "2026-11-21",
                    150.0,
                    {
                        "reprocessed_per_day": [50.0, 100.0, 50.0],
                        "served_percent": [81.25, 87.5, 150.0],
                    },
                ],
                ["g", "2026-11-20", 100.0, {"served_percent": [87.5, 87.5, 100.0]}],
            ],
        },
    }


def test_the_page_has_budgets_of_its_window_and_group_only(lake):
    objectives = Objectives(served_percent=87.5)
    first_day = ReportWindow(MIDNIGHT - 3 * HOUR, MIDNIGHT - HOUR)
    rows = budgets(page_lake(lake, objectives, "g", first_day))["listed"]["rows"]

    assert [row[:2] for row in rows] == [["g", "2026-11-20"]]
    assert budgets(page_lake(lake, Objectives())) is None


def test_metrics_have_what_is_used_of_each_budget(lake):
    settings = replace(AlertSettings(), slo=SloSettings(OBJECTIVES))
    text = prometheus.text(prometheus.alert_families(*find_alerts(AlertsOptions(lake), settings)))

    labels = 'cluster_id="c",group_id="g",objective='
    assert [line for line in text.splitlines() if line.startswith("regroup_slo_")] == [
        f'regroup_slo_error_budget_used_percent{{{labels}"catch_up_s"}} 150',
        f'regroup_slo_error_budget_used_percent{{{labels}"reprocessed_per_day"}} 50',
        f'regroup_slo_error_budget_used_percent{{{labels}"served_percent"}} 150',
    ]
