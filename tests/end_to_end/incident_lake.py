"""A lake into which incidents are read."""

import shutil
from dataclasses import dataclass

from jobs.configuration.config import Engine, load_config
from jobs.lake.sql import query
from jobs.nightly import NightlyOptions, nightly
from tests.engines import using


@dataclass(frozen=True)
class IncidentLake:
    root: str
    engine: str

    def run(self, cluster_id, segments=None, broker_log=None, **options):
        files = {"segments": segments, "broker_log": broker_log}
        sources = {name: path and str(path) for name, path in files.items()}
        self._nightly(NightlyOptions(self.root, cluster_id, **sources, **options))

    def recompute(self, cluster_id):
        self._nightly(NightlyOptions(self.root, cluster_id, recompute_all=True))

    def _nightly(self, options):
        with using(self.engine):
            nightly(options, load_config(None, Engine(self.engine)))

    def copy(self, folder):
        return IncidentLake(str(shutil.copytree(self.root, folder / "lake")), self.engine)

    def rows(self, sql):
        return query(self.root, sql)[1]
