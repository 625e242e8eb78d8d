"""The lake of `make demo`, written once for all test processes."""

import fcntl
import os
from pathlib import Path

import pytest

from jobs.nightly_run.demo import INCIDENTS
from tests.end_to_end.incident_lake import IncidentLake


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    """Read-only: a test that writes uses a copy."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    root = folder / "demo"
    with open(folder / "demo.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not root.is_dir():
            partial = IncidentLake(str(folder / "demo-partial"))
            for cluster, incident in INCIDENTS.items():
                partial.run(cluster, incident / "segments", incident / "server.log")
            Path(partial.root).rename(root)
    return IncidentLake(str(root))
