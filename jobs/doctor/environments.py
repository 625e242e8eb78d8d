"""Names the environment of brokers by their addresses, its limits, and the page about it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from jobs.doctor.results import CheckResult, ok


class Environment(NamedTuple):
    """``hosts`` have the pattern of its brokers' names; ``limits`` says what the environment
    lacks.
    """

    name: str
    hosts: str
    limits: str
    page: str


ENVIRONMENTS = (
    Environment(
        "Confluent Cloud",
        r"\.confluent\.cloud$",
        "no broker logs and no __consumer_offsets: use `regroup snapshot` and --client-log",
        "confluent-cloud.md",
    ),
    Environment(
        "Amazon MSK Serverless",
        r"\.kafka-serverless\.[a-z0-9-]+\.amazonaws\.com(\.cn)?$",
        "no broker logs, and login by IAM only, which needs --engine spark",
        "amazon-msk.md",
    ),
    Environment(
        "Amazon MSK",
        r"\.kafka\.[a-z0-9-]+\.amazonaws\.com(\.cn)?$",
        "no access to brokers' disks; broker logs only if log delivery is enabled",
        "amazon-msk.md",
    ),
    Environment(
        "Aiven for Apache Kafka",
        r"\.aivencloud\.com$",
        "no access to brokers' disks; broker logs only through a log integration",
        "aiven.md",
    ),
    Environment(
        "Redpanda Cloud",
        r"\.cloud\.redpanda\.com$",
        "no broker logs in Kafka's wording: causes come from --client-log only",
        "redpanda.md",
    ),
    Environment(
        "Strimzi",
        r"-kafka-(bootstrap|brokers)(\.[a-z0-9.-]+)?$",
        "containers keep little of their logs: ship them with a log agent",
        "strimzi.md",
    ),
)


def environment_of(host: str) -> Environment | None:
    """The environment by the name of a broker. None means self-managed, or unknown."""
    return next((each for each in ENVIRONMENTS if re.search(each.hosts, host.lower())), None)


def check_environment(bootstrap: str) -> Iterator[CheckResult]:
    """``bootstrap``: HOST:PORT, several separated by commas."""
    hosts = [address.strip().rsplit(":", 1)[0] for address in bootstrap.split(",")]
    for each in dict.fromkeys(filter(None, map(environment_of, hosts))):
        yield ok("environment", f"{each.name}: {each.limits}", f"docs/environments/{each.page}")
