"""The dashboard and the rules have the metrics that are exported, and the shape that is loaded."""

import json
import re
from datetime import datetime

import pytest

from jobs.alerts.alerting import AlertWindow
from jobs.alerts.checks import CHECKS, Alert
from jobs.alerts.monitoring.command import run
from jobs.alerts.monitoring.dashboard import dashboard
from jobs.alerts.monitoring.rules import as_yaml, rules
from jobs.alerts.prometheus import alert_families, text
from jobs.configuration.alert_settings import Thresholds
from jobs.console.errors import UsageError
from jobs.watch.passes import PassCounts, pass_families

NOON = datetime(2026, 11, 21, 12)
ALERT = Alert(
    alert="storm",
    cluster_id="prod",
    group_id="billing",
    process=None,
    first_time=NOON,
    last_time=NOON,
    value=12,
    threshold=10,
    unit="generations",
    message="12 in a row",
)
EXPORTED = {
    "regroup_alert",
    "regroup_alert_value",
    "regroup_alerts",
    "regroup_alerts_lake_time_seconds",
    "regroup_watch_passes_total",
    "regroup_watch_failed_passes_total",
    "regroup_watch_pass_seconds",
    "regroup_watch_success_time_seconds",
    "regroup_watch_newest_event_time_seconds",
    "regroup_watch_freshness_seconds",
}
METRIC = re.compile(r"\bregroup_\w+")


def panels(**thresholds):
    """The panels with queries."""
    each = dashboard(Thresholds(**thresholds), late_s=3600)["panels"]
    return [panel for panel in each if panel["type"] != "row"]


def queries():
    return [target["expr"] for panel in panels() for target in panel["targets"]]


def test_the_textfile_has_these_metrics():
    windows = [AlertWindow("prod", NOON, NOON)]
    counts = PassCounts(
        passes=1,
        failed=0,
        failed_in_a_row=0,
        seconds=1.5,
        succeeded_at=1.0,
        newest_event=2.0,
        freshness_s=3.0,
    )
    written = text([*alert_families([ALERT], windows), *pass_families("prod", counts)])

    samples = {METRIC.match(line)[0] for line in written.splitlines() if line[0] != "#"}

    assert samples == EXPORTED


def test_the_dashboard_has_every_metric_and_no_other():
    assert {name for query in queries() for name in METRIC.findall(query)} == EXPORTED


def test_queries_are_of_the_chosen_clusters_and_groups():
    expected = {
        'sum by (alert) (regroup_alerts{cluster_id=~"$cluster_id"})',
        'regroup_alert_value{alert="storm",cluster_id=~"$cluster_id",group_id=~"$group_id"}',
        'time() - regroup_alerts_lake_time_seconds{cluster_id=~"$cluster_id"}',
        'increase(regroup_watch_passes_total{cluster_id=~"$cluster_id"}[1h])',
    }

    assert expected <= set(queries())
    assert [query for query in queries() if 'cluster_id=~"$cluster_id"' not in query] == []


def test_variables_take_the_values_of_labels():
    variables = dashboard(Thresholds(), late_s=3600)["templating"]["list"]

    assert [(each["name"], each["type"]) for each in variables] == [
        ("datasource", "datasource"),
        ("cluster_id", "query"),
        ("group_id", "query"),
    ]
    assert [each["query"]["query"] for each in variables[1:]] == [
        "label_values(regroup_alerts_lake_time_seconds, cluster_id)",
        "label_values(regroup_alert, group_id)",
    ]


@pytest.mark.parametrize(
    ("title", "limits"),
    [
        ("storm (generations)", [7]),
        ("stuck (seconds)", [300]),
        ("unowned (seconds)", [300]),
        ("no_members (seconds)", [60]),
        ("flapping (rejoins)", []),  # turned off
        ("moved_nothing (rebalances)", [5]),
        ("over_budget (rebalances)", [50]),
        ("stuck_partition (seconds)", [60]),
        ("poison_pill (percent)", [60]),
        ("Age of the lake", [3600]),
        ("Duration of a pass", []),
        ("From event to tables", [300]),
        ("Since the last successful pass", [900]),
    ],
)
def test_a_panel_turns_red_at_the_threshold_of_its_check(title, limits):
    (panel,) = [each for each in panels(storm_rebalances=7, flaps=0) if each["title"] == title]
    field = panel["fieldConfig"]["defaults"]

    green, *red = field["thresholds"]["steps"]

    assert green == {"color": "green", "value": None}
    assert red == [{"color": "red", "value": limit} for limit in limits]
    assert field["custom"]["thresholdsStyle"]["mode"] == ("line" if limits else "off")


