"""deploy/: the pods' commands, options, variables and settings are Regroup's.

`make -C tools deploy` validates the manifests with Kubernetes' own schemas.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from jobs.command_line.cli import app
from jobs.configuration.config import Engine, load_config
from jobs.report.serve.app import HEALTH

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
COMMANDS = get_command(app).commands


def containers():
    for file in sorted((DEPLOY / "base").glob("*.yaml")):
        for document in yaml.safe_load_all(file.read_text("utf-8")):
            spec = document.get("spec", {})
            spec = spec.get("jobTemplate", document).get("spec", {})
            yield from spec.get("template", {}).get("spec", {}).get("containers", [])


def test_each_container_runs_a_command_with_its_options():
    commands = {each["name"]: each["args"] for each in containers()}

    assert commands == {
        "nightly": ["nightly"],
        "serve": ["serve", "--host", "0.0.0.0", "--port", "8787"],
        "watch": ["watch", "--cluster-id", "prod", "--every", "60s"],
    }
    for name, (_, *arguments) in commands.items():
        options = {option for each in COMMANDS[name].params for option in each.opts}
        assert {each for each in arguments if each.startswith("--")} <= options


def test_the_settings_of_the_pods_are_valid():
    config = load_config(str(DEPLOY / "base" / "regroup.toml"))

    assert config.engine is Engine.EMBEDDED
    assert config.clusters["prod"]["kafka"] == "kafka-bootstrap:9092"


def test_probes_ask_for_the_health_of_the_server():
    [serve] = [each for each in containers() if each["name"] == "serve"]
    probes = [serve[name]["httpGet"]["path"] for name in ("startupProbe", "livenessProbe")]
    asked = re.findall(r"127\.0\.0\.1:8787(/[a-z/]+)", (ROOT / "Containerfile").read_text("utf-8"))

    assert [*probes, *asked] == [HEALTH] * 3


def test_every_container_is_unprivileged_and_has_limits():
    for each in containers():
        context = each["securityContext"]
        assert context["readOnlyRootFilesystem"]
        assert not context["allowPrivilegeEscalation"]
        assert each["resources"]["limits"]["memory"]


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl")
def test_in_a_bucket_there_is_no_volume_of_the_lake():
    command = ["kubectl", "kustomize", str(DEPLOY / "s3")]
    rendered = subprocess.run(command, capture_output=True, text=True, check=True).stdout

    kinds = re.findall(r"^kind: (\w+)", rendered, re.M)
    assert sorted(kinds) == [
        "ConfigMap", "CronJob", "Deployment", "Deployment", "Namespace", "Service",
    ]  # fmt: skip
    assert rendered.count("value: s3://bucket/lake") == 3
    assert "claimName" not in rendered
    assert rendered.count("image: registry.example/regroup-embedded:0.1.0") == 3
