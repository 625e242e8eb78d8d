"""Passwords of the configuration and of the environment appear in no output, table or file."""

import json
import os
import stat
import subprocess
import sys

import pytest

from jobs.configuration.config import load_config
from jobs.console import secrets
from jobs.console.errors import UsageError, failure_line
from jobs.console.secrets import is_secret, without_secrets
from jobs.engine.scratch import scratch_folder
from jobs.nightly_run.pipeline import RunStep

# name                                                        secret
NAMES = [
    ("sasl.jaas.config",                                      True),
    ("ssl.key.password",                                      True),
    ("spark.hadoop.fs.s3a.secret.key",                        True),
    ("spark.hadoop.fs.s3a.access.key",                        True),
    ("spark.hadoop.fs.azure.account.key.x.dfs.core.windows.net", True),
    ("spark.hadoop.fs.azure.sas.fixed.token",                 True),
    ("AWS_SECRET_ACCESS_KEY",                                 True),
    ("AZURE_STORAGE_ACCOUNT_KEY",                             True),
    ("security.protocol",                                     False),
    ("spark.sql.shuffle.partitions",                          False),
    ("message.key.encoder",                                   False),
]  # fmt: skip


@pytest.mark.parametrize(("name", "expected"), NAMES)
def test_names_of_secrets(name, expected):
    assert is_secret(name) is expected


LOGIN = 'x.PlainLoginModule required username="alice" password="pa\\"ss-in-jaas";'
KAFKA_SECRETS = ('pa\\"ss-in-jaas', "key-password-1")
STORE_SECRETS = ("store/secret+1", "account-key==")
ENVIRONMENT = {"AWS_SECRET_ACCESS_KEY": "environment-secret"}
SECRETS = (*KAFKA_SECRETS, *STORE_SECRETS, *ENVIRONMENT.values())


@pytest.fixture
def conf(tmp_path, monkeypatch):
    """The path of a configuration with secrets; the environment has one, too."""
    monkeypatch.setattr(secrets, "_known", set())
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    file = tmp_path / "regroup.toml"
    values = {
        "kafka": {
            "sasl.jaas.config": LOGIN,
            "ssl.key.password": KAFKA_SECRETS[1],
            "default.api.timeout.ms": "1000",  # no broker answers
        },
        "spark": {
            "spark.hadoop.fs.s3a.secret.key": STORE_SECRETS[0],
            "spark.hadoop.fs.azure.account.key.a": STORE_SECRETS[1],
        },
    }
    lines = [
        f"[{section}]\n"
        + "".join(f'"{name}" = {json.dumps(value)}\n' for name, value in each.items())
        for section, each in values.items()
    ]
    file.write_text("".join(lines))
    return str(file)


@pytest.fixture
def message(conf):
    """What a library may say: it has every secret of the loaded configuration."""
    load_config(conf)
    return " ".join(("cannot log in:", *SECRETS))


HIDDEN = "cannot log in: " + " ".join(["[hidden]"] * len(SECRETS))


def test_known_secrets_are_hidden(message):
    assert without_secrets(message) == HIDDEN


def test_errors_are_printed_without_secrets(message):
    assert failure_line(UsageError(message)) == HIDDEN
    assert failure_line(ValueError(message)) == f"ValueError: {HIDDEN}"


def test_the_error_of_a_step_is_stored_without_secrets(message):
    step = RunStep("ingest")
    with pytest.raises(OSError, match="log in"), step.timed():
        raise OSError(message)

    assert step.error == f"OSError: {HIDDEN}"


def test_a_configuration_is_shown_without_secrets(conf):
    assert not any(each in repr(load_config(conf)) for each in SECRETS)


def test_paths_are_no_secrets(monkeypatch, tmp_path):
    monkeypatch.setattr(secrets, "_known", set())  # Secrets of other tests may be in this path.
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path))

    assert without_secrets(f"not readable: {tmp_path}") == f"not readable: {tmp_path}"


def regroup(*command):
    return subprocess.run(
        [sys.executable, "-m", "jobs.command_line.cli", *command], capture_output=True, text=True
    )


@pytest.mark.slow
def test_no_output_and_no_file_of_a_run_has_a_secret(conf, tmp_path):
    """A run that reads a dump, one that no broker answers, and the checks of both."""
    lake, dump = tmp_path / "lake", tmp_path / "dump.jsonl"
    dump.write_text(
        '{"partition": 0, "offset": 1, "timestamp": 1795219200000, "key": "AAA=", "value": null}\n'
    )
    options = ["--lake", str(lake), "--cluster-id", "c", "--engine", "embedded", "--conf", conf]

    done = regroup("nightly", *options, "--dump", str(dump))
    failed = regroup("nightly", *options, "--kafka", "127.0.0.1:1")
    checks = regroup("doctor", "--lake", str(lake), "--kafka", "127.0.0.1:1", "--conf", conf)

    assert (done.returncode, failed.returncode, checks.returncode) == (0, 1, 1)
    printed = "".join(each.stdout + each.stderr for each in (done, failed, checks))
    stored = b"".join(file.read_bytes() for file in lake.rglob("*") if file.is_file())
    assert b"dump.jsonl" in stored, "the run is in table runs"
    assert [each for each in SECRETS if each in printed or each.encode() in stored] == []


def test_temporary_files_are_private():
    assert stat.S_IMODE(os.stat(scratch_folder()).st_mode) == 0o700


SERVER = """
from jobs.engine.embedded import embedded_session
from tests.listening import listening_addresses
embedded_session().range(3).count()
print(sorted(listening_addresses()))
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/net/tcp"), reason="no /proc")
def test_the_embedded_engine_listens_on_loopback_only():
    run = subprocess.run([sys.executable, "-c", SERVER], capture_output=True, text=True, check=True)

    assert run.stdout == "['127.0.0.1']\n"