def test_panels_do_not_overlap_and_have_ids_of_their_own():
    every = dashboard(Thresholds(), late_s=3600)["panels"]
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in every)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]

    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) == 23
    assert [panel["id"] for panel in every] == list(range(1, 22))


def test_panels_have_the_fields_that_grafana_requires():
    source = {"type": "prometheus", "uid": "${datasource}"}

    for panel in panels():
        assert panel["type"] in {"stat", "table", "timeseries"}
        assert panel["datasource"] == source
        assert panel["description"].endswith(".")
        letters = [target["refId"] for target in panel["targets"]]
        assert letters == ["A", "B"][: len(letters)]
        assert all(target["datasource"] == source for target in panel["targets"])
        assert all(target["instant"] != target["range"] for target in panel["targets"])


def test_each_check_has_a_rule():
    names = [rule.name for rule in rules(late_s=7200)]

    assert names == [
        "ConsumerGroupStorm",
        "ConsumerGroupStuck",
        "ConsumerGroupUnowned",
        "ConsumerGroupNoMembers",
        "ConsumerGroupFlapping",
        "ConsumerGroupMovedNothing",
        "ConsumerGroupOverBudget",
        "ConsumerGroupStuckPartition",
        "ConsumerGroupPoisonPill",
        "ConsumerGroupFinding",
        "ConsumerGroupSlo",
        "RegroupIsLate",
        "RegroupMetricsMissing",
        "RegroupWatchFails",
        "RegroupWatchIsBehind",
    ]
    assert {name for rule in rules(7200) for name in METRIC.findall(rule.expression)} <= EXPORTED


def test_rules_are_yaml_with_quoted_texts():
    written = as_yaml(late_s=7200)

    assert written.startswith(
        "groups:\n"
        "  - name: regroup\n"
        "    rules:\n"
        "      - alert: ConsumerGroupStorm\n"
        """        expr: 'regroup_alert_value{alert="storm"} > 0'\n"""
        "        labels:\n"
        "          severity: warning\n"
        "        annotations:\n"
        "          summary: 'group {{ $labels.group_id }} of cluster {{ $labels.cluster_id }}:"
        " generations in a row, with short pauses ({{ $value }} generations)'\n"
    )
    assert "        expr: 'time() - regroup_alerts_lake_time_seconds > 7200'\n" in written
    assert "        for: 15m\n" in written


def test_checks_name_their_thresholds():
    assert {check.setting for check in CHECKS} == set(Thresholds.__dataclass_fields__) - {
        "storm_pause_s"
    }


def test_files_are_written(tmp_path):
    run(f"{tmp_path}/d.json", f"{tmp_path}/r.yml", "2h", Thresholds())

    assert json.loads((tmp_path / "d.json").read_text())["uid"] == "regroup"
    assert "> 7200'" in (tmp_path / "r.yml").read_text()


def test_without_a_file_the_dashboard_goes_to_stdout(capsys):
    run(None, None, "25h", Thresholds())

    assert json.loads(capsys.readouterr().out)["title"] == "Regroup: rebalances of consumer groups"


@pytest.mark.parametrize(
    ("out", "rules", "late", "message"),
    [
        ("/nowhere/d.json", None, "25h", "--out /nowhere/d.json: No such file or directory"),
        (None, "/nowhere/r.yml", "25h", "--rules /nowhere/r.yml: No such file or directory"),
        (None, None, "soon", "--late soon: not a duration; give 90s, 15m, 1h or 7d"),
    ],
)
def test_wrong_options(out, rules, late, message):
    with pytest.raises(UsageError) as error:
        run(out, rules, late, Thresholds())
    assert message in str(error.value)
