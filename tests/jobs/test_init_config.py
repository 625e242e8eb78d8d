"""The file of `regroup init`: it can be loaded, and has the defaults."""

import re
import tomllib

import pytest

from jobs.command_line.init_config import text, write
from jobs.configuration.alert_settings import AlertSettings, Thresholds
from jobs.configuration.config import SECTIONS, Config, load_config
from jobs.configuration.packaged_files import CONF
from jobs.console.errors import UsageError

# The comment mark before a setting.
COMMENTED = re.compile(r'^# (?=[\["a-zA-Z.]+[\w".*\]-]* ?(?:= |$))', re.MULTILINE)


@pytest.fixture
def file(tmp_path):
    write(str(tmp_path / "regroup.toml"))
    return tmp_path / "regroup.toml"


def test_the_file_has_the_defaults(file):
    assert load_config(str(file)) == load_config(None)


def test_the_file_has_every_section(file):
    assert set(tomllib.loads(file.read_text())) == set(SECTIONS)


def test_the_file_has_every_threshold_with_its_default(file):
    alerts = tomllib.loads(file.read_text())["alerts"]

    assert alerts == {
        "window": "1h",
        "storm_rebalances": 10,
        "storm_pause_s": 60,
        "stuck_s": 300,
        "unowned_s": 300,
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

    assert len(settings) == 4 + 20 + 11
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
