"""The file of `regroup init`: it can be loaded, and has the defaults."""

import re
import sys
import tomllib

import pytest

from jobs.command_line import cli
from jobs.command_line.init_config import text, write
from jobs.configuration.alert_settings import AlertSettings, Thresholds
from jobs.configuration.config import SECTIONS, Config, load_config
from jobs.configuration.packaged_files import CONF
from jobs.console.errors import UsageError

# The comment mark before a setting.
COMMENTED = re.compile(r'^# (?=[\["a-zA-Z.]+[\w".*\]-]* ?(?:= |$))', re.MULTILINE)

LEFT = (
    "[2026-11-21 00:46:30,747] INFO [GroupCoordinator 1]: Member a in group g has left, removing"
    " it from the group (kafka.coordinator.group.GroupCoordinator)"
)


@pytest.fixture
def file(tmp_path):
    write(str(tmp_path / "regroup.toml"))
    return tmp_path / "regroup.toml"


def test_the_file_has_the_defaults(file):
    assert load_config(str(file)) == load_config(None)


def test_the_file_has_every_section(file):
    unset = {"lake", "cluster_id", "clusters"}
    assert set(tomllib.loads(file.read_text())) == set(SECTIONS) - unset


def test_the_file_has_every_threshold_with_its_default(file):
    alerts = tomllib.loads(file.read_text())["alerts"]

    assert alerts == {
        "window": "1h",
        "storm_rebalances": 10,
        "storm_pause_s": 60,
        "stuck_s": 300,
        "unowned_s": 300,
        "no_members_s": 60,
        "flaps": 3,
        "moved_nothing": 5,
        "rebalances_per_day": 50,
        "stuck_partition_s": 60,
        "poison_pill_percent": 60,
        "finding_percent": 60,
        "slo_percent": 100,
        "finding_kinds": [
            "broker_bug",
            "client_bug",
            "configuration",
            "operation",
            "coordinator",
            "data",
        ],
    }
    assert set(alerts) == {"window", "finding_kinds", *Thresholds.__dataclass_fields__}
    assert load_config(str(file)).alerts == AlertSettings()


def test_every_setting_has_a_comment_above(file):
    lines = file.read_text().splitlines()
    settings = [n for n, line in enumerate(lines) if re.match(r"[\w.\"]+ = ", line)]

    assert len(settings) == 4 + 20 + 12
    assert [lines[n] for n in settings if not re.match(r"# \S", lines[n - 1])] == []


def test_settings_in_comments_are_valid(file):
    file.write_text(COMMENTED.sub("", file.read_text()))

    config = load_config(str(file))

    assert sorted(config.kafka) == [
        "isolation.level",
        "maxOffsetsPerTrigger",
        "minPartitions",
        "sasl.jaas.config",
        "sasl.mechanism",
        "security.protocol",
        "ssl.truststore.location",
    ]
    assert config.kafka["isolation.level"] == "read_committed"
    assert config.alerts.of_group("etl-7") == Thresholds(rebalances_per_day=200)


def test_the_file_has_the_given_sources(tmp_path):
    file = tmp_path / "prod.toml"
    write(str(file), {"lake": "/data/lake", "cluster_id": "prod eu", "kafka": "b-1:9092"})

    config = load_config(str(file))

    assert (config.lake, config.cluster_id) == ("/data/lake", "prod eu")
    assert config.clusters == {"prod eu": {"kafka": "b-1:9092"}}


def test_init_checks_the_sources_first(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "server.log").write_text("nothing of a coordinator\n")

    with pytest.raises(SystemExit) as refused:
        regroup(monkeypatch, "init", "--broker-log", "missing/*.log")
    printed = capsys.readouterr().err

    assert refused.value.code in (1, 2)
    assert "missing/*.log" in printed
    assert not (tmp_path / "regroup.toml").exists()


def test_init_writes_paths_for_a_file_elsewhere(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "etc").mkdir()
    (tmp_path / "server.log").write_text(f"{LEFT}\n")

    with pytest.raises(SystemExit) as done:
        regroup(monkeypatch, "init", "--broker-log", "server.log", "--out", "etc/r.toml")

    assert done.value.code == 0
    config = load_config("etc/r.toml")
    assert config.clusters == {"kafka": {"broker_log": f"{tmp_path}/server.log"}}
    assert config.lake == "etc/lake"
    assert "next: regroup doctor --conf etc/r.toml, regroup nightly --conf etc/r.toml" in (
        capsys.readouterr().err
    )


def regroup(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["regroup", *arguments])
    cli.main()


def test_every_packaged_setting_of_spark_has_a_meaning():
    """A setting in conf/local.toml without a meaning raises KeyError."""
    local = load_config(str(CONF / "local.toml"))

    assert all(f"\n{name} = " in text("regroup.toml") for name in local.spark)


def test_an_existing_file_is_not_changed(file):
    file.write_text("mine")

    with pytest.raises(UsageError, match=r"--out .*: exists already and is not changed"):
        write(str(file))
    assert file.read_text() == "mine"


def test_a_missing_folder(tmp_path):
    with pytest.raises(UsageError, match=r"--out .*: No such file or directory; give a file"):
        write(f"{tmp_path}/none/regroup.toml")


def test_sections_are_settings_of_config():
    """[logs] has one setting, log_timezone; [slo] belongs to alerts."""
    named = {"logs": "log_timezone"}

    assert {named.get(name, name) for name in SECTIONS if name != "slo"} == set(
        Config.__dataclass_fields__
    )
