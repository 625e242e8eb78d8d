"""Both engines give the same tables, and each continues a lake of the other or an older version.

See test_twins, test_days and test_hostile_names for other inputs.
"""

import gzip
from itertools import count
from pathlib import Path

import pytest

from jobs.checks.check import broken_laws
from jobs.nightly_run.demo import INCIDENTS
from tests.end_to_end.incident_lake import IncidentLake
from tests.engines import OTHER
from tools.faults.lakes import column_dropped, tables_of

CAPTURES = Path(__file__).parents[1] / "data" / "segments"
CLUSTER, OTHER_CLUSTER = "kafka-4.1", "kafka-3.9"

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    """All captured segments as one cluster: all codecs and formats, a compacted topic,
    transactions, and segments that end in a batch."""
    folder = tmp_path_factory.mktemp("captured")
    for number, partition in zip(count(), sorted(CAPTURES.glob("*/__consumer_offsets-*"))):
        target = folder / f"__consumer_offsets-{number}"
        target.mkdir()
        for segment in partition.glob("*.log.gz"):
            (target / segment.stem).write_bytes(gzip.decompress(segment.read_bytes()))
    return folder


@pytest.mark.every_time
def test_the_demo_lakes_are_equal(demo_by):
    """Spark's run was killed and started again."""
    in_spark, embedded = (tables_of(demo_by(engine).root) for engine in ("spark", "embedded"))

    assert in_spark.keys() == embedded.keys()
    for table, rows in in_spark.items():
        assert embedded[table] == rows, table


@pytest.mark.again_on_spark
def test_the_other_incident_on_spark_gives_the_same_tables(demo_by, tmp_path):
    """Of the demo, Spark has read CLUSTER alone."""
    lake = IncidentLake(str(tmp_path), "spark")
    lake.run_incident(OTHER_CLUSTER, INCIDENTS[OTHER_CLUSTER])

    embedded = tables_of(demo_by("embedded").root)
    for table, rows in tables_of(lake.root).items():
        of_cluster = [row for row in embedded[table] if row.startswith(f"('{OTHER_CLUSTER}',")]
        assert rows == of_cluster, table


def test_captured_segments_give_the_same_tables(captured, tmp_path):
    tables = {}
    for engine in ("spark", "embedded"):
        lake = IncidentLake(str(tmp_path / engine), engine)
        lake.run("c", captured)
        tables[engine] = tables_of(lake.root)

    assert len(tables["spark"]["offsets_records"]) > 1000
    for table, rows in tables["spark"].items():
        assert tables["embedded"][table] == rows, table


@pytest.mark.parametrize(
    "engine",
    [pytest.param("spark", marks=pytest.mark.every_time), "embedded"],
    indirect=True,
    scope="module",
)
def test_an_engine_continues_an_older_lake_of_the_other_engine(demo, tmp_path):
    older = demo.copy(tmp_path)
    for table in ("timeline", "generations", "churn"):
        column_dropped(older.root, table)

    IncidentLake(older.root, OTHER[demo.engine]).recompute(CLUSTER)

    expected = tables_of(demo.root)
    for table, rows in tables_of(older.root).items():
        of_cluster = [row for row in expected[table] if row.startswith(f"('{CLUSTER}',")]
        assert [row for row in rows if row.startswith(f"('{CLUSTER}',")] == of_cluster, table
    # The rows of the other cluster still lack the columns.
    assert {row[1] for row in broken_laws(older.root)[1]} == {OTHER_CLUSTER}
