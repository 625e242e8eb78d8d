"""A lake into which incidents are read."""

import shutil
from dataclasses import dataclass

from jobs import ingest
from jobs.command_line.config import load_config
from jobs.engine.choice import Engine
from jobs.lake.scope import AllDates
from jobs.lake.sql import query
from jobs.nightly import NightlyOptions, inputs_of, nightly, open_lake_of
from jobs.nightly_run.pipeline import Progress, run_all
from tests.engines import using


@dataclass(frozen=True)
class IncidentLake:
    root: str
    engine: str

    def run(self, cluster_id, segments, broker_log, jobs=None, **dates):
        """Run nightly, or ingest and only these jobs."""
        options = NightlyOptions(
            self.root, cluster_id, segments=str(segments), broker_log=str(broker_log), **dates
        )
        config = load_config(None, Engine(self.engine))
        with using(self.engine):
            if jobs is None:
                nightly(options, config)
                return
            inputs = inputs_of(options, config)
            lake = open_lake_of(options, inputs, config)
            ingest.run(lake, inputs)
            run_all(AllDates(lake), Progress(), jobs)

    def copy(self, folder):
        return IncidentLake(str(shutil.copytree(self.root, folder / "lake")), self.engine)

    def rows(self, sql):
        return query(self.root, sql)[1]
