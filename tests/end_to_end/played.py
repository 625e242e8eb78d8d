"""A lake that an incident is read into."""

import shutil
from dataclasses import dataclass

from jobs.config import load_config
from jobs.nightly import Request, nightly
from jobs.sql import query


@dataclass(frozen=True)
class Played:
    root: str

    def run(self, cluster_id, segments, broker_log):
        request = Request(self.root, cluster_id, segments=str(segments), broker_log=str(broker_log))
        nightly(request, load_config(None))

    def copy(self, folder):
        return Played(str(shutil.copytree(self.root, folder / "lake")))

    def rows(self, sql):
        return query(self.root, sql)[1]
