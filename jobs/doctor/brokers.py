"""Check the brokers: do they answer, do they have `__consumer_offsets`, are its leaders reachable?

The checks use librdkafka with the settings of [kafka], so they try TLS and SASL, too.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping, Sequence

from coordinator_core.figures import counted
from jobs.configuration.config import Config
from jobs.doctor.results import CheckResult, failure, ok, warning
from jobs.sources.topic.broker_metadata import (
    ANSWER_LIMIT_S,
    REMEDIES,
    Address,
    BrokerMetadata,
    NoAnswer,
    Problem,
    address_text,
    count_groups,
    describe_no_answer,
    request_metadata,
)
from jobs.sources.topic.kafka import Kafka
from jobs.sources.topic.kafka_settings import client_settings
from jobs.sources.topic.segments import TOPIC

ADVERTISED = "correct its advertised.listeners, or run Regroup where this address is reachable"


def check_brokers(bootstrap: str, config: Config) -> Iterator[CheckResult]:
    """``bootstrap``: HOST:PORT, several separated by commas; raises UsageError for anything
    else.
    """
    settings = config.kafka_settings()
    addresses = Kafka(bootstrap, settings).addresses
    client = client_settings(settings)
    if client.untranslatable:
        yield from _check_ports(addresses, client.untranslatable)
        return
    answers = {address: request_metadata(address, client.values) for address in addresses}
    reached = {a: answer for a, answer in answers.items() if isinstance(answer, BrokerMetadata)}
    for address, answer in answers.items():
        if isinstance(answer, NoAnswer):
            text = describe_no_answer(address, answer, settings)
            remedy = REMEDIES[answer.problem]
            yield (warning if reached else failure)("kafka", text, remedy)
    if reached:
        address, metadata = next(iter(reached.items()))
        yield from _check_topic(address, metadata, client.values)
        if metadata.error:
            yield _check_groups(address, client.values)


def _check_ports(addresses: Sequence[Address], untranslatable: list[str]) -> Iterator[CheckResult]:
    """TCP only: librdkafka cannot log in with these settings of a Java client."""
    errors = {address: _connection_error(address) for address in addresses}
    for address, error in errors.items():
        if error is None:
            yield warning(
                "kafka",
                f"{address_text(address)} accepts connections; login not tried, because librdkafka"
                f" has no equivalent of {', '.join(untranslatable)}",
                "run `regroup nightly --kafka`, which uses Kafka's Java client",
            )
        else:
            result = failure if all(errors.values()) else warning
            text = f"{address_text(address)} does not answer: {error}"
            yield result("kafka", text, REMEDIES[Problem.CONNECT])


def _connection_error(address: Address) -> str | None:
    try:
        socket.create_connection(address, ANSWER_LIMIT_S).close()
    except OSError as error:
        return error.strerror or str(error) or type(error).__name__
    return None


def _check_topic(
    address: Address, metadata: BrokerMetadata, settings: Mapping[str, str]
) -> Iterator[CheckResult]:
    if metadata.error == "TOPIC_AUTHORIZATION_FAILED":
        remedy = "grant this user DESCRIBE and READ on the topic, or set credentials under [kafka]"
        yield failure("kafka", f"no permission to describe {TOPIC}", remedy)
    elif metadata.error == "UNKNOWN_TOPIC_OR_PART":
        remedy = (
            "expected before the first consumer group; otherwise set credentials that may "
            "describe the topic"
        )
        yield warning("kafka", f"{address_text(address)} answers, but has no {TOPIC}", remedy)
    elif metadata.error:
        remedy = "wait until the cluster is up, then try again"
        yield failure("kafka", f"{TOPIC}: the broker answers {metadata.error}", remedy)
    else:
        yield from _check_leaders(address, metadata, settings)


def _check_groups(address: Address, settings: Mapping[str, str]) -> CheckResult:
    """The groups that a snapshot sees if the topic cannot be read."""
    groups = count_groups(address, settings)
    if isinstance(groups, str):
        remedy = "grant this user DESCRIBE on the groups, or on the cluster to list all of them"
        return warning("snapshot", f"no group can be listed: {groups}", remedy)
    if groups == 0:
        remedy = "expected before the first consumer group; otherwise grant DESCRIBE on the groups"
        return warning("snapshot", "no group is listed", remedy)
    hint = "`regroup snapshot --bootstrap` stores members without reading the topic"
    return ok("snapshot", f"{counted(groups, 'consumer group')} listed", hint)


def _check_leaders(
    address: Address, metadata: BrokerMetadata, settings: Mapping[str, str]
) -> Iterator[CheckResult]:
    """Records are read from each partition's leader, at the address that it advertises."""
    leaders = sorted({leader for leader in metadata.leaders.values() if leader in metadata.brokers})
    unreachable = 0
    for leader in leaders:
        advertised = metadata.brokers[leader]
        answer = metadata if advertised == address else request_metadata(advertised, settings)
        if isinstance(answer, NoAnswer):
            unreachable += 1
            text = f"broker {leader} advertises {address_text(advertised)}: {answer.reason}"
            yield failure("kafka", text, ADVERTISED)
    leaderless = [p for p, leader in metadata.leaders.items() if leader not in metadata.brokers]
    if leaderless:
        text = f"{len(leaderless)} of {len(metadata.leaders)} partitions of {TOPIC} have no leader"
        yield failure("kafka", text, "start the brokers that hold the replicas of these partitions")
    if not leaderless and not unreachable:
        partitions = counted(len(metadata.leaders), "partition")
        text = f"{address_text(address)} answers, {TOPIC} has {partitions}"
        yield ok("kafka", f"{text} on {counted(len(leaders), 'broker')}")
