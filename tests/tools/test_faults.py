"""A slice of `make -C tools faults` on the embedded engine: one or two tries of each fault.

`make test` has the full disk; tests/end_to_end has a killed run and two runs at once, too.
"""

import os
import random
import signal

import pytest

from tools.faults import runs
from tools.faults.__main__ import INCIDENT
from tools.faults.runs import CLEAR, SAME

pytestmark = [pytest.mark.slow, pytest.mark.seldom]
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small file system")
SEED = 2


@pytest.fixture(scope="module")
def without_fault(tmp_path_factory):
    return runs.RunsWithoutFault(INCIDENT, tmp_path_factory.mktemp("faults"), ["embedded"])


@pytest.mark.parametrize(
    ("campaign", "verdicts"),
    [
        pytest.param(runs.kills, [SAME], id="killed", marks=pytest.mark.campaign),
        pytest.param(
            runs.two_at_once,
            [SAME, SAME],
            id="two runs at once, one and two clusters",
            marks=pytest.mark.campaign,
        ),
        pytest.param(runs.full_disks, [CLEAR], id="disk full", marks=needs_root),
        pytest.param(
            runs.full_temporary_folders,
            [CLEAR],
            id="no room for temporary files",
            marks=[needs_root, pytest.mark.campaign],
        ),
    ],
)
def test_the_next_run_gives_the_tables_of_a_run_without_a_fault(
    without_fault, tmp_path, campaign, verdicts
):
    tries = campaign(without_fault, tmp_path / "lakes", len(verdicts), random.Random(SEED))

    assert list(tries) == verdicts


def test_a_process_that_outlives_its_run_is_found():
    run = runs.NightlyProcess(["sh", "-c", "sleep 30 2>/dev/null >/dev/null & exit 0"])
    run.wait()

    assert run.left_running(timeout_s=0)
    os.killpg(run.process.pid, signal.SIGKILL)
    assert not run.left_running()
