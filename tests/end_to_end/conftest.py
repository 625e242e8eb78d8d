"""The lakes of `make demo`, one per engine, written once for all test processes."""

import fcntl
import os
from functools import cache
from pathlib import Path

import pytest

from jobs.nightly_run.demo import INCIDENTS
from tests.end_to_end.incident_lake import IncidentLake


@pytest.fixture(scope="session")
def demo_by(tmp_path_factory):
    """``demo_by(engine)``: the lake that this engine wrote."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent

    @cache
    def written_by(engine):
        root = folder / f"demo-{engine}"
        with open(folder / f"{engine}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not root.is_dir():
                partial = IncidentLake(f"{root}-partial", engine)
                for cluster, incident in INCIDENTS.items():
                    partial.run(cluster, incident / "segments", incident / "server.log")
                Path(partial.root).rename(root)
        return IncidentLake(str(root), engine)

    return written_by


@pytest.fixture(scope="module")
def demo(demo_by, engine):
    """Read-only: a test that writes uses a copy."""
    return demo_by(engine)
