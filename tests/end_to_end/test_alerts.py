"""Alerts on the mixed incidents, by what their script did (see test_mixed_incidents).

Six processes of billing-eager restarted one after the other: twelve joins and leaves, two of them
in one rebalance.  These processes rejoined more than once: billing-3 and inventory-pod-2 (both
restarted and killed), inventory-pod-1 (restarted; then a second process used its instance id).  The
first rebalance of each group waits for more members, 6 s at most; reports-java's second process
joined after the first 3 s.  The second process with an instance id is a finding, too.
"""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from jobs.alerts import prometheus
from jobs.alerts.alerting import AlertsOptions, find_alerts
from jobs.alerts.digest import digest_of, spans_of
from jobs.alerts.digest_formats import as_text
from jobs.configuration.alert_settings import AlertSettings, Thresholds
from jobs.lake.sql import query

SENSITIVE = Thresholds(storm_pause_s=30, stuck_s=6, flaps=2, moved_nothing=1, rebalances_per_day=14)

# alert  group  process  from  to  value
ON_3_9 = """
stuck        analytics-cooperative  None                  00:46:26  00:46:32   6
stuck        audit-python           None                  00:46:30  00:46:36   6
flapping     billing-eager          billing-3@127.0.0.1   00:47:15  00:48:52   2
over_budget  billing-eager          None                  00:46:23  00:49:49  15
storm        billing-eager          None                  00:47:02  00:47:33  11
stuck        billing-eager          None                  00:46:23  00:46:29   6
finding      inventory-static       inventory-pod-1       00:49:37  00:49:37  70
stuck        inventory-static       None                  00:46:24  00:46:30   6
"""
ON_4_1 = """
stuck        analytics-cooperative  None                  00:46:26  00:46:32   6
stuck        audit-python           None                  00:46:30  00:46:36   6
flapping     billing-eager          billing-3@127.0.0.1   00:47:15  00:48:52   2
over_budget  billing-eager          None                  00:46:23  00:50:12  16
storm        billing-eager          None                  00:47:02  00:47:33  11
stuck        billing-eager          None                  00:46:23  00:46:29   6
finding      inventory-static       inventory-pod-1       00:49:37  00:49:37  70
stuck        inventory-static       None                  00:46:24  00:46:30   6
"""

INCIDENTS = [
    pytest.param("kafka-3.9", ON_3_9, id="3.9.1"),
    pytest.param("kafka-4.1", ON_4_1, id="4.1.2"),
]


def raised(demo, cluster, settings, **options):
    """One row per alert, with the columns of ON_3_9."""
    alerts, _ = find_alerts(AlertsOptions(demo.root, cluster, **options), settings)
    return [
        (a.alert, a.group_id, str(a.process), f"{a.first_time:%T}", f"{a.last_time:%T}", a.value)
        for a in alerts
    ]


@pytest.mark.parametrize(("cluster", "expected"), INCIDENTS)
def test_the_alerts_are_those_of_the_script(demo, cluster, expected):
    alerts = raised(demo, cluster, AlertSettings(thresholds=SENSITIVE))

    assert [tuple(map(str, alert)) for alert in alerts] == [
        tuple(line.split()) for line in expected.splitlines() if line
    ]


@pytest.mark.parametrize("cluster", ["kafka-3.9", "kafka-4.1"])
def test_storms_of_the_check_are_those_of_the_view(demo, cluster):
    """The check has a pause per group and ends at the time of the alert; else the rule is one."""
    settings = AlertSettings(
        thresholds=Thresholds(storm_rebalances=3, storm_pause_s=60, stuck_s=0, flaps=0)
    )
    alerts = [alert for alert in raised(demo, cluster, settings, since="1d") if alert[0] == "storm"]
    _, storms = query(
        demo.root,
        f"""SELECT group_id, STRFTIME(from_time, '%H:%M:%S'), STRFTIME(to_time, '%H:%M:%S'),
                generations
            FROM storms WHERE cluster_id = '{cluster}' AND pause_below_ms = 60000 ORDER BY ALL""",
    )

    assert len(alerts) >= 4
    assert (
        sorted((group, first, last, value) for _, group, _, first, last, value in alerts) == storms
    )


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        # Before the last restart there were eight rebalances.
        ("2026-11-21T00:47:22", []),
        # the storm lasts
        ("2026-11-21T00:47:29", [("storm", "billing-eager", "None", "00:46:23", "00:47:29", 11)]),
        # This is less than a minute after the last rebalance.
        ("2026-11-21T00:48:10", [("storm", "billing-eager", "None", "00:46:23", "00:48:10", 12)]),
    ],
)
def test_alerts_as_of_earlier_times(demo, at, expected):
    """With the default thresholds, every five minutes."""
    assert raised(demo, "kafka-3.9", AlertSettings(), at=at, since="5m") == expected


def test_hours_later_only_lost_static_members_are_an_alert(demo):
    """They were closed in the end, which nothing tells from a loss: the last one did not commit."""
    at = "2026-11-21T03:00:00"

    of_static = ("no_members", "inventory-static", "None", "00:50:33", "03:00:00", 7766)
    assert raised(demo, "kafka-3.9", AlertSettings(), at=at) == [of_static]


def test_the_output_in_the_documentation(demo):
    text = (Path(__file__).parents[2] / "docs" / "alerts.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    table, digest, textfile = [block for language, block in blocks if not language]

    options = AlertsOptions(demo.root, "kafka-3.9")
    alerts, windows = find_alerts(options, AlertSettings())

    spans = spans_of(replace(options, since="24h"), AlertSettings())
    assert as_text([digest_of(span) for span in spans]) == digest
    assert prometheus.text(prometheus.alert_families(alerts, windows)) == textfile
    rows = table.splitlines()[2:]
    assert len(rows) == len(alerts)
    for row, alert in zip(rows, alerts, strict=True):
        cells = [alert.alert, "kafka-3.9", alert.group_id, *filter(None, [alert.process])]
        assert row.split()[: len(cells)] == cells
        assert row.endswith(alert.message)
