"""`regroup gate --since`: how long ago the deployment began."""

from datetime import UTC, datetime, timedelta

import pytest

from jobs.console.errors import UsageError
from jobs.what_if import gate


def test_a_duration_counts_from_the_start_of_the_command(monkeypatch):
    asked = []

    def evaluate(options):
        asked.append(options)
        return gate.Verdict(len(asked) == 2, "")

    monkeypatch.setattr(gate, "evaluate", evaluate)
    monkeypatch.setattr(gate, "_POLL_S", 0.1)
    options = gate.GateOptions(
        lake="/lake", cluster_id="c", group_id="g", since="15m", timeout="1m"
    )

    assert gate.run(options) == 0

    first, second = (datetime.fromisoformat(each.since) for each in asked)
    assert first == second
    age = datetime.now(UTC) - first
    assert timedelta(minutes=15) <= age < timedelta(minutes=16)


def test_neither_a_time_nor_a_duration(monkeypatch, tmp_path):
    options = gate.GateOptions(lake=str(tmp_path), cluster_id="c", group_id="g", since="soon")

    with pytest.raises(UsageError, match=r"^--since soon: expected a UTC time, e.g. 2026"):
        gate.run(options)
