"""Advice of one night, changes of the groups, and the verdict of the next night on a real play."""

import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from jobs.lake.sql import query
from tests.end_to_end.cut_play import cut

pytestmark = pytest.mark.seldom

ARCHIVE = Path(__file__).parents[1] / "data" / "deployments" / "changes-4.4.0.tar.gz"
CHANGED = 2  # number of the deployment that brings the change


def nightly(lake, play):
    command = [Path(sys.executable).with_name("regroup"), "nightly", "--engine", "embedded"]
    command += ["--lake", lake, "--cluster-id", "play", "--advice-budget", "5"]
    command += ["--segments", play / "segments", "--broker-log", play / "server.log"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def play(made_once):
    """The play with a lake of two nights; ``given.json``: rows of the first night."""

    def make(folder):
        folder.mkdir()
        with tarfile.open(ARCHIVE) as packed:
            packed.extractall(folder, filter="data")
        cut(folder, folder / "night", truth(folder)["scaled"][CHANGED]["from_ms"] - 500)
        nightly(folder / "lake", folder / "night")
        (folder / "given.json").write_text(json.dumps(rows(folder), default=str))
        nightly(folder / "lake", folder)

    return made_once("advice-outcomes", make)


def truth(play):
    return json.loads((play / "truth.json").read_text())["groups"]


def rows(play):
    columns, values, *_ = query(
        str(play / "lake"), "SELECT * FROM advice_outcomes ORDER BY group_id"
    )
    return [dict(zip(columns, row, strict=True)) for row in values]


def by_group(play):
    return {row["group_id"]: row for row in rows(play)}


@pytest.mark.parametrize(
    ("group", "carried_out", "verdict", "reason"),
    [
        ("advised-librdkafka", "yes", "as predicted", "per rolling deployment of 6 processes: "),
        # Since the change, the group's processes start 7 s later.
        (
            "slower",
            "yes",
            "worse",
            "per rolling deployment of 6 processes: partition downtime 96 s",
        ),
        ("otherwise", "no", None, "not carried out so far: 0 of 6 members have a group.instance"),
        ("partly", "partly", "not comparable", "carried out in part: 3 of 6 members have a group"),
        (
            "scaled",
            "yes",
            "not comparable",
            "no deployment of equal size: rolling deployment of 6 processes before,"
            " rolling deployment of 8 processes after",
        ),
    ],
)
def test_each_group_has_the_verdict_of_its_change(play, group, carried_out, verdict, reason):
    row = by_group(play)[group]

    assert (row["setting"], row["carried_out"], row["verdict"]) == (
        "membership=static",
        carried_out,
        verdict,
    )
    assert row["reason"].startswith(reason)


@pytest.mark.parametrize("group", ["advised-librdkafka", "slower"])
def test_figures_are_those_of_the_callbacks(play, group):
    """Partition downtime: of the clients' callbacks, which are some ms later than the records."""
    before, after = truth(play)[group][:CHANGED], truth(play)[group][CHANGED + 1 :]
    figures = {each["figure"]: each for each in by_group(play)[group]["figures"]}

    for name, noise in (
        ("rebalances", 0),
        ("not_stable_ms", 1),
        ("moved_partitions", 0),
        ("unavailable_partition_ms", 800),
    ):
        for side, deployments in (("before", before), ("after", after)):
            least, most = (end(each[name] for each in deployments) for end in (min, max))
            assert abs(figures[name][f"{side}_min"] - least) <= noise, (name, side)
            assert abs(figures[name][f"{side}_max"] - most) <= noise, (name, side)


def test_the_prediction_is_that_of_the_last_night_before_the_change(play):
    first_night = {row["group_id"]: row for row in json.loads((play / "given.json").read_text())}

    for group, row in by_group(play).items():
        assert first_night[group]["verdict"] is None
        if row["carried_out"] == "no":
            # The second night renewed the advice, because it knows of further deployments.
            assert row["advised_time"] > row["first_advised_time"]
            continue
        assert row["predictions"] == first_night[group]["predictions"]
        assert str(row["first_advised_time"]) == first_night[group]["first_advised_time"]


def test_advice_that_was_carried_out_is_given_no_more(play):
    _, advice, *_ = query(str(play / "lake"), "SELECT group_id, setting FROM advice")

    assert dict(advice) == {
        "advised-librdkafka": None,
        "slower": None,
        "scaled": None,
        "otherwise": "membership=static",
        "partly": "membership=static",
    }
