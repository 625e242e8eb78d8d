"""Plans of real groups beside their captured deployments, and the gate after one of them."""

import json
import tarfile
from pathlib import Path

import pytest

from tools.deployments.compare import fill, orders, ways

ARCHIVE = Path(__file__).parents[1] / "data" / "deployments" / "4.4.0.tar.gz"


@pytest.fixture(scope="module")
def compared(made_once):
    """Each way to deploy each group: captured and planned."""

    def make(folder):
        folder.mkdir()
        with tarfile.open(ARCHIVE) as packed:
            packed.extractall(folder, filter="data")
        fill(folder / "lake", folder)

    folder = made_once("deployments", make)
    return list(ways(str(folder / "lake"), json.loads((folder / "truth.json").read_text())))


@pytest.mark.parametrize(
    ("figure", "pairs"), [("unavailable_partition_ms", 59), ("rebalances", 62)]
)
def test_ways_that_differ_are_planned_in_the_captured_order(compared, figure, pairs):
    judged = [each for each in orders(compared) if each.figure == figure]

    assert len(judged) == pairs
    assert [each for each in judged if not each.is_same] == []


@pytest.mark.parametrize(
    ("figure", "near"),
    [
        ("unavailable_partition_ms", 37),
        ("rebalances", 39),
        ("not_stable_ms", 39),
        ("moved_partitions", 37),
        ("records_reprocessed", 37),
    ],
)
def test_planned_figures_are_near_the_captured_ones(compared, figure, near):
    """Of 40: within a quarter of the mean, or within the range of the repetitions."""
    assert len(compared) == 40
    assert sum(way.is_near(figure) for way in compared) >= near
