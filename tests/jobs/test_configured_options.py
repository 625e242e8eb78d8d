"""Options of commands from the environment and from regroup.toml."""

import pytest
from typer.testing import CliRunner

from jobs.command_line.cli import app
from jobs.command_line.configured import _values
from jobs.console.errors import UsageError
from jobs.lake.sql import query

FILE = """
lake = "/lake"
cluster_id = "prod"
[clusters.prod]
kafka = "a:1"
broker_log = "/prod/*.log"
page = "/prod.html"
[clusters.stage]
lake = "/stage"
client_log = "/stage/*.log"
"""
WITH_SOURCES = {"lake", "cluster_id", "kafka", "broker_log", "client_log", "log_timezone"}
PROD = {"lake": "/lake", "cluster_id": "prod", "kafka": "a:1", "broker_log": "/prod/*.log"}


@pytest.fixture
def values(tmp_path, monkeypatch):
    """The values for a command; ``options`` of the command line by key."""
    (tmp_path / "regroup.toml").write_text(FILE)
    monkeypatch.chdir(tmp_path)

    def run(command, keys, options=(), arguments=()):
        return _values(command, set(keys), dict(options), dict(arguments))

    return run


CASES = [
    # command   keys                      options                              values
    ("nightly", WITH_SOURCES, {}, PROD),
    ("nightly", WITH_SOURCES, {"cluster_id": "stage"},
        {"lake": "/stage", "cluster_id": "stage", "client_log": "/stage/*.log"}),
    ("nightly", WITH_SOURCES, {"lake": "/other"}, {}),
    ("nightly", WITH_SOURCES, {"lake": "/other", "cluster_id": "prod"}, PROD),
    ("nightly", WITH_SOURCES, {"cluster_id": "new", "kafka": "b:1"},
        {"lake": "/lake", "cluster_id": "new"}),
    ("report", {"lake", "cluster_id", "page"}, {},
        {"lake": "/lake", "cluster_id": "prod", "page": "/prod.html"}),
    ("sql", {"lake"}, {}, {"lake": "/lake"}),
    ("alerts", {"lake", "cluster_id"}, {}, {"lake": "/lake"}),
    ("alerts", {"lake", "cluster_id"}, {"cluster_id": "stage"},
        {"lake": "/stage", "cluster_id": "stage"}),
    ("doctor", WITH_SOURCES - {"cluster_id"}, {}, {"lake": "/lake"}),
    # /lake does not exist yet, so investigate reads the inputs.
    ("investigate", WITH_SOURCES, {}, {"kafka": "a:1", "broker_log": "/prod/*.log"}),
    ("investigate", WITH_SOURCES, {"broker_log": "x.log"}, {}),
    ("investigate", WITH_SOURCES, {"lake": "/lake"}, {"lake": "/lake", "cluster_id": "prod"}),
]  # fmt: skip


@pytest.mark.parametrize(("command", "keys", "options", "expected"), CASES)
def test_values_of_the_file(values, command, keys, options, expected):
    assert values(command, keys, options) == expected


def test_the_environment_has_priority_over_the_file(values, monkeypatch):
    monkeypatch.setenv("REGROUP_KAFKA", "b:2")
    monkeypatch.setenv("REGROUP_CLUSTER_ID", "stage")

    expected = {"lake": "/stage", "cluster_id": "stage", "client_log": "/stage/*.log"}
    assert values("nightly", WITH_SOURCES) == {**expected, "kafka": "b:2"}


def test_a_snapshot_of_files_asks_no_brokers(values):
    keys = {"lake", "cluster_id", "kafka"}

    assert values("snapshot", keys)["kafka"] == "a:1"
    assert "kafka" not in values("snapshot", keys, arguments={"describe": "groups.txt"})


def test_a_mistyped_cluster_without_sources(values):
    message = r"^--cluster-id prdo: not in regroup.toml; did you mean prod\?$"
    with pytest.raises(UsageError, match=message):
        values("nightly", WITH_SOURCES, {"cluster_id": "prdo"})


def test_alerts_of_the_only_cluster_write_its_metrics_file(values, tmp_path):
    (tmp_path / "regroup.toml").write_text(
        '[clusters.prod]\nlake = "/lake"\nprometheus = "/prod.prom"\nkafka = "a:1"'
    )

    keys = {"lake", "cluster_id", "prometheus"}
    assert values("alerts", keys) == {"lake": "/lake", "prometheus": "/prod.prom"}
    assert values("digest", keys) == {"lake": "/lake"}
    assert values("doctor", {*keys, "kafka"}) == {"lake": "/lake"}


def test_several_clusters_without_a_default(values, tmp_path):
    (tmp_path / "regroup.toml").write_text(FILE.replace('cluster_id = "prod"\n', ""))

    with pytest.raises(UsageError, match=r"^give --cluster-id: regroup.toml has prod, stage$"):
        values("watch", {"lake", "cluster_id"})
    assert values("sql", {"lake"}) == {"lake": "/lake"}
    assert values("alerts", {"lake", "cluster_id"}) == {"lake": "/lake"}


def test_a_wrong_file_is_an_error_of_each_command_but_doctor(values, tmp_path):
    (tmp_path / "regroup.toml").write_text("lake = 1")

    assert values("doctor", {"lake"}) == {}
    with pytest.raises(UsageError, match="lake must be a text, not 1"):
        values("sql", {"lake"})


BOTH = """
lake = "lake"
[clusters.prod]
broker_log = "prod.log"
[clusters.stage]
broker_log = "stage.log"
"""
LINE = (
    "[2026-11-21 00:46:50,000] INFO [GroupCoordinator 1]: Preparing to rebalance group billing in"
    " state PreparingRebalance with old generation 4 (__consumer_offsets-12) (reason: Adding new"
    " member a-1 with group instance id None) (kafka.coordinator.group.GroupCoordinator)\n"
)


def ran(tmp_path, monkeypatch, *arguments):
    (tmp_path / "regroup.toml").write_text(BOTH)
    (tmp_path / "stage.log").write_text(LINE)
    monkeypatch.chdir(tmp_path)
    return CliRunner().invoke(app, arguments)


def test_nightly_runs_for_each_cluster_of_the_file(tmp_path, monkeypatch):
    (tmp_path / "prod.log").write_text(LINE)

    result = ran(tmp_path, monkeypatch, "nightly", "--engine", "embedded", "--no-advice")

    assert result.exit_code == 0, result.exception
    both = "SELECT DISTINCT cluster_id FROM timeline ORDER BY 1"
    assert query("lake", both)[1] == [("prod",), ("stage",)]


def test_a_failed_cluster_does_not_keep_the_next_one_from_its_run(tmp_path, monkeypatch, capfd):
    result = ran(tmp_path, monkeypatch, "nightly", "--engine", "embedded", "--no-advice")

    assert str(result.exception) == "1 of 2 clusters failed: prod"
    assert "regroup: cluster prod: --broker-log" in result.stderr
    assert query("lake", "SELECT DISTINCT cluster_id FROM timeline")[1] == [("stage",)]


def test_a_chosen_cluster_is_the_only_one(tmp_path, monkeypatch):
    (tmp_path / "prod.log").write_text(LINE)
    chosen = ("--cluster-id", "stage", "--engine", "embedded", "--no-advice")

    ran(tmp_path, monkeypatch, "nightly", *chosen)

    assert query("lake", "SELECT DISTINCT cluster_id FROM timeline")[1] == [("stage",)]
