"""A slice of the fuzz campaign: mutated inputs fail no run, and every input is counted."""

import pytest

from jobs.checks.check import broken_laws
from tests.end_to_end.incident_lake import IncidentLake
from tools.fuzz import reading, rotations
from tools.fuzz.campaign import campaign
from tools.fuzz.large import long_list, nested_json

pytestmark = pytest.mark.seldom

SEED, COUNT = 20, 42


def test_mutated_inputs_fail_no_run(tmp_path):
    (result,) = campaign(tmp_path, count=COUNT, seed=SEED, engine="embedded", per_run=COUNT)

    counts = result.counts
    assert result.faults == [], f"seed {SEED}"
    assert counts["inputs"] == counts["kept"] + counts["quarantined"] + counts["skipped"]
    assert min(counts.values()) > 0


def test_mutated_logs_lose_no_line(tmp_path):
    (*_, result) = reading.campaign(tmp_path, count=40, seed=SEED)

    assert result.faults == [], f"seed {SEED}"
    assert result.counts["files"] == 40
    assert min(result.counts.values()) > 0


def test_copies_of_mutated_logs_count_once(tmp_path):
    logs = rotations.write_logs(tmp_path, 0, 12, SEED)

    assert len(logs) > 6
    assert list(rotations.faults_of(tmp_path, logs)) == [], f"seed {SEED}"


@pytest.mark.parametrize("write", [long_list, nested_json])
def test_what_is_around_a_large_input_is_read(tmp_path, write):
    write(tmp_path)
    lake = IncidentLake(str(tmp_path / "lake"), "embedded")
    segments, log = (tmp_path / name for name in ("segments", "server.log"))

    lake.run("c", segments if segments.exists() else None, log if log.exists() else None)

    tables = "group_metadata" if segments.exists() else "group_events"
    assert lake.rows(f"SELECT DISTINCT group_id FROM {tables} ORDER BY 1") == [
        ("after",), ("before",),
    ]  # fmt: skip
    assert broken_laws(lake.root)[1] == []
