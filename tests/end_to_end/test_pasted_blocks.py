"""The lines that advice gives to paste, as they are, into real clients: Java and librdkafka."""

import json
import os
import shutil
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

import confluent_kafka as ck
import pytest
from confluent_kafka import admin as ck_admin

from coordinator_core.whatif import SettingsChange
from coordinator_core.whatif.config_blocks import client_properties
from coordinator_core.whatif.deployment_forms import Form
from tests.core.whatif.test_limits import group
from tools.kafka_broker import JARS

SOURCE = Path(__file__).with_name("PastedClient.java")
TOPIC = "pasted"
STATIC = ("group.instance.id=process", "session.timeout.ms=20000")
LIMIT_S = 60


@pytest.fixture(scope="module")
def bootstrap(started_broker):
    address = started_broker("embedded").bootstrap
    admin = ck_admin.AdminClient({"bootstrap.servers": address})
    admin.create_topics([ck_admin.NewTopic(TOPIC, 4, 1)])[TOPIC].result(timeout=30)
    return address


@pytest.fixture(scope="module")
def java(tmp_path_factory):
    """``java("consume", file, topic)``: the command.  Needs a JDK, to compile."""
    if shutil.which("javac") is None:
        pytest.skip("no javac")
    classes = tmp_path_factory.mktemp("classes")
    path = f"{JARS}/*"
    subprocess.run(["javac", "-cp", path, "-d", classes, SOURCE], check=True)
    flags = ["-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    start = ["java", *flags, "-cp", f"{classes}:{path}", "PastedClient"]
    return lambda *arguments: [*start, *map(str, arguments)]


@pytest.fixture
def started():
    """``started(command, environment)``: a process that ends with the test."""
    with ExitStack() as running:

        def start(command, environment=None):
            process = subprocess.Popen(
                command,
                env=os.environ | (environment or {}),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            running.callback(process.wait)
            running.callback(process.kill)
            return process

        yield start


def blocks(of_group, form, *settings):
    change = SettingsChange.of(settings)
    return client_properties(of_group, change, Form(form)).split("\n\n")


def instance_ids(bootstrap, group_id, count):
    """Of the group's members, once the group is stable with as many, sorted."""
    admin = ck_admin.AdminClient({"bootstrap.servers": bootstrap})
    limit, seen = time.monotonic() + LIMIT_S, None
    while time.monotonic() < limit:
        try:
            seen = admin.describe_consumer_groups([group_id])[group_id].result(timeout=30)
        except ck.KafkaException as error:  # The coordinator is still loading.
            seen = error
        else:
            ids = sorted(str(member.group_instance_id) for member in seen.members)
            if seen.state is ck.ConsumerGroupState.STABLE and len(ids) == count:
                return ids
        time.sleep(0.2)
    pytest.fail(f"{group_id}: {seen}")


def properties_file(folder, name, bootstrap, group_id, *pasted):
    file = folder / name
    own = f"bootstrap.servers={bootstrap}\ngroup.id={group_id}\n"
    file.write_text(own + "\n".join(pasted) + "\n", encoding="utf-8")
    return file


@pytest.mark.campaign
def test_java_with_literal_ids(bootstrap, java, started, tmp_path):
    common, *own = blocks(group("java-3.9", "java-3.9"), "properties", *STATIC)
    for number, block in enumerate(own):
        file = properties_file(tmp_path, f"{number}", bootstrap, "literal", common, block)
        started(java("consume", file, TOPIC))

    assert instance_ids(bootstrap, "literal", 2) == ["p0", "p1"]


@pytest.mark.parametrize(
    "form",
    [
        pytest.param("kubernetes", marks=pytest.mark.campaign),
        pytest.param("env", marks=pytest.mark.campaign),
        pytest.param("compose", marks=pytest.mark.campaign),
    ],
)
def test_java_with_ids_from_the_environment(form, bootstrap, java, started, tmp_path):
    parts = blocks(group("java-3.9", "java-3.9"), form, *STATIC)
    (pasted,) = [part for part in parts if "config.providers=" in part]
    environments = [{"GROUP_INSTANCE_ID": "pod-0"}, {"GROUP_INSTANCE_ID": "pod-1"}]
    if form == "env":
        texts = [part.split("\n")[1] for part in parts if part.startswith("# environment")]
        environments = [dict([text.split("=")]) for text in texts]
    elif form == "compose":
        services = yaml(java, tmp_path, parts[0])["services"]
        environments = [service["environment"] for service in services.values()]
    file = properties_file(tmp_path, "pasted", bootstrap, f"by-{form}", pasted)
    for environment in environments:
        started(java("consume", file, TOPIC), environment)

    expected = ["pod-0", "pod-1"] if form == "kubernetes" else ["p0", "p1"]
    assert instance_ids(bootstrap, f"by-{form}", 2) == expected


def test_java_does_not_start_without_the_variable(bootstrap, java, started, tmp_path):
    pasted, *_ = blocks(group("java-3.9"), "env", *STATIC)
    for number, text in enumerate([pasted, "group.instance.id=${HOSTNAME}"]):
        file = properties_file(tmp_path, f"{number}", bootstrap, "refused", text)
        process = started(java("consume", file, TOPIC))
        printed, _ = process.communicate(timeout=LIMIT_S)

        assert process.returncode == 1
        assert "characters other than ASCII alphanumerics" in printed


def test_librdkafka_with_json(bootstrap):
    _, pasted = blocks(
        group("librdkafka-2", "librdkafka-2"), "librdkafka", "protocol=cooperative", *STATIC
    )
    consumers = [
        ck.Consumer({"bootstrap.servers": bootstrap, "group.id": "json", **json.loads(line)})
        for line in pasted.split("\n")
    ]
    for consumer in consumers:
        consumer.subscribe([TOPIC])
    try:
        for consumer in consumers * 10:
            consumer.poll(0.2)
        assert instance_ids(bootstrap, "json", 2) == ["p0", "p1"]
    finally:
        for consumer in consumers:
            consumer.close()


def test_librdkafka_takes_a_variable_literally(bootstrap):
    """So lines with ${HOSTNAME} would give all processes one id."""
    settings = {"bootstrap.servers": bootstrap, "group.id": "literally"}
    consumer = ck.Consumer(settings | {"group.instance.id": "${HOSTNAME}"})
    consumer.subscribe([TOPIC])
    for _ in range(10):
        consumer.poll(0.2)

    assert instance_ids(bootstrap, "literally", 1) == ["${HOSTNAME}"]
    consumer.close()


def yaml(java, folder, text):
    file = folder / "pasted.yaml"
    file.write_text(text, encoding="utf-8")
    return json.loads(subprocess.run(java("yaml", file), check=True, capture_output=True).stdout)


def test_yaml_of_spring(java, tmp_path):
    text, *_ = blocks(group("java-3.9", "java-3.9"), "spring", *STATIC)

    assert yaml(java, tmp_path, text) == {
        "spring": {
            "kafka": {
                "consumer": {
                    "properties": {
                        "[session.timeout.ms]": "20000",
                        "[group.instance.id]": "${GROUP_INSTANCE_ID}",
                    }
                }
            }
        }
    }


def test_yaml_of_a_stateful_set(java, tmp_path):
    text, _ = blocks(group("java-3.9", "java-3.9"), "kubernetes", *STATIC)
    pod_name = {"fieldRef": {"fieldPath": "metadata.name"}}

    assert yaml(java, tmp_path, text) == {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "g"},
        "spec": {
            "serviceName": "g",
            "replicas": 2,
            "selector": {"matchLabels": {"app": "g"}},
            "template": {
                "metadata": {"labels": {"app": "g"}},
                "spec": {
                    "containers": [
                        {
                            "name": "consumer",
                            "image": "IMAGE",
                            "env": [{"name": "GROUP_INSTANCE_ID", "valueFrom": pod_name}],
                        }
                    ]
                },
            },
        },
    }


def test_yaml_of_docker_compose(java, tmp_path):
    text, _ = blocks(group("java-3.9", "librdkafka-2"), "compose", *STATIC)[:2]

    assert yaml(java, tmp_path, text) == {
        "x-consumer": {"image": "IMAGE"},
        "services": {
            "p0": {"image": "IMAGE", "environment": {"GROUP_INSTANCE_ID": "p0"}},
        },
    }
