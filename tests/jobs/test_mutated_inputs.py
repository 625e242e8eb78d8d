"""Mutated inputs of the fuzz campaign: both engines read them alike, and all are counted."""

import pytest

from jobs import ingest
from jobs.checks.check import broken_laws
from jobs.configuration.config import Config
from jobs.lake.opening import open_lake
from jobs.lake.sql import query
from jobs.nightly import NightlyOptions, inputs_of
from tests.engines import using
from tools.faults.lakes import tables_of
from tools.fuzz.campaign import sources_of, write_inputs

pytestmark = pytest.mark.seldom

SEED, COUNT = 21, 36
# Each engine has its own order of a map's entries.
COUNTS = """
    SELECT * REPLACE (LIST_SORT(MAP_ENTRIES(kept_by_date)) AS kept_by_date)
    FROM ingested_files ORDER BY file, topic_partition"""


@pytest.mark.spark
def test_both_engines_read_mutated_inputs_alike(sessions, tmp_path):
    write_inputs(tmp_path, 0, COUNT, SEED)
    options = NightlyOptions(lake="", cluster_id="c", **sources_of(tmp_path))
    tables = {}

    for engine in ("spark", "embedded"):
        with using(engine):
            lake = open_lake(sessions(engine), str(tmp_path / engine), "c")
            assert ingest.run(lake, inputs_of(options, Config())) == 0, f"seed {SEED}"
        tables[engine] = tables_of(lake.root) | {"ingested_files": query(lake.root, COUNTS)[1]}
        assert broken_laws(lake.root)[1] == [], f"seed {SEED}"

    assert tables["spark"] == tables["embedded"], f"seed {SEED}"
    ((quarantined,),) = query(lake.root, "SELECT SUM(quarantined) FROM ingested_files")[1]
    assert quarantined > 0
