"""The lake that `make demo` makes, made once however many processes run the tests."""

import fcntl
import os
from pathlib import Path

import pytest

from jobs.nightly_run.demo import INCIDENTS
from tests.end_to_end.played import Played


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    """For reading only: whoever writes takes a copy."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    made = folder / "demo"
    with open(folder / "demo.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.is_dir():
            making = Played(str(folder / "demo-in-the-making"))
            for cluster, incident in INCIDENTS.items():
                making.run(cluster, incident / "segments", incident / "server.log")
            Path(making.root).rename(made)
    return Played(str(made))
