"""One lake for all questions: the incidents of examples/ and tests/data/twins, each read once."""

import tarfile
from pathlib import Path

import pytest

from jobs.check import broken_laws
from jobs.config import load_config
from jobs.nightly import Request, nightly
from jobs.sql import query

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
TWINS = ROOT / "tests" / "data" / "twins"


class Lakes:
    """Runs the nightly on an incident when its tables are first asked for."""

    examples = EXAMPLES

    def __init__(self, folder):
        self.folder = folder
        self._done = set()

    @property
    def root(self):
        return str(self.folder / "lake")

    def run(self, cluster_id, incident, segments="segments", log="server.log"):
        if cluster_id not in self._done:
            nightly(
                Request(
                    self.root,
                    cluster_id,
                    segments=str(incident / segments),
                    broker_log=str(incident / log),
                ),
                load_config(None),
            )
            self._done.add(cluster_id)

    def rows(self, sql):
        return query(self.root, sql)[1]

    def broken_laws(self):
        return broken_laws(self.root)[1]


@pytest.fixture(scope="session")
def lakes(tmp_path_factory):
    return Lakes(tmp_path_factory.mktemp("lakes"))


@pytest.fixture(scope="session")
def twins(tmp_path_factory):
    """The unpacked twins of a Kafka version."""
    unpacked = {}

    def unpack(version):
        if version not in unpacked:
            unpacked[version] = tmp_path_factory.mktemp(f"twins-{version}")
            with tarfile.open(TWINS / f"rolling-deploy-and-crash-{version}.tar.gz") as archive:
                archive.extractall(unpacked[version], filter="data")
        return unpacked[version]

    return unpack
