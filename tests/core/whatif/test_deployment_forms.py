"""The lines to paste for each kind of deployment, and names that no instance id may have."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from coordinator_core.whatif import SettingsChange
from coordinator_core.whatif.client_settings import unique_ids
from coordinator_core.whatif.config_blocks import client_properties
from coordinator_core.whatif.deployment_forms import Form, UnfitForm, require_fit
from tests.core.whatif.test_limits import JAVA, LIBRDKAFKA, group

STATIC = "group.instance.id=process session.timeout.ms=45000"
PAGE = (Path(__file__).parents[3] / "docs" / "deploy-as.md").read_text(encoding="utf-8")
TO_CONSUMER = "group.protocol=consumer group.remote.assignor=range"


def lines(of_group, settings, form=None):
    return client_properties(of_group, SettingsChange.of(settings.split()), form)


def blocks(*arguments):
    return lines(*arguments).split("\n\n")


def with_client_ids(of_group, *client_ids):
    """Each process with its client id."""
    of_group.processes = [
        replace(each, lives=(replace(each.lives[0], client_id=client_id),))
        for each, client_id in zip(of_group.processes, client_ids, strict=True)
    ]
    return of_group


def test_properties_have_a_block_per_process():
    assert lines(group(JAVA, JAVA), STATIC, Form.PROPERTIES) == (
        "# every consumer of group g\n"
        "session.timeout.ms=45000\n"
        "# each process has its own group.instance.id, which it keeps after a restart\n"
        "\n"
        "# only in process p0\n"
        "group.instance.id=p0\n"
        "\n"
        "# only in process p1\n"
        "group.instance.id=p1"
    )


def test_names_that_last_have_ordinals():
    common, *own = blocks(group(JAVA, JAVA), "group.instance.id=ordinal", Form.PROPERTIES)

    assert common.endswith(", which its replacement takes over, as a StatefulSet's pod name")
    assert [block.split("\n")[1] for block in own] == [
        "group.instance.id=g-0",
        "group.instance.id=g-1",
    ]


def test_java_expands_a_variable_by_a_config_provider():
    assert lines(group(JAVA, JAVA), STATIC, Form.ENV) == (
        "# every consumer of group g\n"
        "session.timeout.ms=45000\n"
        "# each process has its own group.instance.id, which it keeps after a restart\n"
        "# Java clients since 3.5; with other config providers: config.providers=env,OTHER\n"
        "config.providers=env\n"
        "config.providers.env.class=org.apache.kafka.common.config.provider.EnvVarConfigProvider\n"
        "group.instance.id=${env:GROUP_INSTANCE_ID}\n"
        "\n"
        "# environment of process p0 only\n"
        "GROUP_INSTANCE_ID=p0\n"
        "\n"
        "# environment of process p1 only\n"
        "GROUP_INSTANCE_ID=p1"
    )


def test_spring_expands_variables_itself():
    yaml, *environments = blocks(group(JAVA, JAVA), STATIC, Form.SPRING)

    assert yaml == (
        "# application.yml: every consumer of group g\n"
        "spring:\n"
        "  kafka:\n"
        "    consumer:\n"
        "      properties:\n"
        '        "[session.timeout.ms]": "45000"\n'
        "        # each process has its own group.instance.id, which it keeps after a restart\n"
        "        # each consumer of a listener container appends its number, such as -0\n"
        "        # a second listener container of the group needs another id (@KafkaListener)\n"
        '        "[group.instance.id]": "${GROUP_INSTANCE_ID}"'
    )
    assert environments[1] == "# environment of process p1 only\nGROUP_INSTANCE_ID=p1"


def test_kubernetes_names_the_pods():
    manifest, properties = blocks(group(JAVA, JAVA, JAVA), STATIC, Form.KUBERNETES)

    assert manifest.split("\n")[:8] == [
        "# every consumer of group g; the pods of a Deployment would get new names",
        "apiVersion: apps/v1",
        "kind: StatefulSet",
        "metadata:",
        '  name: "g"',
        "spec:",
        '  serviceName: "g"',
        "  replicas: 3",
    ]
    assert properties.endswith("\ngroup.instance.id=${env:GROUP_INSTANCE_ID}")


def test_compose_has_a_service_per_process():
    services, properties = blocks(group(LIBRDKAFKA, LIBRDKAFKA), STATIC, Form.COMPOSE)[:2]

    assert services.split("\n")[-4:] == [
        '  "p1":',
        "    <<: *consumer",
        "    environment:",
        '      GROUP_INSTANCE_ID: "p1"',
    ]
    assert properties == (
        "# every consumer of group g\n"
        "# the application passes GROUP_INSTANCE_ID as group.instance.id: librdkafka expands "
        "no variables"
    )


def test_a_connector_with_several_tasks_gets_no_instance_ids():
    of_group = with_client_ids(
        group(JAVA, JAVA), "connector-consumer-to s3-0", "connector-consumer-to s3-1"
    )

    assert blocks(of_group, f"{STATIC} auto.commit.interval.ms=1000") == [
        "# every consumer of group g: PATCH /connectors/to%20s3/config (since Kafka 3.8; before,"
        " PUT all settings)\n"
        "# workers before Kafka 3.0 need connector.client.config.override.policy=All\n"
        "# no group.instance.id: all tasks of a connector would get the same id",
        '{"consumer.override.session.timeout.ms": "45000"}',
        "# or for all sink connectors: properties of each worker, then restart it\n"
        "consumer.session.timeout.ms=45000",
        "# for all connectors: properties of each worker, then restart it\n"
        "offset.flush.interval.ms=1000",
    ]


def test_a_connector_with_one_task_may_have_an_instance_id():
    of_group = with_client_ids(group(JAVA), "connector-consumer-s3-0")
    comments, json_text, worker = blocks(of_group, STATIC)

    assert comments.endswith("only as long as tasks.max is 1: all tasks get the same id")
    assert json.loads(json_text) == {
        "consumer.override.session.timeout.ms": "45000",
        "consumer.override.group.instance.id": "p0",
    }
    assert "instance" not in worker


def test_streams_has_one_id_per_application():
    of_group = with_client_ids(
        group(JAVA, JAVA), "app-1-StreamThread-1-consumer", "app-1-StreamThread-2-consumer"
    )
    names = {"m0": "app-1-StreamThread-1-consumer", "m1": "app-1-StreamThread-2-consumer"}
    of_group.clients = lambda: names
    of_group.processes = [
        replace(each, name=name)
        for each, name in zip(of_group.processes, names.values(), strict=True)
    ]
    of_group.libraries = dict.fromkeys(names.values(), JAVA)
    properties, *environments = blocks(
        of_group, f"{STATIC} assignor=sticky auto.commit.interval.ms=1000"
    )

    assert properties.split("\n")[1:5] == [
        "session.timeout.ms=45000",
        "commit.interval.ms=1000",
        "# not partition.assignment.strategy=org.apache.kafka.clients.consumer.StickyAssignor,"
        "org.apache.kafka.clients.consumer.RangeAssignor: Kafka Streams has its own setting",
        "# Kafka Streams appends the number of the thread, such as -1",
    ]
    assert environments == ["# environment of process app-1 only\nGROUP_INSTANCE_ID=app-1"]


def test_librdkafka_gets_json_with_an_object_per_process():
    comments, objects = blocks(group(LIBRDKAFKA, LIBRDKAFKA), f"{STATIC} protocol=cooperative")
    values = {"session.timeout.ms": "45000", "partition.assignment.strategy": "cooperative-sticky"}

    assert comments.startswith("# every consumer of group g\n# librdkafka cannot change")
    assert [json.loads(line) for line in objects.split("\n")] == [
        {**values, "group.instance.id": "p0"},
        {**values, "group.instance.id": "p1"},
    ]


@pytest.mark.parametrize("form", Form)
def test_every_form_has_the_settings_of_two_libraries(form):
    """Each library gets its own names of the assignor, and the form that it can take."""
    text = lines(group(JAVA, LIBRDKAFKA), f"{STATIC} assignor=roundrobin", form)

    assert "every Java consumer of group g" in text
    assert "every librdkafka consumer of group g" in text
    java, librdkafka = text.split("every librdkafka consumer", 1)
    assert ("consumer.RoundRobinAssignor" in java) == (form is not Form.STREAMS) or "not " in java
    assert "RoundRobinAssignor" not in librdkafka
    assert "roundrobin,range" in librdkafka


def test_two_libraries_have_two_stateful_sets():
    text = lines(group(JAVA, LIBRDKAFKA), STATIC, Form.KUBERNETES)

    assert [line for line in text.split("\n") if line.startswith("  name:")] == [
        '  name: "g-java"',
        '  name: "g-librdkafka"',
    ]


@pytest.mark.parametrize(
    ("form", "removed"),
    [
        (
            Form.PROPERTIES,
            "# remove session.timeout.ms, heartbeat.interval.ms, partition.assignment.strategy",
        ),
        (
            Form.SPRING,
            "        # remove session.timeout.ms, heartbeat.interval.ms, heartbeat-interval,"
            " partition.assignment.strategy",
        ),
        (
            Form.CONNECT,
            '"consumer.override.session.timeout.ms": null,'
            ' "consumer.override.heartbeat.interval.ms": null,'
            ' "consumer.override.partition.assignment.strategy": null}',
        ),
        (
            Form.CONNECT,
            "# remove consumer.session.timeout.ms, consumer.heartbeat.interval.ms,"
            " consumer.partition.assignment.strategy: clients refuse them",
        ),
        (Form.STREAMS, "# not group.protocol=consumer: Kafka Streams has its own setting"),
    ],
)
def test_a_migration_removes_what_clients_refuse(form, removed):
    assert removed in lines(group(JAVA, era="4.4"), TO_CONSUMER, form)


def test_librdkafkas_json_leaves_out_what_it_refuses():
    comments, text = blocks(group(LIBRDKAFKA, era="4.4"), TO_CONSUMER)

    assert comments.endswith("partition.assignment.strategy: clients refuse them")
    assert json.loads(text) == {"group.protocol": "consumer", "group.remote.assignor": "range"}


def test_the_second_deployment_is_a_comment():
    yaml = lines(group(JAVA), "protocol=cooperative", Form.SPRING)

    assert yaml.endswith(
        '\n        # "[partition.assignment.strategy]":'
        ' "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"'
    )


def test_settings_that_no_consumer_has_need_no_lines():
    assert lines(group(JAVA), "group.initial.rebalance.delay.ms=6000", Form.KUBERNETES) is None


# -- names -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "ids"),
    [
        (["p 0\nacks=0"], ["p-0-acks-0"]),
        (["a b", "a-b", "a/b"], ["a-b", "a-b-2", "a-b-3"]),
        (["übung", '"x"'], ["-bung", "-x-"]),
        (["", ".", ".."], ["process", "process.", "process.."]),
        (["g" * 250 + "-0", "g" * 250 + "-1"], ["g" * 247 + "-0", "g" * 247 + "-1"]),
        (["é" * 249, "è" * 249], ["-" * 249, "-" * 247 + "-2"]),
    ],
)
def test_instance_ids_are_those_that_clients_accept(names, ids):
    assert list(unique_ids(names)) == ids


def test_sixty_processes_have_sixty_ids():
    text = lines(group(*[LIBRDKAFKA] * 60), "group.instance.id=ordinal")
    ids = [json.loads(line)["group.instance.id"] for line in text.split("\n\n")[1].split("\n")]

    assert ids == [f"g-{number}" for number in range(60)]


@pytest.mark.parametrize(
    ("group_id", "name"),
    [
        ("Übungs Gruppe #1", '"bungs-gruppe-1"'),
        ("42", '"42"'),
        ("日本", '"consumer"'),
        ("g" * 250, '"' + "g" * 52 + '"'),
    ],
)
def test_a_stateful_sets_name_is_a_label(group_id, name):
    of_group = group(JAVA)
    of_group.group_id = group_id

    assert f"\n  name: {name}\n" in lines(of_group, STATIC, Form.KUBERNETES)


@pytest.mark.parametrize("form", Form)
def test_a_group_id_ends_no_comment(form):
    of_group = group(JAVA)
    of_group.group_id = "g\nacks=0\n\nname: x"

    assert "\nacks=0" not in lines(of_group, STATIC, form)


def test_static_members_keep_their_ids():
    of_group = group(JAVA, JAVA)
    of_group.processes[0] = replace(of_group.processes[0], instance_id="kept")
    _, *own = blocks(of_group, STATIC)
    of_group.processes[1] = replace(of_group.processes[1], instance_id="kept too")

    assert own[0] == "# only in process p0\ngroup.instance.id=kept"
    assert own[1] == "# only in process p1\ngroup.instance.id=p1"
    assert lines(of_group, STATIC) == "# every consumer of group g\nsession.timeout.ms=45000"


def test_a_form_needs_a_client_that_takes_it():
    unchanged = SettingsChange()

    require_fit(group(JAVA, LIBRDKAFKA), unchanged, Form.LIBRDKAFKA)
    with pytest.raises(UnfitForm) as raised:
        require_fit(group(LIBRDKAFKA), unchanged, Form.SPRING)

    assert str(raised.value) == (
        "spring: the clients of group g are librdkafka; must be one of properties, kubernetes,"
        " compose, librdkafka"
    )


# -- the page --------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", Form)
def test_the_page_shows_the_lines_of_each_form(form):
    section = re.search(rf"^## {form}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)[1]
    library = LIBRDKAFKA if form is Form.LIBRDKAFKA else JAVA
    of_group = group(library, library)
    of_group.group_id = "billing"
    of_group.clients = lambda: {"m0": "billing-1", "m1": "billing-2"}
    shown = re.findall(r"^```\w+\n(.*?)\n```", section, re.M | re.S)

    assert shown == blocks(of_group, STATIC, form)
