"""Configuration files: settings, and errors of one line."""

import pytest

from jobs.configuration.config import Config, load_config, valid_timezone
from jobs.configuration.packaged_files import CONF
from jobs.console.errors import UsageError


@pytest.fixture
def conf(tmp_path):
    def write(text):
        file = tmp_path / "conf.toml"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(file)

    return write


def test_a_file_with_all_sections(conf):
    file = conf(
        """
        log_level = "WARN"
        [logs]
        timezone = "Europe/Berlin"
        [spark]
        spark.ui.enabled = false
        spark.sql.shuffle.partitions = 2
        [kafka]
        security.protocol = "SSL"
        """
    )

    assert load_config(file) == Config(
        spark={"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"},
        log_timezone="Europe/Berlin",
        kafka={"security.protocol": "SSL"},
        log_level="WARN",
    )


def test_an_empty_file_has_the_defaults(conf):
    assert load_config(conf("")) == Config(
        spark={}, log_timezone="UTC", kafka={}, log_level="ERROR"
    )


@pytest.mark.parametrize("name", ["local.toml", "large.toml", "cluster.toml"])
def test_the_packaged_files_are_valid(name):
    assert load_config(str(CONF / name)).log_timezone == "UTC"


def test_the_default_file_is_local_toml():
    assert load_config(None) == load_config(str(CONF / "local.toml"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[spark", "not TOML"),
        (b"\xff\xfe", "not TOML"),
        (
            "[sparc]\na = 1",
            "unknown setting 'sparc'; use spark, logs, kafka, alerts, slo, log_level",
        ),
        ("spark = 1", "unknown setting 'spark'"),
        ("log_level = 3", "unknown setting 'log_level'"),
        ('[logs]\nzone = "UTC"', "[logs] has only 'timezone', not ['zone']"),
        ('[logs]\ntimezone = "Mars/Olympus"', "unknown time zone 'Mars/Olympus'"),
        ("[logs]\ntimezone = 1", "unknown time zone 1"),
        (
            "[kafka]\ngroup.id = 'g'",
            "[kafka] group.id cannot be configured; Regroup sets it per run",
        ),
        (
            "[kafka]\nisolation.level = 'none'",
            "[kafka] isolation.level must be read_committed or read_uncommitted, not none",
        ),
    ],
)
def test_errors_are_one_line(conf, text, message):
    with pytest.raises(UsageError) as raised:
        load_config(conf(text))

    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_missing_file_is_named():
    with pytest.raises(UsageError, match=r"--conf /nowhere/x\.toml: No such file"):
        load_config("/nowhere/x.toml")


@pytest.mark.parametrize("name", ["", "Europe", "../etc/passwd", "/etc/passwd", "utc+1", "a\0b"])
def test_an_unknown_time_zone(name):
    with pytest.raises(UsageError, match="unknown time zone"):
        valid_timezone(name)


def test_settings_of_kafka_are_not_shown(conf):
    config = load_config(conf("[kafka]\nsasl.jaas.config = 'password=hidden'"))

    assert config.kafka == {"sasl.jaas.config": "password=hidden"}
    assert "hidden" not in repr(config)
