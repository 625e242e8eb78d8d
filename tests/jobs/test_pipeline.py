"""Jobs begin once the tables that they need are written."""

import threading
from contextlib import nullcontext
from types import SimpleNamespace

from jobs.nightly_run import pipeline
from jobs.nightly_run.pipeline import Progress, run_all

SCOPE = SimpleNamespace(lake=SimpleNamespace(derivation_lock=nullcontext))


def order(monkeypatch, reads, awaited, patience_s):
    """The jobs in the order in which they ended; group_events takes until ``awaited`` has ended,
    at most ``patience_s``."""
    ended, has_ended = [], threading.Event()

    def run(name):
        if name == "group_events":
            has_ended.wait(patience_s)
        ended.append(name)
        if name == awaited:
            has_ended.set()

    def job(name):
        return SimpleNamespace(READS=reads[name], run=lambda scope: run(name))

    monkeypatch.setattr(pipeline, "job", job)
    run_all(SCOPE, Progress(), list(reads))
    return ended


def test_a_job_that_reads_events_waits_for_all_tables_of_events(monkeypatch):
    """The groups of a run may be named by a log line only."""
    ended = order(
        monkeypatch,
        {
            "group_events": ("broker_log_events",),
            "group_metadata": ("offsets_records",),
            "group_records": ("offsets_records",),
            "committed_offsets": ("offsets_records",),
            "topic_ids": ("committed_offsets", "group_records"),
        },
        awaited="topic_ids",
        patience_s=0.2,
    )

    assert ended[-2:] == ["group_events", "topic_ids"]


def test_a_job_that_reads_no_events_does_not_wait(monkeypatch):
    ended = order(
        monkeypatch,
        {
            "group_events": ("broker_log_events",),
            "committed_offsets": ("offsets_records",),
            "churn": ("committed_offsets",),
        },
        awaited="churn",
        patience_s=60,
    )

    assert ended == ["committed_offsets", "churn", "group_events"]
