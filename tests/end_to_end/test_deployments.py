"""Plans of real groups beside their captured deployments, and the gate after one of them."""

import json
import tarfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from jobs.what_if import autoscale, gate
from tests.end_to_end.cut_play import cut
from tools.deployments.compare import CLUSTER, fill, orders, ways

pytestmark = pytest.mark.seldom

ARCHIVE = Path(__file__).parents[1] / "data" / "deployments" / "4.4.0.tar.gz"


@pytest.fixture(scope="module")
def play(made_once):
    """The play, with a lake of its evidence, and of its evidence before the second deployment."""

    def make(folder):
        folder.mkdir()
        with tarfile.open(ARCHIVE) as packed:
            packed.extractall(folder, filter="data")
        fill(folder / "lake", folder)
        cut(folder, folder / "begin", deployment(folder)["to_ms"] - 500)
        fill(folder / "begin" / "lake", folder / "begin")

    return made_once("deployments", make)


def truth(play):
    return json.loads((play / "truth.json").read_text())


def deployment(play):
    """The first one, one by one every 10 s."""
    return truth(play)["groups"]["eager-java"][0]


@pytest.fixture(scope="module")
def compared(play):
    """Each way to deploy each group: captured and planned."""
    return list(ways(str(play / "lake"), truth(play)))


@pytest.mark.campaign
@pytest.mark.parametrize(
    ("figure", "pairs"), [("unavailable_partition_ms", 59), ("rebalances", 62)]
)
def test_ways_that_differ_are_planned_in_the_captured_order(compared, figure, pairs):
    judged = [each for each in orders(compared) if each.figure == figure]

    assert len(judged) == pairs
    assert [each for each in judged if not each.is_same] == []


@pytest.mark.campaign
@pytest.mark.parametrize(
    ("figure", "near"),
    [
        ("unavailable_partition_ms", 39),
        ("rebalances", 40),
        ("not_stable_ms", 40),
        ("moved_partitions", 40),
        ("records_reprocessed", 39),
    ],
)
def test_planned_figures_are_near_the_captured_ones(compared, figure, near):
    """Of 40: within a quarter of the mean, or within the range of the repetitions."""
    assert len(compared) == 40
    assert sum(way.is_near(figure) for way in compared) >= near


@pytest.mark.parametrize("group", ["eager-java", "static-librdkafka", "consumer-java"])
def test_the_gate_opens_after_a_deployment(play, group):
    """A time within the deployment leaves processes of before it."""
    begin_ms = deployment(play)["from_ms"]
    sentences = {}
    for since_ms in (begin_ms - 1500, begin_ms + 32_000):
        options = gate.GateOptions(
            lake=str(play / "begin" / "lake"),
            cluster_id=CLUSTER,
            group_id=group,
            since=datetime.fromtimestamp(since_ms / 1000, UTC).isoformat(),
        )
        verdict = gate.evaluate(options)
        sentences[verdict.is_done] = verdict.sentence

    assert sentences[True].startswith(
        f"group {group}: deployed: 6 new processes, one by one, every 10 s; observed (planned): "
    )
    assert sentences[False].startswith(f"group {group}: 3 of 6 processes started before ")


def test_the_gate_waits_until_a_run_has_filled_the_lake(play, tmp_path, capsys):
    first = deployment(play)
    cut(play, tmp_path, first["from_ms"] + 32_000)
    fill(tmp_path / "lake", tmp_path)
    options = gate.GateOptions(
        lake=str(tmp_path / "lake"),
        cluster_id=CLUSTER,
        group_id="eager-java",
        since=datetime.fromtimestamp(first["from_ms"] / 1000 - 1, UTC).isoformat(),
    )
    assert gate.run(options) == 1
    assert capsys.readouterr().out.startswith("group eager-java: 2 of 5 processes started before ")

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(gate.run, replace(options, timeout="5m"))
        cut(play, tmp_path, first["to_ms"] - 500)
        fill(tmp_path / "lake", tmp_path)

        assert waiting.result() == 0
    assert capsys.readouterr().out.startswith("group eager-java: deployed: 6 new processes, one")


def test_an_autoscaler_over_the_observed_load(play, tmp_path):
    """60 records per second: with one process per 50 records of lag, the six that run suffice."""
    file = tmp_path / "keda.yaml"
    file.write_text(
        "kind: ScaledObject\nspec:\n  minReplicaCount: 1\n  triggers:\n  - type: kafka\n"
        "    metadata:\n      lagThreshold: '50'\n"
    )

    result = autoscale.evaluate(
        autoscale.AutoscaleOptions(
            lake=str(play / "lake"), cluster_id=CLUSTER, group_id="eager-java", file=str(file)
        )
    )

    load = result.load.load
    assert result.load.source == "end offsets"
    assert 59 <= sum(load.records) / len(load.records) <= 61
    assert 9 <= load.capacity <= 12
    assert load.partitions == 12
    policies = {str(each.changed): each for each in result.plans}
    nervous = policies["{'stabilizationWindowSeconds': 60}"].usual.rebalances
    assert nervous > 2 * policies["{}"].usual.rebalances
    assert result.plans[result.recommended].usual.rebalances <= policies["{}"].usual.rebalances
