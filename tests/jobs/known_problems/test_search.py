"""Which symptoms are searched, and what they read."""

import pytest

from jobs.known_problems import search
from jobs.known_problems.rows import findings_of
from jobs.lake import shared
from schemas.known_problems import problem
from tests.jobs.known_problems.conftest import as_rows


class Recorded:
    """`Evidence` that keeps the SELECTs."""

    def __init__(self, evidence):
        self._evidence, self.has, self.selects = evidence, evidence.has, []

    def rows(self, select):
        self.selects.append(select)
        return self._evidence.rows(select)


@pytest.mark.parametrize(
    ("client_id", "is_searched"),
    [
        pytest.param("billing-7", False, id="library not known"),
        pytest.param("rdkafka", False, id="another library"),
        pytest.param("kafka-python-3.0.7", True, id="version known"),
    ],
)
def test_symptoms_that_other_causes_have_need_the_version_of_a_client(
    evidence_of, client_id, is_searched
):
    in_group = {"group_id": "g", "topic": "t", "partition": 0, "member_id": "m"}
    tables = {
        "generation_members": [{"group_id": "g", "member_id": "m", "client_id": client_id}],
        "assignments": [in_group | {"generation": 1}],
        "committed_offsets": [in_group | {"log_offset": 1, "committed_offset": 5}],
    }
    for row in tables["committed_offsets"]:
        del row["member_id"]
    evidence = Recorded(evidence_of(as_rows(tables)))
    of_kafka_python = problem("kafka-python-3131")

    assert findings_of([of_kafka_python], evidence, lambda: ()) == []
    assert (of_kafka_python.symptom in evidence.selects) == is_searched


def test_views_over_all_commits_are_computed_once(evidence_of, monkeypatch):
    evidence, views = evidence_of(as_rows({})), []

    def counted(rows):
        views.append(sorted(rows.columns)[:3])
        return rows

    monkeypatch.setattr(shared, "computed", counted)
    for name in ("kafka-python-3131", "librdkafka-1.9.0-stored-offsets", "kafkajs-1046"):
        assert evidence.rows(problem(name).symptom) == []

    of_engine = [
        ["cluster_id", "commits", "first_time"],
        ["append_time", "cluster_id", "committed_offset"],
    ]
    assert views == (of_engine if isinstance(evidence, search.EngineEvidence) else [])
