"""regroup-embedded: what needs Spark says what to install, and beside regroup nothing runs."""

import sys

import pyarrow as pa
import pytest

from jobs.bulk import few
from jobs.command_line import cli
from jobs.configuration.config import Config, Engine
from jobs.configuration.distributions import installed
from jobs.console.errors import UsageError
from jobs.engine import choice, jars, session
from jobs.engine.choice import Workload, choose, missing_for_spark

INSTALL = "`pip uninstall --yes regroup-embedded pyspark-client`, then `pip install regroup`"


@pytest.fixture
def without_spark(monkeypatch):
    for module in (choice, jars, session):
        monkeypatch.setattr(module, "has_spark", lambda: False)


@pytest.mark.usefixtures("without_spark")
def test_what_needs_spark_says_what_to_install():
    with pytest.raises(UsageError) as error:
        choose(Config(engine=Engine.SPARK), Workload(0))
    assert str(error.value) == (
        f"--engine spark needs Spark, and regroup-embedded has no Spark: {INSTALL}"
    )
    with pytest.raises(UsageError, match="this needs Spark, and regroup-embedded has no Spark: "):
        session.build_session(Config())
    with pytest.raises(UsageError, match="`regroup jars` is for Spark, and regroup-embedded"):
        jars.fetch_spark_jars()


@pytest.mark.usefixtures("without_spark")
def test_without_spark_the_embedded_engine_runs():
    assert missing_for_spark(Config()) == "regroup-embedded has no Spark"
    assert choose(Config(), Workload(1 << 40)) is Engine.EMBEDDED


def test_the_distributions_of_a_folder(tmp_path):
    assert installed(tmp_path) == []

    (tmp_path / "regroup_embedded-0.1.0.dist-info").mkdir()
    assert installed(tmp_path) == ["regroup-embedded"]

    (tmp_path / "regroup-0.1.0.dist-info").mkdir()
    assert installed(tmp_path) == ["regroup", "regroup-embedded"]


def test_beside_each_other_no_command_runs(monkeypatch, capsys):
    monkeypatch.setattr(cli, "installed", lambda: ["regroup", "regroup-embedded"])
    monkeypatch.setattr(sys, "argv", ["regroup", "--version"])

    with pytest.raises(SystemExit) as ended:
        cli.main()

    assert ended.value.code == 2
    assert capsys.readouterr().err == (
        "regroup: regroup and regroup-embedded are both installed, and overwrite each other: `pip"
        " uninstall --yes regroup regroup-embedded pyspark pyspark-client`, then install one of"
        " them\n"
    )


def test_without_numba_the_reference_reads_all_records(monkeypatch):
    monkeypatch.delitem(sys.modules, "jobs.bulk.kernel", raising=False)
    monkeypatch.setattr(few, "_read", 0)
    monkeypatch.setattr(few, "HAS_NUMBA", False)
    many = pa.array([bytes(few.FEW_BYTES)], pa.binary())

    assert few.are_few(many, many)
