"""Configuration files: settings, and errors of one line."""

import json

import pytest

from jobs.configuration.config import Config, load_config, valid_timezone
from jobs.configuration.keys import KEYS, OTHER_VARIABLES
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
        ("[sparc]\na = 1", "unknown setting 'sparc'; did you mean spark?"),
        ("[x]\na = 1", "unknown setting 'x'; use lake, cluster_id, clusters, spark, logs, kafka"),
        ('lake = ""', "lake must be a text, not ''"),
        ("spark = 1", "spark must be a table, not 1"),
        ("log_level = 3", "log_level must be a text, not 3"),
        ('[logs]\nzone = "UTC"', "[logs] unknown setting 'zone'; use timezone"),
        ("[alerts]\nwindo = 1", "[alerts] unknown setting 'windo'; did you mean window?"),
        ("[slo]\nserved = 1", "[slo] unknown objective 'served'; did you mean served_percent?"),
        (
            "[clusters.prod]\nbrokerlog = 'x'",
            "[clusters.prod] unknown setting 'brokerlog'; did you mean broker_log?",
        ),
        ("[clusters.prod]\nkafka = 1", "[clusters.prod] kafka must be a text, not 1"),
        ("[clusters]\nprod = 1", "[clusters.prod] must be a table of sources"),
        (
            'cluster_id = "prdo"\n[clusters.prod]\nkafka = "a:1"',
            "cluster_id 'prdo'; did you mean prod?",
        ),
        ('[clusters.p]\nlog_timezone = "Mars"', "unknown time zone 'Mars'"),
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


def test_environment_variables_have_priority(conf, monkeypatch):
    file = conf('engine = "spark"\n[alerts]\nflaps = 7\nstuck_s = 9\n[logs]\ntimezone = "UTC"')
    monkeypatch.setenv("REGROUP_ENGINE", "embedded")
    monkeypatch.setenv("REGROUP_LOGS_TIMEZONE", "Europe/Berlin")
    monkeypatch.setenv("REGROUP_ALERTS_FLAPS", "4")
    monkeypatch.setenv("REGROUP_ALERTS_FINDING_KINDS", "data, operation")
    monkeypatch.setenv("REGROUP_SLO_SERVED_PERCENT", "99.5")

    config = load_config(file)

    assert (config.engine, config.log_timezone) == ("embedded", "Europe/Berlin")
    assert (config.alerts.thresholds.flaps, config.alerts.thresholds.stuck_s) == (4, 9)
    assert config.alerts.finding_kinds == ("data", "operation")
    assert config.alerts.slo.objectives.served_percent == 99.5
    monkeypatch.setenv("REGROUP_ALERTS_FLAPS", "many")
    with pytest.raises(UsageError, match=r"^REGROUP_ALERTS_FLAPS=many: must be a whole number$"):
        load_config(file)


def test_the_file_is_that_of_the_option_else_of_the_environment_else_of_the_folder(
    tmp_path, monkeypatch
):
    for name in ("option", "environment", "regroup"):
        (tmp_path / f"{name}.toml").write_text(f'lake = "/{name}"')
    monkeypatch.chdir(tmp_path)

    of_folder = load_config(None).lake
    monkeypatch.setenv("REGROUP_CONFIG", "environment.toml")
    of_environment = load_config(None).lake

    assert (of_folder, of_environment) == ("/regroup", "/environment")
    assert load_config("option.toml").lake == "/option"


def test_paths_are_relative_to_the_folder_of_the_file(conf, tmp_path):
    config = load_config(
        conf(
            'lake = "lake"\n[clusters.prod]\nkafka = "a:1"\nbroker_log = "logs/*.log"\n'
            'segments = "s3://b/x"\ndump = "/d"\nlake = "../own"'
        )
    )

    assert config.lake == f"{tmp_path}/lake"
    assert config.clusters["prod"] == {
        "kafka": "a:1",
        "broker_log": f"{tmp_path}/logs/*.log",
        "segments": "s3://b/x",
        "dump": "/d",
        "lake": f"{tmp_path}/../own",
    }


def test_secrets_are_read_from_the_environment_and_from_files(conf, tmp_path, monkeypatch):
    (tmp_path / "jaas").write_text('password="pa55word"\n')
    monkeypatch.setenv("TRUST_PASSWORD", "s3cret-s3cret")
    config = load_config(
        conf(
            f"""[kafka]
            "sasl.jaas.config" = "Login required ${{file:{tmp_path}/jaas}};"
            "ssl.truststore.password" = "${{env:TRUST_PASSWORD}}"
            "ssl.keystore.location" = "${{vault:a:b}}"
            """
        )
    )

    assert config.kafka_settings() == {
        "sasl.jaas.config": 'Login required password="pa55word";',
        "ssl.truststore.password": "s3cret-s3cret",
        "ssl.keystore.location": "${vault:a:b}",
    }
    monkeypatch.delenv("TRUST_PASSWORD")
    missing = r"^\[kafka\] ssl.truststore.password: set the environment variable TRUST_PASSWORD$"
    with pytest.raises(UsageError, match=missing):
        config.kafka_settings()


def test_the_page_lists_every_key():
    """docs/configuration.md has one row per key: name, variable, default, meaning."""
    page = (CONF.parent / "docs" / "configuration.md").read_text(encoding="utf-8")

    rows = [line for line in page.splitlines() if line.startswith("| `")]
    defaults = {k.name: "" if k.default is None else f"`{json.dumps(k.default)}`" for k in KEYS}
    assert rows == [
        f"| `{k.name}` | `{k.variable}` | {defaults[k.name]} | {k.meaning} |" for k in KEYS
    ]


def test_other_variables_are_not_those_of_keys():
    assert {"REGROUP_TOKEN", "REGROUP_TRACE"} <= {*OTHER_VARIABLES}
    assert {key.variable for key in KEYS}.isdisjoint(OTHER_VARIABLES)


def test_settings_of_kafka_are_not_shown(conf):
    config = load_config(conf("[kafka]\nsasl.jaas.config = 'password=hidden'"))

    assert config.kafka == {"sasl.jaas.config": "password=hidden"}
    assert "hidden" not in repr(config)
