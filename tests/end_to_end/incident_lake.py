"""A lake into which incidents are read."""

import shutil
from dataclasses import dataclass

from jobs import ingest
from jobs.command_line.config import load_config
from jobs.engine.session import build_session
from jobs.lake.opening import open_lake
from jobs.lake.scope import AllDates
from jobs.lake.sql import query
from jobs.nightly import NightlyOptions, inputs_of, nightly
from jobs.nightly_run.pipeline import Progress, run_all


@dataclass(frozen=True)
class IncidentLake:
    root: str

    def run(self, cluster_id, segments, broker_log, jobs=None):
        """Run nightly, or ingest and only these jobs."""
        options = NightlyOptions(
            self.root, cluster_id, segments=str(segments), broker_log=str(broker_log)
        )
        config = load_config(None)
        if jobs is None:
            nightly(options, config)
            return
        lake = open_lake(build_session(config), self.root, cluster_id)
        ingest.run(lake, inputs_of(options, config))
        run_all(AllDates(lake), Progress(), jobs)

    def copy(self, folder):
        return IncidentLake(str(shutil.copytree(self.root, folder / "lake")))

    def rows(self, sql):
        return query(self.root, sql)[1]
