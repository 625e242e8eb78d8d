"""Ask a Kafka broker for its metadata, as librdkafka sees it with the settings of [kafka]."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from jobs.console.errors import RunFailed, UsageError
from jobs.sources.topic.kafka import Kafka
from jobs.sources.topic.segments import TOPIC

Address = tuple[str, int]

ANSWER_LIMIT_S = 5.0
# a host name may have several addresses, so a single refused connection decides nothing yet
RETRY_LIMIT_S = 1.0
ATTEMPT_S = 0.2
FIXED: dict[str, Any] = {
    "allow.auto.create.topics": False,
    "client.id": "regroup-doctor",
    "enable.metrics.push": False,
    "log_level": 0,
    # limits the number of logins with a wrong password, which may lock an account
    "reconnect.backoff.ms": 500,
}
_ALL_DOWN = KafkaError._ALL_BROKERS_DOWN
_IN_STATE = re.compile(r" \(after \d+ms in state (\w++)[^()]*+\)$")
_BROKER = re.compile(r"^\S+/\w+: ")
_FAILED = re.compile(r"^(?:Connect to \S+ failed|Failed to resolve '[^']*'): ")


class Problem(Enum):
    RESOLVE = auto()
    CONNECT = auto()
    TLS = auto()
    SASL = auto()
    PROTOCOL = auto()
    SETTINGS = auto()


REMEDIES = {
    Problem.RESOLVE: "correct the host name in --kafka, or make this machine resolve it",
    Problem.CONNECT: "correct --kafka, start the broker, or open the network path to it",
    Problem.TLS: "correct security.protocol and ssl.* under [kafka]; the certificate must name"
    " this host",
    Problem.SASL: "correct sasl.* under [kafka]",
    Problem.PROTOCOL: "give a listener of a Kafka broker, 0.11 or later; set security.protocol"
    " under [kafka] if it requires TLS or SASL",
    Problem.SETTINGS: "correct [kafka] in the configuration",
}


@dataclass(frozen=True)
class NoAnswer:
    problem: Problem
    reason: str


@dataclass(frozen=True)
class BrokerMetadata:
    """``brokers`` has the advertised address by broker id.  ``error`` is the name of the error
    code for `__consumer_offsets`, if any.  ``leaders`` have the broker id by partition of
    `__consumer_offsets` (an unknown broker id: no leader).
    """

    brokers: dict[int, Address]
    error: str | None
    leaders: dict[int, int]


def request_metadata(address: Address, settings: Mapping[str, str]) -> BrokerMetadata | NoAnswer:
    """Send one BrokerMetadata request for `__consumer_offsets`, which does not create the topic."""
    errors: list[KafkaError] = []
    dynamic: dict[str, Any] = {
        "bootstrap.servers": address_text(address),
        "error_cb": errors.append,
    }
    try:
        client = AdminClient({**settings, **FIXED, **dynamic})
    except KafkaException as error:
        return NoAnswer(Problem.SETTINGS, error.args[0].str())
    started = time.monotonic()
    while (elapsed_s := time.monotonic() - started) < ANSWER_LIMIT_S:
        try:
            return _metadata(client.list_topics(TOPIC, timeout=ATTEMPT_S))
        except KafkaException:
            client.poll(0)  # calls error_cb
        causes = [no_answer(e.code(), e.str()) for e in errors if e.code() != _ALL_DOWN]
        if causes and (elapsed_s > RETRY_LIMIT_S or causes[0].problem is Problem.SASL):
            return causes[0]
        if errors and elapsed_s > RETRY_LIMIT_S:  # librdkafka reports no cause of a disconnect.
            return NoAnswer(Problem.PROTOCOL, "it closed the connection")
    return NoAnswer(Problem.CONNECT, f"no response within {ANSWER_LIMIT_S:g} s")


def require_answer(kafka: Kafka, client: Mapping[str, str], java: Mapping[str, str]) -> None:
    """One of the brokers suffices; if no broker answers, the first broker's error is raised.

    ``client`` has librdkafka's settings, ``java`` has these settings by the names in [kafka].
    """
    errors = []
    for address in kafka.addresses:
        answer = request_metadata(address, client)
        if isinstance(answer, BrokerMetadata):
            return
        errors.append((address, answer))
    address, first = errors[0]
    text = describe_no_answer(address, first, java)
    remedy = REMEDIES[first.problem].replace("--kafka", kafka.option)
    error = UsageError if first.problem is Problem.SETTINGS else RunFailed
    raise error(f"{kafka.option}: {text}; {remedy}")


def count_groups(address: Address, settings: Mapping[str, str]) -> int | str:
    """The number of consumer groups that the brokers list for this user, or the reason why they do
    not.
    """
    dynamic = {"bootstrap.servers": address_text(address)}
    client = AdminClient({**settings, **FIXED, **dynamic})
    try:
        listed = client.list_consumer_groups(request_timeout=ANSWER_LIMIT_S).result()
    except KafkaException as error:
        return str(error.args[0].str())
    return len(listed.valid or ())


def no_answer(code: int, text: str) -> NoAnswer:
    """Classify an error of librdkafka by its code and the connection's state.

    ``text``: ``HOST:PORT/bootstrap: REASON (after 0ms in state STATE)``.
    """
    state = _IN_STATE.search(text)
    reason = _BROKER.sub("", _IN_STATE.sub("", text))
    if code == KafkaError._RESOLVE:
        problem = Problem.RESOLVE
    elif code == KafkaError._AUTHENTICATION:
        problem = Problem.SASL
    elif code == KafkaError._SSL or (state and state[1] == "SSL_HANDSHAKE"):
        problem = Problem.TLS
    elif _FAILED.match(reason):
        problem = Problem.CONNECT
    else:
        problem = Problem.PROTOCOL
    return NoAnswer(problem, _FAILED.sub("", reason))


def _metadata(cluster: Any) -> BrokerMetadata:
    """``cluster``: ClusterMetadata, whose own types leave most attributes as None."""
    topic = cluster.topics[TOPIC]
    return BrokerMetadata(
        {broker.id: (broker.host, broker.port) for broker in cluster.brokers.values()},
        topic.error.name() if topic.error else None,
        {number: partition.leader for number, partition in topic.partitions.items()},
    )


def address_text(address: Address) -> str:
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def describe_no_answer(address: Address, answer: NoAnswer, settings: Mapping[str, str]) -> str:
    """``settings`` are [kafka] of the configuration."""
    name = address_text(address)
    match answer.problem:
        case Problem.RESOLVE:
            return f"{name} cannot be resolved: {answer.reason}"
        case Problem.TLS:
            return f"TLS connection to {name} failed: {answer.reason}"
        case Problem.SASL:
            return f"SASL login at {name} failed: {answer.reason}"
        case Problem.SETTINGS:
            return f"settings under [kafka] are not valid: {answer.reason}"
        case Problem.PROTOCOL:
            protocol = settings.get("security.protocol", "PLAINTEXT").upper()
            return f"{name} does not speak Kafka's protocol over {protocol}: {answer.reason}"
        case Problem.CONNECT:
            return f"{name} does not answer: {answer.reason}"
