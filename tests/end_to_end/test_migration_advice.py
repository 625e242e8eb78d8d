"""The sweep over groups of both protocols, beside real runs of the same script.

The truth was counted from real clients and brokers (see tests/core/whatif/test_across_protocols.py,
whose bound of closeness this uses).
"""

import json

import pytest

from coordinator_core.whatif import SettingsChange
from jobs.engine.embedded import embedded_session
from jobs.lake.opening import open_lake
from jobs.what_if_sweep import READS, what_if
from tests.core.incident.incident_rows import NEXT, ROOT

pytestmark = [pytest.mark.slow, pytest.mark.seldom]

VERSION = "4.4.0"
TIMES = "consumer.session.timeout.ms=10000 consumer.heartbeat.interval.ms=3000"
CLASSIC = "group.protocol=classic session.timeout.ms=10000"
# Advice for orders-consumer, by the group that ran with the advised settings; the first group has
# unchanged settings.
OF_CONSUMER = {
    "orders-consumer": "",
    "orders-consumer-range": "group.remote.assignor=range",
    "orders-consumer-static": "membership=static",
    "orders-consumer-session": "consumer.session.timeout.ms=25000",
    "orders-consumer-default": "consumer.session.timeout.ms=45000"
    " consumer.heartbeat.interval.ms=5000",
    "orders-base": f"{CLASSIC} assignor=range",
    "orders-cooperative": f"{CLASSIC} protocol=cooperative",
    "orders-static": f"{CLASSIC} assignor=range membership=static",
}
OF_CLASSIC = [f"group.protocol=consumer {TIMES}", "group.protocol=consumer"]


@pytest.fixture(scope="module")
def rows(twins_by):
    """The sweep's rows of orders-base and orders-consumer, by table."""
    root = twins_by("embedded", NEXT, VERSION).root
    lake = open_lake(embedded_session(), root, VERSION)
    groups = "group_id IN ('orders-base', 'orders-consumer')"
    tables = {name: lake.read(name) for name in READS}
    tables |= {
        name: rows.where(groups) for name, rows in tables.items() if "group_id" in rows.columns
    }
    texts = [*filter(None, OF_CONSUMER.values()), *OF_CLASSIC]
    changes = tuple(SettingsChange.of(text.split()) for text in texts)
    swept = what_if(tables, changes, seeds=3).collect()
    names = ("what_if", "advice", "migration_advice")
    return {name: [row for group in swept for row in group[name]] for name in names}


def truth(group, version=VERSION):
    """Partition downtime, ms."""
    file = ROOT / "tests" / "data" / "twins" / f"{NEXT}-figures.json"
    return json.loads(file.read_text())[version][group][3]


def test_predictions_of_a_consumer_group_rank_the_variants_of_both_protocols(rows):
    """By partition downtime, but for pairs that are closer than the runs on the two versions."""
    changes = {str(SettingsChange.of(text.split())): name for name, text in OF_CONSUMER.items()}
    ours = {
        changes[row.setting]: row.unowned_partition_ms
        for row in rows["what_if"]
        if row.group_id == "orders-consumer" and row.basis != "observed" and row.setting in changes
    }
    wrong = []

    for one in ours:
        apart = max(abs(truth(one, "4.1.2") - truth(one)), 0.05 * truth(one))
        for another in ours:
            if truth(one) + apart < truth(another) and ours[one] >= ours[another]:
                wrong.append((one, another))

    assert ours.keys() == OF_CONSUMER.keys()
    assert wrong == []


def test_an_eager_group_gains_with_its_timeouts_and_loses_with_the_brokers(rows):
    """True: 459 s with its timeouts, 1258 s with the broker's defaults, instead of 799 s."""
    verdicts = {row.group_id: row for row in rows["migration_advice"]}
    base = verdicts["orders-base"]

    assert (base.verdict, base.setting) == (
        "migrate",
        str(SettingsChange.of(OF_CLASSIC[0].split())),
    )
    assert base.unowned_predicted_partition_ms == pytest.approx(truth("orders-consumer"), rel=0.25)
    assert base.unowned_defaults_partition_ms == pytest.approx(
        truth("orders-consumer-default"), rel=0.25
    )
    assert base.worse.startswith("without consumer.session.timeout.ms the broker's default applies")
    assert [(each.blocker, each.effect) for each in base.blockers] == [("client_version", "check")]
    assert "group.consumer.min.session.timeout.ms=10000" in base.broker_properties.splitlines()
    assert verdicts["orders-consumer"].verdict == "migrated"


def test_the_sweep_observes_a_consumer_group_as_the_tables_have_it(rows):
    (observed,) = [
        row
        for row in rows["what_if"]
        if (row.group_id, row.basis) == ("orders-consumer", "observed")
    ]

    # The script causes 27 rebalances, and the evidence includes the shutdown after it.
    assert observed.rebalances >= 27
    assert observed.unavailable_partition_ms == pytest.approx(truth("orders-consumer"), rel=0.05)
    assert observed.era == "4.4"
