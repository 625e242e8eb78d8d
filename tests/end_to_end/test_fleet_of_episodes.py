"""Episodes of simulated groups with one plan each; the fleet of `make -C bench episodes`."""

import pytest

from bench.episodes.__main__ import differences, episodes, read, rebalances, simulate
from jobs.checks.check import broken_laws
from jobs.configuration.config import Engine, load_config
from tests.engines import using

pytestmark = pytest.mark.seldom


@pytest.mark.parametrize("era", ["3.9", "4.1"])
def test_each_plan_is_its_episode_and_each_rebalance_is_in_one(era, tmp_path):
    acted = simulate(17, era, 1, tmp_path / "fleet")
    with using("embedded"):
        read(tmp_path / "fleet", tmp_path / "lake", load_config(None, Engine("embedded")))

    assert list(differences(acted, episodes(tmp_path / "lake"))) == []
    assert rebalances(tmp_path / "lake")[0] == rebalances(tmp_path / "lake")[1] > 60
    assert broken_laws(str(tmp_path / "lake"))[1] == []
