"""The sweep and `regroup what-if` of one group predict from the same baseline.

The sweep reads the evidence by the engine of the run, `regroup what-if` by DuckDB.
"""

import pickle

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from coordinator_core.whatif import NotAConsumerGroup
from jobs.engine.embedded import embedded_session
from jobs.lake.dates import NEVER_MS
from jobs.lake.evidence import unpacked
from jobs.lake.opening import open_lake
from jobs.what_if.command import WhatIfOptions, prediction_evidence
from jobs.what_if.evidence import PredictionEvidence
from jobs.what_if.periods import EvaluatedPeriod
from jobs.what_if_sweep import READS, cluster_evidence, evidence_by_group

pytestmark = [pytest.mark.slow, pytest.mark.again]

TWINS = [
    ("mixed-protocols", "4.4.0"),
    ("mixed-protocols", "4.1.2"),
    ("rolling-deploy-and-crash", "3.9.1"),
    ("flapping-and-slow-poll", "4.1.2"),
    ("next-rolling-deploy-and-crash", "4.4.0"),
]


@pytest.fixture(scope="module", params=[("demo", "kafka-3.9"), ("demo", "kafka-4.1"), *TWINS])
def swept(request, demo_by, twins_by):
    """Lake, cluster, its tables, and the end of its evidence."""
    script, cluster = request.param
    root = (demo_by("embedded") if script == "demo" else twins_by("embedded", *request.param)).root
    lake = open_lake(embedded_session(), root, cluster)
    return root, cluster, {name: lake.read(name) for name in READS}


def described(baseline, observed):
    """Without the evidence that explains the baseline."""
    values = {name: value for name, value in vars(baseline).items() if name != "explained"}
    explained = baseline.explained
    return values | {"era": explained.era, "delay": explained.delay, "observed": observed}


def of_sweep(tables, spans=None):
    """By group: the description of its baseline, or why it has none."""
    cluster = cluster_evidence(tables)

    def of_group(rows):
        keys, of_kind = unpacked(rows)
        group = keys["group_id"]
        own = PredictionEvidence(group, of_kind, cluster)
        from_ms, to_ms = spans[group] if spans else (None, None)
        try:
            baseline = own.baseline(from_ms=from_ms, to_ms=to_ms)
            value = described(baseline, own.observed(baseline))
        except NotAConsumerGroup as error:
            value = str(error)
        return pa.table({"group": [group], "value": [pickle.dumps(value)]})

    periods = {group: EvaluatedPeriod(*span, seeds=1) for group, span in (spans or {}).items()}
    rows = evidence_by_group(tables, periods).applyInArrow(of_group, "group STRING, value BINARY")
    return {row.group: pickle.loads(row.value) for row in rows.collect()}


def of_command(root, cluster, group, from_ms=None, to_ms=None):
    times = (from_ms or 0, NEVER_MS if to_ms is None else to_ms)
    own = prediction_evidence(WhatIfOptions(lake=root, cluster_id=cluster, group_id=group), *times)
    try:
        baseline = own.baseline(from_ms=from_ms, to_ms=to_ms)
        return described(baseline, own.observed(baseline))
    except NotAConsumerGroup as error:
        return str(error)


def test_the_sweep_and_what_if_predict_from_the_same_baseline(swept):
    root, cluster, tables = swept

    of_groups = of_sweep(tables)

    assert len(of_groups) >= 5
    for group, baseline in of_groups.items():
        assert baseline == of_command(root, cluster, group), group


def test_they_do_so_of_a_part_of_the_time(swept):
    """As in `regroup nightly`, the advice is about each group's worst date or hours."""
    root, cluster, tables = swept
    whole = {group: each for group, each in of_sweep(tables).items() if isinstance(each, dict)}
    spans = {
        group: ((3 * each["from_ms"] + each["to_ms"]) // 4, (each["from_ms"] + each["to_ms"]) // 2)
        for group, each in whole.items()
    }
    of_these = F.col("group_id").isin(list(spans))
    own = {
        name: rows.where(of_these) for name, rows in tables.items() if "group_id" in rows.columns
    }

    of_spans = of_sweep(tables | own, spans)

    assert of_spans.keys() == spans.keys()
    for group, baseline in of_spans.items():
        assert baseline == of_command(root, cluster, group, *spans[group]), group


@pytest.mark.parametrize("version", ["4.4.0", "4.1.2"])
def test_the_sweep_finds_the_settings_in_force(twins_by, version):
    """The brokers' files have group.consumer.session.timeout.ms=10000 and an interval of 3000."""
    root = twins_by("embedded", "mixed-protocols", version).root
    lake = open_lake(embedded_session(), root, version)

    baseline = of_sweep({name: lake.read(name) for name in READS})["inventory-static"]

    session_ms, interval_ms, assignor, *_ = baseline["consumer"]
    assert session_ms == pytest.approx(10_000, abs=300)
    assert (interval_ms, assignor) == (3000, "uniform")


def test_the_period_decides_whether_a_converted_group_was_classic(twins_by):
    """search-migrated was classic until 40 s after the script began."""
    root = twins_by("embedded", "mixed-protocols", "4.4.0").root
    began_ms = 1795401358264
    group = (root, "4.4.0", "search-migrated")

    before = of_command(*group, began_ms, began_ms + 39_000)
    across = of_command(*group, began_ms, began_ms + 60_000)

    assert (before["consumer"], before["protocols"]) == (None, {})
    assert set(across["protocols"].values()) == {"classic", "consumer"}
