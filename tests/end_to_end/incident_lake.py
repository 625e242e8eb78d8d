"""A lake into which incidents are read."""

import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from jobs.configuration.config import Engine, load_config
from jobs.lake.sql import query
from jobs.nightly import NightlyOptions, nightly
from tests.engines import using

NEW_GROUPS = Path(__file__).parents[1] / "data" / "modern_groups"


@dataclass(frozen=True)
class IncidentLake:
    root: str
    engine: str

    def run(self, cluster_id, segments=None, broker_log=None, **options):
        files = {"segments": segments, "broker_log": broker_log}
        sources = {name: path and str(path) for name, path in files.items()}
        self._nightly(NightlyOptions(lake=self.root, cluster_id=cluster_id, **sources, **options))

    def run_incident(self, cluster_id, incident):
        """Read the folder of an incident in examples/."""
        self.run(cluster_id, incident / "segments", incident / "server.log")

    def kill_run(self, cluster_id, incident):
        """Kill the run of another process, with its JVM and workers, after it stored records."""
        where = ["--lake", self.root, "--cluster-id", cluster_id, "--engine", self.engine]
        sources = ["--segments", f"{incident}/segments", "--broker-log", f"{incident}/server.log"]
        process = subprocess.Popen(
            [sys.executable, "-m", "jobs.command_line.cli", "nightly", *where, *sources],
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            assert any(line.startswith("group_metadata") for line in process.stderr)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def read_modern_groups(self, cluster):
        """The cluster of this folder of tests/data/modern_groups."""
        dump, log = (NEW_GROUPS / cluster / name for name in ("records.jsonl.gz", "server.log.gz"))
        self.run(cluster, dump=str(dump), broker_log=log)

    def recompute(self, cluster_id):
        self._nightly(NightlyOptions(lake=self.root, cluster_id=cluster_id, recompute_all=True))

    def _nightly(self, options):
        with using(self.engine):
            nightly(options, load_config(None, Engine(self.engine)))

    def copy(self, folder):
        return IncidentLake(str(shutil.copytree(self.root, folder / "lake")), self.engine)

    def rows(self, sql):
        return query(self.root, sql)[1]
