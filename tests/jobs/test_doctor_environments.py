"""The environment that doctor names for an address, and the page of each."""

from pathlib import Path

import pytest

from jobs.doctor.environments import ENVIRONMENTS, check_environment, environment_of

PAGES = Path(__file__).parents[2] / "docs" / "environments"


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("pkc-4nym6.us-east-1.aws.confluent.cloud", "Confluent Cloud"),
        ("lkc-1234-ap12.europe-west3-a.gcp.glb.confluent.cloud", "Confluent Cloud"),
        ("b-1.prod.abc123.c2.kafka.eu-central-1.amazonaws.com", "Amazon MSK"),
        ("b-1.prod.abc123.c2.kafka.cn-north-1.amazonaws.com.cn", "Amazon MSK"),
        ("boot-x1.c1.kafka-serverless.us-east-1.amazonaws.com", "Amazon MSK Serverless"),
        ("kafka-1a2b-acme.aivencloud.com", "Aiven for Apache Kafka"),
        ("seed-1.d5x.any.us-east-1.mpx.prd.cloud.redpanda.com", "Redpanda Cloud"),
        ("my-cluster-kafka-bootstrap.kafka.svc", "Strimzi"),
        ("my-cluster-kafka-bootstrap", "Strimzi"),
        ("my-cluster-broker-0.my-cluster-kafka-brokers.kafka.svc.cluster.local", "Strimzi"),
        ("KAFKA-1A2B-ACME.AIVENCLOUD.COM", "Aiven for Apache Kafka"),
        ("broker-1", None),
        ("kafka.example.com", None),
        ("confluent.cloud.example.com", None),
        ("10.0.0.1", None),
    ],
)
def test_the_name_of_a_broker_tells_its_environment(host, name):
    environment = environment_of(host)

    assert (environment and environment.name) == name


def test_each_environment_is_named_once():
    bootstrap = "a-1.aivencloud.com:9092, a-2.aivencloud.com:9092,[::1]:9092"

    assert [tuple(result) for result in check_environment(bootstrap)] == [
        (
            "environment",
            "ok",
            "Aiven for Apache Kafka: no access to brokers' disks; broker logs only through a "
            "log integration",
            "docs/environments/aiven.md",
        )
    ]


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda each: each.name)
def test_each_environment_has_a_page_that_names_it(environment):
    page = (PAGES / environment.page).read_text(encoding="utf-8")

    assert page.startswith("# ")
    assert environment.name in page
