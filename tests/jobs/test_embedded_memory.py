"""A run whose plans need more memory than the embedded engine may use."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jobs.engine import embedded

pytestmark = pytest.mark.seldom

ROOT = Path(__file__).parents[2]
INCIDENT = ROOT / "examples" / "mixed-clients-4.1.2"


def nightly(lake, **environment):
    command = [sys.executable, "-m", "jobs.command_line.cli", "nightly", "--engine", "embedded"]
    command += ["--lake", str(lake), "--cluster-id", "c", "--segments", f"{INCIDENT}/segments"]
    return subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_a_run_without_enough_memory_ends_with_a_line_about_spark_and_can_be_repeated(tmp_path):
    small = nightly(tmp_path, **{embedded.POOL_SIZE: "1000000"})
    repeated = nightly(tmp_path)

    assert small.returncode == 1
    [line] = [line for line in small.stderr.splitlines() if line.startswith("regroup: ")]
    assert line.startswith("regroup: the embedded engine ran out of memory: use Spark")
    assert repeated.returncode == 0, repeated.stderr
