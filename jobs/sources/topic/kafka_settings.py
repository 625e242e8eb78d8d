"""Settings of [kafka] for librdkafka.

The configuration has the names of Kafka's Java clients, because Spark uses these names. librdkafka
has the same names for most settings, and this module translates all others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from jobs.console.errors import UsageError

SAME_NAME = (
    "client.dns.lookup",
    "sasl.mechanism",
    "security.protocol",
    "ssl.cipher.suites",
    "ssl.key.password",
)
RENAMED = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "request.timeout.ms": "socket.timeout.ms",
    "send.buffer.bytes": "socket.send.buffer.bytes",
}
# Settings without effect here: of Spark's source, of Java's way to poll, or set by the reader
# itself.
WITHOUT_EFFECT = {
    "default.api.timeout.ms",
    "isolation.level",
    "max.poll.records",
    "maxOffsetsPerTrigger",
    "minPartitions",
}
# Java's setting names that `client_settings` translates.
TRANSLATED = {
    *SAME_NAME,
    "sasl.jaas.config",
    "ssl.endpoint.identification.algorithm",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.keystore.type",
    "ssl.truststore.certificates",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.type",
}
_JAAS_OPTION = re.compile(r'\b(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;]+))')


@dataclass
class ClientSettings:
    """``values`` are settings for librdkafka, which may hold passwords.  ``untranslatable`` has
    settings that librdkafka has no equivalent for.
    """

    values: dict[str, str] = field(default_factory=dict, repr=False)
    untranslatable: list[str] = field(default_factory=list)


def client_settings(java: Mapping[str, str]) -> ClientSettings:
    """Security settings of a Java client, translated for librdkafka; all other settings are left
    out.

    Source: librdkafka's CONFIGURATION.md; Kafka's SslConfigs, SaslConfigs.
    """
    client = ClientSettings({name: java[name] for name in SAME_NAME if name in java})
    protocol = java.get("security.protocol", "PLAINTEXT").upper()
    if protocol.endswith("SSL"):
        _translate_truststore(java, client)
        _translate_keystore(java, client)
        if "ssl.endpoint.identification.algorithm" in java:  # Java uses an empty text for no check.
            algorithm = java["ssl.endpoint.identification.algorithm"] or "none"
            client.values["ssl.endpoint.identification.algorithm"] = algorithm
    if protocol.startswith("SASL"):
        _translate_login(java, client)
    return client


def kafka_only_for_spark(java: Mapping[str, str]) -> str | None:
    """A setting that only Spark's client has, as the subject of a message, or None without one."""
    untranslatable = client_settings(java).untranslatable
    return f"--kafka with {untranslatable[0]}" if untranslatable else None


def _translate_truststore(java: Mapping[str, str], client: ClientSettings) -> None:
    """librdkafka reads trusted certificates as PEM only."""
    store_type = java.get("ssl.truststore.type", "JKS").upper()
    if "ssl.truststore.certificates" in java:
        client.values["ssl.ca.pem"] = java["ssl.truststore.certificates"]
    elif "ssl.truststore.location" in java and store_type == "PEM":
        client.values["ssl.ca.location"] = java["ssl.truststore.location"]
    elif "ssl.truststore.location" in java and "ssl.ca.location" not in java:
        client.untranslatable.append(f"ssl.truststore.location ({store_type})")


def _translate_keystore(java: Mapping[str, str], client: ClientSettings) -> None:
    """A PEM keystore holds key and certificate in one file; PKCS12 has the same names."""
    store_type = java.get("ssl.keystore.type", "JKS").upper()
    if "ssl.keystore.certificate.chain" in java:
        client.values["ssl.certificate.pem"] = java["ssl.keystore.certificate.chain"]
        client.values["ssl.key.pem"] = java.get("ssl.keystore.key", "")
    elif "ssl.keystore.location" not in java:
        return
    elif store_type == "PEM":
        client.values["ssl.certificate.location"] = java["ssl.keystore.location"]
        client.values["ssl.key.location"] = java["ssl.keystore.location"]
    elif store_type == "PKCS12":
        names = ("ssl.keystore.location", "ssl.keystore.password")
        client.values |= {name: java[name] for name in names if name in java}
    else:
        client.untranslatable.append(f"ssl.keystore.location ({store_type})")


def _translate_login(java: Mapping[str, str], client: ClientSettings) -> None:
    if {"sasl.username", "sasl.password"} <= java.keys():
        return
    mechanism = java.get("sasl.mechanism", "GSSAPI")
    if mechanism != "PLAIN" and not mechanism.startswith("SCRAM-"):
        client.untranslatable.append(f"sasl.mechanism ({mechanism})")
        return
    options = {
        name: re.sub(r"\\(.)", r"\1", quoted) or bare
        for name, quoted, bare in _JAAS_OPTION.findall(java.get("sasl.jaas.config", ""))
    }
    if not {"username", "password"} <= options.keys():
        client.untranslatable.append("sasl.jaas.config (no username and password)")
        return
    client.values["sasl.username"] = options["username"]
    client.values["sasl.password"] = options["password"]


def reader_settings(java: Mapping[str, str]) -> dict[str, str]:
    """All settings for a consumer of librdkafka, which refuses unknown names.

    Raises UsageError for a security setting that librdkafka has no equivalent for.
    """
    security = client_settings(java)
    if security.untranslatable:
        raise UsageError(
            f"[kafka] {security.untranslatable[0]}: the embedded engine's client, librdkafka, has "
            "no equivalent; change the setting, or use --engine spark"
        )
    others = {
        RENAMED.get(name, name): value
        for name, value in java.items()
        if name not in WITHOUT_EFFECT | TRANSLATED
    }
    return others | security.values
