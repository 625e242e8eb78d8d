"""The client libraries: one row per library and range of versions.

A row is a copy of another row with the fields that differ.  A row says how the library talks to the
coordinator (for the client model), what it does when it is closed and when its application is slow,
its defaults, and how its members are recognised.  Source for libraries other than Java and
librdkafka: groups of these libraries on a real broker (docs/client-libraries.md).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from typing import NamedTuple, Protocol

from coordinator_core.client.config import ConsumerConfig

JITTER = 0.2  # random share of the exponential backoff (KIP-580)


class SlowHandler(StrEnum):
    """What happens to a member whose application handles a record for a long time."""

    LEAVES = "leaves after max.poll.interval.ms"
    STAYS = "stays a member: its partitions wait"
    EXPIRES = "sends no heartbeats: its session expires"


class Signs(NamedTuple):
    """How members of a library are recognised.

    ``client_ids`` is a regular expression of default client ids; its group ``version`` matches the
    library's version.  ``subscription`` and ``assignment`` are regular expressions of the bytes in
    hexadecimal, for groups whose leader has the same library.  ``protocols`` are names of assignors
    that no other library has.  ``is_session`` means that the rebalance timeout equals the session
    timeout. ``versions`` are pairs of a subscription version in hexadecimal and the versions of the
    library that send it (KIP-429, KIP-792, KIP-881).  It is empty if the library does not send the
    newest version that it knows.  ``member_ids`` is a regular expression of the member ids that the
    library generates (KIP-1082).
    """

    client_ids: str = ""
    subscription: str = ""
    assignment: str = ""
    protocols: tuple[str, ...] = ()
    is_session: bool = False
    versions: tuple[tuple[str, str], ...] = ()
    member_ids: str = ""


class GroupMember(Protocol):
    """A member of a record of GroupMetadata."""

    @property
    def client_id(self) -> str: ...
    @property
    def rebalance_timeout_ms(self) -> int: ...
    @property
    def session_timeout_ms(self) -> int: ...
    @property
    def subscription(self) -> bytes: ...
    @property
    def assignment(self) -> bytes: ...


NO_SIGNS = Signs()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientLibrary:
    """A client library in a range of versions.  Comments name the change behind a field.

    ``rebalance_timeout_ms`` is the default of a library with such a setting. If it is None, the
    rebalance timeout is max.poll.interval.ms or, without ``has_rebalance_timeout``, the session
    timeout.  ``commit_interval_ms`` is the interval of automatic commits; None means a commit after
    each record or batch.  ``consumer_protocol_since`` is the first version whose consumer protocol
    is for production.
    """

    name: str
    is_librdkafka: bool = False
    signs: Signs = NO_SIGNS

    # Behavior of the library.
    slow_handler: SlowHandler = SlowHandler.LEAVES
    leaves_on_close: bool = True
    commits_while_slow: bool = False

    # Defaults.
    session_timeout_ms: int
    rebalance_timeout_ms: int | None = None
    commit_interval_ms: int | None = 5000
    assignors: tuple[str, ...]

    # How the library talks to the coordinator.
    subscription_version: int  # KIP-429, KIP-792, KIP-881
    assignment_version: int
    empty_user_data: bytes | None = None  # sent by assignors without user data
    commit_version: int = 8
    # KIP-62: JoinGroup has a rebalance timeout; earlier versions use the session timeout
    has_rebalance_timeout: bool = True
    supports_member_id_required: bool = True  # KIP-394
    has_static_members: bool = True  # KIP-345
    has_lost: bool = True  # KIP-429: onPartitionsLost
    names_protocol_in_sync: bool = True  # KIP-559
    sends_reasons: bool = True  # KIP-800
    skips_assignment: bool = True  # KIP-814
    backs_off_exponentially: bool = True  # KIP-580
    # The client calls onPartitionsRevoked without partitions before its first join.
    revokes_on_first_join: bool = False
    leader_refreshes_metadata: bool = False  # after each assignment
    sticky_has_generation: bool = True  # KAFKA-7026
    has_consumer_protocol: bool = False  # KIP-848
    keeps_member_id: bool = True  # KIP-848: a fenced member rejoins under its previous member id
    consumer_protocol_since: str | None = None

    @property
    def kind(self) -> str:
        """The library without its version."""
        return self.name.rpartition("-")[0]

    @property
    def has_poll_interval(self) -> bool:
        """Returns whether max.poll.interval.ms, or a setting like it, ends a slow member's
        membership.
        """
        return self.slow_handler is SlowHandler.LEAVES

    def backoff_ms(self, config: ConsumerConfig, attempts: int, jitter: float) -> int:
        """The wait before the next attempt. ``attempts`` is the number of failures before the last
        failure.
        """
        if not self.backs_off_exponentially:
            return config.retry_backoff_ms
        backoff_ms = config.retry_backoff_ms << min(attempts, 20)
        return round(min(backoff_ms * (1 + JITTER * jitter), config.retry_backoff_max_ms))


_JAVA_4_1 = ClientLibrary(
    name="java-4.1",
    signs=Signs(
        client_ids=r"consumer(?:-.+)?-\d+|connector-consumer-.+|.+-StreamThread-\d+-consumer",
        versions=(("0000", "-2.3"), ("0001", "2.4-3.3"), ("0003", "3.4-")),
    ),
    session_timeout_ms=45000,  # KIP-735
    assignors=("range", "cooperative-sticky"),  # KIP-726
    subscription_version=3,
    assignment_version=3,
    has_consumer_protocol=True,
    consumer_protocol_since="4.0",
)
_JAVA_4_4 = replace(_JAVA_4_1, name="java-4.4")
_JAVA_3_9 = replace(
    _JAVA_4_1, name="java-3.9", has_consumer_protocol=False, consumer_protocol_since=None
)
_JAVA_2_5 = replace(
    _JAVA_3_9,
    name="java-2.5",
    session_timeout_ms=10000,
    assignors=("range",),
    subscription_version=1,
    assignment_version=1,
    sends_reasons=False,
    skips_assignment=False,
    backs_off_exponentially=False,
)
_JAVA_2_3 = replace(
    _JAVA_2_5,
    name="java-2.3",
    subscription_version=0,
    assignment_version=0,
    empty_user_data=b"",
    commit_version=7,
    has_lost=False,
    revokes_on_first_join=True,
    names_protocol_in_sync=False,
)
_JAVA_2_0 = replace(
    _JAVA_2_3,
    name="java-2.0",
    commit_version=4,
    supports_member_id_required=False,
    has_static_members=False,
    sticky_has_generation=False,
)
_JAVA_1_0 = replace(_JAVA_2_0, name="java-1.0", commit_version=3)
_JAVA_0_10 = replace(_JAVA_1_0, name="java-0.10", commit_version=2)
_JAVA_0_9 = replace(
    _JAVA_0_10,
    name="java-0.9",
    slow_handler=SlowHandler.EXPIRES,
    session_timeout_ms=30000,
    has_rebalance_timeout=False,
)
_LIBRDKAFKA_2 = ClientLibrary(
    name="librdkafka-2",
    is_librdkafka=True,
    signs=Signs(
        client_ids="rdkafka",
        versions=(("0000", "-1.5"), ("0001", "1.6-2.1"), ("0003", "2.2-")),
    ),
    commits_while_slow=True,
    session_timeout_ms=45000,
    assignors=("range", "roundrobin"),
    subscription_version=3,
    assignment_version=0,
    empty_user_data=b"",
    commit_version=7,
    names_protocol_in_sync=False,
    sends_reasons=False,
    skips_assignment=False,
    has_consumer_protocol=True,
    consumer_protocol_since="2.12",
)
_KAFKA_PYTHON_3 = replace(
    _JAVA_3_9,
    name="kafka-python-3",
    signs=Signs(client_ids=r"kafka-python-(?P<version>\d+(?:\.\d+)+)"),
    assignors=("range", "roundrobin"),
    subscription_version=0,
    assignment_version=0,
    empty_user_data=b"",
    revokes_on_first_join=True,
    leader_refreshes_metadata=True,
)
_AIOKAFKA_0 = replace(
    _KAFKA_PYTHON_3,
    name="aiokafka-0",
    signs=Signs(
        client_ids=r"aiokafka-(?P<version>\d+(?:\.\d+)+)",
        subscription="0000.*00000000",
        assignment="0000.*00000000",
        is_session=True,
    ),
    commits_while_slow=True,
    session_timeout_ms=10000,
    assignors=("roundrobin",),
    has_rebalance_timeout=False,
    has_lost=False,
    sends_reasons=False,
    skips_assignment=False,
    backs_off_exponentially=False,
    leader_refreshes_metadata=False,
)
_SARAMA_1 = replace(
    _AIOKAFKA_0,
    name="sarama-1",
    signs=Signs(
        client_ids="sarama",
        subscription="0001.*FFFFFFFF00000000",
        assignment="0000.*FFFFFFFF",
    ),
    slow_handler=SlowHandler.STAYS,
    commits_while_slow=False,
    rebalance_timeout_ms=60000,
    commit_interval_ms=1000,
    assignors=("range",),
    subscription_version=1,
    empty_user_data=None,
    has_rebalance_timeout=True,
)
_KAFKA_GO_0 = replace(
    _SARAMA_1,
    name="kafka-go-0",
    signs=Signs(
        client_ids=r".+@.+ \(github\.com/segmentio/kafka-go\)",
        subscription="0001.*FFFFFFFF",
        assignment="0001.*FFFFFFFF",
    ),
    session_timeout_ms=30000,
    rebalance_timeout_ms=30000,
    commit_interval_ms=None,
    assignors=("range", "roundrobin"),
    assignment_version=1,
    has_static_members=False,
)
_KAFKAJS_2 = replace(
    _SARAMA_1,
    name="kafkajs-2",
    signs=Signs(client_ids="kafkajs", protocols=("RoundRobinAssigner",)),
    slow_handler=SlowHandler.EXPIRES,
    session_timeout_ms=30000,
    commit_interval_ms=None,
    assignors=("RoundRobinAssigner",),
    subscription_version=0,
    empty_user_data=b"",
    has_static_members=False,
)
_FRANZ_GO_1 = replace(
    _JAVA_3_9,
    name="franz-go-1",
    signs=Signs(
        client_ids="kgo",
        subscription="0003.*",
        # A leader of franz-go assigns without user data.  A leader of librdkafka returns a member's
        # user data, which end with these bytes for a new member.
        assignment="0000(?!.*0000000800000000FFFFFFFF$).*FFFFFFFF",
        versions=(("0000", "-1.14.0"), ("0001", "-1.14.0"), ("0003", "1.14.1-")),
        member_ids="[-_0-9A-Za-z]{22}==",
    ),
    keeps_member_id=False,
    slow_handler=SlowHandler.STAYS,
    rebalance_timeout_ms=60000,
    assignors=("cooperative-sticky",),
    assignment_version=0,
)
# Not simulated: Kafka Streams assigns tasks, and Connect workers assign connectors.
_STREAMS_4 = replace(
    _JAVA_4_4,
    name="streams-4",
    signs=Signs(protocols=("stream",)),
    leaves_on_close=False,
    commit_interval_ms=30000,
    assignors=("stream",),
    has_consumer_protocol=False,
    consumer_protocol_since=None,
)
_CONNECT_4 = replace(
    _STREAMS_4,
    name="connect-4",
    signs=Signs(protocols=("sessioned", "compatible", "default")),
    slow_handler=SlowHandler.STAYS,
    leaves_on_close=True,
    session_timeout_ms=10000,
    rebalance_timeout_ms=60000,
    commit_interval_ms=60000,
    assignors=("sessioned", "compatible", "default"),
)

LIBRARIES: Mapping[str, ClientLibrary] = {
    library.name: library
    for library in (
        _JAVA_0_9,
        _JAVA_0_10,
        _JAVA_1_0,
        _JAVA_2_0,
        _JAVA_2_3,
        _JAVA_2_5,
        _JAVA_3_9,
        _JAVA_4_1,
        _JAVA_4_4,
        _LIBRDKAFKA_2,
        _KAFKA_PYTHON_3,
        _AIOKAFKA_0,
        _SARAMA_1,
        _KAFKA_GO_0,
        _KAFKAJS_2,
        _FRANZ_GO_1,
    )
}
"""The libraries that the client model simulates, by name."""

PROFILES: Mapping[str, ClientLibrary] = {
    **LIBRARIES,
    **{library.name: library for library in (_STREAMS_4, _CONNECT_4)},
}
"""All libraries by name, including the libraries that are not simulated."""


# -- recognition -----------------------------------------------------------------------------------

# Libraries that are recognized by their client ids and have no row of their own.
_OTHER_CLIENT_IDS = (("ruby-kafka", "ruby-kafka"),)


@cache
def _client_ids() -> list[tuple[str, re.Pattern[str]]]:
    kinds = {library.kind: library.signs.client_ids for library in PROFILES.values()}
    named = [*((kind, ids) for kind, ids in kinds.items() if ids), *_OTHER_CLIENT_IDS]
    return [(kind, re.compile(ids)) for kind, ids in named]


def named_by(client_id: str) -> tuple[str, str | None] | None:
    """The library (kind) whose default client id this is, and the version in the id, or None for
    any other id.
    """
    for kind, pattern in _client_ids():
        if match := pattern.fullmatch(client_id):
            return kind, match.groupdict().get("version")
    return None


def ids_without_poll_interval() -> str:
    """Regular expression of the default client ids of libraries without max.poll.interval.ms."""
    newest = {library.kind: library for library in PROFILES.values()}
    rows = (each for each in newest.values() if not each.has_poll_interval)
    return "|".join(each.signs.client_ids for each in rows if each.signs.client_ids)


def protocols_of_expiring_when_slow() -> tuple[str, ...]:
    """Names of the assignors of libraries that send no heartbeats while a handler runs, except
    names that other libraries also use."""
    rows = (each for each in PROFILES.values() if each.slow_handler is SlowHandler.EXPIRES)
    return tuple(sorted({name for each in rows for name in each.signs.protocols}))


def keeps_member_id(member_id: str) -> bool:
    """Returns whether the client with this member id in a consumer, share or streams group keeps
    the id until the client is closed, even if the coordinator removes the member.
    """
    return not any(
        re.fullmatch(library.signs.member_ids, member_id)
        for library in PROFILES.values()
        if library.signs.member_ids and not library.keeps_member_id
    )


def versions_of(kind: str, subscription_version: str) -> str | None:
    """The versions of a library (kind) whose subscriptions have this version, in hexadecimal."""
    rows = (library for library in PROFILES.values() if library.kind == kind)
    return next((dict(row.signs.versions).get(subscription_version) for row in rows), None)


def recognised(member: GroupMember, protocol: str | None) -> ClientLibrary | None:
    """The library of a member of a classic group, or None for Java, librdkafka and kafka-python,
    whose members differ only in the versions of their subscriptions.
    """
    kind, _ = named_by(member.client_id) or (None, None)
    for library in PROFILES.values():
        if library.kind in _BY_VERSIONS:
            continue
        if library.kind == kind or protocol in library.signs.protocols:
            return library
        if kind is None and _fits(library.signs, member):
            return library
    return None


_BY_VERSIONS = ("java", "librdkafka", "kafka-python")


def _fits(signs: Signs, member: GroupMember) -> bool:
    is_session = member.rebalance_timeout_ms == member.session_timeout_ms
    return (
        signs.subscription != ""
        and (is_session or not signs.is_session)
        and _has(signs.subscription, member.subscription)
        and _has(signs.assignment, member.assignment)
    )


def _has(pattern: str, data: bytes) -> bool:
    return re.fullmatch(pattern, data.hex().upper()) is not None
