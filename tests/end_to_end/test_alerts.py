"""Alerts on the mixed incidents, by what their script did (see test_mixed_incidents).

Six processes of billing-eager restarted one after the other: twelve comings and goings, of which
two met in one rebalance.  Back more than once came billing-3 (restarted, killed), inventory-pod-2
(the same) and inventory-pod-1 (restarted, then a second process under its instance id).  The first
rebalance of each group waits for more members, 6 s at most; reports-java's second process came
when the first 3 s were over.
"""

import re
from pathlib import Path

import pytest

from jobs.alerts import prometheus
from jobs.alerts.alerting import Request, find_alerts
from jobs.alerts.settings import AlertSettings, Thresholds

SENSITIVE = Thresholds(storm_pause_s=30, stuck_s=6, flaps=2, moved_nothing=1, rebalances_per_day=15)

# alert  group  process  from  to  value
ON_3_9 = """
stuck        analytics-cooperative  None                  00:46:26  00:46:32   6
stuck        audit-python           None                  00:46:30  00:46:36   6
flapping     billing-eager          billing-3@127.0.0.1   00:47:15  00:48:52   2
over_budget  billing-eager          None                  00:46:23  00:50:09  16
storm        billing-eager          None                  00:47:02  00:47:33  11
stuck        billing-eager          None                  00:46:23  00:46:29   6
flapping     inventory-static       inventory-pod-1       00:47:34  00:49:37   2
flapping     inventory-static       inventory-pod-2       00:47:38  00:48:52   2
stuck        inventory-static       None                  00:46:24  00:46:30   6
"""
ON_4_1 = """
stuck        analytics-cooperative  None                  00:46:26  00:46:32   6
stuck        audit-python           None                  00:46:30  00:46:36   6
flapping     billing-eager          billing-3@127.0.0.1   00:47:15  00:48:52   2
over_budget  billing-eager          None                  00:46:23  00:50:13  18
storm        billing-eager          None                  00:47:02  00:47:33  11
stuck        billing-eager          None                  00:46:23  00:46:29   6
flapping     inventory-static       inventory-pod-1       00:47:34  00:49:37   2
flapping     inventory-static       inventory-pod-2       00:47:38  00:48:53   2
stuck        inventory-static       None                  00:46:24  00:46:30   6
"""

INCIDENTS = [
    pytest.param("kafka-3.9", ON_3_9, id="3.9.1"),
    pytest.param("kafka-4.1", ON_4_1, id="4.1.2"),
]


def raised(demo, cluster, settings, **request):
    """A line an alert, as written above."""
    alerts, _ = find_alerts(Request(demo.root, cluster, **request), settings)
    return [
        (a.alert, a.group_id, str(a.process), f"{a.first_time:%T}", f"{a.last_time:%T}", a.value)
        for a in alerts
    ]


@pytest.mark.parametrize(("cluster", "expected"), INCIDENTS)
def test_what_the_script_did_is_raised_and_nothing_else(demo, cluster, expected):
    found = raised(demo, cluster, AlertSettings(thresholds=SENSITIVE))

    assert [tuple(map(str, alert)) for alert in found] == [
        tuple(line.split()) for line in expected.splitlines() if line
    ]


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        # the restarts have not all begun: eight rebalances, with the first
        ("2026-11-21T00:47:22", []),
        # they go on
        ("2026-11-21T00:47:29", [("storm", "billing-eager", "None", "00:46:23", "00:47:29", 11)]),
        # a minute of quiet has not passed yet
        ("2026-11-21T00:48:10", [("storm", "billing-eager", "None", "00:46:23", "00:48:10", 12)]),
    ],
)
def test_as_a_scheduler_would_have_seen_it(demo, at, expected):
    """With the default thresholds, every five minutes."""
    assert raised(demo, "kafka-3.9", AlertSettings(), at=at, since="5m") == expected


def test_long_after_it_is_quiet(demo):
    at = "2026-11-21T03:00:00"

    assert raised(demo, "kafka-3.9", AlertSettings(), at=at) == []


def test_what_the_documentation_shows(demo):
    text = (Path(__file__).parents[2] / "docs" / "alerts.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    table, textfile = [block for language, block in blocks if not language]

    alerts, windows = find_alerts(Request(demo.root, "kafka-3.9"), AlertSettings())

    assert prometheus.text(alerts, windows) == textfile
    [row] = table.splitlines()[2:]
    [alert] = alerts
    said = [alert.alert, "kafka-3.9", alert.group_id, f"{alert.first_time:%F}"]
    assert row.split()[:4] == said
    assert row.endswith(alert.message)
