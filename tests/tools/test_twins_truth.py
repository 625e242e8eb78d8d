"""The figures of played scripts equal those that were counted elsewhere from the same evidence."""

import json
import tarfile
from pathlib import Path

import pytest

from coordinator_core.log_lines import parse_line
from tools.twins.truth import Window, classic_figures, consumer_figures, records_of, unowned_ms

TWINS = Path(__file__).parents[1] / "data" / "twins"
SCRIPT, RUN = "next-rolling-deploy-and-crash", "4.4.0"


@pytest.fixture(scope="module")
def play(tmp_path_factory):
    """Window, records, log and counted figures of the group family invoices."""
    folder = tmp_path_factory.mktemp("play")
    with tarfile.open(TWINS / f"{SCRIPT}-{RUN}.tar.gz") as packed:
        packed.extractall(folder, filter="data")
    (times,) = [
        each
        for each in json.loads((TWINS / "callbacks.json").read_text())[f"{SCRIPT}-{RUN}"]
        if "invoices-base" in each["unowned_partition_ms"]
    ]
    log = (folder / "invoices" / "server.log").read_text().splitlines()
    return (
        Window(times["t0_wall_ms"], times["t0_wall_ms"] + times["window_ms"]),
        list(records_of(folder / "invoices" / "segments")),
        [line for line in map(parse_line, log) if line is not None],
        json.loads((TWINS / f"{SCRIPT}-figures.json").read_text())[RUN],
    )


@pytest.mark.parametrize("variant", ["consumer", "consumer-static", "consumer-session"])
def test_figures_of_consumer_groups(play, variant):
    window, records, _, counted = play

    figures = consumer_figures(f"invoices-{variant}", records, window)

    assert list(figures.values()) == counted[f"invoices-{variant}"][:3]


@pytest.mark.parametrize("variant", ["base", "cooperative"])
def test_figures_of_classic_groups(play, variant):
    window, records, log, counted = play
    group = f"invoices-{variant}"

    assert consumer_figures(group, records, window) is None
    assert list(classic_figures(group, records, log, window).values()) == counted[group][:3]


def test_time_without_an_owner():
    """Two partitions lose their owner by kill, one by a revocation; before its first owner a
    partition does not count, nor does time after the window.
    """

    def line(wall_ms, pid, what, *numbers):
        partitions = {"partitions": [["t", number] for number in numbers]} if numbers else {}
        return {"wall_ms": wall_ms, "pid": pid, "what": what, **partitions}

    clients = [
        line(1000, 1, "assigned", 0, 1, 2),
        line(2000, 1, "revoked", 2),
        line(2500, 2, "assigned", 2),
        line(5000, 2, "assigned", 0),
        line(9000, 2, "closed"),
    ]
    timeline = [{"wall_ms": 4000, "group": "g", "action": "kill", "pid": 1}]

    # Unowned are partition 2 for 500 ms, partition 0 for 1000 ms, partition 1 from 4000 on, and all
    # partitions from 9000 to the window's end.
    assert unowned_ms("g", clients, timeline, Window(0, 10_000)) == 500 + 1000 + 6000 + 2000
